"""Holding the gradient of one input against its numeric derivative."""

from dataclasses import dataclass

import numpy as np

from .estimates import NEGLIGIBLE, Directions, Entries, estimate, largest
from .report import Row

CERTAIN = 10  # an error this many times the estimated one is no accident
BLURRED = 1e-3  # an estimate no better than this, of the largest entry, settles nothing
SUBTLE = 1e-3  # below this disagreement, backward's own round-off is looked at
ENTRYWISE_UP_TO = 2048  # entries of an input; larger ones along directions
DIRECTIONS = 4
LOCATED = 512  # entries looked at one by one where a direction is wrong


@dataclass
class Comparison:
    """The analytic and numeric derivatives of one input, for K upstream gradients.

    Attributes
    ----------
    name : str
    x : ndarray
    analytic : list of K arrays
        Of x's shape, unless backward got it wrong.
    numeric, error : (K, *x.shape)
        nan where no single entry was looked at.
    wrong, undecided, kink : (K, *x.shape) of bool
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


def compare(name, forward, dys, analytic, jittered, *, seed=0, entrywise=None):
    """Judge one gradient, entry by entry or along directions.

    Parameters
    ----------
    forward : estimates.Forward
    dys : list of K upstream gradients
    analytic : list of K arrays, or None where backward gave no gradient
    jittered : callable
        ``jittered()`` gives the K arrays backward returns when every input is off
        by one unit in its last place: how exact the analytic values can be.
    """
    x = forward.x
    analytic = [np.zeros(x.shape) if a is None else a for a in analytic]
    if any(a.shape != x.shape for a in analytic):
        return _compare_shapes(name, forward, dys, analytic)
    if entrywise is None:
        entrywise = x.size <= ENTRYWISE_UP_TO
    if entrywise:
        return _compare_entries(name, forward, dys, analytic, jittered, np.arange(x.size))

    lines = Directions(x, np.random.default_rng(seed), DIRECTIONS)
    judged = _judge(forward, lines, dys, analytic, jittered)
    if judged["wrong"].any():
        entries = _locate(forward, dys, analytic, seed)
        found = _compare_entries(name, forward, dys, analytic, jittered, entries)
        if found.wrong.any():
            return found
    row = _row(name, judged, lambda line: None, f"along {DIRECTIONS} random directions")
    nothing = np.zeros((len(dys), *x.shape), bool)
    unknown = np.full(nothing.shape, np.nan)
    return Comparison(
        name, x, analytic, unknown, unknown, nothing, nothing, nothing, row
    )


def _compare_entries(name, forward, dys, analytic, jittered, entries):
    x = forward.x
    forward.stack()
    judged = _judge(forward, Entries(x, entries), dys, analytic, jittered)

    def spread(values, fill):
        full = np.full((len(dys), x.size), fill, values.dtype)
        full[:, entries] = values
        return full.reshape(len(dys), *x.shape)

    wrong = spread(judged["wrong"], False)
    note = _whereabouts(wrong.any(axis=0), len(entries))
    row = _row(name, judged, lambda i: np.unravel_index(entries[i], x.shape), note)
    return Comparison(
        name, x, analytic,
        spread(judged["numeric"], np.nan), spread(judged["error"], np.nan),
        wrong, spread(judged["undecided"], False), spread(judged["kink"], False), row,
    )


def _compare_shapes(name, forward, dys, analytic):
    """A gradient of another shape is wrong; the numeric one tells how it came about."""
    forward.stack()
    x, shape = forward.x, next(a.shape for a in analytic if a.shape != forward.x.shape)
    found = estimate(forward, Entries(x, np.arange(min(x.size, ENTRYWISE_UP_TO))), dys)
    numeric = np.full((len(dys), x.size), np.nan)
    error = numeric.copy()
    numeric[:, : found.value.shape[1]] = found.value
    error[:, : found.value.shape[1]] = found.error
    every = np.ones((len(dys), *x.shape), bool)
    row = Row(
        name, "disagree", np.inf, None, np.nan, np.nan, np.nan,
        f"backward returned shape {shape}; {name} has shape {x.shape}",
    )
    return Comparison(
        name, x, analytic, numeric.reshape(every.shape), error.reshape(every.shape),
        every, ~every, ~every, row,
    )


def _judge(forward, lines, dys, analytic, jittered):
    """The verdict on each of L lines: a dict of (K, L) arrays."""
    claimed = np.stack([lines.project(a) for a in analytic])
    value, error, kink, blind = estimate(forward, lines, dys, claimed)
    size = largest(value, claimed)

    gap = np.abs(value - claimed)
    invalid = ~np.isfinite(claimed) & np.isfinite(value) & forward.finite.all()
    wrong = _certainly_off(gap, error, size) & ~kink
    if np.any(wrong & (gap < SUBTLE * size)):
        error = error + np.abs(np.stack([lines.project(a) for a in jittered()]) - claimed)
        wrong = _certainly_off(gap, error, size) & ~kink
    wrong |= invalid

    # Nothing can be said against a gradient that moves no digit of the output.
    vanishing = np.abs(claimed) <= blind
    blurred = (gap > NEGLIGIBLE * size) & (CERTAIN * error > BLURRED * size) & ~vanishing
    undecided = ~wrong & (kink | ~np.isfinite(gap) | blurred)
    return dict(
        analytic=claimed, numeric=value, error=error, size=size, gap=gap,
        wrong=wrong, undecided=undecided, kink=kink,
    )


def _certainly_off(gap, error, size):
    return gap > np.maximum(CERTAIN * error, NEGLIGIBLE * size)


def _row(name, judged, index_of, note):
    """The row for the line that is off most, among those that decide the verdict."""
    wrong, undecided = judged["wrong"], judged["undecided"]
    verdict = (
        "disagree" if wrong.any() else "inconclusive" if undecided.any() else "agree"
    )
    if wrong.size == 0:
        return Row(name, verdict, 0.0, None, np.nan, np.nan, np.nan, "no entries")
    deciding = {"disagree": wrong, "inconclusive": undecided}.get(
        verdict, np.ones(wrong.shape, bool)
    )
    with np.errstate(all="ignore"):
        relative = judged["gap"] / np.where(judged["size"] > 0, judged["size"], 1.0)
        relative = np.where(np.isfinite(relative), relative, np.inf)
        k, line = np.unravel_index(
            np.argmax(np.where(deciding, relative, -1.0)), relative.shape
        )
        analytic, numeric = judged["analytic"][k, line], judged["numeric"][k, line]
        ratio = np.divide(analytic, numeric)
    return Row(
        name, verdict, float(relative[k, line]), index_of(line),
        float(analytic), float(numeric), float(ratio), note,
    )


def _whereabouts(wrong, looked_at):
    """How many entries are off, and whether they share an index along an axis."""
    count = int(wrong.sum())
    if count == 0:
        return "" if looked_at == wrong.size else f"{looked_at} entries looked at"
    note = f"{count} of {looked_at} entries off"
    if count in (looked_at, 1) or looked_at < wrong.size:
        return note
    for axis, length in enumerate(wrong.shape):
        others = tuple(a for a in range(wrong.ndim) if a != axis)
        hit = np.flatnonzero(wrong.any(axis=others))
        if len(hit) <= length // 2:
            listed = ", ".join(map(str, hit[:6])) + (", …" if len(hit) > 6 else "")
            return f"{note}, all at {listed} of axis {axis}"
    return note


def _locate(forward, dys, analytic, seed):
    """Entries to look at: where a large gradient is wrong, and some from all over.

    The entries are halved many times over, each time keeping the part whose
    directional derivative is off most.
    """
    x = forward.x
    spread = np.linspace(0, x.size - 1, LOCATED).astype(int)
    entries, rng = np.arange(x.size), np.random.default_rng(seed)
    while len(entries) > LOCATED:
        parts = np.array_split(entries, 8)
        lines = Directions(x, rng, len(parts))
        flat = lines.across.reshape(len(parts), -1)
        for across, part in zip(flat, parts):
            across[np.setdiff1d(np.arange(x.size), part, assume_unique=True)] = 0.0
        claimed = np.stack([lines.project(a) for a in analytic])
        gap = np.abs(estimate(forward, lines, dys).value - claimed)
        entries = parts[int(np.nanargmax(gap.max(axis=0)))]
    return np.union1d(entries, spread)
