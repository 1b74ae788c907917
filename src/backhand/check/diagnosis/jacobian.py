"""What backward does with the dy of each single output.

Both Jacobians have a row for each output and a column for each entry of x. Backward
multiplies by the analytic one's transpose, so what is written in their rows, on and
off their diagonals says more than one gradient can.
"""

from functools import wraps

import numpy as np

from ..report import Finding
from .evidence import number, where
from .factors import factor_finding, fits, functions_of, varies


def with_jacobians(detector):
    """Ask a detector only where both Jacobians could be written out."""

    @wraps(detector)
    def ask(e):
        return detector(e, *e.jacobians) if e.jacobians else ()

    return ask


@with_jacobians
def lost_outputs(e, analytic, numeric):
    """Some outputs reach x rightly, the others not at all, or twice."""
    close = _slack(analytic, numeric)
    right = np.all(np.abs(analytic - numeric) <= close, axis=1)
    shared = np.sum(np.abs(numeric) > close, axis=0) > 1  # entries of x used repeatedly
    there = np.any(np.abs(numeric) > close, axis=1)
    for factor, kind in ((0, "not_accumulated"), (2, "double_count")):
        odd = there & ~right & np.all(np.abs(analytic - factor * numeric) <= 2 * close, axis=1)
        if not (odd.any() and np.all(right | odd)):
            continue
        hit = np.any(np.abs(numeric[odd]) > close, axis=0)
        kept, missed = (right & there).reshape(e.y.shape), odd.reshape(e.y.shape)
        just_one = factor == 0 and kept.sum() == 1 and missed.sum() > 1
        if not kept.any() or not (np.all(shared[hit]) or just_one):
            continue
        if factor == 0:
            place = where(kept, kept | missed) or f"{int(kept.sum())} of {kept.size} outputs"
            evidence = (
                f"only dy at {place} reaches {e.gradient}, and rightly so; the dy of the "
                f"other {int(missed.sum())} outputs has no effect"
            )
            advice = "Add them all: = where += belongs keeps the last, or the first."
        else:
            place = where(missed, kept | missed) or f"{int(missed.sum())} of {missed.size} outputs"
            evidence = f"dy at {place} is counted twice in {e.gradient}, the rest once"
            advice = "Add each contribution once."
        yield Finding(kind, e.name, evidence, advice)
        return


@with_jacobians
def not_transposed(e, analytic, numeric):
    """Backward multiplies by the Jacobian where its transpose belongs."""
    m, n = numeric.shape
    if m != n or m < 2:
        return
    close = _slack(analytic, numeric)
    off = ~np.eye(m, dtype=bool)
    same_diagonal = np.all(np.abs(analytic - numeric)[~off] <= close)
    if np.all(np.abs(analytic - numeric.T) <= close):
        yield Finding(
            "transpose", e.name,
            f"backward multiplies dy by the Jacobian of y with respect to {e.name}, in {m}² entries, "
            "where its transpose belongs",
            "Send dy back the other way: a rotation is undone by the opposite one.",
        )
    elif same_diagonal and np.all(np.abs(analytic + numeric.T)[off] <= close):
        yield Finding(
            "transpose", e.name,
            "off its diagonal, the matrix that backward multiplies by is minus the "
            f"Jacobian of y with respect to {e.name} where it should be the transposed one",
            "Undo the steps of forward in the opposite order: what was moved and then "
            "scaled is scaled first and then moved back.",
        )


@with_jacobians
def coupling(e, analytic, numeric):
    """What is off is how an output depends on the other entries of x."""
    if e.y.shape != e.x.shape or e.x.size < 2:
        return
    close = _slack(analytic, numeric)
    off = ~np.eye(e.x.size, dtype=bool)
    coupled = off & (np.abs(numeric) > 100 * close)
    count = int(coupled.sum())
    if count < 2 or not np.any((np.abs(analytic - numeric) > close) & off):
        return
    a, n = analytic[coupled], numeric[coupled]
    alone = np.all(np.abs(analytic[off]) <= close)
    if alone:
        yield Finding(
            "dropped_coupling", e.name,
            f"backward sends each dy back to its own entry only; in forward an entry "
            f"of {e.name} moves other outputs too (up to {np.max(np.abs(n)):.3g}, in "
            f"{count} places)",
            "The output depends on a sum over the row (softmax: Σ p·dy; a norm: Σ x̂·dy): "
            "differentiate that as well.",
        )
        yield from _diagonal_factor(e, analytic, numeric, close)
        return
    c = float(a @ n / (n @ n))
    if abs(c - 1) > 1e-4 and np.all(np.abs(analytic - c * numeric)[off] <= close):
        kind = "sign_flip" if abs(c + 1) < 1e-4 else "constant_factor"
        times = "−numeric" if kind == "sign_flip" else f"{number(c)} × numeric"
        explained = e.explain(c)
        yield Finding(
            kind, e.name,
            f"between different entries analytic = {times}, in {count} places"
            f"{explained and '; '}{explained}",
            "Look at the term that couples the entries: the one with the sum.",
        )
        return
    yield from _coupling_factor(e, analytic, numeric, off, close)


@with_jacobians
def output_factor(e, analytic, numeric):
    """What each output sends back lacks a factor, or has one too many."""
    close = _slack(analytic, numeric)
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
        room = close * max(1.0, np.max(np.abs(q)))
        for kind, a, n in (
            ("missing_factor", q * analytic, numeric),
            ("extra_factor", analytic, q * numeric),
        ):
            if np.all(np.abs(a - n) <= room) and np.any(np.abs(n) > 100 * room):
                scope = f"for the dy of each of {e.y.size} outputs"
                yield factor_finding(kind, e.name, label, scope, q)
                return


@with_jacobians
def partly_constant(e, analytic, numeric):
    """What goes from some outputs to some entries of x has the wrong sign or size."""
    close = _slack(analytic, numeric)
    off = np.abs(analytic - numeric) > close
    there = np.abs(numeric) > 100 * close
    count, total = int(np.sum(off)), int(np.sum(there))
    if count < 2 or np.any(off & ~there) or count == total:
        return
    a, n = analytic[off], numeric[off]
    c = float(a @ n / (n @ n))
    if np.any(np.abs(a - c * n) > close):
        return
    kind, times = "constant_factor", f"{number(c)} × the right one"
    if abs(c) < 1e-4:
        kind, times = "dropped_path", "0"
    elif abs(c + 1) < 1e-4:
        kind, times = "sign_flip", "minus the right one"
    explained = e.explain(c) if kind == "constant_factor" else ""
    yield Finding(
        kind, e.name,
        f"of the {total} slopes of y with respect to {e.name} that are not 0, backward "
        f"uses {count} wrongly, and those are {times}{explained and '; '}{explained}",
        "Look for the one term that these have in common.",
    )


@with_jacobians
def leaks(e, analytic, numeric):
    """Slopes that are right, but for some that should be zero."""
    close = _slack(analytic, numeric)
    off = np.abs(analytic - numeric) > close
    zero = np.abs(numeric) <= close
    if np.sum(off) < 2 or np.any(off & ~zero) or np.all(zero):
        return
    yield Finding(
        "missing_mask", e.name,
        f"backward uses {int(np.sum(off))} slopes of y with respect to {e.name} that are "
        f"0 in forward; the {int(np.sum(~zero))} that are not 0 are right",
        "Apply in backward the mask that forward applied, to the same array.",
    )


@with_jacobians
def passed_on(e, analytic, numeric):
    """Each dy is passed on as it came, where forward has slopes of other sizes."""
    close = _slack(analytic, numeric)
    used = np.abs(analytic) > close
    slopes = numeric[used]
    if np.any(np.abs(numeric[~used]) > close) or used.sum() < 2:
        return
    if np.all(np.abs(analytic[used] - 1) <= 1e-9) and varies(slopes):
        on_or_off = np.all((np.abs(slopes) <= close) | (np.abs(slopes - 1) <= close))
        yield Finding(
            "missing_mask" if on_or_off else "missing_factor", e.name,
            f"each dy goes into {e.gradient} with a factor of 1; the slopes are "
            f"{slopes.min():.4g} to {slopes.max():.4g}",
            "Multiply dy by the local derivative.",
        )


@with_jacobians
def triangle(e, analytic, numeric):
    """Backward sends dy back to positions that forward hides from the output."""
    for axis, analytic, numeric in _by_position(e, analytic, numeric):
        close = _slack(analytic, numeric)
        used, leaks = numeric > close, (analytic > close) & (numeric <= close)
        for side, what in ((np.triu, "later"), (np.tril, "earlier")):
            k = 1 if side is np.triu else -1
            masked = side(np.ones(used.shape, bool), k)
            if not used[masked].any() and used[masked.T].all() and leaks[masked].sum() >= 1:
                yield Finding(
                    "missing_mask", e.name,
                    f"in forward no output depends on {what} positions of {e.name} (axis "
                    f"{axis}); backward sends dy back to them, in "
                    f"{int(leaks[masked].sum())} of {int(masked.sum())} pairs",
                    "Zero what the mask hides before it is used, in backward too.",
                )
                return


@with_jacobians
def across(e, analytic, numeric):
    """Backward mixes positions that forward, summing within each, treats one by one."""
    if np.all(np.sum(np.abs(numeric) > _slack(analytic, numeric), axis=1) <= 1):
        return
    for axis, analytic, numeric in _by_position(e, analytic, numeric):
        close = _slack(analytic, numeric)
        apart = ~np.eye(len(numeric), dtype=bool)
        if not np.any(numeric[apart] > close) and np.sum(analytic[apart] > close) >= 2:
            yield Finding(
                "wrong_axis", e.name,
                f"in forward each position along axis {axis} is on its own; backward "
                f"mixes them, in {int(np.sum(analytic[apart] > close))} of "
                f"{int(apart.sum())} pairs",
                f"Sum over the axes that forward summed over, not over axis {axis}.",
            )
            return


def _by_position(e, *jacobians):
    """The largest entries of the Jacobians between positions of an axis of both."""
    for axis in range(min(e.x.ndim, e.y.ndim) - 1):
        length = e.x.shape[axis]
        if length != e.y.shape[axis] or length < 2:
            continue
        pairs = []
        for jacobian in jacobians:
            blocks = np.abs(jacobian).reshape(e.y.shape + e.x.shape)
            kept = (axis, e.y.ndim + axis)
            pairs.append(blocks.max(axis=tuple(set(range(blocks.ndim)) - set(kept))))
        yield axis, *pairs


def _diagonal_factor(e, analytic, numeric, close):
    """With the coupling gone: is what each entry keeps for itself right?"""
    a, n = np.diag(analytic), np.diag(numeric)
    if np.all(np.abs(a - n) <= close):
        return
    for label, q in [*functions_of("y", e.y), *functions_of(e.name, e.x)]:
        # (1 − y) is what the lost coupling itself leaves in a softmax.
        q = np.broadcast_to(q, e.x.shape).ravel()
        if not label.startswith("(1") and varies(q) and np.all(np.abs(q * a - n) <= close):
            scope = f"for the {len(a)} dy at the entry's own place"
            yield factor_finding("missing_factor", e.name, label, scope, q)
            return


def _coupling_factor(e, analytic, numeric, off, close):
    """Between entries there is a factor too many or too few, of an input."""
    for name, value in e.others.items():
        try:
            q = np.broadcast_to(value, e.x.shape).ravel()
        except ValueError:
            continue
        if not varies(q):
            continue
        for factor in (q[None, :], q[:, None]):
            for kind, a, n in (
                ("extra_factor", analytic, factor * numeric),
                ("missing_factor", factor * analytic, numeric),
            ):
                if np.all(np.abs(a - n)[off] <= close * max(1, np.max(np.abs(q)))):
                    scope = "for what goes between different entries"
                    yield factor_finding(kind, e.name, name, scope, q)
                    return


def _slack(analytic, numeric):
    return 1e-6 * max(np.max(np.abs(analytic)), np.max(np.abs(numeric)), 1e-300)
