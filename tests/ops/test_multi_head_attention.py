import numpy as np
import pytest

from backhand.ops import attention, multi_head_attention

RNG = np.random.default_rng(0)
X, DY = RNG.normal(size=(2, 5, 6)), RNG.normal(size=(2, 5, 6))
W_Q, W_K, W_V, W_O = (RNG.normal(size=(6, 6)) for _ in range(4))
WEIGHTS = (W_Q, W_K, W_V, W_O)


def test_one_head_is_attention_between_projections():
    y, _ = multi_head_attention.forward(X, *WEIGHTS, heads=1)
    context, _ = attention.forward(X @ W_Q, X @ W_K, X @ W_V)
    np.testing.assert_allclose(y, context @ W_O)


def test_a_head_sees_its_own_columns_only():
    """Without the second head's rows of w_o, its columns of w_q get no gradient."""
    w_o = W_O.copy()
    w_o[3:] = 0
    _, cache = multi_head_attention.forward(X, W_Q, W_K, W_V, w_o, heads=2)
    _, *dws, _ = multi_head_attention.backward(DY, cache)
    for dw in dws:
        assert dw[:, :3].all() and not dw[:, 3:].any()


def test_without_a_mask_positions_may_be_shuffled_unless_rope_tells_them_apart():
    order = [3, 1, 4, 0, 2]
    for rope in False, True:
        options = {"heads": 3, "causal": False, "rope": rope}
        y, _ = multi_head_attention.forward(X, *WEIGHTS, **options)
        shuffled, _ = multi_head_attention.forward(X[:, order], *WEIGHTS, **options)
        assert np.allclose(shuffled, y[:, order]) is not rope


def test_the_layout_says_which_columns_of_a_head_turn_together():
    """0 with 2 and 1 with 3 in one layout is 0 with 1 and 2 with 3 in the other."""
    w_q, w_k = RNG.normal(size=(2, 6, 8))
    order = [0, 2, 1, 3, 4, 6, 5, 7]
    y, cache = multi_head_attention.forward(
        X, w_q, w_k, W_V, W_O, heads=2, rope=True, layout="half"
    )
    same, same_cache = multi_head_attention.forward(
        X, w_q[:, order], w_k[:, order], W_V, W_O, heads=2, rope=True
    )
    np.testing.assert_allclose(y, same)
    _, dw_q, dw_k, *_ = multi_head_attention.backward(DY, cache)
    _, same_dw_q, same_dw_k, *_ = multi_head_attention.backward(DY, same_cache)
    np.testing.assert_allclose(dw_q[:, order], same_dw_q)
    np.testing.assert_allclose(dw_k[:, order], same_dw_k)


def test_dx_is_the_sum_of_three_contributions():
    """Each weight set to zero where only its own path to x is cut, dx is linear."""
    _, cache = multi_head_attention.forward(X, *WEIGHTS, heads=2)
    dx, *_ = multi_head_attention.backward(DY, cache)
    parts = []
    for name in "q", "k", "v":
        cut = {
            other: getattr(cache, other)._replace(w=np.zeros_like(W_Q))
            for other in {"q", "k", "v"} - {name}
        }
        parts.append(multi_head_attention.backward(DY, cache._replace(**cut))[0])
    np.testing.assert_allclose(sum(parts), dx)


@pytest.mark.parametrize(
    "arrays, message",
    [
        ((X[0, 0], *WEIGHTS), r"x has shape \(6,\); it needs at least 2 axes"),
        ((X, W_Q[:4], W_K, W_V, W_O), r"w_q has shape \(4, 6\)"),
        ((X, W_Q, W_K[:, :4], W_V, W_O), r"w_k has shape \(6, 4\); it needs \(6, 6\)"),
        ((X, W_Q, W_K, W_V[:4], W_O), r"w_v has shape \(4, 6\)"),
        ((X, W_Q, W_K, W_V, W_O[:4]), r"w_o has shape \(4, 6\)"),
        ((X, W_Q, W_K, W_V[:, :5], W_O[:5]), "heads is 2; it must divide w_v's 5"),
        ((X, W_Q[:, :5], W_K[:, :5], W_V, W_O), "heads is 2; it must divide w_q's 5"),
    ],
)
def test_a_wrong_shape_is_refused_by_name(arrays, message):
    with pytest.raises(ValueError, match=message):
        multi_head_attention.forward(*arrays, heads=2)


@pytest.mark.parametrize(
    "heads, error",
    [(0, ValueError), (-2, ValueError), (2.0, TypeError), (True, TypeError)],
)
def test_a_head_count_that_is_not_a_positive_integer_is_refused(heads, error):
    with pytest.raises(error, match="heads is .*; it needs a positive integer"):
        multi_head_attention.forward(X, *WEIGHTS, heads=heads)


def test_rope_refuses_heads_of_odd_width():
    with pytest.raises(ValueError, match="w_q has shape .*; rope needs an even width"):
        multi_head_attention.forward(X, *WEIGHTS, heads=2, rope=True)
