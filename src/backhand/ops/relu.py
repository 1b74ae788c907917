"""Rectifier: y = max(x, 0).   A.1; chapters/relu"""

from typing import NamedTuple

import numpy as np

from ._arguments import Array, float_array


class Cache(NamedTuple):
    x: Array  # (...)


def forward(x):
    """Keep what is positive, entry by entry: y = max(x, 0).

    Parameters
    ----------
    x : array of floats, any shape

    Returns
    -------
    y : the shape of x
    cache : Cache, x itself

    Raises
    ------
    TypeError, ValueError
        x is not float32 or float64, or has an empty axis.

    Notes
    -----
    A.1; derived in chapters/relu.
    """
    x = float_array("x", x)
    return np.maximum(x, 0), Cache(x)


def backward(dy, cache):
    """Return dx = dy where x > 0, else 0. At the kink the slope is taken as 0."""
    (x,) = cache
    dy = float_array("dy", dy, like=x, shape=x.shape)
    return np.where(x > 0, dy, 0)
