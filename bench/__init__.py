"""How fast the package is, beside others.   make bench

Each module is a benchmark: `python -m bench.step`, `.checkers`, `.attention` and
`.scatter`. What is not installed is left out, and said to be.
"""

import os

# One thread for everybody, said before any library is loaded: on a machine that does
# other things too, threads wait for each other.
os.environ |= {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
# These two make OpenBLAS run the kernels, and block for the cache, of another
# processor. Only NumPy would obey, and PyTorch and JAX would be compared with something
# that nobody runs. Both go together: a kernel with another's block sizes is no better.
for name in "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE":
    os.environ.pop(name, None)
