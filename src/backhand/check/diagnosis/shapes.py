"""A gradient of another shape than its input."""

from itertools import combinations

import numpy as np


def wrong_shape(e):
    """What the array that was returned has to do with the numeric gradient."""
    returned, x = e.returned[0], e.x
    sums = (axes for axes in _subsets(returned.ndim) if _same(e, returned.sum(axes)))
    axes = next(sums, None)
    if axes:
        yield e.finding(
            "missing_sum",
            f"summed over {_axes(axes)}, the array of shape {returned.shape} is the "
            f"numeric gradient {e.everywhere}",
            f"{e.name} takes part once for every index along {_axes(axes)}: its "
            "gradient is the sum over them.",
        )
    elif returned.ndim > 1 and _same(e, returned.T):
        yield e.finding(
            "transpose",
            "the transpose of what backward returned is the numeric gradient "
            f"{e.everywhere}",
            "Exchange the factors: (a @ b).T is b.T @ a.T.",
        )
    yield e.finding(
        "wrong_shape",
        f"backward returned shape {returned.shape}; {e.name} has shape {x.shape}"
        + _relation(e, returned),
        f"Give {e.gradient} the shape of {e.name}: one derivative for each entry.",
    )
    try:
        result = np.broadcast_shapes(returned.shape, x.shape)
    except ValueError:
        return
    yield e.finding(
        "silent_broadcast",
        f"{e.name} - lr * (what was returned) raises nothing: NumPy broadcasts "
        f"{x.shape} and {returned.shape} to {result}",
        "Compare shapes before values; np.allclose broadcasts, too.",
    )


def _relation(e, returned):
    """What numbers they are, if that can be told."""
    if _same(e, returned):
        return "; in order, its entries are the right ones"
    for axes in _subsets(e.x.ndim):
        if e.x.size > 1 and _alike(e, returned, e.numeric[0].sum(axis=axes)):
            return f"; it is the numeric gradient summed over {_axes(axes)}"
    dy = e.dys[0]
    for name, other in e.others.items():
        both_vectors = other.ndim == 1 and other.shape == dy.shape
        if both_vectors and _alike(e, returned, dy @ other):
            return (
                f"; it is the dot product of dy and {name} "
                "(.T does nothing to an array of one axis: np.outer is meant)"
            )
    return ""


def _same(e, array):
    """Whether an array is the numeric gradient, in another shape perhaps."""
    return _alike(e, array, e.numeric[0])


def _alike(e, a, b):
    if not e.known.all() or np.size(a) != np.size(b):
        return False
    return bool(np.all(np.abs(np.ravel(a) - np.ravel(b)) <= e.slack[0].max()))


def _subsets(ndim):
    """All ways to choose some of the axes, few first."""
    return [axes for n in range(1, ndim + 1) for axes in combinations(range(ndim), n)]


def _axes(axes):
    return f"ax{'i' if len(axes) == 1 else 'e'}s {' and '.join(map(str, axes))}"
