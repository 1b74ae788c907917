"""A claim: the gradient an operation's backward pass computes, and its proof."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from sympy import Expr, Indexed, Matrix, Sum, lambdify

from .kernel import contract, diff, difference, explicit, reduced, unfold
from .printing import latex


@dataclass(frozen=True)
class Claim:
    """What one operation computes and what it claims the gradients are.

    Every expression is the entry of an array at its indices, so it holds for every
    size.

    Attributes
    ----------
    op : str
        The module of `backhand.ops` that computes these gradients.
    output : Expr
        Entry of the output, ``y[t, b]``; a plain symbol for a scalar loss.
    forward : Expr
        That entry in terms of the inputs.
    upstream : Expr
        Entry of the gradient that arrives from above, ``dy[t, b]``.
    inputs : dict of str to Expr
        Entry of each argument of ``forward``; options are plain symbols.
    gradients : dict of str to Expr
        For each differentiated input, the entry of its gradient at the same indices.
    examples : tuple of dict
        Sizes (and token ids) small enough to write the whole Jacobian out.
    definitions : dict of Expr to Expr
        Names that `forward` and `gradients` use; each may use those before it.
    """

    op: str
    output: Expr
    forward: Expr
    upstream: Expr
    inputs: Mapping[str, Expr]
    gradients: Mapping[str, Expr]
    examples: tuple[Mapping, ...]
    definitions: Mapping[Expr, Expr] = field(default_factory=dict)

    def derive(self, name):
        """The gradient as SymPy finds it: differentiate, then contract the deltas."""
        loss = self.upstream * unfold(self.forward, self.definitions)
        if indices := _indices(self.output):
            loss = Sum(loss, *indices)
        return contract(diff(loss, self.inputs[name]))

    def prove(self, name):
        """SymPy's gradient minus the claimed one, for every size: 0 if it is right."""
        return difference(self.derive(name), self.gradients[name], self.definitions)

    def brute_force(self, name, values):
        """The same at one size, from the whole Jacobian: a zero matrix if right."""

        def column(expr, indices):
            written_out = explicit(unfold(expr, self.definitions), values, *indices)
            return Matrix(np.ravel(written_out).tolist())

        entry = self.inputs[name]
        y = column(self.forward, _indices(self.output))
        dy = column(self.upstream, _indices(self.output))
        x = column(entry, _indices(entry))
        dx = column(self.gradients[name], _indices(entry))
        return (y.jacobian(x).T * dy - dx).applyfunc(reduced)

    def evaluate(self, dy, **inputs):
        """The claimed gradients as numbers: a dict of float arrays.

        Loops over every entry, so it is for small arrays. `dy` and `inputs` are
        those of the NumPy operation, without batch axes.
        """
        values = {}
        for entry, array in [
            (self.output, dy),
            *((self.inputs[name], array) for name, array in inputs.items()),
        ]:
            for k, length in zip(_indices(entry), np.shape(array), strict=True):
                values[k.upper + 1] = length
        for entry, array in [
            (self.upstream, dy),
            *((self.inputs[name], array) for name, array in inputs.items()),
        ]:
            values[_base(entry)] = np.asarray(array)
        for name, definition in self.definitions.items():
            values[_base(name)] = _evaluate(definition, _indices(name), values)
        return {
            name: _evaluate(gradient, _indices(self.inputs[name]), values)
            for name, gradient in self.gradients.items()
        }

    def latex(self, name):
        """The claimed gradient as an equation, for the reference table."""
        entry = self.inputs[name]
        return rf"\nabla {latex(entry)} = {latex(self.gradients[name])}"


def _indices(entry):
    return entry.indices if isinstance(entry, Indexed) else ()


def _base(entry):
    return entry.base if isinstance(entry, Indexed) else entry


def _evaluate(expr, free, values):
    function = lambdify([*values, *free], expr, modules="numpy")
    lengths = [values[k.upper + 1] for k in free]
    cells = [function(*values.values(), *at) for at in product(*map(range, lengths))]
    return np.array(cells, dtype=float).reshape(lengths)
