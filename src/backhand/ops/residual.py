"""Residual connection: y = x + f(x).   A.6, (9.12); chapters/residual"""

from typing import NamedTuple

from ._arguments import Array, float_array


class Cache(NamedTuple):
    x: Array  # (...), for its shape and dtype


def forward(x, fx):
    """Add a sublayer's output fx to its input x: y = x + fx.

    Parameters
    ----------
    x : array of floats, any shape
    fx : the shape of x

    Returns
    -------
    y : the shape of x
    cache : Cache, x itself

    Raises
    ------
    TypeError, ValueError
        An array is not float32 or float64, the dtypes or shapes differ, or an axis
        is empty.

    Notes
    -----
    A.6, (9.12); derived in chapters/residual.
    """
    x = float_array("x", x)
    fx = float_array("fx", fx, like=x, shape=x.shape)
    return x + fx, Cache(x)


def backward(dy, cache):
    """Return dx = dy and dfx = dy, as copies.

    The sublayer turns dfx into a further gradient for x; the caller adds the two.
    """
    (x,) = cache
    dy = float_array("dy", dy, like=x, shape=x.shape)
    return dy.copy(), dy.copy()
