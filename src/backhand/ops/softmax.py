"""Softmax: p_i = exp(z_i) / Σ_k exp(z_k).   A.3, (9.3), (9.3b); chapters/softmax"""

from typing import NamedTuple

import numpy as np

from ._arguments import Array, dot_rows, float_array


class Cache(NamedTuple):
    p: Array  # (..., n) the probabilities


def probabilities(z):
    """Turn z into probabilities in place, for a z that nobody else holds.

    In place because a large temporary costs more than the arithmetic on it.
    """
    z -= z.max(axis=-1, keepdims=True)
    np.exp(z, out=z)
    z /= z @ np.ones((z.shape[-1], 1), z.dtype)  # the sum of a row, faster than sum
    return z


def forward(z):
    """Turn each row of scores into probabilities: p_i = exp(z_i) / Σ_k exp(z_k).

    The row's maximum is subtracted first. That changes nothing, since softmax
    depends on differences only, and keeps exp from overflowing.

    Parameters
    ----------
    z : array of floats, (..., n)

    Returns
    -------
    p : (..., n), each row positive with sum 1
    cache : Cache, a copy of p

    Raises
    ------
    TypeError, ValueError
        z is not float32 or float64, is a scalar, or has an empty axis.

    Notes
    -----
    A.3, (9.3); derived in chapters/softmax.

    Examples
    --------
    >>> p, cache = forward(np.log([1.0, 2.0, 5.0]))
    >>> p
    array([0.125, 0.25 , 0.625])
    """
    z = float_array("z", z, min_ndim=1)
    p = probabilities(z.copy())
    return p, Cache(p.copy())


def backward(dy, cache):
    """Return dz_j = p_j (dy_j - Σ_k p_k dy_k), which is Jᵀ dy without J.

    Each row of dz sums to zero, and a dy with equal entries gives zero: adding
    a constant to all scores changes no probability.
    """
    (p,) = cache
    dy = float_array("dy", dy, like=p, shape=p.shape)
    return p * (dy - dot_rows(p, dy))


def jacobian(z):
    """Return ∂p_i/∂z_j = p_i (δ_ij - p_j), shape (..., n, n).

    For looking at: backward never forms it.
    """
    p, _ = forward(z)
    return p[..., :, None] * (np.eye(p.shape[-1], dtype=p.dtype) - p[..., None, :])
