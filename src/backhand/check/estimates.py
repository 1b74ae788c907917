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

from typing import NamedTuple

import numpy as np

from .differences import EPS, magnitude

STEP = EPS ** (1 / 3)
# The usual rungs of the ladder, in units of an entry's magnitude.
LADDER = STEP * 8.0 ** np.arange(-4, 4)
FAR = 2 + len(LADDER)  # the first rung that is longer than these
NEGLIGIBLE = 1e-6  # of an array's largest entry
KINKED = 1e-3  # a change of slope of this much of the largest entry, at one step
GROSS = 1e-3  # a disagreement this large needs no second opinion
TINY = np.finfo(np.float64).tiny  # below it digits are lost to underflow
CHUNK = 2**16  # numbers in one stack: more would only leave the processor's cache


class Estimate(NamedTuple):
    """Derivatives along L lines, for K upstream gradients."""

    value: np.ndarray  # (K, L) nan where forward is not finite nearby
    error: np.ndarray  # (K, L) how far value may be off
    kink: np.ndarray  # (K, L) whether the slopes on the two sides differ


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
        """x moved along each of the lines, stacked, and how far it was moved."""
        count = len(lines)
        stack = np.repeat(self.x[None], count, axis=0)
        flat, at = stack.reshape(count, -1), self.entries[lines]
        flat[np.arange(count), at] += steps
        return stack, flat[np.arange(count), at] - self.x.ravel()[at]

    def project(self, gradient):
        """The derivatives along the lines that a gradient implies."""
        return gradient.ravel()[self.entries]


class Directions:
    """Lines through x along seeded normal directions."""

    def __init__(self, x, rng, count):
        self.x = x
        size = magnitude(x)
        self.across = rng.standard_normal((count, *x.shape)) * size
        self.unit = self.own = np.ones(count)

    def __len__(self):
        return len(self.across)

    def points(self, lines, steps):
        shape = (-1,) + (1,) * self.x.ndim
        return self.x + steps.reshape(shape) * self.across[lines], steps

    def project(self, gradient):
        return self.across.reshape(len(self), -1) @ gradient.ravel()


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
        self.finite = np.isfinite(y).ravel()  # the outputs that can be differentiated
        self.per_call = max(2, CHUNK // max(self.x.size, y.size, 1))
        self._stacked = self._find_stacking()

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
        return y.reshape(len(y), -1)[:, self.finite]

    def _single(self, x):
        values = self.inputs.copy()
        values[self.position] = x
        try:
            y = self.run(values)
        except Exception:  # outside the domain there is no derivative to find
            return np.full(self.y.shape, np.nan)
        return y if y.shape == self.y.shape else np.full(self.y.shape, np.nan)

    def _find_stacking(self):
        """A way to evaluate many points at once, if the op gives the same result.

        Many ops take leading axes, in one input or in all alike. Others reduce
        over them, or read them as something else. So the outcome is compared, at
        points far enough apart to be told from each other.
        """
        if self.x.size < 2 or self.per_call < 4:
            return None
        apart = np.random.default_rng(0).uniform(0.05, 0.2, (2, *self.x.shape))
        probe = self.x + apart * magnitude(self.x)
        expected = np.stack([self._single(point) for point in probe])
        for stacked in (self._stack_one, self._stack_all):
            try:
                found = stacked(probe)
            except Exception:
                continue
            if found.shape == expected.shape and _same(found, expected):
                return stacked
        return None

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
    still: np.ndarray  # (P,) no output moved at all
    noise: np.ndarray  # (K, P) round-off of the slope


class Response:
    """How sum(dy · y) responds when x moves along lines."""

    def __init__(self, forward, lines, dys):
        self.forward = forward
        self.lines = lines
        self.dys = forward.columns(dys)
        self.here = forward.here()
        self.measured = np.zeros(len(dys))

    def usual(self):
        """Differences along all lines at the usual step."""
        return self.sample(np.arange(len(self.lines)), STEP * self.lines.unit)

    def sample(self, lines, steps):
        """Differences at one step a line."""
        half = self.forward.per_call // 2
        parts = [
            self._sample(lines[i : i + half], steps[i : i + half])
            for i in range(0, len(lines), half)
        ]
        return Sample(*(np.concatenate(part, axis=-1) for part in zip(*parts)))

    def _sample(self, lines, steps):
        ahead, moved = self.lines.points(lines, steps)
        behind, back = self.lines.points(lines, -steps)
        y = self.forward(np.concatenate([ahead, behind]))
        here, ahead, behind = self.here, y[: len(lines)], y[len(lines) :]
        # Differences first, sum last: outputs that did not move add no round-off.
        rise = (ahead - behind) @ self.dys.T
        fall = (ahead - here) - (here - behind)
        still = ~np.any((ahead != here) | (behind != here), axis=1)
        run = (moved - back)[:, None]
        most = np.maximum(np.maximum(np.abs(ahead), np.abs(behind)), np.abs(here))
        # Round-off, with what was measured, of outputs as large as they are out there.
        noise = np.maximum(round_off(most, self.dys), self.measured) / (run / 2)
        return Sample((rise / run).T, (fall @ self.dys.T / run * 2).T, still, noise.T)

    def measure_round_off(self):
        """Find out what round-off the forward pass really has.

        Fourth differences along a short line: what a smooth function leaves there
        is h⁴, nothing, so what is seen is noise. A sum that cancels inside forward
        shows here, though not in the size of y.
        """
        x = self.forward.x
        across = np.random.default_rng(1).standard_normal(x.shape)
        across *= magnitude(x) / max(_norm(across), 1.0)
        times = STEP * np.arange(-6, 6).reshape((-1,) + (1,) * x.ndim)
        chunks = np.array_split(x + times * across, -(-len(times) // self.forward.per_call))
        y = np.concatenate([self.forward(points) for points in chunks])
        fourth = np.diff(y, n=4, axis=0) @ self.dys.T  # variance 70 · noise²
        self.measured = np.nan_to_num(np.sqrt(np.mean(fourth**2, axis=0) / 70))


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
    analytic : (K, L), optional
        What the derivatives are held against. Effort goes where they differ; with
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
    if analytic is None:
        return Estimate(value, error, kink)
    size = largest(value, analytic)

    def off(value):
        # Written so that nan counts as off.
        return ~(np.abs(value - analytic) <= NEGLIGIBLE * size)

    bent = ~(np.abs(first.bend) <= KINKED * size)
    odd_step = (lines.own > 0) & (lines.own < 1e-3 * lines.unit)
    open_ = np.flatnonzero(np.any(off(value) | bent, axis=0) | odd_step)
    if len(open_) == 0:
        return Estimate(value, error, kink)

    response.measure_round_off()
    half = response.sample(open_, STEP / 2 * lines.unit[open_])
    noise = half.noise
    change = np.abs(half.slope - first.slope[:, open_])
    value[:, open_], error[:, open_] = half.slope, change + noise
    gap = np.abs(half.slope - analytic[:, open_])
    clear = (
        (gap > np.maximum(100 * error[:, open_], GROSS * size))
        & ~bent[:, open_]
        & ~(first.still[open_] | odd_step[open_])
    )
    unclear = open_[~np.all(clear, axis=0)]
    if len(unclear):
        value[:, unclear], error[:, unclear], kink[:, unclear] = climb(
            response, unclear, analytic[:, unclear], size
        )
    return Estimate(value, error, kink)


def climb(response, lines, analytic, size):
    """Estimate derivatives on a ladder of steps, from the shortest one upwards.

    Returns
    -------
    value, error, kink : arrays of (K, P)
    """
    steps = ladder(response.lines.unit[lines], response.lines.own[lines])
    samples = [response.sample(lines, step) for step in steps]
    slopes, bends, stills, noise = (np.stack(parts) for parts in zip(*samples))
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
            doubt = np.where(np.abs(slope - analytic) > doubt, np.inf, doubt)
        better = consistent & says & near & (doubt < error)
        value = np.where(better, slope, value)
        error = np.where(better, doubt, error)
    error = np.where(absorbed(slopes, stills, noise, analytic), np.inf, error)
    return value, error, kinks(steps, np.abs(bends), noise, size)


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
    longer = np.multiply.outer(8.0 ** np.arange(6), np.maximum(STEP, 8 * usual[-1]))
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


def largest(*arrays):
    """The largest finite size in any of the (K, L) arrays: (K, 1)."""
    joined = np.abs(np.concatenate(arrays, axis=1))
    joined = np.where(np.isfinite(joined), joined, 0.0)
    return np.max(joined, axis=1, keepdims=True, initial=0.0)


def _norm(values):
    """The 2-norm, of numbers whose squares may be out of range."""
    top = np.max(np.abs(values), initial=0.0)
    return top if top == 0 or not np.isfinite(top) else top * np.linalg.norm(values / top)


def _same(a, b):
    size = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
    return np.allclose(a, b, rtol=0.0, atol=1e-10 * size, equal_nan=True)
