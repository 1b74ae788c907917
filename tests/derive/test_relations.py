"""What follows from the claims, and the derivations without an op."""

from dataclasses import replace

import pytest
from sympy import (
    Integer,
    KroneckerDelta,
    Sum,
    cancel,
    expand,
    eye,
    limit,
    simplify,
    symbols,
    zeros,
)

from backhand.derive import contract, diff, difference, explicit, unfold
from backhand.derive import (
    attention,
    embedding,
    normalization,
    optimizers,
    rope,
    slopes,
    softmax,
)


def test_rows_and_columns_of_the_softmax_jacobian_sum_to_zero():
    m = softmax
    for index in (m.i, m.j):
        assert difference(Sum(m.JACOBIAN, index), 0, m.CLAIM.definitions) == 0


def test_the_softmax_jacobian_does_not_send_p_to_zero():
    m = softmax
    p, i, j, k = m.p, m.i, m.j, m.k
    image = Sum(m.JACOBIAN * p[j], j)
    expected = p[i] * (p[i] - Sum(p[k] ** 2, k))
    assert difference(image, expected, m.CLAIM.definitions) == 0
    assert difference(image, 0, m.CLAIM.definitions) != 0


def test_the_jacobians_of_softmax_and_rms_norm_are_what_sympy_derives():
    m = normalization
    for value, entry, jacobian, names in [
        (softmax.SOFTMAX, softmax.z[m.j], softmax.JACOBIAN, softmax.CLAIM.definitions),
        (m.xhat[m.i], m.x[m.j], m.RMS_JACOBIAN, m.RMS_NORM.definitions),
    ]:
        derived = contract(diff(unfold(value, names), entry))
        assert difference(derived, jacobian, names) == 0


def test_layer_norm_is_rms_norm_of_the_row_without_its_mean():
    m = normalization
    one_step, two_steps = m.LAYER_NORM.definitions, m.IN_TWO_STEPS.definitions
    normalised = [unfold(m.xhat[m.i], names) for names in (one_step, two_steps)]
    assert difference(*normalised) == 0
    centred = two_steps[m.c[m.j]].xreplace({m.j: m.i})
    assert contract(diff(centred, m.x[m.j])) == m.PROJECTION


def test_the_two_gradients_of_layer_norm_are_one():
    m = normalization
    by_steps = m.IN_TWO_STEPS
    names = {**by_steps.definitions, m.dc[m.j]: by_steps.gradients["c"]}
    in_steps = unfold(by_steps.gradients["x"], names)
    at_once = unfold(m.LAYER_NORM.gradients["x"], m.LAYER_NORM.definitions)
    assert difference(in_steps, at_once) == 0


def test_the_gradient_of_layer_norm_sums_to_zero():
    m = normalization.LAYER_NORM
    assert difference(Sum(m.gradients["x"], normalization.j), 0, m.definitions) == 0


def test_the_gradient_of_rms_norm_is_orthogonal_to_x_only_at_eps_0():
    m = normalization
    product = Sum(m.x[m.j] * m.RMS_NORM.gradients["x"], m.j)
    names = m.RMS_NORM.definitions
    at_zero = {name: value.subs(m.eps, 0) for name, value in names.items()}
    assert difference(product, 0, at_zero) == 0
    assert difference(product, 0, names) != 0


def test_attention_is_proved_in_one_piece_too():
    m = attention
    steps = {m.dP[m.t, m.s]: "P", m.dS[m.t, m.s]: "S"}
    inlined = {entry: m.CLAIM.gradients[name] for entry, name in steps.items()}
    whole = replace(
        m.CLAIM,
        gradients={name: m.CLAIM.gradients[name] for name in "qkv"},
        definitions={**m.CLAIM.definitions, **inlined},
    )
    assert whole.prove() == {"q": 0, "k": 0, "v": 0}


def test_a_masked_position_gets_no_gradient():
    m = attention
    gradient = unfold(m.CLAIM.gradients["S"], {m.P[m.t, m.s]: m.WEIGHT})
    assert gradient != 0
    assert gradient.xreplace({m.M[m.t, m.s]: Integer(0)}) == 0


def test_rope_turns_each_pair_by_its_angle():
    m = rope
    entry = m.CLAIM.definitions[m.R[m.t, m.m, m.a, m.b]]
    turn = explicit(entry.subs(m.phi[m.t, m.m], m.base), {}, m.a, m.b)
    assert turn == m.rotation(m.base)


def test_rotations_undo_each_other_and_leave_the_distance():
    here, there = symbols("alpha beta", real=True)
    turn = rope.rotation
    assert (turn(-here) * turn(here)).applyfunc(simplify) == eye(2)
    between = turn(here).T * turn(there) - turn(there - here)
    assert between.applyfunc(simplify) == zeros(2)


def test_a_tied_table_receives_a_gradient_from_both_ends():
    m = embedding
    a, d, e, t, token, v = m.a, m.d, m.e, m.t, m.token, m.v
    dz, c, u = m.dy, a.func("c", d), v.func("u", m.V)
    logit = Sum(e[token[t], c] * e[v, c], c)  # read in by token, read out by v
    derived = contract(diff(Sum(dz[t, v] * logit, t, v), e[u, a]))
    read_in = Sum(KroneckerDelta(u, token[t]) * Sum(dz[t, v] * e[v, a], v), t)
    read_out = Sum(dz[t, u] * e[token[t], a], t)
    assert difference(derived, read_in + read_out) == 0
    assert difference(derived, read_in) != 0
    assert difference(derived, read_out) != 0


x, h, n = symbols("x h n", integer=True, positive=True)


def test_the_slope_of_a_square_at_2_is_4_and_a_rest():
    assert slopes.difference_quotient(lambda u: u**2, 2, h) == 4 + h


@pytest.mark.parametrize("power", range(1, 6))
def test_the_binomial_terms_are_the_difference_quotient(power):
    parts = [part.subs(n, power).doit() for part in slopes.power_quotient(x, h, n)]
    quotient = slopes.difference_quotient(lambda u: u**power, x, h)
    assert expand(sum(parts) - quotient) == 0
    assert cancel(parts[1]).subs(h, 0) == 0


def test_the_power_rule_holds_for_every_power():
    first, _ = slopes.power_quotient(x, h, n)
    assert first == n * x ** (n - 1)
    step = symbols("h")
    assert simplify(limit(((x + step) ** n - x**n) / step, step, 0) - first) == 0


@pytest.mark.parametrize("steps", range(1, 5))
def test_a_running_mean_weighs_each_gradient_by_its_age(steps):
    m = optimizers
    mean = Integer(0)
    for step in range(1, steps + 1):
        mean = m.update(mean, m.g[step])
    assert expand(mean - m.UNROLLED.subs(m.t, steps).doit()) == 0
    constant = {m.g[step]: m.G for step in range(1, steps + 1)}
    assert expand(mean.xreplace(constant) - m.MEAN.subs(m.t, steps)) == 0
