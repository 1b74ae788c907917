"""Cross-entropy: L = mean(-log p_target).   A.3, (9.4); chapters/cross-entropy"""

from typing import NamedTuple

import numpy as np

from ._arguments import Array, float_array, integer_array, one_of, rows


class Cache(NamedTuple):
    p: Array        # (..., n) softmax of the logits
    targets: Array  # (...)
    divisor: int    # number of rows for the mean, 1 for the sum


def forward(logits, targets, reduction="mean"):
    """Average, or add up, -log softmax(logits) at the target of each row.

    With the logits shifted by their maximum, -log p_target is
    log Σ_k exp(z_k) - z_target, so no probability is ever divided by.

    Parameters
    ----------
    logits : array of floats, (..., n)
    targets : array of integers, (...), each from 0 to n - 1
    reduction : "mean" over all rows, or "sum"

    Returns
    -------
    loss : NumPy scalar of the logits' dtype
    cache : Cache, the probabilities, the targets and the mean's divisor

    Raises
    ------
    TypeError, ValueError
        logits is not float32 or float64, targets is not integer, out of range
        or not one for each row, an axis is empty, or reduction is unknown.

    Notes
    -----
    A.3, (9.3) to (9.5); derived in chapters/cross-entropy.

    Examples
    --------
    >>> loss, cache = forward(np.log([[0.25, 0.75]]), [1])
    >>> round(float(np.exp(-loss)), 6)
    0.75
    >>> backward(1.0, cache)
    array([[ 0.25, -0.25]])
    """
    logits = float_array("logits", logits, min_ndim=1)
    *leading, n = logits.shape
    targets = integer_array("targets", targets, count=n, shape=tuple(leading))
    one_of("reduction", reduction, ("mean", "sum"))
    divisor = targets.size if reduction == "mean" else 1

    z = rows(logits - logits.max(axis=-1, keepdims=True))
    z_target = z[np.arange(targets.size), targets.ravel()]
    e = np.exp(z)
    total = e.sum(axis=-1)
    loss = np.sum(np.log(total) - z_target) / divisor
    p = (e / total[:, None]).reshape(logits.shape)
    return loss, Cache(p, targets, divisor)


def backward(dy, cache):
    """Return dlogits = (p - y) · dy / divisor, where y is the one-hot target."""
    p, targets, divisor = cache
    scale = float_array("dy", dy, like=p, shape=()) / divisor
    dlogits = rows(p) * scale
    dlogits[np.arange(targets.size), targets.ravel()] -= scale
    return dlogits.reshape(p.shape)
