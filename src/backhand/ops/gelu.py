"""GELU: y = x (1 + tanh u) / 2, u = c (x + a x³).   A.2; chapters/silu-gelu"""

import math
from typing import NamedTuple

import numpy as np

from ._arguments import Array, float_array

A = 0.044715
C = math.sqrt(2 / math.pi)


class Cache(NamedTuple):
    x: Array  # (...) bounded to [-10, 10]
    t: Array  # (...) tanh u


def forward(x):
    """Gate x by (1 + tanh u) / 2, entry by entry, with u = c (x + a x³).

    This is the tanh form: with c = sqrt(2 / π) and a = 0.044715, y stays within
    5e-4 of x times the normal distribution function.

    Parameters
    ----------
    x : array of floats, any shape

    Returns
    -------
    y : the shape of x
    cache : Cache, x bounded to [-10, 10] and tanh u

    Raises
    ------
    TypeError, ValueError
        x is not float32 or float64, or has an empty axis.

    Notes
    -----
    A.2; derived in chapters/silu-gelu.
    """
    x = float_array("x", x)
    # Beyond ±10 tanh u is exactly ±1; the bound keeps powers of x from overflowing.
    bounded = np.clip(x, -10, 10)
    t = np.tanh(C * (bounded + A * bounded * bounded * bounded))
    return 0.5 * x * (1 + t), Cache(bounded, t)


def backward(dy, cache):
    """Return dx = dy · ((1 + tanh u) / 2 + x (1 - tanh² u) u' / 2), product rule."""
    x, t = cache
    dy = float_array("dy", dy, like=x, shape=x.shape)
    du = C * (1 + 3 * A * x * x)
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * du)
