"""Checking a backward pass against finite differences of its forward pass.

The question is checked before the answer: a forward pass that does not repeat
itself has no derivative to compare with, and a backward pass that changes its
arguments is wrong whatever it returns.   A.8; chapters/checking
"""

from collections.abc import Mapping

import numpy as np

from .diagnosis import diagnose
from .differences import EPS
from .judgement import DIRECTIONS, agree_together, compare, goes_by_entry
from .numeric import Forward
from .op import Op, real_array
from .report import VERDICTS, Report, Row
from .subject import Subject

RULES = ("inplace_mutation", "not_repeatable")  # broken, they make backward wrong


def check_gradients(op, *inputs, dy=None, seed=0, entrywise=None, **options):
    """Compare the gradients of a backward pass with finite differences.

    Parameters
    ----------
    op : module, class or Op
        Anything with ``forward(*inputs, **options) -> (y, cache)`` and
        ``backward(dy, cache) ->`` one gradient for each floating-point input.
        For an f that returns y alone there is ``Op.plain(f, backward)``.
    *inputs : array_like
        Forward's inputs. Floating-point ones are copied to float64 and
        differentiated; integers (token ids) and what is no array are passed on.
    dy : array_like of y's shape, optional
        An upstream gradient to check with, besides a seeded one that is signed and
        not uniform. Wrong under either is wrong.
    seed : int
        For the upstream gradient and the directions.
    entrywise : bool, optional
        Whether to move every entry, or only go along a few random directions. Left
        out: every entry of an input of up to 2048, directions for a larger one, and
        then the entries where those find it wrong.
    **options
        Passed to forward.

    Returns
    -------
    Report

    Raises
    ------
    TypeError, ValueError
        What cannot be compared: no (y, cache), a dy of another shape, a number of
        gradients that does not match. What forward or backward raise is passed on,
        with a note of the call and its shapes.

    Notes
    -----
    An entry disagrees when it is off by more than ten times the estimated error of
    its numeric derivative and by more than 1e-6 of the array's largest entry.

    Examples
    --------
    >>> square = Op.plain(lambda x: x * x, lambda dy, x: dy * x)
    >>> check_gradients(square, np.array([1.0, 2.0, -3.0])).verdict
    'disagree'
    """
    with np.errstate(all="ignore"):
        subject = Subject(op, inputs, options)
        early = _no_derivative(subject)
        if early:
            return early
        dys = _upstream(subject.y, dy, seed)
        analytic = [subject.gradients(d) for d in dys]
        _take_as_float(subject, analytic)
        return _report(subject, dys, analytic, seed, entrywise)


def check_loss(loss, grads, params, *, seed=0):
    """Compare the gradients of a whole model with differences of its loss.

    Each block of parameters is moved along several random directions, which costs
    two losses a direction however large the block. Where that finds a block wrong,
    some of its entries are moved one by one.

    Parameters
    ----------
    loss : callable
        ``loss(params) -> float``
    grads : callable
        ``grads(params) -> dict`` of the same names and shapes. A name that is left
        out, or None, is judged as zeros.
    params : dict of name to array of floats
        Copied to float64.
    seed : int
        For the directions.

    Returns
    -------
    Report
        One row a block.

    Examples
    --------
    >>> report = check_loss(
    ...     lambda p: np.sum(p["w"] ** 2), lambda p: {"w": 2 * p["w"]},
    ...     {"w": np.array([1.0, 2.0])},
    ... )
    >>> report.verdict
    'agree'
    """
    if not isinstance(params, Mapping):
        raise TypeError(f"params is {type(params).__name__}; it needs a dict")
    names = list(params)

    def forward(*values):
        values = dict(zip(names, values))
        return loss(values), values

    def backward(dy, values):
        returned = grads(values)
        if not isinstance(returned, Mapping):
            raise TypeError(
                f"grads returned {type(returned).__name__}; it needs a dict by the "
                "names of params"
            )
        return {n: dy * np.asarray(g) for n, g in returned.items() if g is not None}

    with np.errstate(all="ignore"):
        op = Op(forward, backward)
        subject = Subject(op, list(params.values()), {}, names)
        if subject.y.size != 1:
            raise ValueError(
                f"loss has shape {subject.y.shape}; it needs to be a number"
            )
        early = _no_derivative(subject)
        if early:
            return early
        dys = [np.ones(subject.y.shape)]
        analytic = [subject.gradients(dys[0])]
        return _report(subject, dys, analytic, seed, entrywise=False)


def _report(subject, dys, analytic, seed, entrywise):
    """Judge every input, say what is wrong, and draw the verdict."""
    floats = subject.floats
    for gradients in analytic:
        for position in floats:
            if gradients[position] is None:
                gradients[position] = np.zeros(subject.values[position].shape)
    if not any(goes_by_entry(subject.values[i], entrywise) for i in floats):
        rows = _rows_together(subject, dys, analytic, seed)
        if rows:
            return _conclude(rows, subject, subject.findings)

    comparisons = {}
    for position in floats:

        def jittered(position=position):
            if any(finding.kind == "not_repeatable" for finding in subject.findings):
                return [gradients[position] for gradients in analytic]
            values = _jitter(subject, analytic)
            return [subject.ask(dy, values)[position] for dy in dys]

        comparisons[position] = compare(
            subject.names[position],
            Forward(subject.run, subject.values, position, subject.y),
            dys,
            [gradients[position] for gradients in analytic],
            jittered,
            seed=seed,
            entrywise=entrywise,
        )
    findings, remarks = diagnose(comparisons, subject, dys)
    rows = []
    for row in (comparison.row for comparison in comparisons.values()):
        notes = [note for note in (row.note, *remarks.get(row.name, ())) if note]
        rows.append(row._replace(note="; ".join(notes)))
    return _conclude(rows, subject, subject.findings + findings)


def _rows_together(subject, dys, analytic, seed):
    """Rows that all agree, from moving all inputs at once, else None."""
    shapes = [subject.values[i].shape for i in subject.floats]
    if any([g[i].shape for i in subject.floats] != shapes for g in analytic):
        return None
    worst = agree_together(
        subject.run, subject.values, subject.floats, subject.y, dys, analytic, seed
    )
    if worst is None:
        return None
    claimed, slope, error = worst
    return [
        Row(
            subject.names[i],
            "agree",
            float(error),
            None,
            float(claimed),
            float(slope),
            float(np.divide(claimed, slope)),
            f"{'all inputs together, ' * (len(shapes) > 1)}along {DIRECTIONS} random "
            "directions",
        )
        for i in subject.floats
    ]


def _conclude(rows, subject, findings):
    verdicts = [row.verdict for row in rows]
    if not np.isfinite(subject.y).all():  # what is nan has no derivative
        verdicts.append("inconclusive")
    if any(finding.kind in RULES for finding in findings):
        verdicts.append("disagree")
    return Report(rows, findings, min(verdicts, key=VERDICTS.index))


def _take_as_float(subject, analytic):
    """Differentiate integer inputs for which backward returned a gradient, too."""
    claimed = [i for i in subject.integers if analytic[0][i] is not None]
    for position in claimed:
        name, before = subject.names[position], subject.values[position]
        subject.values[position] = before.astype(np.float64)
        try:
            y = subject.run(subject.values)
        except Exception:  # an index, say
            y = None
        if y is not None and y.shape == subject.y.shape:
            told = "It was taken as float64."
        else:
            subject.values[position] = before
            told = "It indexes something, so it has no gradient."
        subject.note(
            "integer_input",
            name,
            f"{name} has dtype {before.dtype}, and backward returns a gradient for it. "
            + told,
            "Pass floats where a gradient is wanted: a small step added to an integer "
            "array is cut off, and the numeric derivative is nonsense.",
        )


def _no_derivative(subject):
    """A report where there is nothing to differentiate, else None."""
    floats = [subject.names[i] for i in subject.floats]
    if not floats:
        for position in subject.integers:
            subject.note(
                "integer_input",
                subject.names[position],
                f"{subject.names[position]} has dtype "
                f"{subject.values[position].dtype}, and no input is floating point",
                "Pass floats (3.0, not 3): there is no small step from one integer to "
                "the next.",
            )
        return Report([], subject.findings, "inconclusive")
    if subject.repeats:
        return None
    nan = float("nan")
    rows = [Row(name, "inconclusive", nan, None, nan, nan, nan) for name in floats]
    return Report(rows, subject.findings, "inconclusive")


def _upstream(y, dy, seed):
    """The upstream gradients to check with: the caller's, if any, and a seeded one.

    Signed and of different sizes, none near 0 or ±1: what is missing a factor dy, or
    is right for a uniform one only, must show.
    """
    rng = np.random.default_rng(seed)
    seeded = rng.choice([-1.0, 1.0], y.shape) * rng.uniform(1.1, 1.9, y.shape)
    dys = [np.asarray(seeded)]
    if dy is not None:
        dy = real_array("dy", dy).astype(np.float64)
        if dy.shape != y.shape:
            raise ValueError(f"dy has shape {dy.shape}; y has shape {y.shape}")
        dys.append(dy)
    dtype = y.dtype if y.dtype.kind == "f" else np.float64
    # Where y is nan or infinite nothing arrives, so that the rest can be judged.
    return [np.where(np.isfinite(y), d, 0.0).astype(dtype) for d in dys]


def _jitter(subject, analytic):
    """The inputs, each entry off by one unit in its last place, up or down.

    In the last place of float32, if the pass works in that.
    """
    given = [g for gradients in analytic for g in gradients if g is not None]
    single = any(a.dtype.itemsize < 8 for a in [subject.y, *given])
    eps = np.finfo(np.float32).eps if single else EPS
    rng = np.random.default_rng(2)
    values = list(subject.values)
    for position in subject.floats:
        x = values[position]
        values[position] = x * (1 + eps * rng.choice([-1.0, 1.0], x.shape))
    return values
