"""Linear layer: y = x w + b.   A.5, (9.2); chapters/linear"""

from typing import NamedTuple

from ._arguments import Array, float_array, matmul, rows, sum_leading


class Cache(NamedTuple):
    x: Array     # (..., n)
    w: Array     # (n, m)
    bias: bool   # whether there is a b to give a gradient to


def forward(x, w, b=None):
    """Multiply each row of x by w and add b: y = x w + b.

    Parameters
    ----------
    x : array of floats, (n,) or (..., n)
    w : (n, m)
    b : (m,), optional

    Returns
    -------
    y : (..., m)
    cache : Cache, x and w themselves and whether there is a b

    Raises
    ------
    TypeError, ValueError
        An array is not float32 or float64, not of x's dtype, not of the shape
        above, or has an empty axis.

    Notes
    -----
    A.5, (9.2); derived in chapters/linear.
    """
    x = float_array("x", x, min_ndim=1)
    w = float_array("w", w, like=x, shape=(x.shape[-1], None))
    y = matmul(x, w)
    if b is not None:
        y += float_array("b", b, like=x, shape=w.shape[1:])
    return y, Cache(x, w, b is not None)


def backward(dy, cache):
    """Return dx = dy wᵀ, dw = xᵀ dy and, if there is a b, db = Σ dy over rows."""
    x, w, bias = cache
    dy = float_array("dy", dy, like=x, shape=x.shape[:-1] + w.shape[1:])
    dx = matmul(dy, w.T)
    dw = rows(x).T @ rows(dy)
    return (dx, dw, sum_leading(dy)) if bias else (dx, dw)
