import numpy as np
import pytest

from backhand.optim import SGD, Adam, Momentum

RNG = np.random.default_rng(0)
START = {"w": RNG.normal(size=(3, 4)), "b": RNG.normal(size=4)}
GRADS = {"w": RNG.normal(size=(3, 4)), "b": RNG.normal(size=4)}
EVERY = pytest.mark.parametrize("make", [SGD, Momentum, Adam])


def fresh(dtype=np.float64):
    return {name: value.astype(dtype) for name, value in START.items()}


def walk(optimiser, steps, gradient=lambda params: GRADS):
    params = fresh()
    for _ in range(steps):
        optimiser.step(params, gradient(params))
    return params


def assert_same(params, expected):
    for name in START:
        np.testing.assert_allclose(params[name], expected[name], rtol=1e-12)


# ------------------------------------------------------------------- closed forms


def test_sgd_on_a_quadratic_shrinks_by_one_minus_lr_a_step():
    """The gradient of w²/2 is w."""
    params = walk(SGD(lr=0.1), 5, gradient=dict)
    assert_same(params, {name: 0.9**5 * w for name, w in START.items()})


def test_momentum_with_a_constant_gradient_sums_a_geometric_series():
    """Σ over the steps of (1 - beta^t) / (1 - beta) gradients."""
    travelled = sum((1 - 0.8**t) / (1 - 0.8) for t in range(1, 6))
    params = walk(Momentum(lr=0.1, beta=0.8), 5)
    assert_same(params, {n: START[n] - 0.1 * travelled * GRADS[n] for n in START})


def test_momentum_without_memory_is_sgd():
    for name, w in walk(Momentum(lr=0.1, beta=0), 3).items():
        np.testing.assert_array_equal(w, walk(SGD(lr=0.1), 3)[name])


@pytest.mark.parametrize("steps", [1, 7])
def test_adam_with_a_constant_gradient_moves_lr_a_step_whatever_its_size(steps):
    """Corrected, m is the gradient and √v its size, from the first step on."""
    params = walk(Adam(lr=0.01, eps=1e-12), steps)
    expected = {n: START[n] - 0.01 * steps * np.sign(GRADS[n]) for n in START}
    for name in START:
        np.testing.assert_allclose(params[name], expected[name], rtol=1e-9)


def test_adam_is_the_recurrence_of_the_paper():
    """One entry at a time in plain Python, with a gradient that changes."""
    params = walk(Adam(0.1, 0.7, 0.8, 0.3), 6, gradient=dict)
    for name, start in START.items():
        for index, w in np.ndenumerate(start):
            m = v = 0.0
            for t in range(1, 7):
                m = 0.7 * m + 0.3 * w
                v = 0.8 * v + 0.2 * w**2
                w -= 0.1 * (m / (1 - 0.7**t)) / ((v / (1 - 0.8**t)) ** 0.5 + 0.3)
            np.testing.assert_allclose(params[name][index], w, rtol=1e-12)


def test_the_defaults_of_adam_are_those_of_the_paper():
    adam = Adam()
    assert (adam.lr, adam.beta1, adam.beta2, adam.eps) == (1e-3, 0.9, 0.999, 1e-8)


# ------------------------------------------------------------------------ manners


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_change_in_place_keep_their_dtype_and_leave_the_gradients_alone(
    make, dtype
):
    params = fresh(dtype)
    arrays = dict(params)
    grads = {name: g.astype(dtype) for name, g in GRADS.items()}
    optimiser = make(lr=np.float64(0.1))
    for _ in range(2):
        optimiser.step(params, grads)
    for name, w in params.items():
        assert w is arrays[name] and w.dtype == dtype
        assert not np.array_equal(w, START[name].astype(dtype))
        np.testing.assert_array_equal(grads[name], GRADS[name].astype(dtype))


@EVERY
def test_two_optimisers_share_no_state(make):
    walk(make(lr=0.1), 3)
    assert_same(walk(make(lr=0.1), 1), walk(make(lr=0.1), 1))


@EVERY
@pytest.mark.parametrize(
    "grads, error, message",
    [
        ({"w": GRADS["w"]}, ValueError, r"grads and params do not both have \['b'\]"),
        (GRADS | {"c": np.ones(1)}, ValueError, r"do not both have \['c'\]"),
        (GRADS | {"b": np.ones(1)}, ValueError, r"grads\['b'\] has shape \(1,\)"),
        (GRADS | {"b": np.ones(4, np.float32)}, TypeError, r"grads\['b'\] has dtype"),
        (GRADS | {"b": None}, TypeError, r"grads\['b'\] has dtype object"),
    ],
)
def test_gradients_that_do_not_match_are_refused_and_change_nothing(
    make, grads, error, message
):
    params = fresh()
    with pytest.raises(error, match=message):
        make(lr=0.1).step(params, grads)
    for name, w in params.items():
        np.testing.assert_array_equal(w, START[name])


@EVERY
def test_parameters_that_cannot_change_in_place_are_refused(make):
    with pytest.raises(TypeError, match=r"params\['w'\] is a list, not an array"):
        make(lr=0.1).step({"w": [1.0]}, {"w": np.ones(1)})


@pytest.mark.parametrize("make", [Momentum, Adam])
def test_names_and_shapes_stay_the_same_from_step_to_step(make):
    optimiser = make(lr=0.1)
    optimiser.step(fresh(), GRADS)
    with pytest.raises(ValueError, match=r"state and params do not both have \['b'\]"):
        optimiser.step({"w": START["w"].copy()}, {"w": GRADS["w"]})
    longer = {**fresh(), "b": np.ones(5)}
    with pytest.raises(ValueError, match=r"state\['b'\] has shape \(4,\)"):
        optimiser.step(longer, GRADS | {"b": np.ones(5)})


@EVERY
@pytest.mark.parametrize("lr", [0, -0.1, np.nan, np.inf])
def test_a_step_that_is_not_positive_is_refused(make, lr):
    with pytest.raises(ValueError, match="lr is .*; it needs a positive number"):
        make(lr=lr)


@pytest.mark.parametrize(
    "make, option, value, needed",
    [
        (Momentum, "beta", 1.0, "a number from 0 to below 1"),
        (Momentum, "beta", -0.1, "a number from 0 to below 1"),
        (Adam, "beta1", 1, "a number from 0 to below 1"),
        (Adam, "beta2", np.nan, "a number from 0 to below 1"),
        (Adam, "eps", 0, "a positive number"),
    ],
)
def test_a_wrong_option_is_refused_by_name(make, option, value, needed):
    with pytest.raises(ValueError, match=f"^{option} is .*; it needs {needed}$"):
        make(lr=0.1, **{option: value})


@EVERY
def test_a_step_that_is_no_number_is_refused(make):
    with pytest.raises(TypeError, match="lr is '0.1'"):
        make(lr="0.1")
