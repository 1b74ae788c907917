import subprocess
import sys


def test_importing_the_package_loads_numpy_and_nothing_else_from_outside():
    """In a fresh interpreter: this one has loaded everything already."""
    report = (
        "import sys; before = set(sys.modules); "
        "import backhand, backhand.transformer, backhand.optim; "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(*sorted(new - sys.stdlib_module_names))"
    )
    run = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["backhand", "numpy"]
