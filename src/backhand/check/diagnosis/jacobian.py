"""What backward does with the dy of each single output.

Both Jacobians have a row for each output and a column for each entry of x. Backward
multiplies by the analytic one's transpose, so what stands in their rows, on their
diagonals and off, says more than one gradient can.
"""

from functools import wraps

import numpy as np

from .evidence import number, where
from .factors import factor_finding, fits, functions_of, varies


def with_jacobians(detector):
    """Ask a detector only where both Jacobians could be written out."""

    @wraps(detector)
    def ask(e):
        return detector(e, *e.jacobians) if e.jacobians else ()

    return ask


def room(analytic, numeric):
    """By how much an entry of the two may differ."""
    return 1e-6 * max(np.max(np.abs(analytic)), np.max(np.abs(numeric)), 1e-300)


@with_jacobians
def lost_outputs(e, analytic, numeric):
    """Some outputs reach x rightly, the others not at all."""
    kept, lost, shared = _split(analytic, numeric, 0)
    if lost is None or not (shared or np.sum(kept) == 1 < np.sum(lost)):
        return
    kept, lost = kept.reshape(e.y.shape), lost.reshape(e.y.shape)
    some = f"{int(kept.sum())} of {kept.size} outputs"
    yield e.finding(
        "not_accumulated",
        f"only dy at {where(kept, kept | lost) or some} reaches {e.gradient}, and "
        f"rightly so; the dy of the other {int(lost.sum())} outputs has no effect",
        "Add them all: = where += belongs keeps the last, or the first.",
    )


@with_jacobians
def repeated_outputs(e, analytic, numeric):
    """Some outputs reach x once, the others twice."""
    once, twice, shared = _split(analytic, numeric, 2)
    if twice is None or not shared:
        return
    once, twice = once.reshape(e.y.shape), twice.reshape(e.y.shape)
    some = f"{int(twice.sum())} of {twice.size} outputs"
    yield e.finding(
        "double_count",
        f"dy at {where(twice, once | twice) or some} is counted twice in "
        f"{e.gradient}, the rest once",
        "Add each contribution once.",
    )


def _split(analytic, numeric, factor):
    """The outputs whose rows are right, and those whose rows are times a factor.

    And whether each entry of x that the latter move is moved by others as well: else
    it is the entry that is off, rather than the output. None for the latter if there
    are none, or if some output is neither.
    """
    close = room(analytic, numeric)
    there = np.any(np.abs(numeric) > close, axis=1)
    right = np.all(np.abs(analytic - numeric) <= close, axis=1)
    odd = ~right & np.all(np.abs(analytic - factor * numeric) <= 2 * close, axis=1)
    if not np.any(odd) or not np.any(right & there) or not np.all(right | odd):
        return right & there, None, False
    moved = np.any(np.abs(numeric[odd]) > close, axis=0)
    shared = np.sum(np.abs(numeric) > close, axis=0) > 1
    return right & there, odd, bool(np.all(shared[moved]))


@with_jacobians
def not_transposed(e, analytic, numeric):
    """Backward multiplies by the Jacobian where its transpose belongs."""
    m, n = numeric.shape
    if m != n or m < 2:
        return
    close = room(analytic, numeric)
    off = ~np.eye(m, dtype=bool)
    jacobian = f"the Jacobian of y with respect to {e.name}"
    if np.all(np.abs(analytic - numeric.T) <= close):
        yield e.finding(
            "transpose",
            f"backward multiplies dy by {jacobian}, in all {m}² entries, where its "
            "transpose belongs",
            "Send dy back the other way: a rotation is undone by the opposite one.",
        )
    elif np.all(np.abs(analytic + np.where(off, numeric.T, -numeric)) <= close):
        yield e.finding(
            "transpose",
            f"off its diagonal, the matrix that backward multiplies by is minus "
            f"{jacobian}, where it should be the transposed one",
            "Undo the steps of forward in the opposite order: what was moved and then "
            "scaled is scaled first and then moved back.",
        )


@with_jacobians
def output_factor(e, analytic, numeric):
    """What each output sends back lacks a factor, or has one too many."""
    close = room(analytic, numeric)
    if np.sum(np.abs(numeric) > 100 * close) < 2:
        return
    candidates = [(n, v) for n, v in e.others.items() if fits(v, e.y)]
    candidates += functions_of("y", e.y)
    if e.x.shape == e.y.shape:
        candidates += functions_of(e.name, e.x)
    for label, q in candidates:
        q = np.broadcast_to(q, e.y.shape).ravel()[:, None]
        if not varies(q):
            continue
        slack = close * max(1.0, np.max(np.abs(q)))
        for kind, a, n in (
            ("missing_factor", q * analytic, numeric),
            ("extra_factor", analytic, q * numeric),
        ):
            if np.all(np.abs(a - n) <= slack) and np.any(np.abs(n) > 100 * slack):
                scope = f"for the dy of each of {e.y.size} outputs"
                yield factor_finding(e, kind, label, scope, q)
                return


@with_jacobians
def partly_constant(e, analytic, numeric):
    """What goes from some outputs to some entries of x has the wrong sign or size."""
    close = room(analytic, numeric)
    off = np.abs(analytic - numeric) > close
    there = np.abs(numeric) > 100 * close
    count, total = int(np.sum(off)), int(np.sum(there))
    if count < 2 or count == total or np.any(off & ~there):
        return
    a, n = analytic[off], numeric[off]
    c = float(a @ n / (n @ n))
    if np.any(np.abs(a - c * n) > close):
        return
    if abs(c) < 1e-4:
        kind, times = "dropped_path", "0"
    elif abs(c + 1) < 1e-4:
        kind, times = "sign_flip", "minus the right ones"
    else:
        kind, times = "constant_factor", f"{number(c)} × the right ones{e.because(c)}"
    yield e.finding(
        kind,
        f"of the {total} slopes of y with respect to {e.name} that are not 0, backward "
        f"uses {count} wrongly, and those are {times}",
        "Look for the one term that these have in common.",
    )


@with_jacobians
def leaks(e, analytic, numeric):
    """Slopes that are right, but for some that should be zero."""
    close = room(analytic, numeric)
    off = np.abs(analytic - numeric) > close
    zero = np.abs(numeric) <= close
    if np.sum(off) < 2 or np.any(off & ~zero) or np.all(zero):
        return
    yield e.finding(
        "missing_mask",
        f"backward uses {int(np.sum(off))} slopes of y with respect to {e.name} that "
        f"are 0 in forward; the {int(np.sum(~zero))} that are not 0 are right",
        "Apply in backward the mask that forward applied, to the same array.",
    )


@with_jacobians
def passed_on(e, analytic, numeric):
    """Each dy is passed on as it came, where forward has slopes of other sizes."""
    close = room(analytic, numeric)
    used = np.abs(analytic) > close
    slopes = numeric[used]
    if np.any(np.abs(numeric[~used]) > close) or used.sum() < 2:
        return
    if np.all(np.abs(analytic[used] - 1) <= 1e-9) and varies(slopes):
        on_or_off = np.all((np.abs(slopes) <= close) | (np.abs(slopes - 1) <= close))
        yield e.finding(
            "missing_mask" if on_or_off else "missing_factor",
            f"each dy goes into {e.gradient} with a factor of 1; the slopes are "
            f"{slopes.min():.4g} to {slopes.max():.4g}",
            "Multiply dy by the local derivative.",
        )
