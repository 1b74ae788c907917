"""How sum(dy · y) responds when x moves along lines, and the noise in that."""

from typing import NamedTuple

import numpy as np

from ..differences import EPS

STEP = EPS ** (1 / 3)  # the usual one, in units of a line
TINY = np.finfo(np.float64).tiny  # below it digits are lost to underflow


class Sample(NamedTuple):
    """Differences along P lines, for K upstream gradients."""

    slope: np.ndarray  # (K, P) central difference
    bend: np.ndarray  # (K, P) slope ahead minus slope behind
    noise: np.ndarray  # (K, P) what round-off of y makes of the slope
    still: np.ndarray  # (P,) whether no output moved at all


class Response:
    """Differences of sum(dy · y).

    Parameters
    ----------
    forward : Forward
    lines : Entries or Directions
    dys : list of K arrays of y's shape
    """

    def __init__(self, forward, lines, dys):
        self.forward = forward
        self.lines = lines
        self.dys = np.stack([forward.flat_like_y(dy) for dy in dys])
        self.here = forward.here()
        self.round_off = round_off(self.here[None], self.dys)

    def usual(self):
        """A Sample of all lines at the usual step."""
        steps = STEP * self.lines.unit
        if self.forward.rows > 1 and self.lines.complete:
            return self._all_rows_at_once(steps)
        return self.sample(np.arange(len(self.lines)), steps)

    def sample(self, lines, steps, far=False):
        """A Sample of some lines, each at its step.

        Far out, outputs may be larger than here, and their round-off with them.
        """
        half = self.forward.per_call // 2
        parts = [
            self._sample(lines[i : i + half], steps[i : i + half], far)
            for i in range(0, len(lines), half)
        ]
        return Sample(*(np.concatenate(part, axis=-1) for part in zip(*parts)))

    def _sample(self, lines, steps, far):
        count = len(lines)
        points, run = self.lines.points(lines, steps)
        # Differences first, sum last: outputs that did not move add no round-off.
        moved = self.forward(points) - self.here
        risen = (moved @ self.dys.T).T
        ulps = self.round_off
        if far:
            largest = np.maximum(np.abs(moved[:count]), np.abs(moved[count:]))
            ulps = round_off(largest + np.abs(self.here), self.dys)
        moves = np.any(moved, axis=1)
        return Sample(
            slope=(risen[:, :count] - risen[:, count:]) / run,
            bend=2 * (risen[:, :count] + risen[:, count:]) / run,
            noise=2 * ulps.T / run,
            still=~(moves[:count] | moves[count:]),
        )

    def _all_rows_at_once(self, steps):
        """The same for every entry, moving one of each independent row at a time."""
        x, rows = self.forward.x, self.forward.rows
        width, half = x.size // rows, self.forward.per_call // 2
        steps = steps.reshape(rows, width)
        dys = self.dys.reshape(len(self.dys), rows, -1)
        parts = []
        for columns in np.array_split(np.arange(width), -(-width // half)):
            each = np.arange(len(columns))
            points = np.empty((2, len(columns), rows, width))
            points[:] = x.reshape(rows, width)
            points[0, each, :, columns] += steps[:, columns].T
            points[1, each, :, columns] -= steps[:, columns].T
            run = (points[0, each, :, columns] - points[1, each, :, columns]).T
            moved = self.forward(points.reshape(-1, *x.shape)) - self.here
            moved = moved.reshape(2, len(columns), rows, -1)
            # s: ahead or behind, c: column, r: row, m: output of that row, k: dy
            ahead, behind = np.einsum("scrm,krm->skrc", moved, dys)
            still = ~np.any(moved, axis=(0, 3)).T
            parts.append(((ahead - behind) / run, 2 * (ahead + behind) / run, still))
        slope, bend, still = (np.concatenate(part, axis=-1) for part in zip(*parts))
        flat = (len(dys), x.size)
        noise = self.round_off.T / steps.ravel()
        return Sample(slope.reshape(flat), bend.reshape(flat), noise, still.ravel())

    def measured_noise(self):
        """How far off sum(dy · y) is, as far as that can be measured: (K, 1).

        A sum that cancels inside forward, or float32, does not show in the size of y.
        But a smooth function leaves next to nothing in fourth differences along a
        line, so what is seen there is noise. It is the same for moves of any size,
        until they are so long that the function itself is seen: so the first two sizes
        that find the same have the answer. A function is seen to grow with the fourth
        power of the size, or little faster. What appears at once are the jumps of
        something rounded inside: then the first two sizes beyond have it.
        """
        x, sizes = self.forward.x, STEP * 8.0 ** np.arange(-10, 4)
        across = np.random.default_rng(1).standard_normal(x.shape)
        # Each entry by a part of itself, so that none crosses a kink at zero.
        across *= (np.abs(x) if np.any(x) else 1.0) / np.sqrt(x.size)
        times = np.multiply.outer(sizes, np.arange(-5, 5)).reshape(
            (-1,) + (1,) * x.ndim
        )
        chunks = np.array_split(times, -(-len(times) // self.forward.per_call))
        y = np.concatenate([self.forward(x + chunk * across) for chunk in chunks])
        y = y.reshape(len(sizes), 10, -1)
        fourth = np.nan_to_num(np.abs(np.diff(y, n=4, axis=1) @ self.dys.T))
        # The variance of a fourth difference is 70 times that of its parts.
        top = np.maximum(fourth.max(axis=1), TINY)
        seen = top * np.sqrt(np.mean((fourth / top[:, None]) ** 2, axis=1) / 70)
        one, next_ = seen[:-1], seen[1:]
        level = (one > TINY) & (next_ < 8 * one) & (next_ > one / 8)
        jump = (one > TINY) & (next_ > 8.0**6 * one) & (sizes[1:, None] <= STEP)
        beyond = ~np.logical_or.accumulate(jump[::-1])[::-1] & jump.any(axis=0)
        steady = level & beyond & (next_ < 4 * one)  # a kink's grow with the size
        level = np.where(steady.any(axis=0), steady, level)
        found = np.maximum(one, next_)[
            np.argmax(level, axis=0), np.arange(len(self.dys))
        ]
        return np.where(level.any(axis=0), found, 0.0)[:, None]


def round_off(y, dys):
    """How far sum(dy · y) is off because y is rounded.

    Takes (P, m) outputs and (K, m) upstream gradients, returns (P, K).
    """
    # Dividing first keeps the squares of 1e-200 and 1e200 within range.
    top = np.maximum(np.max(np.abs(y), axis=1, keepdims=True, initial=0.0), TINY)
    most = np.maximum(np.max(np.abs(dys), axis=1, initial=0.0), TINY)
    squares = (y / top) ** 2 @ ((dys.T / most) ** 2)
    return np.maximum(EPS * top * most * np.sqrt(squares), TINY)
