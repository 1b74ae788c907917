"""Many steps a line, for derivatives that one step does not settle.

The derivative is what difference quotients tend to as the step shrinks, and short steps
are noisy. So the ladder is climbed from the shortest step: a longer one, with less
noise, is taken in as long as what it says is consistent with all shorter ones.
"""

import numpy as np

from ..differences import EPS
from .response import STEP

RUNGS = STEP * 8.0 ** np.arange(-9, 4)  # around the usual step, in units of a line
USUAL = 2 + 9  # the usual step among all rungs
FAR = 2 + len(RUNGS)  # the first of those that are longer
CONSISTENT = 3  # times the noise
KINKED = 1e-3  # a change of slope, relative to the largest entry, that may be a kink
ROUNDED = 100 * np.finfo(np.float32).eps / EPS  # times round-off: noise of float32


def steps_of(unit, own):
    """The rungs of each line, short to long: (R, P).

    Around the usual step; below, two at the entry's own scale, for an entry much
    smaller than its array; above, some up to scale one and more, for inputs so small
    that they make no difference to the output, or an output so large that it hides it.
    """
    usual = np.multiply.outer(RUNGS, unit)
    small = np.where(own > 0, own, np.minimum(unit, 1.0))
    shortest = np.minimum(STEP * small, usual[0] / 32)
    longer = np.multiply.outer(
        8.0 ** np.arange(8), np.maximum(STEP / 512, 8 * usual[-1])
    )
    return np.stack([shortest, 4 * shortest, *usual, *longer])


def climb(response, lines, analytic, size, measured):
    """Estimate derivatives along P lines.

    Parameters
    ----------
    response : Response
    lines : (P,) numbers of lines
    analytic : (K, P) what they are held against
    size : (K, 1) the largest entry
    measured : (K, 1) noise of sum(dy · y)

    Returns
    -------
    value, error, kink, blind : arrays of (K, P), as in `estimate`
    """
    unit = response.lines.unit[lines]
    steps = steps_of(unit, response.lines.own[lines])
    sample = response.sample(np.tile(lines, len(steps)), steps.ravel(), far=True)
    slopes, bends, noise = (
        np.moveaxis(part.reshape(len(part), *steps.shape), 0, 1) for part in sample[:3]
    )  # (R, K, P)
    still = sample.still.reshape(steps.shape)
    noise = np.maximum(noise, measured / steps[:, None])

    # An output that does not move may be a difference of numbers that lost the step:
    # numbers as large as the output becomes nearby.
    scale = np.maximum(unit, 1.0)
    nearby = (steps <= 100 * scale)[:, None]
    ulps = np.nan_to_num(np.where(nearby, noise * steps[:, None], 0.0), posinf=0.0)
    noise = np.where(still[:, None], ulps.max(axis=0) / steps[:, None], noise)

    value, error = _longest_consistent(slopes, noise, steps, analytic)
    error[_absorbed(slopes, still, noise, analytic)] = np.inf
    kink = _kinks(np.abs(bends), noise, size)
    # What jumps is no round-off: it hides a slope, but does not make it vanish.
    rounded = measured <= ROUNDED * response.round_off.T
    blind = np.where(rounded, 100 * noise[USUAL] * steps[USUAL] / scale, -1.0)
    return value, error, kink, blind


def _longest_consistent(slopes, noise, steps, analytic):
    """Values with the least error among the rungs that fit all shorter ones."""
    value, error = slopes[0].copy(), np.full_like(slopes[0], np.inf)
    low, high = np.full_like(value, -np.inf), np.full_like(value, np.inf)
    fits = np.ones(value.shape, bool)
    for rung in range(1, len(steps)):
        slope, margin = slopes[rung], CONSISTENT * noise[rung]
        says = np.isfinite(margin)
        low = np.where(says, np.fmax(low, slope - margin), low)
        high = np.where(says, np.fmin(high, slope + margin), high)
        fits &= ~says | (np.isfinite(slope) & (low <= high))
        # Its truncation is seen in what changed since the rung below, if that is near.
        near = steps[rung] < 16 * steps[rung - 1]
        doubt = noise[rung] + np.abs(slope - slopes[rung - 1])
        if rung >= FAR:  # good enough to agree with, too far out to accuse
            doubt = np.where(np.abs(slope - analytic) > 2 * doubt, np.inf, doubt)
        better = fits & says & near & (doubt < error)
        value, error = np.where(better, slope, value), np.where(better, doubt, error)
    return value, error


def _absorbed(slopes, still, noise, analytic):
    """Where forward loses a short step whole, but answers longer ones as predicted.

    (1e16 + x) − 1e16 does. Whether that is a flat function with a wrong gradient or a
    steep one badly computed, no difference can tell.
    """
    lost = still[:, None] & (np.abs(analytic) > 10 * noise)
    echo = ~still[:, None] & (np.abs(slopes - analytic) <= 0.1 * np.abs(analytic))
    return np.any(lost, axis=0) & np.any(echo[1:] & echo[:-1], axis=0)


def _kinks(bends, noise, size):
    """Where the change of slope across x does not shrink with the step."""
    # Where all slopes are 0, as those of |x| at 0 are, the change itself is the scale.
    largest = np.max(np.nan_to_num(bends[USUAL]), axis=1, keepdims=True, initial=0.0)
    size = np.where(size > 0, size, largest)
    audible = np.isfinite(bends) & (12 * noise < KINKED * size)
    first = np.argmax(audible, axis=0)
    after = np.minimum(first + 1, len(bends) - 1)

    def at(rung, values):
        return np.take_along_axis(values, rung[None], axis=0)[0]

    heard = at(first, audible) & at(after, audible)
    large = at(first, bends) > KINKED * size
    return heard & large & (at(first, bends) > 0.5 * at(after, bends))
