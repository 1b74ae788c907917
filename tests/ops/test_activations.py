import numpy as np
import pytest

from backhand.ops import gelu, leaky_relu, relu, sigmoid, silu, tanh

X = np.random.default_rng(0).normal(size=(3, 4))
BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def slope(op, x, **options):
    """The derivative at x, an array."""
    _, cache = op.forward(x, **options)
    return op.backward(np.ones_like(x), cache)


def test_tanh_is_a_stretched_sigmoid():
    y, _ = tanh.forward(X)
    sigma, _ = sigmoid.forward(2 * X)
    np.testing.assert_allclose(y, 2 * sigma - 1, rtol=1e-13)
    np.testing.assert_allclose(slope(tanh, X), 4 * slope(sigmoid, 2 * X), rtol=1e-13)


@BOTH
@pytest.mark.parametrize("op", [sigmoid, tanh])
def test_saturated_units_have_no_slope_and_raise_no_warning(op, dtype):
    x = np.array([-np.inf, -1e30, -1e3, 1e3, 1e30, np.inf], dtype)
    y, _ = op.forward(x)
    assert set(y) <= {-1, 0, 1}
    np.testing.assert_array_equal(slope(op, x), 0)


@BOTH
@pytest.mark.parametrize("op", [silu, gelu])
def test_far_from_zero_a_smooth_gate_is_a_rectifier(op, dtype):
    """1e30 in float32 and 1e300 in float64 have a square that overflows."""
    huge = 1e30 if dtype == np.float32 else 1e300
    x = np.array([-huge, -1e3, 1e3, huge], dtype)
    y, _ = op.forward(x)
    np.testing.assert_array_equal(y, [0, 0, *x[2:]])
    np.testing.assert_array_equal(slope(op, x), [0, 0, 1, 1])


@pytest.mark.parametrize("op", [silu, gelu])
def test_a_gate_minus_its_mirror_image_is_the_identity(op):
    """x g(x) - (-x) g(-x) = x, because g(x) + g(-x) = 1."""
    y, _ = op.forward(X)
    mirrored, _ = op.forward(-X)
    np.testing.assert_allclose(y - mirrored, X, rtol=1e-13)


def test_the_bound_inside_gelu_changes_nothing():
    """At 10 the tanh has been exactly 1 for a while, in float64 too."""
    x = np.array([8.0, 9.9, 10.1, 12.0])
    y, _ = gelu.forward(np.concatenate([x, -x]))
    np.testing.assert_array_equal(y, np.concatenate([x, 0 * x]))


@BOTH
@pytest.mark.parametrize("op", [sigmoid, tanh, relu, leaky_relu, silu, gelu])
def test_nan_stays_in_its_entry(op, dtype):
    y, _ = op.forward(np.array([np.nan, 0.5], dtype))
    assert np.isnan(y[0]) and np.isfinite(y[1])


def test_relu_has_slope_zero_at_the_kink_and_leaky_relu_alpha():
    kink = np.array([0.0, -0.0])
    np.testing.assert_array_equal(slope(relu, kink), 0)
    np.testing.assert_array_equal(slope(leaky_relu, kink, alpha=0.25), 0.25)


def test_a_dead_unit_passes_nothing_back_not_even_infinity():
    _, cache = relu.forward([-1.0, 2.0])
    dx = relu.backward(np.array([np.inf, np.nan]), cache)
    np.testing.assert_array_equal(dx, [0, np.nan])


def test_leaky_relu_scales_value_and_gradient_below_zero_by_alpha():
    y, cache = leaky_relu.forward([-2.0, 3.0], alpha=0.25)
    np.testing.assert_array_equal(y, [-0.5, 3])
    np.testing.assert_array_equal(leaky_relu.backward([8.0, 8.0], cache), [2, 8])


def test_leaky_relu_runs_from_relu_to_the_identity():
    np.testing.assert_array_equal(leaky_relu.forward(X, alpha=0)[0], relu.forward(X)[0])
    np.testing.assert_array_equal(leaky_relu.forward(X, alpha=1)[0], X)


@pytest.mark.parametrize("alpha", [-0.01, 1.01, np.nan, np.inf])
def test_a_leaky_slope_outside_zero_to_one_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha is .*; it needs a number from 0 to 1"):
        leaky_relu.forward(X, alpha=alpha)


@pytest.mark.parametrize("alpha", ["0.1", None, True, np.array([0.1])])
def test_a_leaky_slope_that_is_no_number_is_refused(alpha):
    with pytest.raises(TypeError, match="alpha is"):
        leaky_relu.forward(X, alpha=alpha)


@pytest.mark.parametrize("op", [sigmoid, tanh, relu, leaky_relu, silu, gelu])
def test_a_scalar_goes_in_and_comes_out(op):
    y, cache = op.forward(0.3)
    dx = op.backward(1.0, cache)
    assert np.shape(y) == np.shape(dx) == ()
    np.testing.assert_array_equal(op.forward([0.3])[0], [y])
    np.testing.assert_array_equal(slope(op, np.array([0.3])), [dx])
