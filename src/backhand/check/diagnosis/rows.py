"""Rows that are off by a multiple of one vector: the term with a sum in it.

A softmax or a norm couples the entries of a row. Its derivative has a term of the
form vector · Σ(something · dy); if that is missing or has the wrong size, each row is
off by a multiple of the vector: ones, the output, the normalised input.
"""

import numpy as np

from ..report import Finding
from .evidence import number
from .factors import DIVISORS, functions_of


def row_vector(e):
    """Each row is off by a multiple of ones, the output or the normalised input."""
    if e.x.ndim == 0 or not e.known.all():
        return
    for axis in (-1, 0)[: min(e.x.ndim, 2)]:
        for label, vector in _vectors(e, axis):
            coefficients = _multiples(e, vector, axis)
            if coefficients is not None:
                yield _name_it(e, axis, label, vector, coefficients)
                return


def _vectors(e, axis):
    if e.y.shape == e.x.shape:
        yield "ones", np.ones(e.x.shape)
        yield "the output", e.y
    yield f"{e.name} less its mean", e.x - e.x.mean(axis, keepdims=True)
    yield e.name, e.x


def _multiples(e, vector, axis):
    """The coefficients, if all rows are off by a multiple of their vector."""
    axis_of_k = axis if axis < 0 else axis + 1
    square = np.sum(vector * vector, axis, keepdims=True)
    c = np.sum(e.excess * vector, axis_of_k, keepdims=True) / np.where(square > 0, square, 1)
    off = np.any(e.wrong, axis=axis_of_k)
    # One number is always a multiple of another: what is left must be enough.
    if (vector.shape[axis] - 1) * off.sum() < 2 or not e.alike(e.excess, c * vector):
        return None
    return np.squeeze(c, axis_of_k)[off]


def _name_it(e, axis, label, vector, coefficients):
    of = "the gradient" if e.x.ndim == 1 else "each row" if axis < 0 else "each column"
    shown = ", ".join(f"{c:.3g}" for c in coefficients[:3])
    more = ", …" if len(coefficients) > 3 else ""
    evidence = f"{of} is off by a multiple of {label} ({shown}{more})"
    advice = f"Look at the term with {label} and a sum over dy."

    comparable = e.jacobians is not None and e.y.shape == e.x.shape
    sizes = _sizes(e, axis, vector) if comparable else None
    if sizes is None:
        return Finding("dropped_coupling", e.name, evidence, advice)
    analytic, numeric = sizes
    small = 1e-4 * max(np.max(np.abs(analytic)), np.max(np.abs(numeric)))
    if np.all(np.abs(analytic) <= small):
        evidence += ": numeric has a term with it, analytic has none"
        return Finding("dropped_coupling", e.name, evidence, advice)
    if np.all(np.abs(numeric) <= small):
        return Finding("", e.name, f"{evidence}, a term that numeric has not", advice)

    there = np.abs(numeric) > small
    ratio = analytic[there] / numeric[there]
    c = float(np.mean(ratio))
    if np.ptp(ratio) <= 1e-3 * abs(c):
        explained = e.explain(c)
        return Finding(
            "sign_flip" if abs(c + 1) < 1e-3 else "constant_factor", e.name,
            f"{evidence}: that term is {number(c)} × what it should be"
            f"{explained and '; '}{explained}",
            advice,
        )
    for name, q in functions_of(e.name, e.x):
        if not name.startswith(DIVISORS):
            continue
        q = np.broadcast_to(q, e.x.shape).ravel()[there]
        for kind, factor, how in (
            ("missing_factor", q, "times"), ("extra_factor", 1 / q, "divided by"),
        ):
            if np.all(np.abs(ratio - factor) <= 1e-3 * np.abs(factor)):
                return Finding(
                    kind, e.name, f"{evidence}: that term is what it should be {how} {name}",
                    advice,
                )
    return Finding("", e.name, evidence, advice)


def _sizes(e, axis, vector):
    """How much of the vector is in each output's row of the two Jacobians.

    What an output owes to the other entries of its row: fitted by the vector and, for
    the two terms of a LayerNorm, by ones and the centred input.
    """
    x = e.x
    basis = [vector]
    if np.ptp(vector) == 0:
        basis.append(x - x.mean(axis, keepdims=True))
    elif np.all(np.abs(vector.mean(axis)) <= 1e-12 * np.max(np.abs(vector))):
        basis.append(np.ones(x.shape))
    basis = np.stack([b.ravel() for b in basis], axis=-1)
    number = np.arange(x.size).reshape(x.shape)
    lines = np.moveaxis(number, axis, -1).reshape(-1, x.shape[axis])
    if lines.shape[1] < basis.shape[1] + 2:
        return None
    found = np.zeros((2, x.size))
    for line in lines:
        for output in line:
            others = line[line != output]
            owed = np.stack([j[output, others] for j in e.jacobians], axis=-1)
            sizes, *_ = np.linalg.lstsq(basis[others], owed, rcond=None)
            if np.any(np.abs(basis[others] @ sizes - owed) > 1e-5 * np.max(np.abs(owed))):
                return None
            found[:, output] = sizes[0]
    return found
