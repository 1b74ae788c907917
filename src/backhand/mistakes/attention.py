"""Mistakes in attention: plain, tiled, in many heads, and in RoPE."""

import math
import tracemalloc
from dataclasses import dataclass

import numpy as np

from ..ops import (
    attention,
    linear,
    multi_head_attention,
    rope,
    softmax,
    tiled_attention,
)
from ..ops.attention import transpose
from ..ops.multi_head_attention import merge, split
from .design import Design, normal
from .mistake import WrongPass, hyphenated, wrong_backward, wrong_forward

T, D = 4, 3


def queries_keys_values(positions=T, width=D):
    return normal((positions, width), (positions, width), (positions, width + 1))


def equal_values(rng):
    q, k, v = queries_keys_values()(rng)
    return q, k, np.ones_like(v)


def queries_equal_to_keys(rng):
    q, _, v = queries_keys_values()(rng)
    return q, q, v


def scores_of_zero(rng):
    q, k, v = queries_keys_values()(rng)
    return 0 * q, 0 * k, v


def across_the_output(y):
    """A dy at right angles to each row of y, so that Σ p dp is zero."""
    dy = np.random.default_rng(1).normal(size=y.shape)
    along = np.sum(dy * y, axis=-1, keepdims=True) / np.sum(y * y, -1, keepdims=True)
    return dy - along * y


CAUSAL = Design("causal, widths of their own", queries_keys_values())
UNMASKED = Design("no mask", queries_keys_values(), options={"causal": False})
ONE_POSITION = Design("one position", queries_keys_values(positions=1))
WIDTH_ONE = Design("heads of width one", queries_keys_values(width=1))
EQUAL_VALUES = Design("equal values", equal_values)


@wrong_backward(
    attention,
    "constant_factor",
    symptom="Queries and keys learn √d times too fast, values at their own pace.",
    shown_by=CAUSAL,
    hidden_by=[WIDTH_ONE, ONE_POSITION, EQUAL_VALUES],
)
def scale_left_out(dy, cache):
    q, k, v, p = cache
    ds = softmax.backward(dy @ transpose(v), softmax.Cache(p))  # / √d
    return ds @ k, transpose(ds) @ q, transpose(p) @ dy


@wrong_backward(
    attention,
    "constant_factor",
    symptom="Queries learn √d times too slowly; keys and values are right.",
    shown_by=CAUSAL,
    hidden_by=[WIDTH_ONE, ONE_POSITION, EQUAL_VALUES],
)
def scale_twice_for_queries(dy, cache):
    dq, dk, dv = attention.backward(dy, cache)
    return dq / math.sqrt(cache.q.shape[-1]), dk, dv  # the scores' gradient has it


@wrong_backward(
    attention,
    "missing_mask",
    symptom="Later positions get gradients from earlier ones, which never saw them.",
    shown_by=CAUSAL,
    hidden_by=[UNMASKED, ONE_POSITION],
)
def mask_missing(dy, cache):
    q, k, v, _ = cache
    p = attention.weights(q, k, first=None)  # computed again, without the mask
    return attention.backward(dy, cache._replace(p=p))


@wrong_backward(
    attention,
    "missing_mask",
    symptom="Masked scores get no gradient, as they should, yet they took part in the "
    "sum that every other score's gradient holds.",
    shown_by=CAUSAL,
    hidden_by=[UNMASKED, ONE_POSITION],
    obscured=True,
)
def zeroed_too_late(dy, cache):
    q, k, v, p = cache
    p_all = attention.weights(q, k, first=None)  # computed again, without the mask
    ds = softmax.backward(dy @ transpose(v), softmax.Cache(p_all))
    ds = np.where(p == 0, 0, ds) / math.sqrt(q.shape[-1])  # too late: Σ p dp is done
    return ds @ k, transpose(ds) @ q, transpose(p) @ dy


@wrong_backward(
    attention,
    "dropped_coupling",
    symptom="Scores are all pushed one way: a row of their gradient no longer sums to "
    "zero.",
    shown_by=CAUSAL,
    hidden_by=[
        Design("dy at right angles to the output", CAUSAL.build, dy=across_the_output)
    ],
    obscured=True,
)
def coupling_of_the_softmax_left_out(dy, cache):
    q, k, v, p = cache
    ds = p * (dy @ transpose(v)) / math.sqrt(q.shape[-1])  # dp - Σ p dp
    return ds @ k, transpose(ds) @ q, transpose(p) @ dy


@wrong_backward(
    attention,
    "transpose",
    symptom="Keys learn from the queries they were looked at by, mirrored in time.",
    shown_by=CAUSAL,
    hidden_by=[ONE_POSITION, EQUAL_VALUES],
    obscured=True,
)
def ds_not_transposed_for_keys(dy, cache):
    q, k, v, p = cache
    dp = dy @ transpose(v)
    ds = softmax.backward(dp, softmax.Cache(p)) / math.sqrt(q.shape[-1])
    return ds @ k, ds @ q, transpose(p) @ dy  # dsᵀ q


@wrong_backward(
    attention,
    "transpose",
    symptom="Values are credited for what they read instead of for who read them.",
    shown_by=CAUSAL,
    hidden_by=[
        ONE_POSITION,
        Design("scores of zero and no mask", scores_of_zero, options={"causal": False}),
    ],
)
def p_not_transposed_for_values(dy, cache):
    dq, dk, _ = attention.backward(dy, cache)
    return dq, dk, cache.p @ dy  # pᵀ dy


@wrong_backward(
    attention,
    "wrong_operand",
    symptom="Queries are moved towards queries and keys towards keys.",
    shown_by=CAUSAL,
    hidden_by=[Design("queries equal to keys", queries_equal_to_keys), ONE_POSITION],
)
def queries_and_keys_exchanged(dy, cache):
    q, k, v, p = cache
    dp = dy @ transpose(v)
    ds = softmax.backward(dp, softmax.Cache(p)) / math.sqrt(q.shape[-1])
    return ds @ q, transpose(ds) @ k, transpose(p) @ dy  # ds @ k, dsᵀ @ q


@wrong_backward(
    attention,
    "not_accumulated",
    symptom="Keys and values hear the last query only.",
    shown_by=CAUSAL,
    hidden_by=[ONE_POSITION],
)
def last_query_overwrites(dy, cache):
    q, k, v, p = cache
    dq, dk, dv = (np.zeros_like(x) for x in (q, k, v))
    for t in range(q.shape[-2]):
        row = slice(t, t + 1)
        one = attention.Cache(q[..., row, :], k, v, p[..., row, :])
        dq[..., row, :], dk, dv = attention.backward(
            dy[..., row, :], one
        )  # dk += dv +=
    return dq, dk, dv


@wrong_forward(
    attention,
    "missing_mask",
    symptom="The loss is wonderful and the text is not: each position sees the next, "
    "which is its target.",
    shown_by=CAUSAL,
    hidden_by=[UNMASKED, ONE_POSITION],
    obscured=True,
)
def mask_one_too_far(q, k, v, causal=True):
    p = attention.weights(q, k, first=1 if causal else None)  # first=0
    return p @ v, attention.Cache(q, k, v, p)


@wrong_forward(
    attention,
    "missing_mask",
    symptom="Later positions still take their share: the mask writes a score of 0, and "
    "exp(0) is 1.",
    shown_by=CAUSAL,
    hidden_by=[UNMASKED, ONE_POSITION],
)
def masked_with_zero(q, k, v, causal=True):
    s = q @ transpose(k) / math.sqrt(q.shape[-1])
    s = np.tril(s) if causal else s  # -inf above the diagonal
    p, _ = softmax.forward(s)
    return p @ v, attention.Cache(q, k, v, p)


@wrong_forward(
    attention,
    "missing_mask",
    symptom="Early positions whisper: their weights no longer sum to one.",
    shown_by=CAUSAL,
    hidden_by=[UNMASKED, ONE_POSITION],
    obscured=True,
)
def masked_after_the_softmax(q, k, v, causal=True):
    p = attention.weights(q, k, first=None)
    p = np.tril(p) if causal else p  # mask the scores, before they are normalised
    return p @ v, attention.Cache(q, k, v, p)


@wrong_forward(
    attention,
    "nonfinite",
    symptom="nan from the first step: the first position may see nothing, and 0/0 "
    "spreads from its row to all parameters.",
    shown_by=CAUSAL,
    hidden_by=[UNMASKED],
)
def own_position_masked(q, k, v, causal=True):
    p = attention.weights(q, k, first=-1 if causal else None)  # first=0
    return p @ v, attention.Cache(q, k, v, p)


@wrong_forward(
    attention,
    "constant_factor",
    symptom="Scores grow with the width of a head and saturate the softmax: queries "
    "and keys stop learning.",
    shown_by=CAUSAL,
    hidden_by=[WIDTH_ONE, ONE_POSITION],
)
def scores_not_scaled(q, k, v, causal=True):
    q_unscaled = q * math.sqrt(q.shape[-1])  # q kᵀ, not q kᵀ / √d
    p = attention.weights(q_unscaled, k, first=0 if causal else None)
    return p @ v, attention.Cache(q, k, v, p)


TILED = {"tile": 2}
TWO_TILES = Design("two tiles", queries_keys_values(), options=TILED)
ONE_TILE = Design("one tile", queries_keys_values(), options={"tile": T})
SHORT_TILE = Design("a short last tile", queries_keys_values(5), options=TILED)


@wrong_backward(
    tiled_attention,
    "not_accumulated",
    symptom="Right in every small test; in long windows the keys and values hear the "
    "last tile only.",
    shown_by=TWO_TILES,
    hidden_by=[ONE_TILE],
)
def last_tile_overwrites(dy, cache):
    q, k, v, *_ = cache
    dq, dk, dv = (np.zeros_like(x) for x in (q, k, v))
    for queries, keys, p in tiled_attention.tiles(cache):
        tile = attention.Cache(q[..., queries, :], k[..., keys, :], v[..., keys, :], p)
        dq[..., queries, :], dk[..., keys, :], dv[..., keys, :] = attention.backward(
            dy[..., queries, :], tile
        )  # dk += and dv +=
    return dq, dk, dv


@wrong_backward(
    tiled_attention,
    "wrong_operand",
    symptom="Right in every small test; from the second tile on, most keys get no "
    "gradient.",
    shown_by=TWO_TILES,
    hidden_by=[
        ONE_TILE,
        Design("no mask", TWO_TILES.build, options=TILED | {"causal": False}),
    ],
)
def mask_counted_from_the_tile(dy, cache):
    q, k, v, causal, _ = cache
    dq, dk, dv = (np.zeros_like(x) for x in (q, k, v))
    for queries, keys, _ in tiled_attention.tiles(cache):
        q_tile, k_tile, v_tile = q[..., queries, :], k[..., keys, :], v[..., keys, :]
        p = attention.weights(q_tile, k_tile, first=0 if causal else None)
        # first=queries.start: where the tile stands in the window
        tile = attention.Cache(q_tile, k_tile, v_tile, p)
        dq_tile, dk_tile, dv_tile = attention.backward(dy[..., queries, :], tile)
        dq[..., queries, :] = dq_tile
        dk[..., keys, :] += dk_tile
        dv[..., keys, :] += dv_tile
    return dq, dk, dv


@wrong_backward(
    tiled_attention,
    "dropped_path",
    symptom="The last few positions of a window that no tile fills get no gradient.",
    shown_by=SHORT_TILE,
    hidden_by=[TWO_TILES],
)
def short_tile_skipped(dy, cache):
    q, k, v, *_ = cache
    dq, dk, dv = (np.zeros_like(x) for x in (q, k, v))
    for queries, keys, p in tiled_attention.tiles(cache):
        if queries.stop > q.shape[-2]:
            break  # range(0, T - T % tile, tile): T rounded down instead of up
        tile = attention.Cache(q[..., queries, :], k[..., keys, :], v[..., keys, :], p)
        dq_tile, dk_tile, dv_tile = attention.backward(dy[..., queries, :], tile)
        dq[..., queries, :] = dq_tile
        dk[..., keys, :] += dk_tile
        dv[..., keys, :] += dv_tile
    return dq, dk, dv


@wrong_forward(
    tiled_attention,
    "wrong_formula",
    symptom="Right in every small test; with more tiles of keys, weights are too small "
    "wherever a later tile raised the maximum.",
    shown_by=TWO_TILES,
    hidden_by=[ONE_TILE],
)
def running_sum_not_rescaled(q, k, v, causal=True, tile=128):
    s = q @ transpose(k) / math.sqrt(q.shape[-1])
    if causal:
        s = np.where(np.tri(q.shape[-2], dtype=bool), s, -np.inf)
    maximum = np.full(q.shape[:-1] + (1,), -np.inf, q.dtype)
    total, y = 0.0, 0.0
    for start in range(0, k.shape[-2], tile):
        part = s[..., start : start + tile]
        maximum = np.maximum(maximum, part.max(axis=-1, keepdims=True))
        e = np.exp(part - maximum)
        total = total + e.sum(axis=-1, keepdims=True)  # total * exp(old - new) + ...
        y = y + e @ v[..., start : start + tile, :]  # and y too
    return y / total, tiled_attention.Cache(q, k, v, causal, tile)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WrongCost(WrongPass):
    """Right values and right gradients, at a price: only a look at memory tells."""

    checked_by = "memory"

    def is_caught(self):
        """Whether twice the window needs four times the memory, not twice."""
        return growth(self) > 3 > growth(self.right)


def growth(op):
    """How many times as much memory both passes need for a window twice as long."""
    return peak(op, positions=512) / peak(op, positions=256)


def peak(op, positions):
    arrays = queries_keys_values(positions)(np.random.default_rng(0))
    tracemalloc.start()
    try:
        y, cache = op.forward(*arrays, tile=32)
        op.backward(y, cache)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def whole_matrix_held(q, k, v, causal=True, tile=128):
    return attention.forward(q, k, v, causal)  # all T x T weights, and they are kept


MATRIX_HELD = WrongCost(
    name=hyphenated(whole_matrix_held.__name__),
    op=tiled_attention,
    kind="quadratic_memory",
    symptom="Right in every respect, until a window twice as long needs four times the "
    "memory and the machine has none left.",
    right=tiled_attention,
    forward=whole_matrix_held,
    backward=attention.backward,
    shown_by=TWO_TILES,
    hidden_by=[TWO_TILES, ONE_TILE],
)


def projections(positions=T):
    """Return a `Design.build` of x and four weights, for one head, two or four."""
    return normal((positions, 5), (5, 4), (5, 4), (5, 4), (4, 3))


TWO_HEADS = Design("two heads", projections(), options={"heads": 2})
ONE_HEAD = Design("one head", projections(), options={"heads": 1})
ROTATED = Design(
    "two heads and RoPE", projections(), options={"heads": 2, "rope": True}
)


@wrong_backward(
    multi_head_attention,
    "not_accumulated",
    symptom="All weights are right, so the layer trains; what lies before it hears of "
    "the values only.",
    shown_by=TWO_HEADS,
    hidden_by=[
        Design("one position", projections(1), options={"heads": 2}),
        Design(
            "a look at the weights only",
            TWO_HEADS.build,
            options=TWO_HEADS.options,
            looks_at=(1, 2, 3, 4),
        ),
    ],
    obscured=True,
)
def last_path_overwrites(dy, cache):
    dcontext, dw_o = linear.backward(dy, cache.o)
    heads = cache.attention.q.shape[-3]
    dq, dk, dv = attention.backward(split(dcontext, heads), cache.attention)
    dx, dw_q = linear.backward(merge(dq), cache.q)
    dx, dw_k = linear.backward(merge(dk), cache.k)  # dx +=
    dx, dw_v = linear.backward(merge(dv), cache.v)  # dx +=
    return dx, dw_q, dw_k, dw_v, dw_o


@wrong_backward(
    multi_head_attention,
    "wrong_axis",
    symptom="No error, as the sizes fit: features of one position are dealt out to "
    "others.",
    shown_by=TWO_HEADS,
    hidden_by=[ONE_HEAD],
)
def heads_merged_without_the_swap(dy, cache):
    def merged(x):
        return x.reshape(dy.shape[:-1] + (-1,))  # x.swapaxes(-2, -3) first

    dcontext, dw_o = linear.backward(dy, cache.o)
    heads = cache.attention.q.shape[-3]
    dq, dk, dv = attention.backward(split(dcontext, heads), cache.attention)
    dx_q, dw_q = linear.backward(merged(dq), cache.q)
    dx_k, dw_k = linear.backward(merged(dk), cache.k)
    dx_v, dw_v = linear.backward(merged(dv), cache.v)
    return dx_q + dx_k + dx_v, dw_q, dw_k, dw_v, dw_o


@wrong_backward(
    multi_head_attention,
    "constant_factor",
    symptom="Queries and keys learn too slowly by the root of the number of heads.",
    shown_by=TWO_HEADS,
    hidden_by=[ONE_HEAD],
)
def scaled_by_the_width_of_the_model(dy, cache):
    dcontext, dw_o = linear.backward(dy, cache.o)
    *_, heads, _, d = cache.attention.q.shape
    dq, dk, dv = attention.backward(split(dcontext, heads), cache.attention)
    too_small = math.sqrt(d / (heads * d))  # 1/√(heads · d) where 1/√d belongs
    dx_q, dw_q = linear.backward(merge(dq * too_small), cache.q)
    dx_k, dw_k = linear.backward(merge(dk * too_small), cache.k)
    dx_v, dw_v = linear.backward(merge(dv), cache.v)
    return dx_q + dx_k + dx_v, dw_q, dw_k, dw_v, dw_o


@wrong_backward(
    multi_head_attention,
    "wrong_formula",
    symptom="Right at position 0, worse the further to the right: queries and keys "
    "learn in turned axes.",
    shown_by=ROTATED,
    hidden_by=[
        TWO_HEADS,
        Design("one position", projections(1), options=ROTATED.options),
    ],
)
def not_turned_back(dy, cache):
    dcontext, dw_o = linear.backward(dy, cache.o)
    heads = cache.attention.q.shape[-3]
    dq, dk, dv = attention.backward(split(dcontext, heads), cache.attention)
    dx_q, dw_q = linear.backward(merge(dq), cache.q)  # rope.backward(dq, cache.rope)
    dx_k, dw_k = linear.backward(merge(dk), cache.k)  # rope.backward(dk, cache.rope)
    dx_v, dw_v = linear.backward(merge(dv), cache.v)
    return dx_q + dx_k + dx_v, dw_q, dw_k, dw_v, dw_o


@wrong_backward(
    multi_head_attention,
    "wrong_operand",
    symptom="An error about shapes, or none where the heads are as wide as the model: "
    "the output weight learns from the layer's input.",
    shown_by=Design(
        "equal widths",
        normal((T, 4), (4, 4), (4, 4), (4, 4), (4, 4)),
        options={"heads": 2},
    ),
    hidden_by=[
        Design(
            "one position and values passed through",
            lambda rng: (
                *normal((1, 4), (4, 4), (4, 4))(rng),
                np.eye(4),
                rng.normal(size=(4, 4)),
            ),
            options={"heads": 2},
        ),
    ],
)
def input_for_context(dy, cache):
    dx, dw_q, dw_k, dw_v, _ = multi_head_attention.backward(dy, cache)
    return dx, dw_q, dw_k, dw_v, cache.v.x.T @ dy  # contextᵀ dy


TURNED = Design("several positions", normal((T, 6)))
FIRST_POSITION = Design("position 0 only", normal((1, 6)))


@wrong_backward(
    rope,
    "transpose",
    symptom="Right at position 0, worse the further to the right: the gradient is "
    "turned on instead of back.",
    shown_by=TURNED,
    hidden_by=[FIRST_POSITION],
)
def turned_on(dy, cache):
    turn, _, layout = cache
    return rope.from_pairs(rope.to_pairs(dy, layout) * turn, layout)  # turn.conj()


@wrong_backward(
    rope,
    "wrong_formula",
    symptom="Right at position 0, worse the further to the right: the gradient is "
    "passed on as it came.",
    shown_by=TURNED,
    hidden_by=[FIRST_POSITION],
)
def passed_on_unturned(dy, cache):
    return dy.copy()


@wrong_backward(
    rope,
    "sign_flip",
    symptom="One of the four terms of the rotation has the wrong sign, so that it no "
    "longer keeps lengths.",
    shown_by=TURNED,
    hidden_by=[FIRST_POSITION],
)
def one_sine_with_the_wrong_sign(dy, cache):
    turn, _, layout = cache
    pairs = rope.to_pairs(dy, layout)
    a = pairs.real * turn.real + pairs.imag * turn.imag
    b = pairs.imag * turn.real + pairs.real * turn.imag  # - sin
    return rope.from_pairs(a + 1j * b, layout)


@wrong_backward(
    rope,
    "wrong_operand",
    symptom="Right at position 0: forward pairs neighbours, backward pairs the two "
    "halves, as two libraries do.",
    shown_by=TURNED,
    hidden_by=[FIRST_POSITION, Design("heads of width two", normal((T, 2)))],
)
def layouts_mixed(dy, cache):
    other = {"interleaved": "half", "half": "interleaved"}[cache.layout]
    return rope.backward(dy, cache._replace(layout=other))
