"""What a test tests with. Most of what hides a mistake is in here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Design:
    """The inputs, the upstream gradient and the tolerance of a test.

    A mistake has one that shows it and some that hide it.

    Parameters
    ----------
    name : str
        What is special about it: "dy of ones".
    build : callable
        ``build(rng)`` returns the inputs, in the order of the op's forward.
    dy : callable, optional
        ``dy(y)`` returns the upstream gradient. Default: seeded normal numbers.
    options : mapping
        Options of the op's forward.
    tolerance : float
        Both tolerances of ``numpy.allclose``: how far two results may differ
        before the test complains.
    dtype : numpy dtype
        What floating-point inputs are cast to.
    looks_at : tuple of int, optional
        Which of the results the test compares. Default: all of them.
    """

    name: str
    build: Callable
    dy: Callable | None = None
    options: Mapping = field(default_factory=dict)
    tolerance: float = 1e-8
    dtype: type = np.float64
    looks_at: tuple[int, ...] | None = None

    def inputs(self):
        """Fresh inputs, the same on every call."""
        arrays = map(np.asarray, self.build(np.random.default_rng(0)))
        return tuple(
            array.astype(self.dtype) if array.dtype.kind == "f" else array
            for array in arrays
        )

    def upstream(self, y):
        """The upstream gradient for an output y, in y's dtype."""
        y = np.asarray(y)
        normal = np.random.default_rng(1).normal(size=y.shape)
        dy = normal if self.dy is None else self.dy(y)
        return np.asarray(dy, y.dtype)

    def results(self, op):
        """The gradients of an op under this test, and its output last."""
        y, cache = op.forward(*self.inputs(), **self.options)
        gradients = op.backward(self.upstream(y), cache)
        return *(gradients if isinstance(gradients, tuple) else (gradients,)), y

    def seen(self, results):
        """Those of the results that this test compares."""
        if self.looks_at is None:
            return results
        return tuple(results[index] for index in self.looks_at)


def normal(*shapes):
    """Return a `Design.build` of normal arrays, one for each shape."""
    return lambda rng: tuple(rng.normal(size=shape) for shape in shapes)
