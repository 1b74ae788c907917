import pytest
from sympy import Integer, KroneckerDelta, Matrix, Sum, Symbol, exp, simplify, zeros

from backhand.derive import (
    contract,
    diff,
    difference,
    explicit,
    fold,
    indexed,
    indices,
    latex,
    show,
    size,
    unfold,
)

n, m = size("n m")
i, j, k, l = indices("i j k l", n)
z, p, g, x = indexed("z p g x")
token = indexed("token", integer=True)
SOFTMAX = {p[i]: exp(z[i]) / Sum(exp(z[k]), k)}


def test_a_delta_picks_its_term_out_of_a_sum():
    assert contract(Sum(KroneckerDelta(j, k) * z[k] ** 2, k)) == z[j] ** 2


def test_a_term_without_the_delta_stays_in_the_sum():
    contracted = contract(Sum(z[k] * (KroneckerDelta(j, k) + g[k]), k))
    assert contracted == z[j] + Sum(z[k] * g[k], k)


def test_two_deltas_on_one_index_leave_one():
    pair = KroneckerDelta(i, k) * KroneckerDelta(j, k)
    assert contract(Sum(pair * z[k], k)) == KroneckerDelta(i, j) * z[i]


def test_nested_sums_are_contracted_from_the_inside_out():
    pair = KroneckerDelta(i, k) * KroneckerDelta(j, l)
    assert contract(Sum(pair * z[k] * g[l], k, l)) == z[i] * g[j]


def test_a_delta_of_a_shorter_range_is_left_alone():
    a = indices("a", m)
    kept = Sum(KroneckerDelta(a, k) * z[k], k)
    assert contract(kept) == kept


def test_a_number_outside_the_range_is_left_alone():
    kept = Sum(KroneckerDelta(Integer(5), k) * z[k], (k, 0, 3))
    assert contract(kept) == kept


def test_a_token_id_picks_its_row():
    assert contract(Sum(KroneckerDelta(k, token[0]) * z[k], k)) == z[token[0]]


def test_an_id_that_moves_with_the_index_is_left_alone():
    kept = Sum(KroneckerDelta(k, token[k]) * z[k], k)
    assert contract(kept) == kept


def test_what_the_index_does_not_reach_moves_out_of_the_sum():
    assert contract(Sum(g[j] * z[k] + g[j], k)) == g[j] * Sum(z[k], k) + n * g[j]


def test_differentiating_by_a_summed_letter_asks_about_the_other_index():
    total = Sum(z[k] ** 3, k)
    assert contract(diff(total, z[k])) == 3 * z[k] ** 2


def test_contracting_captures_no_index():
    # The inner sum is over another j than the one the delta puts in place of k.
    pairs = indexed("pairs")
    contracted = contract(Sum(KroneckerDelta(j, k) * Sum(pairs[k, j], j), k))
    assert difference(contracted, Sum(pairs[j, i], i)) == 0


def test_a_letter_summed_over_twice_is_two_indices():
    twice = Sum(KroneckerDelta(j, k) * z[k] * Sum(g[k], k), k)
    assert difference(contract(twice), z[j] * Sum(g[i], i)) == 0


def test_a_definition_may_sum_over_the_letter_it_is_stated_for():
    same_letter = {p[k]: exp(z[k]) / Sum(exp(z[k]), k)}
    assert difference(unfold(p[j], same_letter), p[j], SOFTMAX) == 0


def test_unfolding_inside_a_sum_captures_no_index():
    p_k = unfold(Sum(g[k] * p[k], k), SOFTMAX)
    at_two = explicit(p_k, {n: 2})
    total = exp(z[0]) + exp(z[1])
    expected = (g[0] * exp(z[0]) + g[1] * exp(z[1])) / total
    assert simplify(at_two - expected) == 0


def test_a_definition_may_use_the_one_before_it():
    square = indexed("s")
    definitions = {**SOFTMAX, square[i]: p[i] ** 2}
    unfolded = unfold(square[j], definitions)
    assert difference(unfolded, p[j] ** 2, SOFTMAX) == 0


def test_folding_is_refused_where_it_would_change_the_value():
    with pytest.raises(ValueError, match="cannot be written"):
        # The name claims to be a function of z[i] alone, the definition is not.
        fold(exp(z[j]), {p[i]: exp(z[i]) * Symbol("c"), Symbol("c"): z[0]})


@pytest.mark.parametrize("length", [2, 3, 4])
def test_the_indexed_jacobian_is_the_brute_force_one(length):
    softmax = SOFTMAX[p[i]]
    rule = explicit(contract(diff(softmax, z[j])), {n: length}, i, j)
    y, entries = (explicit(e, {n: length}, i) for e in (softmax, z[i]))
    assert (y.jacobian(entries) - rule).applyfunc(simplify) == zeros(length)


def test_explicit_gives_a_scalar_column_matrix_or_array():
    values = {n: 2}
    assert explicit(Sum(z[k], k), values) == z[0] + z[1]
    assert explicit(z[i], values, i) == Matrix([z[0], z[1]])
    assert explicit(z[i] * g[j], values, i, j)[0, 1] == z[0] * g[1]
    assert explicit(z[i] * g[j] * x[k], values, i, j, k)[0, 1, 1] == z[0] * g[1] * x[1]


def test_explicit_asks_for_a_size_it_needs():
    with pytest.raises(ValueError, match="n needs a number"):
        explicit(Sum(z[k], k), {m: 2})
    with pytest.raises(ValueError, match="n needs a number"):
        explicit(z[k], {m: 2}, k)


@pytest.mark.parametrize(
    "left, right",
    [
        (Sum(z[k] * g[k], k), Sum(z[i] * g[i], i)),
        (Sum(z[k] + g[k], k), Sum(z[k], k) + Sum(g[i], i)),
        (Sum(z[k] * p[k, l] * g[l], k, l), Sum(z[l] * p[l, k] * g[k], l, k)),
        (Sum(z[k] * p[k, l] * g[l], k, l), Sum(z[l] * p[l, k] * g[k], k, l)),
        (KroneckerDelta(i, j) * z[i], KroneckerDelta(i, j) * z[j]),
        (Sum(3 * z[j], k), 3 * n * z[j]),
    ],
)
def test_equal_expressions_have_no_difference(left, right):
    assert difference(left, right) == 0


@pytest.mark.parametrize(
    "left, right",
    [
        (Sum(z[k] * g[k], k), Sum(z[k] * g[j], k)),
        (Sum(z[k] * p[k, l] * g[l], k, l), Sum(z[k] * p[l, k] * g[l], k, l)),
        (KroneckerDelta(i, j) * z[i], KroneckerDelta(i, j) * z[k]),
        (Sum(z[k], k), Sum(z[k], (k, 0, m - 1))),
        (Sum(z[j], k), z[j]),
    ],
)
def test_different_expressions_have_a_difference(left, right):
    assert difference(left, right) != 0


def test_latex_reads_as_a_person_writes():
    dp = indexed("dp")
    vjp = p[j] * (dp[j] - Sum(dp[k] * p[k], k))
    assert latex(vjp) == (
        r"p_{j} \left(\nabla p_{j} - \sum_{k} \nabla p_{k} p_{k}\right)"
    )
    assert latex(-(p[j] - KroneckerDelta(i, j)) * p[i]) == (
        r"p_{i} \left(\delta_{i j} - p_{j}\right)"
    )
    assert latex(z[j] * Sum(z[k], k) / n) == r"\frac{z_{j}}{n} \sum_{k} z_{k}"
    assert latex(Sum(z[k], (k, 0, 2))) == r"\sum_{k=0}^{2} z_{k}"
    assert latex(token[i]) == r"\mathrm{token}_{i}"
    assert latex(KroneckerDelta(k, token[i])) == r"\delta_{k,\mathrm{token}_{i}}"
    primed = diff(Sum(z[k] ** 2, k), z[k])
    assert latex(primed) == r"\sum_{k'} 2 z_{k'} \delta_{k k'}"


def test_an_equation_shows_every_side():
    equation = show(p[i], z[i], 2 * z[i] / 2)
    assert repr(equation) == "p[i] = z[i] = z[i]"
    assert equation._repr_latex_() == r"$\displaystyle p_{i} = z_{i} = z_{i}$"
