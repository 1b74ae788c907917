"""Contributions to a gradient that are lost, counted twice or let through."""

import numpy as np

from ..report import Finding
from .evidence import entries, listed, number, where
from .factors import functions_of, varies


def nothing(e):
    """No gradient at all, where there is one."""
    if np.any(e.analytic) or e.count(e.significant) < 2:
        return
    total, largest = e.count(e.known), np.nanmax(np.abs(e.numeric))
    yield Finding(
        "dropped_path", e.name,
        f"analytic is 0 in {entries(total, total)}; numeric is up to {largest:.4g}",
        f"A path from {e.name} to the output is left out, or ends in an array that is "
        "not returned.",
    )
    if e.y.size < 2 or not e.same(e.derivative(e.dys)):
        return
    if np.all(np.abs(e.derivative([np.ones(e.y.shape)])) < 1e-6 * largest):
        yield Finding(
            "uninformative_upstream", e.name,
            f"for a dy of ones the numeric gradient of {e.name} is 0, too",
            "Zero is right for such a dy only; a test of y.sum() cannot tell. Use a dy "
            "that is not uniform.",
        )


def term(e):
    """Off by dy, or dy times a known function: one term of the derivative."""
    if e.y.shape != e.x.shape or e.x.size < 2:
        return
    dy = np.stack(e.dys)
    total = e.count(e.known)
    if e.alike(e.excess, dy):
        yield Finding(
            "double_count", e.name,
            f"analytic − numeric = dy in {entries(total, total)}",
            "dy is in it once too often: what a skip connection passes on, added twice.",
        )
        return
    missing = [
        ("dy", np.ones(e.x.shape)),
        *((f"dy · {label}", q) for label, q in _terms(e) if varies(q)),
    ]
    for label, q in missing:
        if e.alike(-e.excess, dy * q):
            yield Finding(
                "dropped_path", e.name,
                f"numeric − analytic = {label} in {entries(total, total)}",
                "That term is missing: "
                + (
                    "what a skip connection passes on, or the 1 of 1 − tanh²."
                    if label == "dy"
                    else "a product has a term for each of its factors."
                ),
            )
            return


def gate(e):
    """A product of the input and a factor that was taken for a constant."""
    if e.y.shape != e.x.shape or e.x.size < 2:
        return
    with np.errstate(all="ignore"):
        factor = e.y / e.x
    if varies(factor) and e.alike(e.analytic, np.stack(e.dys) * factor):
        total = e.count(e.known)
        yield Finding(
            "dropped_path", e.name,
            f"analytic = dy · y / {e.name} in {entries(total, total)}",
            f"y is {e.name} times a factor that depends on {e.name} too: a product has "
            "a term for each of its factors.",
        )


def _terms(e):
    """What the second term of a product rule may be."""
    x, name = e.x, e.name
    yield from functions_of(name, x)
    for label, slope in functions_of(name, x):
        if label.startswith(("σ", "(1 − tanh²")):
            yield f"{name} · {label}", x * slope


def penalty(e):
    """Off by a multiple of the input: the derivative of a sum of squares."""
    if e.y.size != 1 or e.x.size < 3 or not varies(e.x):
        return
    dys = np.array([dy.item() for dy in e.dys]).reshape(-1, *(1,) * e.x.ndim)
    direction = dys * e.x
    c = np.sum((e.excess * direction)[e.known]) / np.sum((direction**2)[e.known])
    if e.alike(e.excess, c * direction):
        total = e.count(e.known)
        yield Finding(
            "constant_factor", e.name,
            f"analytic − numeric = {number(c)} · dy · {e.name} in {entries(total, total)}: "
            f"only a term proportional to {e.name} is off",
            f"Look at a penalty on {e.name}: the derivative of r · sum({e.name}²) is "
            f"2 r · {e.name}.",
        )


def looked_up_rows(e):
    """Only rows that are looked up, or looked up several times, are off."""
    if e.x.ndim == 0 or not e.known.all() or np.sum(e.wrong) < 2:
        return
    within = tuple(range(1, e.x.ndim))
    off = np.any(e.wrong, axis=0).any(axis=within)
    for name, ids in e.ids.items():
        if ids.size == 0 or ids.min() < 0 or ids.max() >= len(e.x):
            continue
        count = np.bincount(ids.ravel(), minlength=len(e.x))
        rows = np.flatnonzero(off)
        never = count == 0
        touched = np.any(e.wrong & e.zero, axis=0).any(axis=within)
        if never.sum() > 1 and np.array_equal(touched, never):
            yield Finding(
                "missing_mask", e.name,
                f"no {name} looks up {listed(np.flatnonzero(never), 'row', 'rows')}, and "
                "numeric is 0 there; analytic is not",
                "Only the rows that were looked up receive a gradient.",
            )
            continue
        others_move = np.any(e.significant, axis=0).any(axis=within)[~off].any()
        if np.all(count[off] > 1) and not np.any(off[count == 1]) and np.any(count == 1):
            kind = "double_count" if _too_much(e, off) else "not_accumulated"
            yield Finding(
                kind, e.name,
                f"only rows whose {name} occur more than once are off "
                f"({listed(rows, 'row', 'rows')}; {listed(count[rows], '', '')} times); "
                "rows that occur once are right",
                "Add every occurrence once: np.add.at(d, ids, dy). d[ids] = dy, and "
                "d[ids] += dy too, keep the last only.",
            )
        elif np.array_equal(off, count > 0) and others_move:
            yield Finding(
                "not_accumulated", e.name,
                f"only rows that {name} look up are off ({listed(rows, 'row', 'rows')}); "
                "the others are right, and not zero",
                f"{e.name} is used in two places: add what arrives through the lookup "
                "to the rest.",
            )


def _too_much(e, off):
    """Whether the rows that are off are multiples of the right ones."""
    for row in np.flatnonzero(off):
        a, n = e.analytic[:, row], e.numeric[:, row]
        if np.sum(a * n) <= np.sum(n * n):
            return False
    return True


def let_through(e):
    """Non-zero where the truth is zero, and right elsewhere, or dy as it came."""
    leaks = e.wrong & e.zero
    as_it_came = e.y.shape == e.x.shape and e.alike(e.analytic, np.stack(e.dys), e.wrong)
    others = np.any(e.wrong & ~leaks)
    if not leaks.any() or (others or e.count(leaks) < 2) and not as_it_came:
        return
    yield Finding(
        "missing_mask", e.name,
        _not_zero(e, leaks)
        + ("; wherever it is off, it is dy as it came" if as_it_came else "")
        + ("" if others else "; the rest is right"),
        "Apply in backward the mask that forward applied.",
    )


def left_out(e):
    """Zero where the truth is not, and right elsewhere."""
    lost = _lost(e)
    if e.count(lost) < 2 or np.any(e.wrong & (np.abs(e.analytic) > e.slack)):
        return
    yield Finding(
        "dropped_path", e.name, _zero(e, lost) + "; the rest is right",
        "These entries reach the output, and nothing is sent back to them.",
    )


def zeros(e):
    """Remarks on zeros that do not explain everything."""
    leaks, lost = e.wrong & e.zero, _lost(e)
    if e.count(leaks) > 1:
        yield Finding("", e.name, _not_zero(e, leaks), "")
    if e.count(lost) > 1:
        yield Finding("", e.name, _zero(e, lost), "")


def signs(e):
    """A remark where exactly the entries of one sign, or beyond 1, are off."""
    off = np.any(e.wrong, axis=0)
    if not e.known.all() or off.all():
        return
    tests = {"< 0": e.x < 0, "> 0": e.x > 0, "= 0": e.x == 0}
    tests |= {"beyond ±1": np.abs(e.x) > 1, "within ±1": np.abs(e.x) < 1}
    for words, holds in tests.items():
        if holds.sum() > 1 and np.array_equal(off, holds):
            yield Finding("", e.name, f"it is off exactly where {e.name} is {words}", "")
            return


def _lost(e):
    return e.wrong & e.significant & (np.abs(e.analytic) <= e.slack)


def _not_zero(e, leaks):
    found = entries(e.count(leaks), e.count(e.known))
    return f"analytic is not 0 in {found} where numeric is{_at(leaks)}"


def _zero(e, lost):
    found = entries(e.count(lost), e.count(e.known))
    return f"analytic is 0 in {found} where numeric is not{_at(lost)}"


def _at(mask):
    place = where(mask.any(axis=0))
    return f" (at {place})" if place else ""
