import numpy as np
import pytest

from backhand.ops import softmax

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(2, 3, 5))
EPS = np.finfo(float).eps  # what rounding may leave of a sum of five terms below 1
DY = RNG.normal(size=Z.shape)


def test_each_row_sums_to_one():
    p, _ = softmax.forward(100 * Z)
    np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=1e-14)
    assert (p >= 0).all()


def test_adding_a_constant_to_a_row_changes_nothing():
    p, _ = softmax.forward(Z)
    shifted, _ = softmax.forward(Z + 7)
    np.testing.assert_allclose(shifted, p, rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_past_the_range_of_exp_are_no_trouble(dtype):
    p, cache = softmax.forward(np.array([1e4, 1e4, -1e4, -np.inf], dtype))
    np.testing.assert_array_equal(p, [0.5, 0.5, 0, 0])
    dy = np.array([1, 2, 3, 4], dtype)
    np.testing.assert_array_equal(softmax.backward(dy, cache), [-0.25, 0.25, 0, 0])


def test_one_nan_spoils_its_own_row_only():
    p, _ = softmax.forward([[0.0, np.nan], [0.0, 0.0]])
    np.testing.assert_array_equal(p, [[np.nan, np.nan], [0.5, 0.5]])


def test_rows_and_columns_of_the_jacobian_sum_to_zero():
    jacobian = softmax.jacobian(Z)
    assert jacobian.shape == (2, 3, 5, 5)
    np.testing.assert_allclose(jacobian.sum(axis=-1), 0, atol=5 * EPS)
    np.testing.assert_allclose(jacobian.sum(axis=-2), 0, atol=5 * EPS)


def test_backward_is_the_transposed_jacobian_times_dy():
    _, cache = softmax.forward(Z)
    product = np.einsum("...ij,...i->...j", softmax.jacobian(Z), DY)
    np.testing.assert_allclose(softmax.backward(DY, cache), product, rtol=1e-13)


def test_a_constant_dy_gives_zero():
    _, cache = softmax.forward(Z)
    dz = softmax.backward(np.full(Z.shape, 3.7), cache)
    np.testing.assert_allclose(dz, 0, atol=5 * 3.7 * EPS)


def test_a_scalar_is_refused():
    with pytest.raises(ValueError, match=r"z has shape \(\); .*at least 1 axes"):
        softmax.forward(1.0)


def test_the_jacobian_keeps_float32():
    assert softmax.jacobian(Z.astype(np.float32)).dtype == np.float32
