"""y at many points: in one call where the op takes leading axes, else one by one."""

import math

import numpy as np

from ..differences import magnitude

CHUNK = 2**16  # numbers in one stack: more would only leave the processor's cache
WORTH_STACKING = 4  # entries from which it pays to find out whether that works


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
    y : ndarray

    Attributes
    ----------
    finite : (y.size,) of bool
        The outputs that can be differentiated. The others are left out of all rows.
    rows : int
        Into how many parts x falls, along leading axes, of which each moves its own
        part of y only. 1 until `stack` finds more.
    """

    def __init__(self, run, inputs, position, y):
        self.run = run
        self.inputs = list(inputs)
        self.position = position
        self.x = inputs[position]
        self.y = y
        self.finite = np.isfinite(y).ravel()
        self.all_finite = bool(self.finite.all())
        self.per_call = max(2, CHUNK // max(self.x.size, y.size, 1))
        self.rows = 1
        self._stacked = None

    def __call__(self, points):
        """y at each of a stack of points, one flattened y a row."""
        if self._stacked is not None:
            try:
                return self._flat(self._stacked(points))
            except Exception:  # one of them may be outside the domain: which one?
                pass
        return self._flat(np.stack([self._single(point) for point in points]))

    def here(self):
        """y at x, by the same route: what does not move is the same bit for bit."""
        return self(self.x[None])[0] if self._stacked else self.flat_like_y(self.y)

    def flat_like_y(self, array):
        """An array of y's shape, as a row of what a call returns."""
        return self._flat(array[None])[0]

    def stack(self):
        """Evaluate many points at once from now on, if the op gives the same result.

        Many ops take leading axes, in one input or in all alike. Others reduce over
        them, or read them as something else. So the outcome is compared, at points far
        enough apart to be told from each other.
        """
        if self.x.size < WORTH_STACKING or self.per_call < 4:
            return
        # As many as no axis has entries, or table[[0, 1]] of two tables looks right.
        lengths = {n for v in self.inputs if isinstance(v, np.ndarray) for n in v.shape}
        count = next(n for n in range(2, len(lengths) + 3) if n not in lengths)
        points = self.x + self._clear_moves(count, self.x.shape) * magnitude(self.x)
        expected = np.stack([self._single(point) for point in points])
        for stacked in (self._stack_one, self._stack_all):
            try:
                found = stacked(points)
            except Exception:
                continue
            if found.shape == expected.shape and _same(found, expected):
                self._stacked = stacked
                self.rows = self._independent_rows()
                return

    def _independent_rows(self):
        """How many rows of x there are of which each moves its own row of y only.

        A softmax over the last axis has as many as there are rows, attention as many
        as there are sequences. All of them can be moved at once.
        """
        x, y = self.x, self.y
        if not self.all_finite:
            return 1
        for depth in range(min(x.ndim - 1, y.ndim), 0, -1):
            rows = math.prod(x.shape[:depth])
            if x.shape[:depth] != y.shape[:depth] or not 1 < rows <= self.per_call:
                continue
            points = np.repeat(x.reshape(1, rows, -1), rows, axis=0)
            moves = self._clear_moves(rows, (x.size // rows,))
            each = np.arange(rows)
            points[each, each] += moves * magnitude(x).reshape(rows, -1)
            found = self(points.reshape(rows, *x.shape)).reshape(rows, rows, -1)
            still = found == self.here().reshape(1, rows, -1)
            if np.all(still[~np.eye(rows, dtype=bool)]):
                return rows
        return 1

    @staticmethod
    def _clear_moves(count, shape):
        return np.random.default_rng(0).uniform(0.05, 0.2, (count, *shape))

    def _single(self, x):
        values = self.inputs.copy()
        values[self.position] = x
        try:
            y = self.run(values)
        except Exception:  # outside the domain there is no derivative to find
            return np.full(self.y.shape, np.nan)
        return y if y.shape == self.y.shape else np.full(self.y.shape, np.nan)

    def _stack_one(self, points):
        values = self.inputs.copy()
        values[self.position] = points
        return self.run(values)

    def _stack_all(self, points):
        values = [
            np.broadcast_to(v, (len(points), *v.shape))
            if isinstance(v, np.ndarray)
            else v
            for v in self.inputs
        ]
        values[self.position] = points
        return self.run(values)

    def _flat(self, y):
        y = y.reshape(len(y), self.y.size)
        return y if self.all_finite else y[:, self.finite]


def _same(a, b):
    size = np.max(np.abs(b), initial=0.0)
    if np.isfinite(size):
        return bool(np.all(np.abs(a - b) <= 1e-10 * size))
    return np.allclose(a, b, rtol=1e-10, atol=0.0, equal_nan=True)
