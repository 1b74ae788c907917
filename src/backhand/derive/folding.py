"""Writing a name for what it stands for."""

from sympy import Dummy, Indexed, Mul, Sum, sympify

from .kernel import contract
from .proof import difference


def fold(expr, definitions):
    """Write names for what they stand for, the reverse of `unfold`.

    ``exp(z[j]) / Sum(exp(z[k]), k)`` becomes ``p[j]``, and the result is factored.

    Raises
    ------
    ValueError
        If unfolding the result does not give `expr` back.

    >>> from sympy import Sum, exp
    >>> from backhand.derive import contract, diff, fold, indexed, indices, size
    >>> n = size("n")
    >>> (p, z), (i, j, k) = indexed("p z"), indices("i j k", n)
    >>> softmax = exp(z[i]) / Sum(exp(z[k]), k)
    >>> fold(contract(diff(softmax, z[j])), {p[i]: softmax})
    (KroneckerDelta(i, j) - p[j])*p[i]
    """
    folded = sympify(expr)
    for name, definition in definitions.items():
        folded = _fold_one(folded, name, definition)
    if difference(folded, expr, definitions) != 0:
        raise ValueError(f"{expr} cannot be written with {list(definitions)}")
    return folded


def _fold_one(expr, name, definition):
    free = name.indices if isinstance(name, Indexed) else ()
    if not free:
        return expr.subs(definition, name).factor()
    # One factor of the definition, exp(z[i]) for a softmax, is traded for the name.
    whole = [f for f in Mul.make_args(definition) if all(f.has(k) for k in free)]
    traded = max(whole, key=lambda factor: factor.count_ops())
    in_return = name * traded / definition
    # The definition's own sums stay; other sums may hold the name.
    kept = {
        s: Dummy(positive=True)
        for s in expr.atoms(Sum)
        if any(_matched(own, s, free) is not None for own in definition.atoms(Sum))
    }

    def trade(part):
        indices = _matched(traded, part, free)
        return part if indices is None else in_return.xreplace(indices).xreplace(kept)

    expr = expr.xreplace(kept).replace(lambda part: part.func == traded.func, trade)
    return contract(expr).factor().xreplace({mark: s for s, mark in kept.items()})


def _matched(pattern, expr, free):
    """The index that stands in `expr` for each one in `free`, if the two match."""
    if pattern in free:
        return {pattern: expr}
    if pattern.func != expr.func or len(pattern.args) != len(expr.args):
        return None
    if not pattern.args:
        return {} if pattern == expr else None
    found = {}
    for inner, other in zip(pattern.args, expr.args, strict=True):
        indices = _matched(inner, other, free)
        if indices is None or any(found.get(k, v) != v for k, v in indices.items()):
            return None
        found |= indices
    return found
