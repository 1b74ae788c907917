"""Derivatives of sums over an index, for every size at once.

A softmax has no fixed number of entries, so its Jacobian is not a matrix of a
given size but a rule for entry (i, j). A few ideas are enough to find it:

1. an array is a name with indices, ``z[i]``, and an index carries its range, so
   ``Sum(exp(z[k]), k)`` runs over k = 0 ... n - 1;
2. the derivative of ``z[i]`` with respect to ``z[j]`` is a Kronecker delta (`diff`);
3. a delta inside a sum picks out one term (`contract`);
4. a name stands for its definition, and each can be written for the other (`unfold`
   here, `fold` in `folding`).

`proof` decides whether two rules are the same, and writes one out at a given size.
"""

from functools import partial

from sympy import (
    Add,
    Dummy,
    Idx,
    Indexed,
    IndexedBase,
    Integer,
    KroneckerDelta,
    Sum,
    Symbol,
    Tuple,
    default_sort_key,
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
    return _primed(sympify(expr), entry.atoms(Idx)).diff(entry)


def _primed(expr, taken):
    """Prime each index that is summed over and also stands outside, in `taken`."""
    used = expr.atoms(Idx) | taken
    renamed = {}
    for k in summed_indices(expr) & taken:
        other = k
        while other in used:
            other = Index(f"{other}'", index_range(k))
        renamed[k] = other
    return _rename_summed(expr, renamed)


def _rename_summed(expr, names):
    """Rename indices within the sums over them, and there alone."""
    return expr.replace(
        lambda e: is_sum(e) and not names.keys().isdisjoint(e.variables),
        lambda e: e.xreplace(names),
    )


def summed_indices(expr):
    return {k for s in expr.atoms(Sum) for k in s.variables}


def is_sum(expr):
    return isinstance(expr, Sum)


def index_range(index):
    return Tuple(index.lower, index.upper)


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
    return sympify(expr).replace(is_sum, _contract_sum)


def _contract_sum(expr):
    result, *limits = expr.args
    for limit in limits:  # SymPy lists the innermost sum first
        result = _contract_limit(result, *limit)
    return result


def _contract_limit(summand, k, low, high):
    summand = _primed(summand, {k})
    picked = Integer(0)
    for delta in sorted(summand.atoms(KroneckerDelta), key=default_sort_key):
        other = _partner(delta, k, low, high)
        if other is None:
            continue
        mark = Dummy()
        marked = summand.xreplace({delta: mark})
        coefficient = marked.diff(mark)
        if not coefficient.has(mark):  # the delta enters linearly
            picked += _primed(coefficient, other.atoms(Idx)).xreplace({k: other})
            summand = marked.xreplace({mark: Integer(0)})
    return picked + _sum_terms(summand, k, low, high)


def _partner(delta, k, low, high):
    """What a sum over k may put in place of k because of this delta, if anything."""
    if k not in delta.args:
        return None
    (other,) = (arg for arg in delta.args if arg != k)
    if isinstance(other, Idx):
        return other if (other.lower, other.upper) == (low, high) else None
    if isinstance(other, Integer):
        return other if (high - other).is_nonnegative and other >= low else None
    an_id = isinstance(other, Indexed) and other.is_integer and not other.has(k)
    return other if an_id else None


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
        expr = expr.replace(
            partial(_is_entry, name), partial(_written_out, name, definition)
        )
    return expr


def _is_entry(name, expr):
    same = isinstance(expr, Indexed) and isinstance(name, Indexed)
    return expr.base == name.base if same else expr == name


def _written_out(name, definition, entry):
    definition = _rename_summed(definition, fresh(summed_indices(definition)))
    if isinstance(name, Indexed):
        indices = dict(zip(name.indices, entry.indices, strict=True))
        definition = definition.xreplace(indices)
    return definition


def fresh(names):
    """Replace each index by one that no other expression has."""
    return {k: Index(Dummy(str(k), integer=True), index_range(k)) for k in names}


def _one_or_many(made):
    made = tuple(made)
    return made[0] if len(made) == 1 else made
