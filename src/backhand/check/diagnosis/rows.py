"""Rows that are off by a multiple of one vector: a term with a sum is missing."""

import numpy as np

from ..report import Finding
from .evidence import where


def row_vector(e):
    """Each row is off by a multiple of ones, the output or the normalised input."""
    if e.x.ndim == 0 or not e.known.all() or e.y.shape != e.x.shape:
        return
    for axis, row in ((-1, "row"), (0, "column"))[: min(e.x.ndim, 2)]:
        for label, vector, term in _vectors(e, axis):
            coefficients = _multiples(e, vector, axis)
            if coefficients is None:
                continue
            of = row if e.x.ndim > 1 else "array"
            yield Finding(
                "dropped_coupling", e.name,
                f"each {of} is off by a multiple of {label}: "
                f"{_some(coefficients)} times",
                f"The term with {term} is left out, or has the wrong size.",
            )
            return


def _vectors(e, axis):
    x, y = e.x, e.y
    centred = x - x.mean(axis, keepdims=True)
    yield "ones", np.ones(x.shape), "the mean (or sum) of dy"
    yield "the output", y, "Σ y·dy"
    yield f"{e.name} less its mean", centred, "Σ x̂·dy"
    yield e.name, x, "Σ x̂·dy"


def _multiples(e, vector, axis):
    """The coefficients, if all rows are off by a multiple of their vector."""
    length = vector.shape[axis]
    square = np.sum(vector * vector, axis, keepdims=True)
    k_axis = axis if axis < 0 else axis + 1
    c = np.sum(e.excess * vector, k_axis, keepdims=True) / np.where(square > 0, square, 1)
    off = np.any(e.wrong, axis=k_axis)
    # Two numbers are always near some multiple; what is left over must be enough.
    if (length - 1) * off.sum() < 2 or not e.alike(e.excess, c * vector):
        return None
    return np.squeeze(c, k_axis)[off]


def _some(values):
    shown = ", ".join(f"{v:.3g}" for v in values[:4])
    return shown + (", …" if len(values) > 4 else "")
