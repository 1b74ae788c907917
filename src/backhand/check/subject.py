"""An op on given inputs: how it is called, and whether it keeps to the rules.

Forward must repeat itself, or there is nothing to differentiate. Neither pass may
change its arguments, and backward must return the same when it is called again.
"""

import numpy as np

from .nests import is_nest, leaves, rebuilt
from .op import (
    argument_names,
    defaults,
    describe,
    flattened,
    gradients_of,
    like_outputs,
    naming,
    output_of,
    spread,
)
from .report import Finding

REPEATABLE = 1e-12  # two runs may differ by this much of the largest entry


class Subject:
    """The op under test, on float64 copies of its inputs.

    Parameters
    ----------
    op : Op or alike
    inputs : list
    options : dict
    names : list of str, optional
        Of the inputs.
    wrt : str, int or several, optional
        Which inputs are differentiated, by name or position; all, if left out.
    reseed : callable, optional
        Called before each forward pass.

    Attributes
    ----------
    names : list of str
    values : list
        The inputs, and what those that are nests of arrays hold. The floating-point
        ones are differentiated.
    y : ndarray
        The output; several are put end to end.
    outputs : array or nest
        As forward returns them.
    findings : list of Finding
        Which rules were broken.
    remarks : list of str
        What else is to be said of the check.
    not_returned : set of str
        The inputs for which backward returned no gradient.
    """

    def __init__(self, op, inputs, options, names=None, wrt=None, reseed=None):
        for name in ("forward", "backward"):
            if not callable(getattr(op, name, None)):
                raise TypeError(f"op is {op!r}; it needs a forward and a backward")
        if reseed is not None and not callable(reseed):
            raise TypeError(
                f"reseed is {reseed!r}; it needs a function that is called before each "
                "forward pass: reseed=lambda: np.random.seed(0)"
            )
        self.op = op
        self.options = options
        self.reseed = reseed or (lambda: None)
        tops = names or argument_names(op.forward, len(inputs))
        self._inputs = dict(zip(tops, map(_input, tops, inputs)))
        parts = [(n, *leaf) for n, v in self._inputs.items() for leaf in leaves(v, n)]
        self._nested = any(map(is_nest, self._inputs.values()))
        self._tops = [top for top, _, _ in parts]
        self.names = [name for _, name, _ in parts]
        self.values = [_input(name, value) for _, name, value in parts]
        self._held = self._held_fixed(wrt)
        self.findings = []
        self.remarks = []
        self.not_returned = set()
        self._forward_changes = False
        self._repeats = True
        self.y = self._check_forward()

    @property
    def floats(self):
        """The positions of the inputs that are differentiated."""
        return [
            i
            for i, (name, v) in enumerate(zip(self.names, self.values))
            if _is_array(v, "f") and name not in self._held
        ]

    @property
    def can_be_checked(self):
        """Whether there is anything to differentiate, and a forward to do it with."""
        if self.floats:
            return self._repeats
        for name, value in zip(self.names, self.values):
            if _is_array(value, "iub"):
                self._note(
                    "integer_input",
                    name,
                    f"{name} has dtype {value.dtype}, and no input is floating point",
                    "Pass floats (3.0, not 3): there is no small step from one integer "
                    "to the next.",
                )
        return False

    def settings(self):
        """Forward's options, given or by default."""
        return defaults(self.op.forward) | self.options

    def run(self, values):
        """y in float64, without the care that exceptions are given elsewhere."""
        if self._forward_changes:
            values = _copies(values)
        y = self._call_forward(values)[0]
        return np.asarray(flattened(y) if is_nest(y) else y, dtype=np.float64)

    def gradients(self, dy):
        """What backward returns for dy, one array or None for each input.

        Backward is called twice, and its arguments are looked at afterwards: what
        it does wrong in passing is added to the findings. No gradient for an input
        that is differentiated is one of zeros.
        """
        values = _copies(self.values)
        _, cache = self._forward(values)
        before, given = _copies(values), dy.copy()
        first = [None if g is None else g.copy() for g in self._backward(given, cache)]
        self.not_returned |= {n for n, g in zip(self.names, first) if g is None}
        names = ["dy", *self.names]
        if self._compare("backward", names, [dy, *before], [given, *values]):
            second = self._backward(given, cache)
            for name, a, b in zip(self.names, first, second):
                if not _close(a, b):
                    self._note(
                        "not_repeatable",
                        name,
                        f"the same dy and cache gave another gradient of {name} the "
                        f"second time{_largest_change(a, b)}",
                        "Look for a cached array written into, a gradient added to "
                        "a buffer that is kept, or random numbers drawn in backward. "
                        "For a layer that adds on purpose: Op.layer(layer, zero=…), "
                        "with what sets its gradients to zero.",
                    )
        return self._filled(first)

    def ask(self, dy, values=None):
        """The same for another dy, or at other values, with no look at its manners."""
        values = _copies(self.values if values is None else values)
        _, cache = self._call_forward(values)
        dtype = self.y.dtype if self.y.dtype.kind == "f" else np.float64
        return self._filled(self._backward(dy.astype(dtype), cache))

    def take_as_float(self, gradients):
        """Differentiate integer inputs, too, for which backward returned a gradient.

        Returns whether any was.
        """
        taken = False
        for position, gradient in enumerate(gradients):
            before = self.values[position]
            if gradient is None or not _is_array(before, "iub"):
                continue
            if self.names[position] in self._held:
                continue
            self.values[position] = before.astype(np.float64)
            try:
                y = self.run(self.values)
            except Exception:  # an index, say
                y = None
            if y is not None and y.shape == self.y.shape:
                told, self.y, taken = "It was taken as float64.", y, True
            else:
                told = "It indexes something, so it has no gradient."
                self.values[position] = before
            name = self.names[position]
            self._note(
                "integer_input",
                name,
                f"{name} has dtype {before.dtype}, and backward returns a gradient for "
                f"it. {told}",
                "Pass floats where a gradient is wanted: a small step added to an "
                "integer array is cut off, and the numeric derivative is nonsense.",
            )
        return taken

    def _call_forward(self, values):
        self.reseed()
        if self._nested:
            parts = iter(values)
            values = [rebuilt(v, parts) for v in self._inputs.values()]
        return self.op.forward(*values, **self.options)

    def _forward(self, values):
        with naming("forward", **dict(zip(self.names, values))):
            y, cache = output_of(self.op, self._call_forward(values))
        self.outputs = y if is_nest(y) else None
        return flattened(y), cache

    def _backward(self, dy, cache):
        # A number for a number: what a loss is given is no array of no axes.
        given = dy if dy.ndim else dy[()]
        if self.outputs is not None:
            given = like_outputs(self.outputs, dy)
        with naming("backward", dy=dy):
            returned = spread(self.op.backward, given, cache)
        floats = [i for i, v in enumerate(self.values) if _is_array(v, "f")]
        tops = (
            list(dict.fromkeys(self._tops[i] for i in these))
            for these in (floats, self.floats)
        )
        return gradients_of(returned, self._inputs, *tops)

    def _held_fixed(self, wrt):
        """The names of all that is not differentiated because others are asked for."""
        if wrt is None:
            return set()
        tops, wanted = list(self._inputs), set()
        for one in [wrt] if isinstance(wrt, str | int) else wrt:
            known = isinstance(one, int) and -len(tops) <= one < len(tops)
            name = tops[one] if known else one
            within = [
                leaf for top, leaf in zip(self._tops, self.names) if name in (top, leaf)
            ]
            if not within:
                raise ValueError(
                    f"wrt names {one!r}; the inputs are {', '.join(self.names)}"
                )
            value = self.values[self.names.index(within[0])]
            if len(within) == 1 and not _is_array(value, "f"):
                raise TypeError(
                    f"wrt names {name}, which is {describe(value)}; it needs "
                    "floating-point numbers"
                )
            wanted.update(within)
        return {name for name in self.names if name not in wanted}

    def _filled(self, gradients):
        return [
            np.zeros(v.shape) if g is None and _is_array(v, "f") else g
            for g, v in zip(gradients, self.values)
        ]

    def _check_forward(self):
        values = _copies(self.values)
        y, _ = self._forward(values)
        y = y.copy()
        self._forward_changes = not self._compare(
            "forward", self.names, self.values, values
        )
        again, _ = self._forward(_copies(self.values))
        if not _close(y, again):
            self._repeats = False
            self._note(
                "nondeterministic",
                "y",
                "two forward passes on the same inputs differ"
                + _largest_change(y, again),
                "Fix what is random (a dropout mask, say): pass it in, or reseed it "
                "for each pass: check_gradients(…, reseed=lambda: np.random.seed(0)).",
            )
        bad = ~np.isfinite(y)
        if bad.any():
            first = tuple(int(i) for i in np.argwhere(bad)[0])
            self._note(
                "nonfinite",
                "y",
                f"forward returns {y[first]} in {bad.sum()} of {y.size} entries"
                + (f", first at {first}" if first else ""),
                "Look for an exponential that overflows, a division by zero, a log of "
                "zero.",
            )
        return y

    def _compare(self, call, names, before, after):
        """Whether a call left its arguments alone."""
        kept = True
        for name, b, a in zip(names, before, after):
            if not _same(b, a):
                kept = False
                self._note(
                    "inplace_mutation",
                    name,
                    f"after {call} was called, {name} is no longer what it was"
                    + _largest_change(b, a),
                    "Write into a copy: an array passed in is still in use elsewhere.",
                )
        return kept

    def _note(self, *finding):
        if Finding(*finding) not in self.findings:
            self.findings.append(Finding(*finding))


def _input(name, value):
    """A float64 or integer copy of an array-like; whatever else it is, as it is."""
    if is_nest(value):
        return value
    try:
        array = np.array(value)
    except ValueError:  # a ragged list
        return value
    if array.dtype.kind == "c":
        raise TypeError(f"{name} is complex; only real inputs are differentiated")
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return array if array.dtype.kind in "iub" else value


def _is_array(value, kinds):
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds


def _copies(values):
    return [v.copy() if isinstance(v, np.ndarray) else v for v in values]


def _same(a, b):
    """Whether nothing was written into an array: bit for bit, nan being nan."""
    if not isinstance(a, np.ndarray):
        return True
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _close(a, b):
    """Whether two runs gave the same, up to the order in which sums were taken."""
    if a is None or b is None:
        return a is b
    if a.shape != b.shape:
        return False
    size = np.max(np.abs(a), initial=0.0)
    if np.isfinite(size):
        return bool(np.all(np.abs(a - b) <= REPEATABLE * size))
    return np.allclose(a, b, rtol=REPEATABLE, atol=0.0, equal_nan=True)


def _largest_change(before, after):
    """In words, for the end of a sentence."""
    if before is None or after is None or before.shape != after.shape:
        return ""
    change = np.abs(np.asarray(after, float) - np.asarray(before, float))
    if not np.any(change > 0):
        return ""
    index = np.unravel_index(np.nanargmax(change), change.shape)
    place = f" at {tuple(map(int, index))}" if index else ""
    return f": {before[index]:.6g} became {after[index]:.6g}{place}"
