import tracemalloc

import numpy as np
import pytest

from backhand.ops import attention, tiled_attention

RNG = np.random.default_rng(0)
Q, K, V, DY = (RNG.normal(size=(2, 3, 7, n)) for n in (4, 4, 5, 5))
BOTH = pytest.mark.parametrize("op", [attention, tiled_attention])


@BOTH
def test_equal_keys_average_the_values_seen(op):
    y, _ = op.forward(Q, np.ones_like(K), V, causal=True)
    seen = np.arange(1, 8)[:, None]
    np.testing.assert_allclose(y, np.cumsum(V, axis=-2) / seen)


@BOTH
def test_the_first_causal_query_sees_one_value_and_learns_nothing(op):
    y, cache = op.forward(Q, K, V)
    dq, _, _ = op.backward(DY, cache)
    np.testing.assert_array_equal(y[..., 0, :], V[..., 0, :])
    np.testing.assert_array_equal(dq[..., 0, :], 0)


@BOTH
def test_a_masked_key_and_value_receive_exactly_zero(op):
    """Only the first two queries have a gradient, so only two keys may get one."""
    dy = DY.copy()
    dy[..., 2:, :] = 0
    _, cache = op.forward(Q, K, V)
    _, dk, dv = op.backward(dy, cache)
    for gradient in dk, dv:
        np.testing.assert_array_equal(gradient[..., 2:, :], 0)
        assert gradient[..., :2, :].all()


@BOTH
def test_later_positions_do_not_change_earlier_outputs(op):
    y, _ = op.forward(Q, K, V)
    shorter, _ = op.forward(Q[..., :3, :], K[..., :3, :], V[..., :3, :])
    np.testing.assert_allclose(y[..., :3, :], shorter)


@BOTH
def test_a_saturated_query_takes_one_value_and_passes_no_gradient_to_scores(op):
    y, cache = op.forward(1e6 * Q, K, V, causal=False)
    best = (Q @ K.swapaxes(-1, -2)).argmax(axis=-1)
    np.testing.assert_array_equal(y, np.take_along_axis(V, best[..., None], axis=-2))
    dq, dk, _ = op.backward(DY, cache)
    assert not dq.any() and not dk.any()


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("tile", [1, 2, 3, 7, 100])
def test_tiles_of_any_size_give_the_naive_result(tile, causal, dtype, tolerance):
    q, k, v, dy = (x.astype(dtype) for x in (Q, K, V, DY))
    y, cache = attention.forward(q, k, v, causal)
    tiled_y, tiled_cache = tiled_attention.forward(q, k, v, causal, tile)
    np.testing.assert_allclose(tiled_y, y, rtol=0, atol=10 * tolerance)
    for ours, theirs in zip(
        tiled_attention.backward(dy, tiled_cache), attention.backward(dy, cache)
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=10 * tolerance)


def test_a_causal_tile_compares_with_no_key_behind_its_last_query():
    _, cache = tiled_attention.forward(Q, K, V, causal=True, tile=3)
    weights = [p.shape[-2:] for *_, p in tiled_attention.tiles(cache)]
    assert weights == [(3, 3), (3, 6), (1, 7)]


def test_tiled_attention_never_holds_a_square_array():
    """Its extra memory doubles with T, where naive attention's quadruples."""
    square = 1024 * 1024 * 4

    def peak(op, T):
        q, k, v, dy = RNG.normal(size=(4, T, 8)).astype(np.float32)
        tracemalloc.start()
        _, cache = op.forward(q, k, v)
        op.backward(dy, cache)
        _, high = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return high

    assert peak(attention, 1024) > 2 * square
    assert peak(tiled_attention, 1024) < square
    assert peak(tiled_attention, 2048) < 2.2 * peak(tiled_attention, 1024)


@BOTH
@pytest.mark.parametrize(
    "arrays, message",
    [
        ((Q[0, 0, 0], K, V), r"q has shape \(4,\); it needs at least 2 axes"),
        ((Q, K[..., :3], V), r"k has shape \(2, 3, 7, 3\); it needs"),
        ((Q, K[0], V), r"k has shape \(3, 7, 4\)"),
        ((Q, K[:1], V), r"k has shape \(1, 3, 7, 4\)"),
        ((Q, K, V[..., :5, :]), r"v has shape \(2, 3, 5, 5\)"),
        ((Q, K, V[:, :1]), r"v has shape \(2, 1, 7, 5\)"),
        ((Q, K[..., :5, :], V[..., :5, :]), "k has shape .*; causal attention needs"),
    ],
)
def test_a_wrong_shape_is_refused_by_name(op, arrays, message):
    with pytest.raises(ValueError, match=message):
        op.forward(*arrays)


@pytest.mark.parametrize(
    "tile, error",
    [(0, ValueError), (-1, ValueError), (2.0, TypeError), (True, TypeError)],
)
def test_a_tile_that_is_not_a_positive_integer_is_refused(tile, error):
    with pytest.raises(error, match="tile is .*; it needs a positive integer"):
        tiled_attention.forward(Q, K, V, tile=tile)
