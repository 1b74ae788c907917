"""Leaky rectifier: y = max(alpha x, x).   A.1; chapters/relu"""

from typing import NamedTuple

import numpy as np

from ._arguments import Array, float_array, number


class Cache(NamedTuple):
    x: Array  # (...)
    alpha: float


def forward(x, alpha=0.01):
    """Keep what is positive and shrink the rest, entry by entry: y = max(alpha x, x).

    Parameters
    ----------
    x : array of floats, any shape
    alpha : slope below zero, from 0 (relu) to 1 (the identity)

    Returns
    -------
    y : the shape of x
    cache : Cache, x itself and alpha

    Raises
    ------
    TypeError, ValueError
        x is not float32 or float64 or has an empty axis, or alpha is not in [0, 1].

    Notes
    -----
    A.1; derived in chapters/relu.
    """
    x = float_array("x", x)
    alpha = number("alpha", alpha, lambda v: 0 <= v <= 1, "a number from 0 to 1")
    return np.where(x > 0, x, alpha * x), Cache(x, alpha)


def backward(dy, cache):
    """Return dx = dy where x > 0, else alpha dy. At the kink the slope is alpha."""
    x, alpha = cache
    dy = float_array("dy", dy, like=x, shape=x.shape)
    return np.where(x > 0, dy, alpha * dy)
