"""A gradient of another shape than its input."""

from itertools import combinations

import numpy as np

from ..report import Finding
from .evidence import entries


def wrong_shape(e):
    """What the array that was returned has to do with the numeric gradient."""
    returned, x = e.returned[0], e.x
    found = []
    axes = next((a for a in _subsets(returned.ndim) if _is_numeric(e, returned.sum(a))), None)
    if axes:
        found.append(Finding(
            "missing_sum", e.name,
            f"summed over {_axes(axes)}, the array of shape {returned.shape} is the "
            f"numeric gradient in {entries(x.size, x.size)}",
            f"{e.name} takes part once for every index along {_axes(axes)}: its "
            "gradient is the sum over them.",
        ))
    elif _is_numeric(e, returned.T) and returned.ndim > 1:
        found.append(Finding(
            "transpose", e.name,
            "the transpose of what backward returned is the numeric gradient in "
            f"{entries(x.size, x.size)}",
            "Exchange the factors: (a @ b).T is b.T @ a.T.",
        ))
    found.append(Finding(
        "wrong_shape", e.name,
        f"backward returned shape {returned.shape}; {e.name} has shape {x.shape}"
        + _relation(e, returned),
        f"Give {e.gradient} the shape of {e.name}: one derivative for each entry.",
    ))
    try:
        result = np.broadcast_shapes(returned.shape, x.shape)
    except ValueError:
        return found
    found.append(Finding(
        "silent_broadcast", e.name,
        f"{e.name} - lr * (what was returned) raises nothing: NumPy broadcasts {x.shape} and "
        f"{returned.shape} to {result}",
        "Compare shapes before values; np.allclose broadcasts, too.",
    ))
    return found


def _relation(e, returned):
    """What numbers they are, if that can be told."""
    if not e.known.all():
        return ""
    numeric = e.numeric[0]
    if returned.size == numeric.size and _is_numeric(e, returned.reshape(numeric.shape)):
        return "; in order, its entries are the right ones"
    for axes in _subsets(numeric.ndim):
        total = numeric.sum(axis=axes)
        if numeric.size > 1 and _alike(e, returned.ravel(), total.ravel()):
            return f"; it is the numeric gradient summed over {_axes(axes)}"
    vectors = {n: v for n, v in e.others.items() if v.ndim == 1}
    for name, vector in vectors.items():
        dy = e.dys[0]
        if dy.shape == vector.shape and _alike(e, returned.ravel(), np.array([dy @ vector])):
            return (
                f"; it is the dot product of dy and {name} "
                "(.T does nothing to an array of one axis: np.outer is meant)"
            )
    return ""


def _is_numeric(e, array):
    """Whether an array is the numeric gradient, but perhaps for axes of length 1."""
    return e.known.all() and _alike(e, array.ravel(), e.numeric[0].ravel())


def _alike(e, a, b):
    return a.shape == b.shape and np.all(np.abs(a - b) <= e.slack[0].max())


def _subsets(ndim):
    """All ways to choose some of the axes, few first."""
    return [axes for n in range(1, ndim + 1) for axes in combinations(range(ndim), n)]


def _axes(axes):
    names = " and ".join(map(str, axes))
    return f"axis {names}" if len(axes) == 1 else f"axes {names}"
