"""What a mistake is: wrong code, what it looks like, and what hides it from a test."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from types import ModuleType

import numpy as np

from ..check import Op, check_gradients
from .design import Design

# Kinds that look alike from outside: only the code tells them apart.
UNTELLABLE = {
    "wrong_operand",
    "wrong_axis",
    "wrong_formula",
    "eps_placement",
    "variance_n_vs_n1",
    "quadratic_memory",
}


@dataclass(frozen=True, eq=False, kw_only=True)
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
    hidden_by : sequence of Design
        Tests under which the wrong result cannot be told from the right one.
    obscured : bool
        Whether what the mistake does to a gradient is mixed with what is right, so
        that the kind, though a black box can tell it, does not show in the numbers.
    """

    name: str
    op: ModuleType | type | str
    kind: str
    symptom: str
    shown_by: Design
    hidden_by: Sequence[Design]
    obscured: bool = False

    @property
    def tellable(self):
        """Whether the kind can be told from the numbers alone."""
        return not self.obscured and self.kind not in UNTELLABLE

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


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
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


def wrong_backward(op, kind, *, right=None, **what):
    """Decorate a wrong ``backward(dy, cache)``: its name becomes the mistake's."""
    return _wrong_pass("backward", op, kind, right or op, what)


def wrong_forward(op, kind, **what):
    """Decorate a wrong ``forward(*inputs)``: its name becomes the mistake's."""
    return _wrong_pass("forward", op, kind, op, what)


def _wrong_pass(side, op, kind, right, what):
    def declare(function):
        passes = {"forward": right.forward, "backward": right.backward, side: function}
        name = hyphenated(function.__name__)
        return WrongPass(name=name, op=op, kind=kind, right=right, **passes, **what)

    return declare
