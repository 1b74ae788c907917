"""What a diagnosis may look at: the two gradients, and the op to ask again."""

import math
from functools import cached_property

import numpy as np

from ..numeric import Entries, Forward, Response
from ..report import Finding

ALIKE = 1e-5  # of the largest entry: two arrays no further apart follow one pattern
SMALL_ENOUGH = 2**18  # entries of a Jacobian that is worth writing out
OUTPUTS = 512  # and how many backward passes that may take


class Evidence:
    """One gradient, with everything around it.

    Attributes
    ----------
    name : str
    x : ndarray
    y : ndarray
    dys : list of K upstream gradients
    returned : list of K arrays
        What backward returned, of whatever shape.
    numeric : (K, *x.shape)
        nan at entries that were not looked at.
    known, wrong : (K, *x.shape) of bool
    others : dict of name to array
        The other inputs that are arrays of floats.
    ids : dict of name to array
        The inputs that are arrays of integers.
    """

    def __init__(self, comparison, subject, position, dys):
        self.subject = subject
        self.position = position
        self.name = comparison.name
        self.x = comparison.x
        self.y = np.asarray(subject.y, dtype=np.float64)
        self.dys = [np.asarray(dy, dtype=np.float64) for dy in dys]
        self.returned = comparison.analytic
        self.shape_is_right = comparison.shape_is_right
        self.numeric = comparison.numeric
        self.error = comparison.error
        self.wrong = comparison.wrong
        self.undecided = comparison.undecided
        self.kink = comparison.kink
        self.known = np.isfinite(self.numeric)
        arrays = {
            name: value
            for i, (name, value) in enumerate(zip(subject.names, subject.values))
            if isinstance(value, np.ndarray) and i != position
        }
        self.others = {n: v for n, v in arrays.items() if v.dtype.kind == "f"}
        self.ids = {n: v for n, v in arrays.items() if v.dtype.kind in "iu"}

    # ------------------------------------------------------------ the two gradients

    @cached_property
    def analytic(self):
        return np.stack(self.returned)

    @property
    def excess(self):
        return self.analytic - self.numeric

    @cached_property
    def slack(self):
        """By how much an entry may miss a pattern.

        A little of the largest entry, but less than what the pattern is to explain.
        """
        room = ALIKE * _largest(self.numeric)
        if self.shape_is_right:
            gap = _largest(np.where(self.wrong, self.excess, 0.0))
            room = np.minimum(room + ALIKE * _largest(self.analytic), 0.01 * gap)
        return np.maximum(room, 10 * np.nan_to_num(self.error))

    def alike(self, a, b, where=True, scale=1.0):
        """Whether two (K, *x.shape) arrays are the same wherever numeric is known."""
        with np.errstate(all="ignore"):
            close = np.abs(a - b) <= scale * self.slack
        return bool(np.all(close[self.known & where]))

    def same(self, a):
        """Whether an array is the numeric gradient."""
        return a is not None and self.alike(a, self.numeric)

    @property
    def significant(self):
        """Entries whose numeric value is well above what could be round-off."""
        return self.known & (np.abs(self.numeric) > 100 * self.slack)

    @property
    def zero(self):
        """Entries whose numeric value is zero, to within its error."""
        return self.known & (np.abs(self.numeric) <= 10 * self.error)

    def count(self, where):
        """How many entries of x a (K, *x.shape) mask touches."""
        return int(np.any(where & self.known, axis=0).sum())

    # ------------------------------------------------------------- asking the op again

    def call(self, dy, values=None):
        """What backward returns for this input, for another dy or at other values.

        None if it raises, returns another shape, or does not repeat itself.
        """
        if any(finding.kind == "not_repeatable" for finding in self.subject.findings):
            return None
        try:
            gradient = self.subject.ask(dy, values)[self.position]
        except Exception:
            return None
        return gradient if gradient.shape == self.x.shape else None

    def derivative(self, dys, x=None):
        """Numeric gradients for other dys, or at another x: (K, *x.shape).

        None if forward raises there.
        """
        values = list(self.subject.values)
        values[self.position] = self.x if x is None else x
        try:
            response = self._response(values, Entries(values[self.position]), dys)
        except Exception:
            return None
        return response.usual().slope.reshape(len(dys), *self.x.shape)

    def one_sided(self, k, entry):
        """The slopes before and after an entry of x, given by its flat index."""
        lines = Entries(self.x, np.array([entry]))
        sample = self._response(self.subject.values, lines, [self.dys[k]]).usual()
        slope, bend = sample.slope.item(), sample.bend.item()
        return slope - bend / 2, slope + bend / 2

    @cached_property
    def jacobians(self):
        """What backward makes of each output's dy, and what it should: (m, n) each.

        None where they are too large to write out, or where backward does not add
        up: it is not linear in dy, or refuses one that is zero but for one entry.
        """
        m, n = self.y.size, self.x.size
        if not (1 <= m <= OUTPUTS and m * n <= SMALL_ENOUGH):
            return None
        if not (self.known.all() and np.isfinite(self.y).all()):
            return None
        units = [unit.reshape(self.y.shape) for unit in np.eye(m)]
        rows = [self.call(unit) for unit in units]
        if any(row is None for row in rows):
            return None
        analytic = np.stack(rows).reshape(m, n)
        sums = np.stack([dy.ravel() for dy in self.dys]) @ analytic
        if not self.alike(sums.reshape(self.analytic.shape), self.analytic):
            return None
        response = self._response(self.subject.values, Entries(self.x), units)
        return analytic, response.usual().slope

    def _response(self, values, lines, dys):
        y = self.subject.run(values)
        forward = Forward(self.subject.run, values, self.position, y)
        forward.stack()
        return Response(forward, lines, dys)

    # ------------------------------------------------------------------------ words

    def finding(self, kind, evidence, advice=""):
        """A finding about this input. With no kind it is a remark."""
        return Finding(kind, self.name, evidence, advice)

    @property
    def gradient(self):
        """What to call what backward returns for it."""
        known_as = f"d{self.name}"
        return known_as if known_as.isidentifier() else f"the gradient of {self.name}"

    @property
    def everywhere(self):
        """ "in all 24 entries", for what holds wherever numeric is known."""
        total = self.count(self.known)
        return f"in {entries(total, total)}"

    def because(self, constant):
        """A length or number at hand that gives a constant: "; 8 is …", or ""."""
        found = {}
        for label, quantity in self._quantities():
            for form, value in _forms(quantity):
                if math.isclose(abs(constant), value, rel_tol=ALIKE):
                    found.setdefault(form, []).append(label)
        if not found:
            return ""
        form, (label, *others) = min(found.items(), key=lambda item: len(item[0]))
        others = [other for other in others if not other.endswith(" of y")]
        also = f" (and {others[0]})" if others else ""
        return f"; {abs(constant):.4g} is {form.format(label)}{also}"

    def _quantities(self):
        if self.y.ndim == 0:
            yield "dy", abs(float(self.dys[0]))
        arrays = {self.name: self.x, **self.others, **self.ids, "y": self.y}
        for name, array in arrays.items():
            for axis, length in enumerate(array.shape):
                yield f"the length of axis {axis} of {name}", length
            if array.ndim > 1:
                yield f"the number of entries of {name}", array.size
            if array.size == 1 and array.dtype.kind == "f":
                yield name, float(array.item())
        for name, value in self.subject.settings().items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield name, value
        if self.y.size and self.x.size % self.y.size == 0:
            share = self.x.size // self.y.size
            yield f"the number of entries of {self.name} for each of y", share


def _forms(q):
    """What a forgotten or repeated q leaves behind, the simplest first."""
    if not q > 0 or q == 1:
        return
    yield "{}", q
    yield "1 / {}", 1 / q
    if q < 1:
        yield "1 − {}", 1 - q
        yield "1 / (1 − {})", 1 / (1 - q)
    yield "the root of {}", math.sqrt(q)
    yield "1 / the root of {}", 1 / math.sqrt(q)
    yield "the square of {}", q * q
    yield "1 / the square of {}", 1 / (q * q)
    if q > 1:
        yield "(n - 1) / n for {}", (q - 1) / q
        yield "n / (n - 1) for {}", q / (q - 1)
        yield "the root of (n - 1) / n for {}", math.sqrt((q - 1) / q)
        yield "the root of n / (n - 1) for {}", math.sqrt(q / (q - 1))


def _largest(values):
    """The largest size in each of K arrays, shaped to broadcast with them."""
    axes = tuple(range(1, values.ndim))
    return np.max(np.abs(np.nan_to_num(values)), axis=axes, keepdims=True, initial=0.0)


def where(mask, among=True):
    """In words, which indices an array of bool holds at, if they line up.

    among : array of bool, optional
        The entries that matter.
    """
    for axis, length in enumerate(mask.shape):
        others = tuple(a for a in range(mask.ndim) if a != axis)
        hit = np.flatnonzero(mask.any(axis=others))
        if 0 < len(hit) < length and np.all(np.take(mask | ~(mask | among), hit, axis)):
            return f"{listed(hit)} of axis {axis}"
    return ""


def number(value):
    """Four digits, with their zeros: what is not 8.000 is not 8."""
    short = f"{value:#.4g}"
    return f"{value:.7g}" if short in ("1.000", "-1.000") else short


def listed(numbers, one="index", more="indices"):
    """A list of numbers, cut short where it is long: "index 3", "indices 0, 2"."""
    shown = ", ".join(map(str, numbers[:6])) + (", …" if len(numbers) > 6 else "")
    return f"{one if len(numbers) == 1 else more} {shown}"


def entries(count, total):
    """ "all 24 entries", "3 of 24 entries"."""
    if count < total:
        return f"{count} of {total} entries"
    return {1: "the only entry", 2: "both entries"}.get(total, f"all {total} entries")
