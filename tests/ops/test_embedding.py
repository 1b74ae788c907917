import numpy as np
import pytest

from backhand.ops import embedding

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(5, 3))


def test_a_token_that_stands_three_times_adds_up_three_gradients():
    tokens = np.array([[4, 1], [4, 4]])
    dy = RNG.normal(size=(2, 2, 3))
    _, cache = embedding.forward(tokens, TABLE)
    dtable = embedding.backward(dy, cache)
    np.testing.assert_allclose(dtable[4], dy[0, 0] + dy[1, 0] + dy[1, 1])
    np.testing.assert_array_equal(dtable[1], dy[0, 1])


def test_a_row_nobody_looked_up_gets_exactly_zero():
    _, cache = embedding.forward([1, 3], TABLE)
    dtable = embedding.backward(RNG.normal(size=(2, 3)), cache)
    np.testing.assert_array_equal(dtable[[0, 2, 4]], 0)


def test_changing_the_tokens_afterwards_does_not_change_the_gradient():
    tokens = np.array([0, 0])
    _, cache = embedding.forward(tokens, TABLE)
    tokens[:] = 4
    assert not embedding.backward(np.ones((2, 3)), cache)[4].any()


@pytest.mark.parametrize(
    "tokens, error, message",
    [
        ([0, 5], ValueError, "tokens holds 5; it needs ids from 0 to 4"),
        ([0, -1], ValueError, "tokens holds -1"),
        (np.array([0, 200], np.uint8), ValueError, "tokens holds 200"),
        ([True, False], TypeError, "tokens has dtype bool; it needs integers"),
        ([0.0, 1.0], TypeError, "tokens has dtype float64"),
        ([], ValueError, r"tokens has shape \(0,\)"),
    ],
)
def test_bad_tokens_are_refused_by_name(tokens, error, message):
    with pytest.raises(error, match=message):
        embedding.forward(tokens, TABLE)


def test_a_table_that_is_not_a_matrix_is_refused():
    with pytest.raises(ValueError, match=r"table has shape \(3,\); it needs"):
        embedding.forward([0], TABLE[0])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_the_vocabulary_may_be_larger_than_the_tokens_can_say(dtype):
    table = RNG.normal(size=(70_000, 2))
    tokens = np.array([3, 127], dtype)
    y, cache = embedding.forward(tokens, table)
    np.testing.assert_array_equal(y, table[[3, 127]])
    assert embedding.backward(np.ones((2, 2)), cache)[[3, 127]].all()
