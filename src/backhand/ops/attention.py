"""Attention: y = softmax(q kᵀ / √d) v.   A.5, (9.8) to (9.10); chapters/attention"""

import math
from typing import NamedTuple

import numpy as np

from . import softmax
from ._arguments import Array, float_array


class Cache(NamedTuple):
    q: Array  # (..., T, d)
    k: Array  # (..., S, d)
    v: Array  # (..., S, e)
    p: Array  # (..., T, S) the weights; exactly 0 where masked


def forward(q, k, v, causal=True):
    """Average the values with weights that compare queries and keys.

    y = softmax(q kᵀ / √d) v, where a causal query at position t sees the keys at
    positions 0 to t only.

    Parameters
    ----------
    q : array of floats, (..., T, d)
    k : (..., S, d)
    v : (..., S, e)
    causal : whether to mask later positions; needs S = T

    Returns
    -------
    y : (..., T, e)
    cache : Cache, q, k and v themselves and the weights

    Raises
    ------
    TypeError, ValueError
        An array is not float32 or float64, not of q's dtype, not of the shape
        above, has other leading axes or an empty axis, or causal and S differs
        from T.

    Notes
    -----
    A.5, (9.8) to (9.10); derived in chapters/attention.
    """
    q, k, v = check(q, k, v, causal)
    p = weights(q, k, first=0 if causal else None)
    return p @ v, Cache(q, k, v, p)


def backward(dy, cache):
    """Return dq, dk and dv. A masked weight is 0, so nothing passes through it."""
    q, k, v, p = cache
    dy = float_array("dy", dy, like=q, shape=q.shape[:-1] + v.shape[-1:])
    scale = 1 / math.sqrt(q.shape[-1])
    dv = transpose(p) @ dy
    dp = dy @ transpose(v)
    ds = softmax.backward(dp, softmax.Cache(p))
    dq = ds @ k * scale
    dk = transpose(ds) @ q * scale
    return dq, dk, dv


def check(q, k, v, causal):
    q = float_array("q", q, min_ndim=2)
    k = float_array("k", k, like=q, shape=(*q.shape[:-2], None, q.shape[-1]))
    v = float_array("v", v, like=q, shape=(*k.shape[:-1], None))
    if causal and k.shape != q.shape:
        raise ValueError(f"k has shape {k.shape}; causal attention needs {q.shape}")
    return q, k, v


def weights(q, k, first):
    """Return softmax(q kᵀ / √d). first is the position of the first query in a
    causal mask, or None where nothing is masked."""
    scale = 1 / math.sqrt(q.shape[-1])
    s = (q * scale) @ transpose(k)
    if first is not None:
        T, S = s.shape[-2:]
        later = np.arange(S) > first + np.arange(T)[:, None]
        np.copyto(s, -np.inf, where=later)
    return softmax.probabilities(s)


def transpose(x):
    return x.swapaxes(-1, -2)
