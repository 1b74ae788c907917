"""CPU times of competitors, measured in turn, and their ratios.

A clock on the wall counts what other programs do. CPU time does not, but even that
drifts with them, by caches and by clock rate. So the competitors take turns, A B C,
A B C, and a ratio is the median of the rounds' ratios.
"""

from importlib import import_module
from time import process_time

import numpy as np


def take_turns(functions, rounds):
    """Return the CPU milliseconds of each call, an array (rounds,) by name."""
    times = {name: np.empty(rounds) for name in functions}
    for function in functions.values():
        function()  # whatever is done but once
    for i in range(rounds):
        for name, function in functions.items():
            start = process_time()
            function()
            times[name][i] = 1e3 * (process_time() - start)
    return times


def ratio(a, b):
    """a / b as text: the median over the rounds, and that of the least times."""
    return f"{np.median(a / b):8.2f} ({a.min() / b.min():.2f})"


def milliseconds(times):
    """The median and the least, as text."""
    return f"{np.median(times):9.2f} ({times.min():.2f})"


def installed(*modules):
    """Whether the modules can be imported; says so where not."""
    try:
        for module in modules:
            import_module(module)
    except ImportError as error:
        print(f"Left out, for want of {error.name}: pip install --editable '.[bench]'")
        return False
    return True


def describe_machine():
    """Print the versions and the kernels that matrix products run in."""
    print(f"NumPy {np.__version__}, one thread, CPU time: median (least)")
    if installed("threadpoolctl"):
        from threadpoolctl import threadpool_info

        for library in threadpool_info():
            if library["user_api"] == "blas":
                print(
                    f"matrix products of NumPy: {library['internal_api']} "
                    f"{library['version']}, kernel {library['architecture']}, "
                    f"threads {library['num_threads']}"
                )
