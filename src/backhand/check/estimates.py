"""Numeric derivatives with an honest error: what may be held against an analytic one.

A derivative is estimated along lines through x: one line for each entry, or a few
in random directions. Three stages, each only for what the one before left open:

1. A central difference at ε^(1/3). Where it meets the analytic value, done.
2. The same at half the step, and the round-off of the outputs measured. Where the
   two agree and the analytic value is far off, done.
3. A ladder of steps. From the shortest step upwards, an estimate is taken in as
   long as it is consistent with all shorter ones; the longest one taken in has the
   least round-off. What bends at every step is a kink.
"""

import math
from typing import NamedTuple

import numpy as np

from .differences import EPS, magnitude

STEP = EPS ** (1 / 3)
# The usual rungs of the ladder, in units of an entry's magnitude.
LADDER = STEP * 8.0 ** np.arange(-10, 4)
FAR = 2 + len(LADDER)  # the first rung that is longer than these
NEGLIGIBLE = 1e-6  # of an array's largest entry
KINKED = 1e-3  # a change of slope of this much of the largest entry, at one step
GROSS = 1e-3  # a disagreement this large needs no second opinion
TINY = np.finfo(np.float64).tiny  # below it digits are lost to underflow
WORTH_STACKING = 4  # entries from which it pays to find out whether that works
CHUNK = 2**16  # numbers in one stack: more would only leave the processor's cache


class Estimate(NamedTuple):
    """Derivatives along L lines, for K upstream gradients."""

    value: np.ndarray  # (K, L) nan where forward is not finite nearby
    error: np.ndarray  # (K, L) how far value may be off
    kink: np.ndarray  # (K, L) whether the slopes on the two sides differ
    blind: np.ndarray  # (K, L) a slope below this moves no digit of the output
    size: np.ndarray   # (K, 1) the largest entry, which differences are relative to


class Entries:
    """Lines through x along single entries."""

    def __init__(self, x, entries=None):
        self.x = x
        self.entries = np.arange(x.size) if entries is None else entries
        self.unit = magnitude(x).ravel()[self.entries]
        self.own = np.abs(x).ravel()[self.entries]

    def __len__(self):
        return len(self.entries)

    def points(self, lines, steps):
        """x moved ahead and back along each of the lines, stacked, and how far."""
        count, at = len(lines), self.entries[lines]
        stack = np.empty((2 * count, *self.x.shape))
        stack[:] = self.x
        flat, one = stack.reshape(2 * count, -1), np.arange(count)
        flat[one, at] += steps
        flat[one + count, at] -= steps
        return stack, flat[one, at] - flat[one + count, at]

    def project(self, gradient):
        """The derivatives along the lines that a gradient implies."""
        return gradient.ravel()[self.entries]

    def largest(self, gradient):
        """The most that a single entry has to do with them."""
        return _largest(gradient)

    def typical(self, slopes):
        """How large an entry there must be to explain their size."""
        return _largest(slopes)


class Directions:
    """Lines through x along seeded normal directions."""

    def __init__(self, x, rng, count):
        self.x = x
        self.size = magnitude(x)
        self.across = rng.standard_normal((count, *x.shape)) * self.size
        self.unit = self.own = np.ones(count)

    def __len__(self):
        return len(self.across)

    def points(self, lines, steps):
        moves = steps.reshape((-1,) + (1,) * self.x.ndim) * self.across[lines]
        return np.concatenate([self.x + moves, self.x - moves]), 2 * steps

    def project(self, gradient):
        return self.across.reshape(len(self), -1) @ gradient.ravel()

    def largest(self, gradient):
        return _largest(gradient * self.size)

    def typical(self, slopes):
        return _largest(slopes) / math.sqrt(self.x.size)


class Forward:
    """A forward pass as a function of one of its inputs, the others held.

    Parameters
    ----------
    run : callable
        ``run(values) -> y`` takes the values of all inputs.
    inputs : list
        All of them, where y was found.
    position : int
        The one that is moved.
    y : array of floats
    """

    def __init__(self, run, inputs, position, y):
        self.run = run
        self.inputs = list(inputs)
        self.position = position
        self.x = inputs[position]
        self.y = y
        # The outputs that can be differentiated.
        self.finite = np.isfinite(y).ravel()
        self.all_finite = bool(self.finite.all())
        self.per_call = max(2, CHUNK // max(self.x.size, y.size, 1))
        self._stacked = None
        self.rows = 1  # parts of x, along leading axes, that move parts of y only

    def __call__(self, points):
        """y at each of a stack of points, one flattened y a row."""
        if self._stacked is not None:
            try:
                return self._rows(self._stacked(points))
            except Exception:  # one of them may be outside the domain: which one?
                pass
        return self._rows(np.stack([self._single(point) for point in points]))

    def here(self):
        """y at x, by the same route."""
        return self(self.x[None])[0] if self._stacked else self._rows(self.y[None])[0]

    def columns(self, dys):
        """Upstream gradients of the outputs there are: (K, m)."""
        return self._rows(np.stack(dys))

    def _rows(self, y):
        y = y.reshape(len(y), self.y.size)
        return y if self.all_finite else y[:, self.finite]

    def _single(self, x):
        values = self.inputs.copy()
        values[self.position] = x
        try:
            y = self.run(values)
        except Exception:  # outside the domain there is no derivative to find
            return np.full(self.y.shape, np.nan)
        return y if y.shape == self.y.shape else np.full(self.y.shape, np.nan)

    def stack(self):
        """Evaluate many points at once from now on, if the op gives the same result.

        Many ops take leading axes, in one input or in all alike. Others reduce
        over them, or read them as something else. So the outcome is compared, at
        points far enough apart to be told from each other.
        """
        if self.x.size < WORTH_STACKING or self.per_call < 4:
            return
        # As many as no axis has entries, or table[[0, 1]] of two tables looks right.
        lengths = {n for v in self.inputs if isinstance(v, np.ndarray) for n in v.shape}
        count = next(n for n in range(2, len(lengths) + 3) if n not in lengths)
        apart = np.random.default_rng(0).uniform(0.05, 0.2, (count, *self.x.shape))
        probe = self.x + apart * magnitude(self.x)
        expected = np.stack([self._single(point) for point in probe])
        for stacked in (self._stack_one, self._stack_all):
            try:
                found = stacked(probe)
            except Exception:
                continue
            if found.shape == expected.shape and _same(found, expected):
                self._stacked = stacked
                self.rows = self._independent_rows()
                return

    def _independent_rows(self):
        """How many rows of x there are of which each moves its own row of y only.

        All of them can then be moved at once. A softmax over the last axis has as
        many as there are rows; attention has as many as there are sequences.
        """
        x, y = self.x, self.y
        if not self.all_finite:  # then the rows of what is left differ in length
            return 1
        for depth in range(min(x.ndim, y.ndim, x.ndim - 1), 0, -1):
            rows = math.prod(x.shape[:depth])
            if x.shape[:depth] != y.shape[:depth] or not 1 < rows <= self.per_call:
                continue
            apart = np.random.default_rng(1).uniform(0.05, 0.2, (rows, x.size // rows))
            points = np.repeat(x.reshape(1, rows, -1), rows, axis=0)
            points[np.arange(rows), np.arange(rows)] += apart * magnitude(x).reshape(rows, -1)
            found = self(points.reshape(rows, *x.shape)).reshape(rows, rows, -1)
            still = found == self.here().reshape(1, rows, -1)
            if np.all(still[~np.eye(rows, dtype=bool)]):
                return rows
        return 1

    def _stack_one(self, points):
        values = self.inputs.copy()
        values[self.position] = points
        return self.run(values)

    def _stack_all(self, points):
        values = [
            np.broadcast_to(v, (len(points), *v.shape)) if isinstance(v, np.ndarray) else v
            for v in self.inputs
        ]
        values[self.position] = points
        return self.run(values)


class Sample(NamedTuple):
    """Differences along P lines, for K upstream gradients."""

    slope: np.ndarray  # (K, P) central difference
    bend: np.ndarray   # (K, P) slope ahead minus slope behind
    noise: np.ndarray  # (K, P) round-off of the slope
    still: np.ndarray  # (P,) no output moved at all


class Response:
    """How sum(dy · y) responds when x moves along lines."""

    def __init__(self, forward, lines, dys):
        self.forward = forward
        self.lines = lines
        self.dys = forward.columns(dys)
        self.here = forward.here()
        self.round_off = round_off(self.here[None], self.dys)

    def usual(self):
        """Differences along all lines at the usual step."""
        steps = STEP * self.lines.unit
        if self.forward.rows > 1 and len(self.lines) == self.forward.x.size:
            return self._sample_by_column(steps)
        return self.sample(np.arange(len(self.lines)), steps)

    def sample(self, lines, steps, far=False):
        """Differences at one step a line; far out, outputs may be larger than here."""
        half = self.forward.per_call // 2
        parts = [
            self._sample(lines[i : i + half], steps[i : i + half], far)
            for i in range(0, len(lines), half)
        ]
        return Sample(*(np.concatenate(part, axis=-1) for part in zip(*parts)))

    def _sample(self, lines, steps, far):
        points, run = self.lines.points(lines, steps)
        # Differences first, sum last: outputs that did not move add no round-off.
        moved = self.forward(points) - self.here
        count = len(lines)
        risen = (moved @ self.dys.T).T
        ahead, behind = risen[:, :count], risen[:, count:]
        ulps = self.round_off
        if far:
            largest = np.maximum(np.abs(moved[:count]), np.abs(moved[count:]))
            ulps = round_off(largest + np.abs(self.here), self.dys)
        noise = ulps.T * 2 / run
        moves = np.any(moved, axis=1)
        still = ~(moves[:count] | moves[count:])
        return Sample((ahead - behind) / run, (ahead + behind) * 2 / run, noise, still)

    def _sample_by_column(self, steps):
        """The same for every entry, with one entry of each independent row at a time."""
        x, rows = self.forward.x, self.forward.rows
        width, half = x.size // rows, self.forward.per_call // 2
        steps = steps.reshape(rows, width)
        dys = self.dys.reshape(len(self.dys), rows, -1)
        parts = []
        for columns in np.array_split(np.arange(width), -(-width // half)):
            points = np.empty((2, len(columns), rows, width))
            points[:] = x.reshape(rows, width)
            number = np.arange(len(columns))
            points[0, number, :, columns] += steps[:, columns].T
            points[1, number, :, columns] -= steps[:, columns].T
            run = points[0, number, :, columns] - points[1, number, :, columns]
            moved = self.forward(points.reshape(-1, *x.shape)) - self.here
            moved = moved.reshape(2, len(columns), rows, -1)
            ahead, behind = np.einsum("scrm,krm->skrc", moved, dys)
            still = ~np.any(moved, axis=(0, 3))
            parts.append(((ahead - behind) / run.T, (ahead + behind) * 2 / run.T, still.T))
        slope, bend, still = (np.concatenate(part, axis=-1) for part in zip(*parts))
        noise = self.round_off.T / steps.ravel()
        flat = (len(dys), x.size)
        return Sample(slope.reshape(flat), bend.reshape(flat), noise, still.ravel())

    def measured_noise(self):
        """How far off sum(dy · y) really is, as far as can be measured: (K,).

        A sum that cancels inside forward, or float32, does not show in the size of y.
        But in fourth differences along a line a smooth function leaves next to nothing,
        so what is seen there is noise. It is the same for moves of any size, until
        they are so long that the function itself is seen: the first two sizes that
        find the same give the answer.
        """
        x = self.forward.x
        across = np.random.default_rng(1).standard_normal(x.shape)
        # Each entry by a part of itself, so that none crosses a kink at zero.
        across *= (np.abs(x) if np.any(x) else 1.0) / max(_norm(across), 1.0)
        sizes = LADDER[LADDER <= STEP]
        times = np.multiply.outer(sizes, np.arange(-5, 5)).reshape((-1,) + (1,) * x.ndim)
        chunks = np.array_split(times, -(-len(times) // self.forward.per_call))
        y = np.concatenate([self.forward(x + part * across) for part in chunks])
        fourth = np.diff(y.reshape(len(sizes), 10, -1), n=4, axis=1) @ self.dys.T
        fourth = np.nan_to_num(np.abs(fourth))
        # The variance of a fourth difference is 70 times that of its parts.
        top = np.maximum(fourth.max(axis=1, keepdims=True), TINY)
        seen = top[:, 0] * np.sqrt(np.mean((fourth / top) ** 2, axis=1) / 70)
        level = (seen[:-1] > TINY) & (seen[1:] < 8 * seen[:-1]) & (seen[1:] > seen[:-1] / 8)
        first = np.argmax(level, axis=0)
        larger = np.maximum(seen[:-1], seen[1:])[first, np.arange(len(self.dys))]
        return np.where(level.any(axis=0), larger, 0.0)


def round_off(y, dys):
    """How far sum(dy · y) may be off because y is rounded.

    Takes (P, m) outputs and (K, m) upstream gradients, returns (P, K).
    """
    top = np.maximum(np.max(np.abs(y), axis=1, keepdims=True, initial=0.0), TINY)
    most = np.maximum(np.max(np.abs(dys), axis=1, initial=0.0), TINY)
    squares = (y / top) ** 2 @ ((dys.T / most) ** 2)
    return np.maximum(EPS * top * most * np.sqrt(squares), TINY)


def estimate(forward, lines, dys, analytic=None):
    """Derivatives of sum(dy · y) along lines, as well as the question needs them.

    Parameters
    ----------
    forward : Forward
    lines : Entries or Directions, L of them
    dys : list of K arrays of y's shape
    analytic : list of K arrays of x's shape, optional
        The gradients they are held against. Effort goes where they differ; with
        nothing to be held against, there is no more than the first stage.

    Returns
    -------
    Estimate
    """
    response = Response(forward, lines, dys)
    first = response.usual()
    value = first.slope.copy()
    error = first.noise.copy()
    kink = np.zeros(value.shape, bool)
    blind = 100 * STEP * first.noise * lines.unit / np.maximum(lines.unit, 1.0)
    if analytic is None:
        return Estimate(value, error, kink, blind, None)
    size = np.array([
        [max(lines.largest(a), lines.typical(v))] for a, v in zip(analytic, value)
    ])
    found = Estimate(value, error, kink, blind, size)
    analytic = np.stack([lines.project(a) for a in analytic])

    def off(value):
        # Written so that nan counts as off.
        return ~(np.abs(value - analytic) <= NEGLIGIBLE * size)

    bent = ~(np.abs(first.bend) <= KINKED * size)
    odd_step = (lines.own > 0) & (lines.own < 10 * STEP * lines.unit)
    open_ = np.flatnonzero(np.any(off(value) | bent, axis=0) | odd_step)
    if len(open_) == 0:
        return found

    half = response.sample(open_, STEP / 2 * lines.unit[open_])
    measured = response.measured_noise()[:, None]
    noise = np.maximum(half.noise, measured / (STEP / 2 * lines.unit[open_]))
    change = np.abs(half.slope - first.slope[:, open_])
    value[:, open_], error[:, open_] = half.slope, change + noise
    gap = np.abs(half.slope - analytic[:, open_])
    settled = change <= np.maximum(10 * noise, GROSS * np.abs(half.slope))
    clear = (
        settled
        & (gap > np.maximum(100 * error[:, open_], GROSS * size))
        & ~bent[:, open_]
        & ~(first.still[open_] | odd_step[open_])
    )
    unclear = open_[~np.all(clear, axis=0)]
    if len(unclear):
        better = climb(response, unclear, analytic[:, unclear], size, measured)
        for all_lines, these in zip(found[:4], better):
            all_lines[:, unclear] = these
    return found


def climb(response, lines, analytic, size, measured):
    """Estimate derivatives on a ladder of steps, from the shortest one upwards.

    Returns
    -------
    value, error, kink, blind : arrays of (K, P), as in Estimate
    """
    steps = ladder(response.lines.unit[lines], response.lines.own[lines])
    every = response.sample(np.tile(lines, len(steps)), steps.ravel(), far=True)
    slopes, bends, noise = (
        np.moveaxis(part.reshape(len(part), *steps.shape), 0, 1) for part in every[:3]
    )  # (R, K, P)
    stills = every.still.reshape(steps.shape)
    noise = np.maximum(noise, measured / steps[:, None])
    # An output that does not move may be the difference of numbers that lost the step,
    # as large as it becomes nearby.
    scale = np.maximum(response.lines.unit[lines], 1.0)
    ulps = np.where((steps <= 10 * scale)[:, None], noise * steps[:, None], 0.0)
    ulps = np.nan_to_num(ulps, posinf=0.0).max(axis=0)
    noise = np.where(stills[:, None], ulps / steps[:, None], noise)
    value, error = slopes[0].copy(), np.full_like(slopes[0], np.inf)
    low, high = np.full_like(value, -np.inf), np.full_like(value, np.inf)
    consistent = np.ones(value.shape, bool)
    for rung in range(1, len(steps)):
        slope, margin = slopes[rung], 3 * noise[rung]
        says = np.isfinite(margin)
        low = np.where(says, np.fmax(low, slope - margin), low)
        high = np.where(says, np.fmin(high, slope + margin), high)
        consistent &= ~says | (np.isfinite(slope) & (low <= high))
        near = steps[rung] < 16 * steps[rung - 1]
        doubt = noise[rung] + np.abs(slope - slopes[rung - 1])
        if rung >= FAR:  # good enough to agree with, too far out to accuse
            doubt = np.where(np.abs(slope - analytic) > 2 * doubt, np.inf, doubt)
        better = consistent & says & near & (doubt < error)
        value = np.where(better, slope, value)
        error = np.where(better, doubt, error)
    error = np.where(absorbed(slopes, stills, noise, analytic), np.inf, error)
    kink = kinks(steps, np.abs(bends), noise, size)
    home = 2 + list(LADDER).index(STEP)
    return value, error, kink, 100 * noise[home] * steps[home] / scale


def absorbed(slopes, stills, noise, analytic):
    """Where forward loses a short step whole, but answers longer ones as predicted.

    In (1e16 + x) − 1e16 it does. Whether that is a flat function with a wrong
    gradient or a steep one badly computed, no difference can tell: (K, P).
    """
    lost = stills[:, None] & (np.abs(analytic) > 10 * noise)
    echo = ~stills[:, None] & (np.abs(slopes - analytic) <= 0.01 * np.abs(analytic))
    return np.any(lost, axis=0) & np.any(echo[1:] & echo[:-1], axis=0)


def ladder(unit, own):
    """Steps for each line, short to long: (R, P).

    Around the usual step; below it at the entry's own scale, for an entry much
    smaller than its array; above it up to scale one and more, for inputs so small
    that they make no difference to the output, or an output so large that it hides
    the difference.
    """
    usual = np.multiply.outer(LADDER, unit)
    small = np.where(own > 0, own, np.minimum(unit, 1.0))
    shortest = np.minimum(STEP * small, usual[0] / 32)
    longer = np.multiply.outer(8.0 ** np.arange(8), np.maximum(STEP / 512, 8 * usual[-1]))
    return np.stack([shortest, 4 * shortest, *usual, *longer])


def kinks(steps, bends, noise, size):
    """Where the change of slope across x does not shrink with the step: (K, P)."""
    audible = np.isfinite(bends) & (12 * noise < KINKED * size)
    first = np.argmax(audible, axis=0)
    after = np.minimum(first + 1, len(steps) - 1)

    def at(rung, values):
        return np.take_along_axis(values, rung[None], axis=0)[0]

    heard = at(first, audible) & at(after, audible)
    return heard & (at(first, bends) > KINKED * size) & (
        at(first, bends) > 0.5 * at(after, bends)
    )


def _largest(values):
    """The largest finite size in an array."""
    top = np.max(np.abs(values), initial=0.0)
    if np.isfinite(top):
        return top
    return np.max(np.abs(values), initial=0.0, where=np.isfinite(values))


def _norm(values):
    """The 2-norm, of numbers whose squares may be out of range."""
    top = np.max(np.abs(values), initial=0.0)
    return top if top == 0 or not np.isfinite(top) else top * np.linalg.norm(values / top)


def _same(a, b):
    size = np.max(np.abs(b), initial=0.0)
    if np.isfinite(size):
        return bool(np.all(np.abs(a - b) <= 1e-10 * size))
    return np.allclose(a, b, rtol=1e-10, atol=0.0, equal_nan=True)
