"""Derivatives of sums over an index, for every size at once.

A softmax has no fixed number of entries, so its Jacobian is not a matrix of a
given size but a rule for entry (i, j). Four ideas are enough to find it:

1. an array is a name with indices, ``z[i]``, and an index carries its range, so
   ``Sum(exp(z[k]), k)`` runs over k = 0 ... n - 1;
2. the derivative of ``z[i]`` with respect to ``z[j]`` is a Kronecker delta (`diff`);
3. a delta inside a sum picks out one term (`contract`);
4. a name stands for its definition, and either can be written for the other
   (`fold`, `unfold`).

`explicit` writes a rule out at one size, where brute force can contradict it, and
`difference` decides whether two rules are the same.
"""

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
    Tuple,
    cancel,
    default_sort_key,
    ordered,
    prime,
    simplify,
    sympify,
)


class Index(Idx):
    """An index that knows its range and prints as its letter alone."""

    def _latex(self, printer):
        return printer._print(self.label)


def size(names):
    """Positive integers such as the n of an n-vector, named in one string.

    >>> n = size("n")
    >>> rows, columns = size("T d")
    """
    return _one_or_many(
        Symbol(name, integer=True, positive=True) for name in names.split()
    )


def indices(names, length):
    """Indices that run over 0 ... length - 1.

    >>> from sympy import Sum
    >>> n = size("n")
    >>> i, k = indices("i k", n)
    >>> Sum(indexed("x")[k], k)
    Sum(x[k], (k, 0, n - 1))
    """
    return _one_or_many(Index(name, length) for name in names.split())


def indexed(names, **assumptions):
    """Arrays whose entries are addressed by index: ``z, g = indexed("z g")``."""
    return _one_or_many(
        IndexedBase(name, **({"real": True} | assumptions)) for name in names.split()
    )


def diff(expr, entry):
    """Differentiate by one entry; each meeting of two indices leaves a delta.

    A sum over an index that `entry` uses too is another index with the same letter,
    which SymPy would confuse; it gets a prime.

    >>> from sympy import Sum
    >>> n = size("n")
    >>> z, (j, k) = indexed("z"), indices("j k", n)
    >>> diff(Sum(z[k] ** 2, k), z[j])
    Sum(2*KroneckerDelta(j, k)*z[k], (k, 0, n - 1))
    >>> contract(_)
    2*z[j]
    >>> diff(Sum(z[k] ** 2, k), z[k])
    Sum(2*KroneckerDelta(k, k')*z[k'], (k', 0, n - 1))
    """
    expr = sympify(expr)
    clash = _summed_indices(expr) & entry.atoms(Idx)
    primed = {k: Index(f"{k}'", _range(k)) for k in clash}
    return expr.xreplace(primed).diff(entry)


def contract(expr):
    """Let every delta pick its term out of the sum over its index.

    A sum of f(k) + c(k) δ(j, k) over k is the sum of f(k), plus c(j). What does not
    depend on k is moved in front of the sum. A delta is contracted only where its
    other index is sure to lie in the range of the sum: both have the same range, or
    it is an entry of an integer array, such as a token id.

    >>> from sympy import KroneckerDelta, Sum
    >>> n = size("n")
    >>> z, (i, j, k) = indexed("z"), indices("i j k", n)
    >>> contract(Sum(z[i] * z[k] * (KroneckerDelta(j, k) - z[j]), k))
    -z[i]*z[j]*Sum(z[k], (k, 0, n - 1)) + z[i]*z[j]
    """
    return sympify(expr).replace(_is_sum, _contract_sum)


def _is_sum(expr):
    return isinstance(expr, Sum)


def _contract_sum(expr):
    result, *limits = expr.args
    for limit in limits:  # SymPy lists the innermost sum first
        result = _contract_limit(result, *limit)
    return result


def _contract_limit(summand, k, low, high):
    picked = Integer(0)
    for delta in sorted(summand.atoms(KroneckerDelta), key=default_sort_key):
        other = _partner(delta, k, low, high)
        if other is None:
            continue
        mark = Dummy()
        marked = summand.xreplace({delta: mark})
        coefficient = marked.diff(mark)
        if not coefficient.has(mark):  # the delta enters linearly
            picked += coefficient.xreplace({k: other})
            summand = marked.xreplace({mark: Integer(0)})
    return picked + _sum_terms(summand, k, low, high)


def _partner(delta, k, low, high):
    """What a sum over k may put in place of k because of this delta, if anything."""
    if k not in delta.args:
        return None
    (other,) = [arg for arg in delta.args if arg != k] or [k]
    if isinstance(other, Idx):
        return other if (other.lower, other.upper) == (low, high) else None
    if isinstance(other, Integer):
        return other if (high - other).is_nonnegative and other >= low else None
    return other if isinstance(other, Indexed) and other.is_integer else None


def _sum_terms(summand, k, low, high):
    total = Integer(0)
    for term in Add.make_args(summand):
        constant, varying = term.as_independent(k, as_Add=False)
        inner = Sum(varying, (k, low, high)) if varying.has(k) else high - low + 1
        total += constant * inner
    return total


def unfold(expr, definitions):
    """Put the definition of each name in its place, whatever its indices are.

    `definitions` maps a name to an expression, ``{p[i]: exp(z[i]) / Sum(...)}``; a
    definition may use the names before it.
    """
    expr = sympify(expr)
    for name, definition in reversed(definitions.items()):
        if not isinstance(name, Indexed):
            definition = definition.xreplace(_fresh(_summed_indices(definition)))
            expr = expr.xreplace({name: definition})
            continue

        def written_out(entry, name=name, definition=definition):
            names = _fresh(_summed_indices(definition))
            names |= dict(zip(name.indices, entry.indices, strict=True))
            return definition.xreplace(names)

        base = name.base
        expr = expr.replace(
            lambda e, base=base: isinstance(e, Indexed) and e.base == base, written_out
        )
    return expr


def _fresh(names):
    """Replace each index by one that no other expression has."""
    return {k: Index(Dummy(str(k), integer=True), _range(k)) for k in names}


def _summed_indices(expr):
    return {k for s in expr.atoms(Sum) for k in s.variables}


def _range(index):
    return Tuple(index.lower, index.upper)


def fold(expr, definitions):
    """Write names for what they stand for, the reverse of `unfold`.

    ``exp(z[j]) / Sum(exp(z[k]), k)`` becomes ``p[j]``. The result is factored, and
    returned only if unfolding it gives `expr` back.

    >>> from sympy import Sum, exp
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


def _bases(product_):
    bases = [factor.as_base_exp()[0] for factor in Mul.make_args(product_)]
    return [base for base in bases if not base.is_number]


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

    Examples
    --------
    >>> from sympy import Sum
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
    written_out = (
        sympify(expr).xreplace(sizes).replace(_is_sum, _write_out)
    )
    free = [index.xreplace(sizes) for index in free]
    ranges = [range(index.lower, index.upper + 1) for index in free]
    cells = [
        written_out.xreplace(dict(zip(free, map(Integer, at), strict=True))).xreplace(
            entries
        )
        for at in product(*ranges)
    ]
    if not free:
        return cells[0]
    shape = [len(r) for r in ranges]
    return Matrix(*(shape + [1])[:2], cells) if len(free) < 3 else Array(cells, shape)


def _write_out(expr):
    result, *limits = expr.args
    for k, low, high in limits:
        result = Add(
            *(result.xreplace({k: Integer(at)}) for at in range(low, high + 1))
        )
    return result


def difference(left, right, definitions=None):
    """left - right, simplified: 0 when the two are the same for every size.

    >>> from sympy import Sum
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
    at = {part: Rational(prime(m), 7) for m, part in enumerate(ordered(parts), 1)}
    value = expr.xreplace(at).evalf()
    return value.is_number and abs(value) > 1e-6


def _canonical(expr):
    """One form for expressions that differ only in how their sums are written."""
    expr = contract(_expanded(expr)).replace(_is_sum, _canonical_sum)
    return Add(*map(_merge_delta_indices, Add.make_args(_expanded(expr))))


def _expanded(expr):
    return expr.expand(power_base=False, power_exp=False, log=False)


def _canonical_sum(expr):
    """Pull inner sums into one with many limits, and name its indices by depth."""
    factors, limits = [], list(expr.limits)
    for factor in Mul.make_args(expr.function):
        if isinstance(factor, Sum):
            factor = factor.xreplace(_fresh(factor.variables))
            limits += factor.limits
            factor = factor.function
        factors.append(factor)
    summand = Mul(*factors)
    depth = sum(len(s.limits) for s in summand.atoms(Sum))
    forms = []
    for order in permutations(limits):
        names = {
            k: Index(Symbol(f"_{depth + level}", integer=True), _range(k))
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


def _one_or_many(made):
    made = tuple(made)
    return made[0] if len(made) == 1 else made
