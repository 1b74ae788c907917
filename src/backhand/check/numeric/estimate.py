"""Derivatives along lines, as exact as the question needs them.

1. A central difference at ε^(1/3). Where it meets the analytic value, done.
2. The same at half the step. Where the two are close, and the analytic value within
   what they differ by, done.
3. Forward's noise, measured. Where the analytic value is far beyond it, done.
4. A ladder of steps.
"""

from typing import NamedTuple

import numpy as np

from .ladder import KINKED, climb
from .response import STEP, Response

NEGLIGIBLE = 1e-6  # of an array's largest entry
CERTAIN = 10  # an error this many times the estimated one is no accident
FINE = 1e-4  # what must be caught, relative to the largest entry
GROSS = 1e-3  # a disagreement this large needs no second opinion


class Estimate(NamedTuple):
    """Derivatives along L lines, for K upstream gradients."""

    value: np.ndarray  # (K, L) nan where forward is not finite nearby
    error: np.ndarray  # (K, L) how far value may be off
    kink: np.ndarray  # (K, L) whether the slopes on the two sides differ
    blind: np.ndarray  # (K, L) a slope below this moves no digit of the output
    size: np.ndarray  # (K, 1) the largest entry, which differences are relative to


def estimate(forward, lines, dys, analytic):
    """Estimate derivatives of sum(dy · y).

    Parameters
    ----------
    forward : Forward
    lines : Entries or Directions, L of them
    dys : list of K arrays of y's shape
    analytic : list of K arrays of x's shape
        The gradients they are held against. Effort goes where they differ.

    Returns
    -------
    Estimate
    """
    response = Response(forward, lines, dys)
    first = response.usual()
    found = Estimate(
        value=first.slope.copy(),
        error=first.noise.copy(),
        kink=np.zeros(first.slope.shape, bool),
        blind=100 * STEP * first.noise * lines.unit / np.maximum(lines.unit, 1.0),
        size=_sizes(lines, analytic, first.slope),
    )
    gradients, analytic = analytic, np.stack([lines.project(a) for a in analytic])

    # Written so that nan is not met.
    met = np.abs(first.slope - analytic) <= NEGLIGIBLE * found.size
    straight = np.abs(first.bend) <= KINKED * found.size
    out_of_scale = (lines.own > 0) & (lines.own < 10 * STEP * lines.unit)
    open_ = np.flatnonzero(~np.all(met & straight, axis=0) | out_of_scale)
    if len(open_) == 0:
        return found

    steps = STEP / 2 * lines.unit[open_]
    half = response.sample(open_, steps)
    change = np.abs(half.slope - first.slope[:, open_])
    error = change + half.noise
    found.value[:, open_], found.error[:, open_] = half.slope, error
    gap = np.abs(half.slope - analytic[:, open_])
    regular = straight[:, open_] & ~out_of_scale[open_]
    fine = regular & (gap <= CERTAIN * error) & (CERTAIN * error <= FINE * found.size)
    if np.all(fine):
        return found

    measured = response.measured_noise()
    noise = np.maximum(half.noise, measured / steps)
    found.error[:, open_] = change + noise
    clear = (
        regular
        & ~first.still[open_]
        & (change <= np.maximum(10 * noise, GROSS * np.abs(half.slope)))
        & (gap > np.maximum(100 * (change + noise), GROSS * found.size))
    )
    unclear = open_[~np.all(fine | clear, axis=0)]
    if len(unclear):
        better = climb(response, unclear, analytic[:, unclear], found.size, measured)
        for all_lines, these in zip(found[:4], better):
            all_lines[:, unclear] = these
        # A slope across a jump is as large as the step is short, and means nothing.
        settled = CERTAIN * found.error <= np.abs(found.value)
        values = np.where(settled, found.value, 0.0)
        found = found._replace(size=_sizes(lines, gradients, values))
    return found


def _sizes(lines, gradients, slopes):
    """The largest entry of the two gradients, for each of K upstream gradients."""
    pairs = zip(gradients, slopes)
    return np.array([[max(lines.largest(a), lines.typical(s))] for a, s in pairs])
