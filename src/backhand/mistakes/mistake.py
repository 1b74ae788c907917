"""What a mistake is: wrong code, what it looks like, and what hides it from a test."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
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


@dataclass(frozen=True, eq=False)
class Mistake:
    """Wrong code as people write it, with what shows it and what hides it.

    Parameters
    ----------
    name : str
        Lowercase with hyphens, unique within the op: "diagonal-only".
    op : module, class or str
        What it is a mistake in; a name where the package has no such thing.
    kind : str
        What is wrong with it, in one of the words a finding has, or one of
        those no black box can tell.
    symptom : str
        What it looks like from outside, in one sentence.
    shown_by : Design
        A test that catches it.
    hidden_by : tuple of Design
        Tests under which the wrong result cannot be told from the right one.
    """

    name: str
    op: ModuleType | type | str
    kind: str
    symptom: str
    shown_by: Design
    hidden_by: tuple[Design, ...]

    @property
    def op_name(self):
        """The op's name, as that of its module: "softmax", "adam"."""
        return name_of(self.op)

    @property
    def source(self):
        """The wrong code, without its decorator."""
        lines = inspect.getsource(self.wrong_code).splitlines()
        starts = (line.startswith(("def ", "class ")) for line in lines)
        return "\n".join(lines[list(starts).index(True) :])

    @property
    def options(self):
        """The options that belong to `example`."""
        return self.shown_by.options

    def example(self):
        """Inputs on which it is caught."""
        return self.shown_by.inputs()

    def hides_behind(self, design):
        """Whether the wrong results equal the right ones under a test design.

        Equal as ``numpy.allclose`` sees it, which broadcasts: a gradient with an
        axis too many can pass.
        """
        with np.errstate(all="ignore"):
            wrong = design.seen(self.wrong_results(design))
            right = design.seen(self.right_results(design))
        return all(
            _allclose(ours, theirs, design.tolerance)
            for ours, theirs in zip(wrong, right, strict=True)
        )

    def __repr__(self):
        return f"<Mistake {self.name} in {self.op_name}: {self.kind}>"


@dataclass(frozen=True, eq=False, repr=False)
class WrongPass(Mistake):
    """A wrong backward or forward pass.

    Parameters
    ----------
    right : module or Op
        The right forward and backward: the op itself, or a small composition with
        it where the mistake needs one.
    forward, backward : callable
        Those of `right`, but for the one that is wrong.
    """

    right: ModuleType | Op
    forward: Callable
    backward: Callable

    @property
    def side(self):
        """Which pass is wrong: "forward" or "backward"."""
        return "backward" if self.forward is self.right.forward else "forward"

    @property
    def checked_by(self):
        """What is sure to catch it. A gradient check knows no right forward."""
        return "check_gradients" if self.side == "backward" else "right values"

    @property
    def wrong_code(self):
        return getattr(self, self.side)

    def as_op(self):
        """The op with this mistake in it, for `check_gradients`."""
        return Op(self.forward, self.backward)

    def check(self):
        """Report of `check_gradients` on the example."""
        return check_gradients(self.as_op(), *self.example(), **self.options)

    def is_caught(self):
        """Whether the check it is sure to be caught by does catch it."""
        if self.side == "forward":
            return not self.hides_behind(self.shown_by)
        return self.check().verdict == "disagree"

    def injected(self):
        """A context in which the op itself has this mistake, wherever it is used."""
        if self.right is not self.op:
            raise ValueError(f"{self.name} is not a mistake of {self.op_name} alone")
        return swapped(self.op, self.side, self.wrong_code)

    def right_results(self, design):
        return design.results(self.right)

    def wrong_results(self, design):
        return design.results(self)


@contextmanager
def swapped(module, name, wrong):
    """Replace a function of a module for a while."""
    right = getattr(module, name)

    @wraps(right)
    def replacement(*args, **options):
        setattr(module, name, right)  # a wrong pass may call the right one
        try:
            return wrong(*args, **options)
        finally:
            setattr(module, name, replacement)

    setattr(module, name, replacement)
    try:
        yield
    finally:
        setattr(module, name, right)


def hyphenated(name):
    return name.replace("_", "-")


def name_of(op):
    """The name of an op: its own where it is a str, else its module's or class's."""
    name = op if isinstance(op, str) else op.__name__.rpartition(".")[2].lower()
    return name.replace("-", "_")


def _allclose(wrong, right, tolerance):
    try:
        return np.allclose(wrong, right, rtol=tolerance, atol=tolerance)
    except ValueError:  # shapes that do not even broadcast
        return False


def wrong_backward(op, kind, *, symptom, shown_by, hidden_by, right=None):
    """Decorate a wrong ``backward(dy, cache)``: its name becomes the mistake's."""
    right = right or op

    def declare(backward):
        return WrongPass(
            name=hyphenated(backward.__name__),
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
        return WrongPass(
            name=hyphenated(forward.__name__),
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
