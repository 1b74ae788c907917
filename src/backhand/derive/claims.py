"""A claim: the gradients an operation's backward pass computes, and their proof."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from sympy import (
    Expr,
    Idx,
    Indexed,
    IndexedBase,
    Integer,
    Matrix,
    Sum,
    Symbol,
    lambdify,
)

from .kernel import contract, diff, unfold
from .printing import latex
from .proof import difference, explicit, reduced


@dataclass(frozen=True)
class Claim:
    """What one operation computes and what it claims the gradients are.

    Every expression is the entry of an array at its indices, so it holds for every
    size. The gradient of an array ``y`` is always named ``dy``.

    Attributes
    ----------
    op : str
        The module of `backhand.ops` that computes these gradients.
    output : Expr
        Entry of the output, ``y[t, b]``; a plain symbol for a scalar loss.
    forward : Expr
        That entry in terms of the inputs and of `definitions`.
    inputs : dict of str to Expr
        Entry of each argument of ``forward``; options are plain symbols.
    gradients : dict of str to Expr
        For each differentiated input the entry of its gradient, at the same indices.
        Values on the way that have a gradient of their own come first, under the
        letter that `definitions` gives them.
    examples : tuple of dict
        Sizes (and integers such as token ids) small enough to write the whole
        Jacobian out; see `explicit`.
    definitions : dict of Expr to Expr
        Names for values on the way; each may use those before it.
    """

    op: str
    output: Expr
    forward: Expr
    inputs: Mapping[str, Expr]
    gradients: Mapping[str, Expr]
    examples: tuple[Mapping, ...]
    definitions: Mapping[Expr, Expr] = field(default_factory=dict)

    def derive(self, name):
        """The gradient SymPy finds: chain rule, Kronecker deltas, contraction.

        Where the claim has gradients for values on the way, it is found from those
        of the values that use it directly, as a backward pass does.
        """
        entry = self._entry(name)
        inlined, stages = {}, {}
        for value, definition in self.definitions.items():
            has_gradient = _letter(value) in self.gradients
            (stages if has_gradient else inlined)[value] = definition
        total = Integer(0)
        for value, formula in [(self.output, self.forward), *stages.items()]:
            loss = gradient(value) * unfold(formula, inlined)
            if indices := _indices(value):
                loss = Sum(loss, *indices)
            total += contract(diff(loss, entry))
        return total

    def prove(self, *names):
        """Derived minus claimed for these gradients, or all: 0, for every size."""
        return {
            name: difference(self.derive(name), self.gradients[name], self.definitions)
            for name in names or self.gradients
        }

    def brute_force(self, name, values):
        """The same at one size, from the whole Jacobian: a zero matrix if right."""
        entry = self._entry(name)
        known = {key: to for key, to in self.definitions.items() if key != entry}
        known |= {
            gradient(self._entry(inner)): claimed
            for inner, claimed in self.gradients.items()
            if inner not in self.inputs
        }

        def column(expr, indices):
            cells = explicit(unfold(expr, known), values, *indices)
            return Matrix(np.ravel(cells).tolist())

        y = column(self.forward, _indices(self.output))
        dy = column(gradient(self.output), _indices(self.output))
        x = column(entry, _indices(entry))
        dx = column(self.gradients[name], _indices(entry))
        return (y.jacobian(x).T * dy - dx).applyfunc(reduced)

    def evaluate(self, dy, **inputs):
        """The claimed gradients of the inputs as numbers: a dict of arrays.

        It loops over every entry, so it is for small arrays. The axes of `dy` and
        `inputs` are the indices of the claim's entries.
        """
        entries = [gradient(self.output), *(self.inputs[name] for name in inputs)]
        values = {}
        for entry, array in zip(entries, [dy, *inputs.values()], strict=True):
            values[_name(entry)] = np.asarray(array)
            for k, length in zip(_indices(entry), np.shape(array), strict=True):
                values.setdefault(k.upper + 1, length)
                known = _length(k, values)
                if known != length:
                    raise ValueError(
                        f"{_letter(entry)}: axis {k} has length {length}, elsewhere"
                        f" it is {known}"
                    )
        for entry, definition in self.definitions.items():
            values[_name(entry)] = _evaluate(definition, _indices(entry), values)
        for name, claimed in self.gradients.items():
            entry = self._entry(name)
            array = _evaluate(claimed, _indices(entry), values)
            values[_name(gradient(entry))] = array
        return {
            name: values[_name(gradient(self.inputs[name]))]
            for name in self.gradients
            if name in self.inputs
        }

    def latex(self, name):
        """The claimed gradient as an equation, for the reference table."""
        return _equation(gradient(self._entry(name)), self.gradients[name])

    def forward_latex(self):
        """The forward pass: one equation a definition, then the output's."""
        definitions = {
            value: definition
            for value, definition in self.definitions.items()
            if value != self.output
        }
        return [
            _equation(value, definition)
            for value, definition in [*definitions.items(), (self.output, self.forward)]
        ]

    def _entry(self, name):
        if name in self.inputs:
            return self.inputs[name]
        return next(value for value in self.definitions if _letter(value) == name)


def gradient(entry):
    """The entry of the gradient of an array: ``dy[t, b]`` for ``y[t, b]``."""
    name = f"d{_letter(entry)}"
    if isinstance(entry, Indexed):
        return IndexedBase(name, real=True)[entry.indices]
    return Symbol(name, real=True)


def _equation(left, right):
    return f"{latex(left)} = {latex(right)}"


def _indices(entry):
    return entry.indices if isinstance(entry, Indexed) else ()


def _name(entry):
    return entry.base if isinstance(entry, Indexed) else entry


def _letter(entry):
    return str(_name(entry))


def _length(k, values):
    size = k.upper + 1
    return int(size) if size.is_Integer else values[size]


def _evaluate(expr, free, values):
    names = [name for name in values if not isinstance(name, Integer)]
    labels = {k: k.label for k in expr.atoms(Idx) | set(free)}  # lambdify knows no Idx
    arguments = [*names, *(labels[k] for k in free)]
    function = lambdify(arguments, expr.xreplace(labels), modules="numpy")
    lengths = [_length(k, values) for k in free]
    known = [values[name] for name in names]
    cells = [function(*known, *at) for at in product(*map(range, lengths))]
    return np.array(cells, dtype=float).reshape(lengths)
