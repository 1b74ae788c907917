import numpy as np
import pytest

from backhand.ops import layer_norm, rms_norm

RNG = np.random.default_rng(0)
X, DY = RNG.normal(size=(2, 3, 8)), RNG.normal(size=(2, 3, 8))
GAIN, BIAS = RNG.normal(size=8), RNG.normal(size=8)
ARRAYS = {layer_norm: (GAIN, BIAS), rms_norm: (GAIN,)}
BOTH = pytest.mark.parametrize("op", ARRAYS)


def test_layer_norm_leaves_mean_zero_and_variance_one():
    y, _ = layer_norm.forward(5 + 3 * X, np.ones(8), np.zeros(8), eps=1e-12)
    # The mean of eight values of up to 14 is off by some of their last places.
    rounding = 8 * np.spacing(14.0)
    np.testing.assert_allclose(y.mean(axis=-1), 0, atol=rounding)
    np.testing.assert_allclose(y.var(axis=-1), 1)


def test_rms_norm_leaves_a_mean_square_of_one():
    y, _ = rms_norm.forward(5 + 3 * X, np.ones(8), eps=1e-12)
    np.testing.assert_allclose((y * y).mean(axis=-1), 1)


def test_dx_of_layer_norm_sums_to_zero_in_each_row():
    _, cache = layer_norm.forward(X, GAIN, BIAS)
    dx, _, _ = layer_norm.backward(DY, cache)
    np.testing.assert_allclose(dx.sum(axis=-1), 0, atol=1e-14)


def test_dx_of_rms_norm_is_orthogonal_to_x():
    """Scaling a row changes nothing, but for eps."""
    _, cache = rms_norm.forward(X, GAIN, eps=1e-30)
    dx, _ = rms_norm.backward(DY, cache)
    np.testing.assert_allclose((X * dx).sum(axis=-1), 0, atol=1e-14)


def test_layer_norm_is_rms_norm_of_what_is_orthogonal_to_ones():
    centred = X - X.mean(axis=-1, keepdims=True)
    y, cache = layer_norm.forward(X, GAIN, BIAS)
    z, rms_cache = rms_norm.forward(centred, GAIN)
    np.testing.assert_allclose(y, z + BIAS)

    dx, dgain, dbias = layer_norm.backward(DY, cache)
    dcentred, dgain_rms = rms_norm.backward(DY, rms_cache)
    np.testing.assert_allclose(dx, dcentred - dcentred.mean(axis=-1, keepdims=True))
    np.testing.assert_allclose(dgain, dgain_rms)
    np.testing.assert_allclose(dbias, DY.sum(axis=(0, 1)))


@BOTH
def test_a_single_row_needs_no_leading_axis(op):
    y, cache = op.forward(X[0, 0], *ARRAYS[op])
    np.testing.assert_allclose(y, op.forward(X, *ARRAYS[op])[0][0, 0])
    assert {d.shape for d in op.backward(DY[0, 0], cache)} == {(8,)}


@BOTH
def test_nan_stays_in_its_row(op):
    x = X.copy()
    x[0, 1, 2] = np.nan
    y, cache = op.forward(x, *ARRAYS[op])
    dx = op.backward(DY, cache)[0]
    for array in y, dx:
        assert np.isnan(array[0, 1]).all() and np.isnan(array).sum() == 8


@BOTH
def test_a_row_of_zeros_is_kept_finite_by_eps(op):
    y, cache = op.forward(np.zeros(8), *ARRAYS[op], eps=1e-8)
    np.testing.assert_array_equal(y, BIAS if op is layer_norm else 0)
    assert np.isfinite(op.backward(DY[0, 0], cache)[0]).all()


@BOTH
@pytest.mark.parametrize("eps", [0, -1e-5, np.nan, np.inf])
def test_an_eps_that_is_not_positive_is_refused(op, eps):
    with pytest.raises(ValueError, match="eps is .*; it needs a positive number"):
        op.forward(X, *ARRAYS[op], eps=eps)


@BOTH
@pytest.mark.parametrize("eps", ["1e-5", None, True])
def test_an_eps_that_is_no_number_is_refused(op, eps):
    with pytest.raises(TypeError, match="eps is"):
        op.forward(X, *ARRAYS[op], eps=eps)


@BOTH
@pytest.mark.parametrize("shape", [(1,), (), (9,), (1, 8), (2, 3, 8)])
def test_a_gain_or_bias_of_another_shape_is_refused_by_name(op, shape):
    for i, name in enumerate(["gain", "bias"][: len(ARRAYS[op])]):
        arrays = list(ARRAYS[op])
        arrays[i] = np.ones(shape)
        with pytest.raises(ValueError, match=rf"{name} has shape .*; it needs \(8,\)"):
            op.forward(X, *arrays)


@BOTH
def test_a_scalar_is_refused(op):
    with pytest.raises(ValueError, match="x has shape"):
        op.forward(1.0, *ARRAYS[op])
