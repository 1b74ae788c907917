"""LayerNorm: y = gain · (x - mean) / sqrt(var + eps) + bias.

A.4; chapters/normalization
"""

from typing import NamedTuple

import numpy as np

from ._arguments import Array, dot_rows, float_array, positive, sum_leading


class Cache(NamedTuple):
    gain: Array   # (n,)
    x_hat: Array  # (..., n) (x - mean) / std
    std: Array    # (..., 1)


def forward(x, gain, bias, eps=1e-5):
    """Shift each row of x to mean 0 and scale it to variance 1, then gain and bias.

    The variance divides by n, not n - 1.

    Parameters
    ----------
    x : array of floats, (n,) or (..., n)
    gain, bias : (n,)
    eps : positive number, added to the variance under the root

    Returns
    -------
    y : (..., n)
    cache : Cache, gain itself, (x - mean) / std and std

    Raises
    ------
    TypeError, ValueError
        An array is not float32 or float64, gain or bias is not of x's dtype or has
        not one entry for each feature, an axis is empty, or eps is not positive.

    Notes
    -----
    A.4; derived in chapters/normalization. The one formula A.4 gives for both norms
    is RMSNorm's: LayerNorm's dx has a second mean, the one through the mean of x.
    """
    x = float_array("x", x, min_ndim=1)
    gain = float_array("gain", gain, like=x, shape=x.shape[-1:])
    bias = float_array("bias", bias, like=x, shape=x.shape[-1:])
    eps = positive("eps", eps)
    centred = x - np.mean(x, axis=-1, keepdims=True)
    std = np.sqrt(dot_rows(centred, centred) / x.shape[-1] + eps)
    x_hat = centred / std
    return gain * x_hat + bias, Cache(gain, x_hat, std)


def backward(dy, cache):
    """Return dx, dgain and dbias. One mean undoes the shift, the other the scale."""
    gain, x_hat, std = cache
    dy = float_array("dy", dy, like=x_hat, shape=x_hat.shape)
    g = dy * gain
    through_mean = np.mean(g, axis=-1, keepdims=True)
    through_std = x_hat * (dot_rows(g, x_hat) / len(gain))
    dx = (g - through_mean - through_std) / std
    dgain = sum_leading(dy * x_hat)
    dbias = sum_leading(dy)
    return dx, dgain, dbias
