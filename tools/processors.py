"""Run the tests as other processors would: `make test-processors` calls it.

python tools/processors.py TEST...    pytest with these arguments, once a processor

NumPy picks its loops, and OpenBLAS its matrix products, by what the processor can do;
both can be told to do with less. The last digits of a result change with that, and a
test or a stored output that hangs on them fails here before it does on a reader's
machine.
"""

import os
import subprocess
import sys

from numpy._core._multiarray_umath import __cpu_dispatch__ as DISPATCHED
from numpy._core._multiarray_umath import __cpu_features__ as FEATURES

# An OpenBLAS kernel, the feature it takes, and how the names of those features begin
# that NumPy then has to do without.
PROCESSORS = [
    ("Prescott", "SSE3", ("",)),
    ("Sandybridge", "AVX", ("",)),
    ("Haswell", "AVX2", ("AVX512", "X86_V4")),
    ("SkylakeX", "AVX512_SKX", ("AVX512_ICL", "AVX512_SPR")),
]


def environment(kernel, without):
    """The settings that imitate a processor, from this one's features."""
    disabled = [name for name in DISPATCHED if FEATURES[name] and name.startswith(without)]
    return {"OPENBLAS_CORETYPE": kernel, "NPY_DISABLE_CPU_FEATURES": " ".join(disabled)}


def main(arguments):
    """Run pytest under each processor that this one can imitate."""
    results = {}
    for kernel, needed, without in PROCESSORS:
        if not FEATURES.get(needed):
            results[kernel] = f"not run: this processor lacks {needed}"
            continue
        settings = environment(kernel, without)
        print(*(f"{name}={value!r}" for name, value in settings.items()), flush=True)
        command = [sys.executable, "-m", "pytest", *arguments]
        code = subprocess.run(command, env=os.environ | settings, check=False).returncode
        results[kernel] = f"failed with {code}" if code else "passed"
    print(*(f"{kernel}: {result}" for kernel, result in results.items()), sep="\n")
    return all(result == "passed" or "not run" in result for result in results.values())


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1:]))
