"""RoPE: each pair of features at position t turns by t θ_i.   (9.10); chapters/rope"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ._arguments import Array, float_array, one_of, positive


class Cache(NamedTuple):
    turn: Array   # (T, d/2) complex: exp(i t θ)
    shape: tuple  # of x
    layout: str


def forward(x, base=10000.0, layout="interleaved"):
    """Turn pair i of the row at position t by the angle t · base^(-2i/d).

    A pair (a, b) is read as the complex number a + ib, so turning it by an angle
    is multiplying it by exp(i · angle).

    Parameters
    ----------
    x : array of floats, (..., T, d) with d even
    base : positive number; the larger, the slower the last pairs turn
    layout : "interleaved" pairs features 2i and 2i + 1, "half" pairs i and i + d/2

    Returns
    -------
    y : (..., T, d)
    cache : Cache, the factors exp(i t θ), the shape of x and the layout

    Raises
    ------
    TypeError, ValueError
        x is not float32 or float64, has fewer than two axes, an odd last axis or
        an empty one, base is not positive, or layout is unknown.

    Notes
    -----
    (9.10) and the line after it; derived in chapters/rope.
    """
    x = float_array("x", x, min_ndim=2)
    *_, T, d = x.shape
    if d % 2:
        raise ValueError(f"x has shape {x.shape}; it needs an even last axis")
    base = positive("base", base)
    one_of("layout", layout, ("interleaved", "half"))
    turn = turns(T, d, base, complex_dtype(x))
    return from_pairs(to_pairs(x, layout) * turn, layout), Cache(turn, x.shape, layout)


def backward(dy, cache):
    """Turn dy back, by the opposite angle: a rotation's transpose is its inverse."""
    turn, shape, layout = cache
    dy = float_array("dy", dy, like=turn.real, shape=shape)
    return from_pairs(to_pairs(dy, layout) * turn.conj(), layout)


@lru_cache(maxsize=16)  # the same for the queries and keys of every layer and step
def turns(T, d, base, dtype):
    theta = base ** (-np.arange(0, d, 2) / d)
    turn = np.exp(1j * np.outer(np.arange(T), theta)).astype(dtype)
    turn.flags.writeable = False
    return turn


def complex_dtype(x):
    return np.result_type(x, 1j)


def to_pairs(x, layout):
    """Read x, (..., d), as complex numbers, (..., d/2)."""
    if layout == "half":
        z = np.empty((*x.shape[:-1], x.shape[-1] // 2), complex_dtype(x))
        z.real, z.imag = np.split(x, 2, axis=-1)
        return z
    if x.strides[-1] != x.itemsize:  # a view as complex needs neighbours in memory
        x = x.copy()
    return x.view(complex_dtype(x))


def from_pairs(z, layout):
    """Undo to_pairs, for a z that nobody else holds."""
    if layout == "half":
        return np.concatenate([z.real, z.imag], axis=-1)
    return z.view(z.real.dtype)
