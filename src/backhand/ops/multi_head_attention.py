"""Multi-head attention: heads attend side by side, and are projected back.

A.5, (9.8) to (9.11); chapters/multi-head-attention
"""

from typing import NamedTuple

from . import attention, linear
from . import rope as rotation
from ._arguments import float_array, positive_integer


class Cache(NamedTuple):
    q: linear.Cache
    k: linear.Cache
    v: linear.Cache
    rope: rotation.Cache | None
    attention: attention.Cache  # of arrays (..., heads, T, width of a head)
    o: linear.Cache


def forward(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    heads,
    causal=True,
    rope=False,
    base=10000.0,
    layout="interleaved",
):
    """Project x to queries, keys and values, attend in each head, project back.

    Parameters
    ----------
    x : array of floats, (..., T, n)
    w_q, w_k : (n, a), where heads divides a
    w_v : (n, c), where heads divides c
    w_o : (c, m)
    heads : positive integer
    causal : whether to mask later positions
    rope : whether to turn queries and keys by their position; a / heads must be even
    base, layout : as for rope.forward

    Returns
    -------
    y : (..., T, m)
    cache : Cache, the caches of the projections, of rope and of attention

    Raises
    ------
    TypeError, ValueError
        An array is not float32 or float64, not of x's dtype, not of the shape
        above or has an empty axis, heads is not a positive integer or does not
        divide a width, or rope meets an odd width.

    Notes
    -----
    A.5, (9.8) to (9.11); derived in chapters/multi-head-attention.
    """
    x = float_array("x", x, min_ndim=2)
    w_q = float_array("w_q", w_q, like=x, shape=(x.shape[-1], None))
    w_k = float_array("w_k", w_k, like=x, shape=w_q.shape)
    w_v = float_array("w_v", w_v, like=x, shape=(x.shape[-1], None))
    w_o = float_array("w_o", w_o, like=x, shape=(w_v.shape[1], None))
    heads = positive_integer("heads", heads)
    for name, w in ("w_q", w_q), ("w_v", w_v):
        if w.shape[1] % heads:
            raise ValueError(f"heads is {heads}; it must divide {name}'s {w.shape[1]}")
    if rope and w_q.shape[1] // heads % 2:
        raise ValueError(
            f"w_q has shape {w_q.shape}; rope needs an even width for {heads} heads"
        )

    q, q_cache = linear.forward(x, w_q)
    k, k_cache = linear.forward(x, w_k)
    v, v_cache = linear.forward(x, w_v)
    q, k, v = split(q, heads), split(k, heads), split(v, heads)
    rope_cache = None
    if rope:
        q, rope_cache = rotation.forward(q, base, layout)
        k, _ = rotation.forward(k, base, layout)
    context, attention_cache = attention.forward(q, k, v, causal)
    y, o_cache = linear.forward(merge(context), w_o)
    return y, Cache(q_cache, k_cache, v_cache, rope_cache, attention_cache, o_cache)


def backward(dy, cache):
    """Return dx, dw_q, dw_k, dw_v and dw_o. Three gradients meet in dx, and add."""
    heads = cache.attention.q.shape[-3]
    dcontext, dw_o = linear.backward(dy, cache.o)
    dq, dk, dv = attention.backward(split(dcontext, heads), cache.attention)
    if cache.rope is not None:
        dq = rotation.backward(dq, cache.rope)
        dk = rotation.backward(dk, cache.rope)
    dx_q, dw_q = linear.backward(merge(dq), cache.q)
    dx_k, dw_k = linear.backward(merge(dk), cache.k)
    dx_v, dw_v = linear.backward(merge(dv), cache.v)
    return dx_q + dx_k + dx_v, dw_q, dw_k, dw_v, dw_o


def split(x, heads):
    """(..., T, heads · d) becomes (..., heads, T, d)."""
    return x.reshape(*x.shape[:-1], heads, -1).swapaxes(-2, -3)


def merge(x):
    """(..., heads, T, d) becomes (..., T, heads · d)."""
    x = x.swapaxes(-2, -3)
    return x.reshape(*x.shape[:-2], -1)
