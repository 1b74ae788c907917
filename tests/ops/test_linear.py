import numpy as np
import pytest

from backhand.ops import linear, unembedding

RNG = np.random.default_rng(0)
X, W, B = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(4, 5)), RNG.normal(size=5)
DY = RNG.normal(size=(2, 3, 5))


def test_the_numbers_worked_by_hand_for_y_equal_w_x():
    """dx = wᵀ dy = [3, 3]; here the weight is (in, out), so it goes in transposed."""
    w = np.array([[2.0, 0.0], [1.0, 3.0]])
    y, cache = linear.forward([1.0, 1.0], w.T)
    dx, dw = linear.backward(np.array([1.0, 1.0]), cache)
    np.testing.assert_array_equal(y, [2, 4])
    np.testing.assert_array_equal(dx, [3, 3])
    np.testing.assert_array_equal(dw, [[1, 1], [1, 1]])


def test_there_is_a_bias_gradient_only_where_there_is_a_bias():
    assert len(linear.backward(DY, linear.forward(X, W)[1])) == 2
    assert len(linear.backward(DY, linear.forward(X, W, B)[1])) == 3


def test_the_bias_gradient_sums_over_every_row():
    *_, db = linear.backward(DY, linear.forward(X, W, B)[1])
    np.testing.assert_allclose(db, DY.sum(axis=(0, 1)))


def test_unembedding_is_the_linear_layer_of_the_transposed_table():
    logits, cache = unembedding.forward(X, W.T.copy())
    y, linear_cache = linear.forward(X, W)
    dh, dtable = unembedding.backward(DY, cache)
    dx, dw = linear.backward(DY, linear_cache)
    np.testing.assert_allclose(logits, y)
    np.testing.assert_allclose(dh, dx)
    np.testing.assert_allclose(dtable, dw.T)


@pytest.mark.parametrize(
    "arrays, message",
    [
        ((1.0, W), r"x has shape \(\); it needs at least 1 axes"),
        ((X, W.T), r"w has shape \(5, 4\); it needs \(4, any\)"),
        ((X, W[None]), r"w has shape \(1, 4, 5\)"),
        ((X, W, B[:1]), r"b has shape \(1,\); it needs \(5,\)"),
        ((X, W, B[None]), r"b has shape \(1, 5\)"),
        (([[1.0, 2.0], [3.0]], W), "x is not an array"),
    ],
)
def test_a_wrong_shape_is_refused_by_name(arrays, message):
    with pytest.raises(ValueError, match=message):
        linear.forward(*arrays)


@pytest.mark.parametrize("wrong", ["two", None, 1j, [[1, 2, 3, 4]]])
def test_what_is_not_a_float_array_is_refused_by_name(wrong):
    with pytest.raises(TypeError, match="x has dtype"):
        linear.forward(wrong, W)


@pytest.mark.parametrize("table", [W, W[0], W.T[None]])
def test_a_table_of_another_width_is_refused(table):
    with pytest.raises(ValueError, match="table has shape"):
        unembedding.forward(X, table)


def test_a_scalar_is_nothing_to_unembed():
    with pytest.raises(ValueError, match=r"^h has shape \(\); it needs at least"):
        unembedding.forward(1.0, W.T)
