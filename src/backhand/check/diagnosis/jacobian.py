"""What backward does with the dy of each single output.

Both Jacobians have a row for each output and a column for each entry of x. Backward
multiplies by the analytic one's transpose, so what is written in their rows, on and
off their diagonals says more than one gradient can.
"""

import numpy as np

from ..report import Finding
from .evidence import entries, where
from .factors import factor_finding, functions_of


def lost_outputs(e):
    """Some outputs reach x rightly, the others not at all, or twice."""
    analytic, numeric = e.jacobians
    close = _slack(analytic, numeric)
    right = np.all(np.abs(analytic - numeric) <= close, axis=1)
    shared = np.sum(np.abs(numeric) > close, axis=0) > 1  # entries of x used repeatedly
    there = np.any(np.abs(numeric) > close, axis=1)
    for factor, kind in ((0, "not_accumulated"), (2, "double_count")):
        odd = there & ~right & np.all(np.abs(analytic - factor * numeric) <= 2 * close, axis=1)
        if not (odd.any() and np.all(right | odd)):
            continue
        hit = np.any(np.abs(numeric[odd]) > close, axis=0)
        if not np.all(shared[hit]) or not np.any(right & there):
            continue
        kept = (right & there).reshape(e.y.shape)
        missed = odd.reshape(e.y.shape)
        if factor == 0:
            place = where(kept) or f"{int(kept.sum())} of {kept.size} outputs"
            evidence = (
                f"only dy at {place} reaches d{e.name}, and rightly so; the dy of the "
                f"other {int(missed.sum())} outputs has no effect"
            )
            advice = "Add them all: = where += belongs keeps the last, or the first."
        else:
            place = where(missed) or f"{int(missed.sum())} of {missed.size} outputs"
            evidence = f"dy at {place} is counted twice in d{e.name}, the rest once"
            advice = "Add each contribution once."
        yield Finding(kind, e.name, evidence, advice)
        return


def not_transposed(e):
    """Backward multiplies by the Jacobian where its transpose belongs."""
    analytic, numeric = e.jacobians
    m, n = numeric.shape
    if m != n or m < 2:
        return
    close = _slack(analytic, numeric)
    off = ~np.eye(m, dtype=bool)
    same_diagonal = np.all(np.abs(analytic - numeric)[~off] <= close)
    if np.all(np.abs(analytic - numeric.T) <= close):
        yield Finding(
            "transpose", e.name,
            f"backward multiplies dy by the Jacobian dy/d{e.name}, in {m}² entries, "
            "where its transpose belongs",
            "Send dy back the other way: a rotation is undone by the opposite one.",
        )
    elif same_diagonal and np.all(np.abs(analytic + numeric.T)[off] <= close):
        yield Finding(
            "transpose", e.name,
            "off its diagonal, the matrix that backward multiplies by is minus the "
            f"Jacobian dy/d{e.name} where it should be the transposed one",
            "Undo the steps of forward in the opposite order: what was moved and then "
            "scaled is scaled first and then moved back.",
        )


def coupling(e):
    """What is off is how an output depends on the other entries of x."""
    if e.y.shape != e.x.shape or e.x.size < 2:
        return
    analytic, numeric = e.jacobians
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
        times = "−numeric" if kind == "sign_flip" else f"{c:.4g} × numeric"
        explained = e.explain(c)
        yield Finding(
            kind, e.name,
            f"between different entries analytic = {times}, in {count} places"
            f"{explained and '; '}{explained}",
            "Look at the term that couples the entries: the one with the sum.",
        )
        return
    yield from _coupling_factor(e, analytic, numeric, off, close)


def triangle(e):
    """Backward sends dy back to positions that forward keeps apart."""
    analytic, numeric = e.jacobians
    close = _slack(analytic, numeric)
    for axis, length in enumerate(e.y.shape):
        if axis >= e.x.ndim or e.x.shape[axis] != length or length < 2:
            continue
        rows = np.indices(e.y.shape)[axis].ravel()[:, None]
        columns = np.indices(e.x.shape)[axis].ravel()
        later = columns > rows
        for masked, what in ((later, "later"), (columns < rows, "earlier")):
            used = np.abs(numeric) > close
            leaks = masked & (np.abs(analytic) > close)
            other = (columns != rows) & ~masked
            if not used[masked].any() and used[other].any() and leaks.sum() >= 2:
                yield Finding(
                    "missing_mask", e.name,
                    f"in forward no output depends on {what} positions of {e.name} "
                    f"(axis {axis}); backward sends dy there, in {int(leaks.sum())} "
                    "places",
                    "Zero what the mask hid before it is used, in backward too.",
                )
                return


def _diagonal_factor(e, analytic, numeric, close):
    """With the coupling gone: is what each entry keeps for itself right?"""
    a, n = np.diag(analytic), np.diag(numeric)
    if np.all(np.abs(a - n) <= close):
        return
    for label, q in [*functions_of("y", e.y), *functions_of(e.name, e.x)]:
        q = q.ravel()
        if np.ptp(q) <= 1e-3 * np.max(np.abs(q)):
            continue
        if np.all(np.abs(q * a - n) <= close):
            yield factor_finding(
                "missing_factor", e.name, label, "", f"the {len(a)} places of its own dy", q
            )
            return


def _coupling_factor(e, analytic, numeric, off, close):
    """Between entries there is a factor too many or too few, of an input."""
    for name, value in e.others.items():
        try:
            q = np.broadcast_to(value, e.x.shape).ravel()
        except ValueError:
            continue
        if np.ptp(q) <= 1e-3 * np.max(np.abs(q)):
            continue
        for factor in (q[None, :], q[:, None]):
            for kind, a, n in (
                ("extra_factor", analytic, factor * numeric),
                ("missing_factor", factor * analytic, numeric),
            ):
                if np.all(np.abs(a - n)[off] <= close * max(1, np.max(np.abs(q)))):
                    yield factor_finding(
                        kind, e.name, name, "", "what goes between different entries", q
                    )
                    return


def _slack(analytic, numeric):
    return 1e-6 * max(np.max(np.abs(analytic)), np.max(np.abs(numeric)), 1e-300)
