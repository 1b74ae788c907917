"""RMSNorm: y = gain · x / sqrt(mean(x²) + eps).   A.4, (9.7); chapters/normalization"""

from typing import NamedTuple

import numpy as np

from ._arguments import Array, dot_rows, float_array, positive, sum_leading


class Cache(NamedTuple):
    gain: Array   # (n,)
    x_hat: Array  # (..., n) x / rms
    rms: Array    # (..., 1)


def forward(x, gain, eps=1e-5):
    """Scale each row of x to unit root mean square, then by gain.

    Parameters
    ----------
    x : array of floats, (n,) or (..., n)
    gain : (n,)
    eps : positive number, added to the mean square under the root

    Returns
    -------
    y : (..., n)
    cache : Cache, gain itself, x / rms and rms

    Raises
    ------
    TypeError, ValueError
        An array is not float32 or float64, gain is not of x's dtype or has not one
        entry for each feature, an axis is empty, or eps is not positive.

    Notes
    -----
    A.4, (9.7); derived in chapters/normalization.
    """
    x = float_array("x", x, min_ndim=1)
    gain = float_array("gain", gain, like=x, shape=x.shape[-1:])
    eps = positive("eps", eps)
    rms = np.sqrt(dot_rows(x, x) / x.shape[-1] + eps)
    x_hat = x / rms
    return gain * x_hat, Cache(gain, x_hat, rms)


def backward(dy, cache):
    """Return dx and dgain. The subtracted mean couples the components of a row."""
    gain, x_hat, rms = cache
    dy = float_array("dy", dy, like=x_hat, shape=x_hat.shape)
    g = dy * gain
    dx = (g - x_hat * (dot_rows(g, x_hat) / len(gain))) / rms
    dgain = sum_leading(dy * x_hat)
    return dx, dgain
