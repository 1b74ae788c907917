"""What a mistake is: wrong code, what it looks like, and what hides it from a test."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np

from ..check import Op, check_gradients


@dataclass(frozen=True, eq=False)
class Design:
    """What a test tests with. A mistake has one that shows it and some that hide it.

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
        Which of the gradients the test compares, where it does not look at all.
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


def normal(*shapes):
    """Return a `Design.build` of normal arrays, one for each shape."""
    return lambda rng: tuple(rng.normal(size=shape) for shape in shapes)


@dataclass(frozen=True, eq=False)
class Mistake:
    """A wrong backward or forward pass of an op, made as people make it.

    Parameters
    ----------
    name : str
        Lowercase with hyphens, unique within the op: "diagonal-only".
    op : module
        The op it belongs to.
    kind : str
        What is wrong with it, in one of the words a finding has, or one of
        those no black box can tell.
    symptom : str
        What it looks like from outside, in one sentence.
    right : module or Op
        The right forward and backward: the op itself, or a small composition with
        it where the mistake needs one.
    forward, backward : callable
        Those of `right`, but for the one that is wrong.
    shown_by : Design
        Inputs on which `check_gradients` catches it.
    hidden_by : tuple of Design
        Tests under which the wrong result cannot be told from the right one.
    """

    name: str
    op: ModuleType
    kind: str
    symptom: str
    right: ModuleType | Op
    forward: Callable
    backward: Callable
    shown_by: Design
    hidden_by: tuple[Design, ...]

    @property
    def op_name(self):
        """The op's name: "softmax"."""
        if isinstance(self.op, str):
            return self.op
        return self.op.__name__.rpartition(".")[2]

    @property
    def side(self):
        """Which pass is wrong: "forward" or "backward"."""
        return "backward" if self.forward is self.right.forward else "forward"

    @property
    def source(self):
        """The wrong code, without its decorator."""
        lines = inspect.getsource(getattr(self, self.side)).splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("def "))
        return "\n".join(lines[start:])

    @property
    def options(self):
        """Options of forward that belong to `example`."""
        return self.shown_by.options

    def example(self):
        """Inputs on which `check_gradients` catches it."""
        return self.shown_by.inputs()

    def as_op(self):
        """The op with this mistake in it, for `check_gradients`."""
        return Op(self.forward, self.backward)

    def check(self):
        """Report of `check_gradients` on the example."""
        return check_gradients(self.as_op(), *self.example(), **self.options)

    def hides_behind(self, design):
        """Whether the wrong results equal the right ones under a test design.

        Equal as ``numpy.allclose`` sees it, which broadcasts: a gradient with an
        axis too many can pass.
        """
        right = self._results(self.right, design)
        wrong = self._results(self, design)
        return all(
            _allclose(ours, theirs, design.tolerance)
            for ours, theirs in zip(wrong, right, strict=True)
        )

    @staticmethod
    def _results(op, design):
        """Output and gradients, as a tuple of arrays."""
        with np.errstate(all="ignore"):
            y, cache = op.forward(*design.inputs(), **design.options)
            gradients = op.backward(design.upstream(y), cache)
        if not isinstance(gradients, tuple):
            gradients = (gradients,)
        if design.looks_at is not None:
            gradients = tuple(gradients[index] for index in design.looks_at)
        return y, *gradients

    def __repr__(self):
        return f"Mistake({self.op_name}: {self.name}, {self.kind})"


def _allclose(wrong, right, tolerance):
    try:
        return np.allclose(wrong, right, rtol=tolerance, atol=tolerance)
    except ValueError:  # shapes that do not even broadcast
        return False


def wrong_backward(op, kind, *, symptom, shown_by, hidden_by, right=None):
    """Decorate a wrong ``backward(dy, cache)``: its name becomes the mistake's."""
    right = right or op

    def declare(backward):
        return Mistake(
            name=backward.__name__.replace("_", "-"),
            op=op,
            kind=kind,
            symptom=symptom,
            right=right,
            forward=right.forward,
            backward=backward,
            shown_by=shown_by,
            hidden_by=tuple(hidden_by),
        )

    return declare


def wrong_forward(op, kind, *, symptom, shown_by, hidden_by):
    """Decorate a wrong ``forward(*inputs)``: its name becomes the mistake's."""

    def declare(forward):
        return Mistake(
            name=forward.__name__.replace("_", "-"),
            op=op,
            kind=kind,
            symptom=symptom,
            right=op,
            forward=forward,
            backward=op.backward,
            shown_by=shown_by,
            hidden_by=tuple(hidden_by),
        )

    return declare
