"""Attention without a T × T array, a tile of queries at a time.

A.5, (9.8) to (9.10); chapters/attention
"""

from typing import NamedTuple

import numpy as np

from . import attention
from ._arguments import Array, float_array, positive_integer


class Cache(NamedTuple):
    q: Array  # (..., T, d)
    k: Array  # (..., S, d)
    v: Array  # (..., S, e)
    causal: bool
    tile: int


def forward(q, k, v, causal=True, tile=128):
    """Attend as attention does, holding the weights of one tile of queries at a time.

    A causal tile stops at its last query's key, so half the work is never done.
    No weight is kept: backward computes each tile's again.

    Parameters
    ----------
    q : array of floats, (..., T, d)
    k : (..., S, d)
    v : (..., S, e)
    causal : whether to mask later positions; needs S = T
    tile : positive integer, number of queries handled together

    Returns
    -------
    y : (..., T, e), the same as attention's
    cache : Cache, q, k and v themselves, causal and tile

    Raises
    ------
    TypeError, ValueError
        As attention.forward, or tile is not a positive integer.

    Notes
    -----
    A.5, (9.8) to (9.10); derived in chapters/attention.
    """
    q, k, v = attention.check(q, k, v, causal)
    cache = Cache(q, k, v, causal, positive_integer("tile", tile))
    y = np.empty(q.shape[:-1] + v.shape[-1:], q.dtype)
    for queries, keys, p in tiles(cache):
        y[..., queries, :] = p @ v[..., keys, :]
    return y, cache


def backward(dy, cache):
    """Return dq, dk and dv. Each tile adds its share to the keys it saw."""
    q, k, v, *_ = cache
    dy = float_array("dy", dy, like=q, shape=q.shape[:-1] + v.shape[-1:])
    dq, dk, dv = (np.zeros(x.shape, x.dtype) for x in (q, k, v))
    for queries, keys, p in tiles(cache):
        tile = attention.Cache(q[..., queries, :], k[..., keys, :], v[..., keys, :], p)
        dq_tile, dk_tile, dv_tile = attention.backward(dy[..., queries, :], tile)
        dq[..., queries, :] = dq_tile
        dk[..., keys, :] += dk_tile
        dv[..., keys, :] += dv_tile
    return dq, dk, dv


def tiles(cache):
    """Yield the queries of each tile, the keys they see, and their weights."""
    q, k, _, causal, tile = cache
    for start in range(0, q.shape[-2], tile):
        queries = slice(start, start + tile)
        keys = slice(start + tile) if causal else slice(None)
        first = start if causal else None
        yield queries, keys, attention.weights(
            q[..., queries, :], k[..., keys, :], first
        )
