"""Hyperbolic tangent: y = tanh(x).   A.1; chapters/sigmoid-tanh"""

from typing import NamedTuple

import numpy as np

from ._arguments import Array, float_array


class Cache(NamedTuple):
    y: Array  # (...) tanh(x)


def forward(x):
    """Squash x into (-1, 1), entry by entry: y = tanh(x).

    Parameters
    ----------
    x : array of floats, any shape

    Returns
    -------
    y : the shape of x
    cache : Cache, a copy of y

    Raises
    ------
    TypeError, ValueError
        x is not float32 or float64, or has an empty axis.

    Notes
    -----
    A.1; derived in chapters/sigmoid-tanh.
    """
    x = float_array("x", x)
    y = np.tanh(x)
    return y, Cache(y.copy())


def backward(dy, cache):
    """Return dx = dy · (1 - y²)."""
    (y,) = cache
    dy = float_array("dy", dy, like=y, shape=y.shape)
    return dy * (1 - y * y)
