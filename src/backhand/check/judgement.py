"""Holding the gradient of one input against its numeric derivative."""

from dataclasses import dataclass

import numpy as np

from .differences import magnitude
from .numeric import (
    CERTAIN,
    KINKED,
    NEGLIGIBLE,
    STEP,
    Directions,
    Entries,
    Response,
    estimate,
)
from .report import Row

BLURRED = 1e-3  # an estimate no better than this, of the largest entry, settles nothing
SUBTLE = 1e-3  # below this disagreement, backward's own round-off is looked at
ENTRYWISE_UP_TO = 2048  # entries of an input; larger ones along directions
DIRECTIONS = 3
UNDERFLOW = 1e-292  # smaller numbers have lost digits on the way
LOCATED = 512  # entries looked at one by one where a direction is wrong


@dataclass
class Judged:
    """The derivatives along L lines for K upstream gradients: arrays of (K, L)."""

    analytic: np.ndarray
    numeric: np.ndarray
    error: np.ndarray  # of numeric, estimated
    relative: np.ndarray  # difference, relative to the largest entry
    wrong: np.ndarray
    undecided: np.ndarray
    kink: np.ndarray

    @property
    def verdict(self):
        if self.wrong.any():
            return "disagree"
        return "inconclusive" if self.undecided.any() else "agree"


@dataclass
class Comparison:
    """What was found about one input: arrays of (K, *x.shape).

    Attributes
    ----------
    name : str
    x : ndarray
    analytic : list of K arrays
        Of x's shape, unless backward got it wrong.
    numeric, error : arrays
        nan at entries that were not looked at.
    wrong, undecided, kink : arrays of bool
    row : Row
    """

    name: str
    x: np.ndarray
    analytic: list
    numeric: np.ndarray
    error: np.ndarray
    wrong: np.ndarray
    undecided: np.ndarray
    kink: np.ndarray
    row: Row

    @property
    def shape_is_right(self):
        return all(a.shape == self.x.shape for a in self.analytic)


def goes_by_entry(x, entrywise):
    """Whether each entry of x is moved, or x as a whole along a few directions."""
    return x.size <= ENTRYWISE_UP_TO if entrywise is None else entrywise


def compare(name, forward, dys, analytic, jittered, *, seed=0, entrywise=None):
    """Judge one gradient, entry by entry or along directions.

    Parameters
    ----------
    forward : numeric.Forward
    dys : list of K upstream gradients
    analytic : list of K arrays
    jittered : callable
        ``jittered()`` gives the K arrays backward returns when every input is off
        by one unit in its last place: how exact the analytic values can be.

    Returns
    -------
    Comparison
    """
    x = forward.x
    if any(a.shape != x.shape for a in analytic):
        return _compare_shapes(name, forward, dys, analytic)
    if x.size == 0:
        row = Row(name, "agree", 0.0, None, np.nan, np.nan, np.nan, "no entries")
        return _comparison(
            name, x, analytic, Judged(*[np.zeros((len(dys), 0))] * 7), [], row
        )
    if goes_by_entry(x, entrywise):
        return _compare_entries(
            name, forward, dys, analytic, jittered, np.arange(x.size)
        )

    lines = Directions(x, np.random.default_rng(seed), DIRECTIONS)
    judged = _judge(forward, lines, dys, analytic, jittered)
    if judged.wrong.any():
        entries = _locate(forward, dys, analytic, seed)
        found = _compare_entries(name, forward, dys, analytic, jittered, entries)
        if found.wrong.any():
            return found
    note = f"along {DIRECTIONS} random directions{_why_undecided(judged)}"
    row = _row(name, judged, note)
    return _comparison(name, x, analytic, judged, np.arange(0), row)


def agree_together(run, values, floats, y, dys, analytic, seed):
    """Whether all gradients agree when all inputs are moved at once.

    It costs two evaluations a direction, however many inputs there are. Only where
    everything is clear: a doubt is left to each input on its own.

    Returns
    -------
    (analytic, numeric, relative error) of the worst direction, or None
    """
    rng = np.random.default_rng(seed)
    sizes = [magnitude(values[i]) for i in floats]
    gradients = [[g[i] for i in floats] for g in analytic]
    worst = (0.0, 0.0, -1.0)
    for _ in range(DIRECTIONS):
        moves = [STEP * size * rng.standard_normal(size.shape) for size in sizes]
        ahead, behind = list(values), list(values)
        for i, move in zip(floats, moves):
            ahead[i], behind[i] = values[i] + move, values[i] - move
        try:
            after, before = run(ahead), run(behind)
        except Exception:
            return None
        for dy, of_inputs in zip(dys, gradients):
            slope = np.sum(dy * (after - before)) / (2 * STEP)
            bend = np.sum(dy * ((after - y) + (before - y))) / STEP
            claimed = sum(np.vdot(g, m) for g, m in zip(of_inputs, moves)) / STEP
            size = min(np.max(np.abs(g * s)) for g, s in zip(of_inputs, sizes))
            gap = abs(slope - claimed)
            if not np.isfinite(size):  # beside infinity every gap is small
                return None
            if not (gap <= NEGLIGIBLE * size and abs(bend) <= KINKED * size):
                return None
            worst = max(worst, (claimed, slope, gap / size), key=lambda w: w[2])
    return worst


def _compare_entries(name, forward, dys, analytic, jittered, entries):
    forward.stack()
    judged = _judge(forward, Entries(forward.x, entries), dys, analytic, jittered)
    wrong = np.zeros(forward.x.shape, bool)
    looked_at = wrong.copy()
    wrong.flat[entries] = judged.wrong.any(axis=0)
    looked_at.flat[entries] = True
    note = _whereabouts(wrong, looked_at)
    row = _row(name, judged, note, forward.x.shape, entries)
    return _comparison(name, forward.x, analytic, judged, entries, row)


def _compare_shapes(name, forward, dys, analytic):
    """A gradient of another shape is wrong; the numeric one tells how it came about."""
    forward.stack()
    x = forward.x
    shape = next(a.shape for a in analytic if a.shape != x.shape)
    entries = np.arange(min(x.size, ENTRYWISE_UP_TO))
    slope, _, noise, _ = Response(forward, Entries(x, entries), dys).usual()
    yes = np.ones(slope.shape, bool)
    judged = Judged(slope, slope, noise, slope, wrong=yes, undecided=~yes, kink=~yes)
    note = f"backward returned shape {shape}; {name} has shape {x.shape}"
    row = Row(name, "disagree", np.inf, None, np.nan, np.nan, np.nan, note)
    return _comparison(name, x, analytic, judged, entries, row)


def _comparison(name, x, analytic, judged, entries, row):
    """What was judged at some entries, written into arrays of x's shape."""

    def spread(values, fill):
        full = np.full((len(values), x.size), fill)
        if len(entries):
            full[:, entries] = values
        return full.reshape(len(values), *x.shape)

    return Comparison(
        name,
        x,
        analytic,
        spread(judged.numeric, np.nan),
        spread(judged.error, np.nan),
        spread(judged.wrong, False),
        spread(judged.undecided, False),
        spread(judged.kink, False),
        row,
    )


def _judge(forward, lines, dys, analytic, jittered):
    """The verdict on each of the lines."""
    value, error, kink, blind, size = estimate(forward, lines, dys, analytic)
    claimed = np.stack([lines.project(a) for a in analytic])
    gap = np.abs(value - claimed)
    wrong = _certainly_off(gap, error, size) & ~kink
    if np.any(wrong & (gap < SUBTLE * size)):
        error = error + np.abs(
            np.stack([lines.project(a) for a in jittered()]) - claimed
        )
        wrong = _certainly_off(gap, error, size) & ~kink
    wrong |= ~np.isfinite(claimed) & np.isfinite(value) & forward.all_finite

    # Nothing can be said against a gradient that moves no digit of the output.
    vanishing = (np.abs(claimed) <= blind) & (np.abs(value) <= CERTAIN * error)
    vanishing &= np.isfinite(error)
    blurred = (
        (gap > NEGLIGIBLE * size) & (CERTAIN * error > BLURRED * size) & ~vanishing
    )
    undecided = ~wrong & (kink | ~np.isfinite(gap) | blurred)
    relative = np.where(vanishing & ~(wrong | undecided), 0.0, gap) / np.where(
        size > 0, size, 1.0
    )
    relative = np.where(np.isfinite(gap), relative, np.inf)
    return Judged(claimed, value, error, relative, wrong, undecided, kink)


def _certainly_off(gap, error, size):
    return gap > np.maximum(CERTAIN * error, NEGLIGIBLE * size) + UNDERFLOW


def _row(name, judged, note, shape=None, entries=None):
    """The row for the line that is off most, among those that decide the verdict."""
    deciding = {"disagree": judged.wrong, "inconclusive": judged.undecided}
    among = deciding.get(judged.verdict, np.ones(judged.wrong.shape, bool))
    k, line = np.unravel_index(
        np.argmax(np.where(among, judged.relative, -1.0)), among.shape
    )
    analytic, numeric = judged.analytic[k, line], judged.numeric[k, line]
    index = None if entries is None else np.unravel_index(entries[line], shape)
    return Row(
        name,
        judged.verdict,
        float(judged.relative[k, line]),
        None if index is None else tuple(int(i) for i in index),
        float(analytic),
        float(numeric),
        float(np.divide(analytic, numeric)),
        note,
    )


def _why_undecided(judged):
    """What keeps directions from being judged, for the end of a sentence."""
    if judged.verdict != "inconclusive":
        return ""
    if np.all(judged.kink[judged.undecided]):
        return "; the slopes on the two sides differ: there is a kink"
    error = np.max(judged.error[judged.undecided])
    if not np.isfinite(error):
        return "; forward is not finite nearby, or does not settle as the step shrinks"
    return f"; the two can be compared to ±{error:.1e} only: round-off hides the rest"


def _whereabouts(wrong, looked_at):
    """How many entries are off, and whether they share an index along an axis."""
    count, total = int(wrong.sum()), int(looked_at.sum())
    if count == 0:
        return "" if looked_at.all() else f"{total} entries looked at"
    note = f"{count} of {total} entries off"
    if count in (total, 1):
        return note
    for axis in range(wrong.ndim):
        others = tuple(a for a in range(wrong.ndim) if a != axis)
        hit = np.flatnonzero(wrong.any(axis=others))
        if not looked_at.all() and np.any(np.take(~wrong & looked_at, hit, axis)):
            continue  # more was looked at there than elsewhere: it must be all of it
        if len(hit) <= np.sum(looked_at.any(axis=others)) // 2:
            listed = ", ".join(map(str, hit[:6])) + (", …" if len(hit) > 6 else "")
            return f"{note}, all at {listed} of axis {axis}"
    return note


def _locate(forward, dys, analytic, seed):
    """Entries to look at: where a large gradient is wrong, and some from all over.

    The entries are divided again and again, each time keeping the part whose
    directional derivative is off most.
    """
    x = forward.x
    spread = np.linspace(0, x.size - 1, LOCATED).astype(int)
    unreal = np.flatnonzero(~np.all(np.isfinite(np.stack(analytic)), axis=0))
    if len(unreal):
        return np.union1d(unreal[:LOCATED], spread)
    entries, rng = np.arange(x.size), np.random.default_rng(seed)
    while len(entries) > LOCATED:
        parts = np.array_split(entries, 8)
        lines = Directions(x, rng, len(parts))
        for across, part in zip(lines.across, parts):
            elsewhere = np.ones(x.size, bool)
            elsewhere[part] = False
            across[elsewhere.reshape(x.shape)] = 0.0
        claimed = np.stack([lines.project(a) for a in analytic])
        gap = np.abs(Response(forward, lines, dys).usual().slope - claimed)
        entries = parts[int(np.argmax(np.nan_to_num(gap.max(axis=0))))]
    return np.union1d(entries, spread)
