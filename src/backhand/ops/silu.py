"""SiLU: y = x σ(x).   A.1; chapters/silu-gelu"""

from typing import NamedTuple

from ._arguments import Array, float_array
from .sigmoid import logistic


class Cache(NamedTuple):
    x: Array      # (...)
    sigma: Array  # (...) σ(x)


def forward(x):
    """Gate x by its own sigmoid, entry by entry: y = x σ(x).

    Parameters
    ----------
    x : array of floats, any shape

    Returns
    -------
    y : the shape of x
    cache : Cache, x itself and σ(x)

    Raises
    ------
    TypeError, ValueError
        x is not float32 or float64, or has an empty axis.

    Notes
    -----
    A.1; derived in chapters/silu-gelu.
    """
    x = float_array("x", x)
    sigma = logistic(x)
    return x * sigma, Cache(x, sigma)


def backward(dy, cache):
    """Return dx = dy · σ (1 + x (1 - σ)): the product rule, factored."""
    x, sigma = cache
    dy = float_array("dy", dy, like=x, shape=x.shape)
    dx = 1 - sigma  # and on in place: a large temporary costs more than arithmetic
    dx *= x
    dx += 1
    dx *= sigma
    dx *= dy
    return dx
