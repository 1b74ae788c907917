"""Lines through x, along which it is moved."""

import math

import numpy as np

from ..differences import magnitude


class Entries:
    """Lines along single entries of x, all of them or some.

    Attributes
    ----------
    unit : (L,) what a step is measured in: max(|x|, rms of x)
    own : (L,) |x|, which may be very much smaller
    """

    def __init__(self, x, entries=None):
        self.x = x
        self.entries = np.arange(x.size) if entries is None else entries
        self.unit = magnitude(x).ravel()[self.entries]
        self.own = np.abs(x).ravel()[self.entries]

    def __len__(self):
        return len(self.entries)

    @property
    def complete(self):
        """Whether they are all entries of x, in order."""
        return len(self) == self.x.size

    def points(self, lines, steps):
        """x moved ahead and back along each of the lines, stacked, and how far."""
        count, at = len(lines), self.entries[lines]
        stack = np.empty((2 * count, *self.x.shape))
        stack[:] = self.x
        flat, one = stack.reshape(2 * count, self.x.size), np.arange(count)
        flat[one, at] += steps
        flat[one + count, at] -= steps
        return stack, flat[one, at] - flat[one + count, at]

    def project(self, gradient):
        """The derivatives along the lines that a gradient implies: (L,)."""
        return gradient.ravel()[self.entries]

    def largest(self, gradient):
        """The most that a single entry has to do with them."""
        return largest(gradient)

    def typical(self, slopes):
        """How large an entry there must be to explain slopes of their size."""
        return largest(slopes)


class Directions:
    """Lines in seeded normal directions, in which every entry of x has a part."""

    complete = False

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
        return self.across.reshape(len(self), self.x.size) @ gradient.ravel()

    def largest(self, gradient):
        return largest(gradient * self.size)

    def typical(self, slopes):
        return largest(slopes) / math.sqrt(self.x.size)


def largest(values):
    """The largest finite size in an array."""
    top = np.max(np.abs(values), initial=0.0)
    if np.isfinite(top):
        return top
    return np.max(np.abs(values), initial=0.0, where=np.isfinite(values))
