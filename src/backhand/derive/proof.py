"""Deciding whether two indexed expressions are the same, for every size or one."""

from itertools import permutations, product

import numpy as np
from sympy import (
    Add,
    Array,
    Dummy,
    Idx,
    Indexed,
    IndexedBase,
    Integer,
    KroneckerDelta,
    Matrix,
    Mul,
    Rational,
    Sum,
    Symbol,
    cancel,
    default_sort_key,
    ordered,
    prime,
    simplify,
    sympify,
)

from .kernel import Index, contract, fresh, index_range, is_sum, unfold


def explicit(expr, values, *free):
    """Write an indexed expression out at one size.

    Parameters
    ----------
    expr : Expr
    values : dict
        A number for each size, and integers for arrays that hold some, such as
        token ids: ``{n: 3}``, ``{T: 3, V: 4, token: [2, 0, 2]}``.
    *free : Index
        The indices left over: none for a scalar, one for a column, two for a
        matrix, more for an array.

    Raises
    ------
    ValueError
        If `values` has no number for a size that is needed.

    Examples
    --------
    >>> from sympy import Sum
    >>> from backhand.derive import difference, explicit, indexed, indices, size
    >>> n = size("n")
    >>> z, (j, k) = indexed("z"), indices("j k", n)
    >>> explicit(z[j] * Sum(z[k], k), {n: 2}, j)
    Matrix([
    [(z[0] + z[1])*z[0]],
    [(z[0] + z[1])*z[1]]])
    """
    sizes = {s: Integer(v) for s, v in values.items() if isinstance(s, Symbol)}
    entries = {
        base[at]: Integer(value)
        for base, array in values.items()
        if isinstance(base, IndexedBase)
        for at, value in np.ndenumerate(array)
    }
    written_out = sympify(expr).xreplace(sizes).replace(is_sum, _write_out)
    free = [index.xreplace(sizes) for index in free]
    ranges = [_positions(index.lower, index.upper) for index in free]
    cells = []
    for at in product(*ranges):
        cell = written_out.xreplace(dict(zip(free, at, strict=True)))
        cells.append(cell.xreplace(entries))
    if not free:
        return cells[0]
    shape = [len(r) for r in ranges]
    return Matrix(*(shape + [1])[:2], cells) if len(free) < 3 else Array(cells, shape)


def _write_out(expr):
    result, *limits = expr.args
    for k, low, high in limits:
        result = Add(*(result.xreplace({k: at}) for at in _positions(low, high)))
    return result


def _positions(low, high):
    if not (high - low).is_Integer:
        raise ValueError(f"values: {high + 1} needs a number")
    return [Integer(at) for at in range(low, high + 1)]


def difference(left, right, definitions=None):
    """left - right, simplified: 0 when the two are the same for every size.

    >>> from sympy import Sum
    >>> from backhand.derive import difference, explicit, indexed, indices, size
    >>> n = size("n")
    >>> x, (i, k) = indexed("x"), indices("i k", n)
    >>> difference(Sum(x[i] + 1, i), n + Sum(x[k], k))
    0
    """
    gap = unfold(sympify(left) - sympify(right), definitions or {})
    return reduced(_canonical(contract(gap)))


def reduced(expr):
    """0 if cancelling fractions or `simplify` can make it so, else what is left."""
    sums = {s: Dummy(real=True) for s in expr.atoms(Sum)}  # simplify trips over them
    left = expr.xreplace(sums)
    if _differs_from_zero(left):
        return expr
    left = cancel(left) and simplify(left)
    return left.xreplace({mark: s for s, mark in sums.items()})


def _differs_from_zero(expr):
    """Whether it is not 0 at one point, which spares a long search for a proof."""
    parts = expr.atoms(Indexed, KroneckerDelta, Idx, Symbol)
    at = {part: Rational(1, prime(m)) for m, part in enumerate(ordered(parts), 1)}
    value = expr.xreplace(at).evalf(maxn=15)  # of an exact 0 it would seek digits
    return value.is_number and abs(value) > 1e-9


def _canonical(expr):
    """One form for expressions that differ only in how their sums are written."""
    expr = contract(_expanded(expr)).replace(is_sum, _canonical_sum)
    return Add(*map(_merge_delta_indices, Add.make_args(_expanded(expr))))


def _expanded(expr):
    return expr.expand(power_base=False, power_exp=False, log=False)


def _canonical_sum(expr):
    """Pull inner sums into one with many limits, and name its indices by depth."""
    factors, limits = [], list(expr.limits)
    for factor in Mul.make_args(expr.function):
        if isinstance(factor, Sum):
            factor = factor.xreplace(fresh(factor.variables))
            limits += factor.limits
            factor = factor.function
        factors.append(factor)
    summand = Mul(*factors)
    depth = sum(len(s.limits) for s in summand.atoms(Sum))
    forms = []
    for order in permutations(limits):
        names = {
            k: Index(Symbol(f"_{depth + level}", integer=True), index_range(k))
            for level, (k, _, _) in enumerate(order)
        }
        forms.append(Sum(summand.xreplace(names), *(k.xreplace(names) for k in order)))
    return min(forms, key=default_sort_key)


def _merge_delta_indices(term):
    """Where δ(i, j) multiplies, j may be written i."""
    for delta in (f for f in Mul.make_args(term) if isinstance(f, KroneckerDelta)):
        keep, other = delta.args
        term = delta * (term / delta).xreplace({other: keep})
    return term
