"""Sigmoid: y = σ(x) = 1 / (1 + exp(-x)).   A.1; chapters/sigmoid-tanh"""

from typing import NamedTuple

import numpy as np

from ._arguments import Array, float_array


class Cache(NamedTuple):
    y: Array  # (...) σ(x)


def logistic(x):
    # In place, because a large temporary costs more than the arithmetic on it.
    y = np.empty_like(x)
    np.negative(x, out=y)
    # Far below zero exp(-x) overflows to inf, and 1 / (1 + inf) is the right 0.
    with np.errstate(over="ignore"):
        np.exp(y, out=y)
    y += 1
    return np.divide(1, y, out=y)


def forward(x):
    """Squash x into (0, 1), entry by entry: y = 1 / (1 + exp(-x)).

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
    y = logistic(x)
    return y, Cache(y.copy())


def backward(dy, cache):
    """Return dx = dy · y (1 - y). The y is σ(x), not x."""
    (y,) = cache
    dy = float_array("dy", dy, like=y, shape=y.shape)
    return dy * y * (1 - y)
