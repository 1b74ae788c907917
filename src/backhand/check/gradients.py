"""Checking a backward pass against finite differences of its forward pass.

The question is checked before the answer: a forward pass that does not repeat
itself has no derivative to compare with, and a backward pass that changes its
arguments is wrong whatever it returns.   A.8; chapters/checking
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from .diagnosis import diagnose
from .differences import EPS
from .judgement import DIRECTIONS, agree_together, compare, goes_by_entry
from .layer import as_op
from .nests import gradients_in, is_nest, leaves, mapped, rebuilt
from .numeric import Forward
from .op import Op, arguments, flattened, real_array
from .report import VERDICTS, Report, Row
from .subject import Subject

RULES = ("inplace_mutation", "not_repeatable")  # broken, they make backward wrong


def check_gradients(
    op, *inputs, dy=None, wrt=None, reseed=None, seed=0, entrywise=None, **options
):
    """Compare the gradients of a backward pass with finite differences.

    Parameters
    ----------
    op : module, class, Op, layer or function
        Anything with ``forward(*inputs, **options) -> (y, cache)`` and
        ``backward(dy, cache) ->`` one gradient for each floating-point input.
        For an f that returns y alone there is ``Op.plain(f, backward)``. A layer is
        an object with ``forward(x)`` and ``backward(dy)`` that keeps parameters and
        gradients on itself: see ``Op.layer``. A function is one that returns
        ``(loss, gradients)``: see ``Op.loss``.
    *inputs : array_like, or a dict, list or tuple of arrays
        Forward's inputs. Floating-point ones are copied to float64 and
        differentiated; integers (token ids) and what is no array are passed on.
    dy : array_like of y's shape, optional
        An upstream gradient to check with, besides a seeded one that is signed and
        not uniform. Wrong under either is wrong.
    wrt : str, int or several of them, optional
        The inputs to differentiate, by name or position; the others are held fixed.
        Left out: all that are floating point.
    reseed : callable, optional
        Called before each forward pass, so that what is random in it repeats:
        ``lambda: np.random.seed(0)``.
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
        op, inputs, names, remarks, wrt = as_op(op, inputs, options, wrt)
        subject = Subject(op, inputs, options, names, wrt, reseed)
        subject.remarks += remarks
        if not subject.can_be_checked:
            return _no_comparison(subject)
        dys = _upstream(subject, dy, seed, getattr(op, "takes_dy", True))
        analytic = [subject.gradients(d) for d in dys]
        if subject.take_as_float(analytic[0]):
            analytic = [subject.gradients(d) for d in dys]
        return _report(subject, dys, analytic, seed, entrywise, together=True)


def check_loss(loss, grads, params=None, *, reseed=None, seed=0):
    """Compare the gradients of a whole model with differences of its loss.

    Each block of parameters is moved along several random directions, which costs
    two losses a direction however large the block. Where that finds a block wrong,
    some of its entries are moved one by one.

    Parameters
    ----------
    loss : callable
        ``loss(params) -> float``. It may take nothing and read the arrays of params
        where they are: they are moved in place, and put back.
    grads : callable
        ``grads(params) ->`` the gradients, in the form of params: a dict of the same
        names, or of names like ``dW`` for ``W``. A name that is left out, or None, is
        judged as zeros. Left out itself, as in ``check_loss(f, params)``, loss returns
        both: ``f(params) -> (loss, gradients)``.
    params : dict or list of arrays of floats, or of such
        Copied to float64.
    reseed : callable, optional
        Called before each loss, so that what is random in it repeats.
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
    if params is None and not callable(grads):
        grads, params = None, grads
    if not (is_nest(params) or isinstance(params, np.ndarray)):
        raise TypeError(
            f"params is {type(params).__name__}; it needs a dict or a list of arrays"
        )
    for name, function in (("loss", loss), ("grads", grads or loss)):
        if not callable(function):
            raise TypeError(f"{name} is {function!r}; it needs to be callable")
    top = "" if isinstance(params, Mapping) else "params"
    if not list(leaves(params, top)):
        raise ValueError("params is empty; it needs a dict of name to array")
    for name, value in leaves(params, top):
        key = f"params[{name!r}]" if isinstance(params, Mapping) else name
        real_array(key, value)

    def forward(values):
        returned = _called(loss, values, params)
        if grads is not None:
            return returned, (lambda: _called(grads, values, params), values)
        if not (isinstance(returned, tuple) and len(returned) == 2):
            raise TypeError(
                f"loss returned {type(returned).__name__}; without grads it needs to "
                "return (loss, gradients)"
            )
        return returned[0], (lambda: returned[1], values)

    def backward(dy, cache):
        gradients, values = cache
        found = gradients_in(values, gradients(), top, "grads" if grads else "loss")
        found = [None if g is None else dy * np.asarray(g) for g in found]
        return rebuilt(values, iter(found))

    with np.errstate(all="ignore"):
        op = Op(forward, lambda dy, cache: {top: backward(dy, cache)})
        subject = Subject(op, [params], {}, [top], reseed=reseed)
        if subject.y.size != 1:
            raise ValueError(
                f"loss has shape {subject.y.shape}; it needs to be a number"
            )
        if not subject.can_be_checked:
            return _no_comparison(subject)
        dys = [np.ones(subject.y.shape)]
        analytic = [subject.gradients(dys[0])]
        return _report(subject, dys, analytic, seed, entrywise=False, together=False)


def _called(function, values, params):
    """A function of params at some values: given them, or with params moved there."""
    if arguments(function)[1] > 0:
        return function(values)
    arrays = [leaf for _, leaf in leaves(params)]
    before = mapped(np.copy, arrays)
    try:
        for array, (_, value) in zip(arrays, leaves(values)):
            array[...] = value
        return function()
    finally:
        for array, value in zip(arrays, before):
            array[...] = value


def _report(subject, dys, analytic, seed, entrywise, together):
    """Judge every input, say what is wrong, and draw the verdict.

    together : bool
        Whether inputs that go by direction may be moved all at once, if that finds
        nothing wrong. It is faster, but tells nothing of each.
    """
    by_entry = (goes_by_entry(subject.values[i], entrywise) for i in subject.floats)
    if together and not any(by_entry):
        rows = _rows_together(subject, dys, analytic, seed)
        if rows:
            return _conclude(rows, subject, subject.findings)

    nearby = partial(_nearby, subject, dys, analytic)
    comparisons = {
        position: compare(
            subject.names[position],
            Forward(subject.run, subject.values, position, subject.y),
            dys,
            [gradients[position] for gradients in analytic],
            partial(nearby, position),
            seed=seed,
            entrywise=entrywise,
        )
        for position in subject.floats
    }
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
    claimed, slope, error = map(float, worst)
    note = f"along {DIRECTIONS} random directions"
    if len(shapes) > 1:
        note = f"all inputs together, {note}"
    ratio = float(np.divide(claimed, slope))
    return [
        Row(subject.names[i], "agree", error, None, claimed, slope, ratio, note)
        for i in subject.floats
    ]


def _no_comparison(subject):
    """The report where there is no derivative to compare with."""
    nan = float("nan")
    rows = [
        Row(subject.names[i], "inconclusive", nan, None, nan, nan, nan)
        for i in subject.floats
    ]
    return Report(rows, subject.findings, "inconclusive", subject.remarks)


def _conclude(rows, subject, findings):
    verdicts = [row.verdict for row in rows]
    if not np.isfinite(subject.y).all():  # what is nan has no derivative
        verdicts.append("inconclusive")
    if any(finding.kind in RULES for finding in findings):
        verdicts.append("disagree")
    verdict = min(verdicts, key=VERDICTS.index)
    return Report(rows, findings, verdict, subject.remarks)


def _upstream(subject, dy, seed, seeded=True):
    """The upstream gradients to check with: the caller's, if any, and a seeded one.

    Signed and of different sizes, none near 0 or ±1: what is missing a factor dy, or
    is right for a uniform one only, must show. A backward that takes none has one.
    """
    y, rng = subject.y, np.random.default_rng(seed)
    drawn = rng.choice([-1.0, 1.0], y.shape) * rng.uniform(1.1, 1.9, y.shape)
    dys = [np.asarray(drawn if seeded else np.ones(y.shape))]
    if dy is not None:
        several = subject.outputs is not None and is_nest(dy)
        dy = flattened(dy) if several else real_array("dy", dy)
        dy = dy.astype(np.float64)
        if dy.shape != y.shape:
            raise ValueError(f"dy has shape {dy.shape}; y has shape {y.shape}")
        if not np.isfinite(dy).all():
            raise ValueError("dy has a nan or an infinity; it needs finite numbers")
        dys.append(dy)
    dtype = y.dtype if y.dtype.kind == "f" else np.float64
    # Where y is nan or infinite nothing arrives, so that the rest can be judged.
    return [np.where(np.isfinite(y), d, 0.0).astype(dtype) for d in dys]


def _nearby(subject, dys, analytic, position):
    """What backward returns for an input when all are off in their last place.

    In the last place of float32, if the pass works in that. A backward that does not
    repeat itself is not excused by this.
    """
    here = [gradients[position] for gradients in analytic]
    if any(finding.kind == "not_repeatable" for finding in subject.findings):
        return here
    single = any(a.dtype.itemsize < 8 for a in [subject.y, *here])
    eps = np.finfo(np.float32).eps if single else EPS
    rng = np.random.default_rng(2)
    values = list(subject.values)
    for i in subject.floats:
        values[i] = values[i] * (1 + eps * rng.choice([-1.0, 1.0], values[i].shape))
    there = [subject.ask(dy, values)[position] for dy in dys]
    return [t if t.shape == h.shape else h for t, h in zip(there, here)]
