"""Contributions to a gradient that are lost, counted twice or let through."""

import numpy as np

from .evidence import entries, listed, number, where
from .factors import functions_of, varies


def not_returned(e):
    """None, or a name left out, where there is a gradient."""
    if e.name in e.subject.not_returned:
        yield e.finding(
            "dropped_path",
            f"no gradient of {e.name} was returned, which stands for zeros; numeric "
            f"is up to {np.nanmax(np.abs(e.numeric)):.4g}",
            "Return it too; what is no parameter is better held inside forward.",
        )


def nothing(e):
    """No gradient at all, where there is one."""
    if np.any(e.analytic) or e.count(e.significant) < 2:
        return
    largest = np.nanmax(np.abs(e.numeric))
    yield e.finding(
        "dropped_path",
        f"analytic is 0 {e.everywhere}; numeric is up to {largest:.4g}",
        f"A path from {e.name} to the output is left out, or ends in an array that is "
        "not returned.",
    )
    if e.y.size < 2 or not e.same(e.derivative(e.dys)):
        return
    if np.all(np.abs(e.derivative([np.ones(e.y.shape)])) < 1e-6 * largest):
        yield e.finding(
            "uninformative_upstream",
            f"for a dy of ones the numeric gradient of {e.name} is 0, too",
            "Zero is right for such a dy only; a test of y.sum() cannot tell. Use a dy "
            "that is not uniform.",
        )


def straight(e):
    """Off by dy itself: the path straight through, forgotten or taken twice."""
    if e.y.shape != e.x.shape or e.x.size < 2:
        return
    dy = np.stack(e.dys)
    if e.alike(e.excess, dy):
        yield e.finding(
            "double_count",
            f"analytic − numeric = dy {e.everywhere}",
            "dy is in it once too often: what a skip connection passes on, added "
            "twice.",
        )
    elif e.alike(-e.excess, dy):
        yield e.finding(
            "dropped_path",
            f"numeric − analytic = dy {e.everywhere}",
            "A term dy is missing: what a skip connection passes on, or the 1 of "
            "1 − tanh².",
        )


def term(e):
    """Off by dy times a known function: one term of a product rule."""
    if e.y.shape not in (e.x.shape, ()) or e.x.size < 2:
        return
    dy = np.stack([np.broadcast_to(dy, e.x.shape) for dy in e.dys])
    for label, q in _second_terms(e):
        if varies(q) and e.alike(-e.excess, dy * q):
            yield e.finding(
                "dropped_path",
                f"numeric − analytic = dy · {label} {e.everywhere}",
                "That term is missing: a product has one for each of its factors.",
            )
            return


def _second_terms(e):
    """What the second term of a product rule may be, besides dy."""
    yield from functions_of(e.name, e.x)
    for label, slope in functions_of(e.name, e.x):
        if label.startswith(("σ", "(1 − tanh²")):
            yield f"{e.name} · {label}", e.x * slope


def gate(e):
    """A product of the input and a factor that was taken for a constant."""
    if e.y.shape != e.x.shape or e.x.size < 2:
        return
    with np.errstate(all="ignore"):
        factor = e.y / e.x
    if varies(factor) and e.alike(e.analytic, np.stack(e.dys) * factor):
        yield e.finding(
            "dropped_path",
            f"analytic = dy · y / {e.name} {e.everywhere}",
            f"y is {e.name} times a factor that depends on {e.name} too: a product has "
            "a term for each of its factors.",
        )


def penalty(e):
    """Off by a multiple of the input: the derivative of a sum of squares."""
    if e.y.size != 1 or e.x.size < 3 or not varies(e.x):
        return
    dys = np.array([dy.item() for dy in e.dys]).reshape(-1, *(1,) * e.x.ndim)
    direction = dys * e.x
    c = np.sum((e.excess * direction)[e.known]) / np.sum((direction**2)[e.known])
    if e.alike(e.excess, c * direction):
        dy = "" if np.all(dys == 1) else "dy · "  # the caller of check_loss has none
        yield e.finding(
            "constant_factor",
            f"analytic − numeric = {number(c)} · {dy}{e.name} {e.everywhere}: only a "
            f"term proportional to {e.name} is off",
            f"Look at a penalty on {e.name}: the derivative of r · sum({e.name}²) is "
            f"2 r · {e.name}.",
        )


def looked_up_rows(e):
    """Only rows that are looked up, or not, or several times, are off."""
    if e.x.ndim == 0 or not e.known.all():
        return

    def by_row(mask):
        return mask.any(axis=(0, *range(2, e.x.ndim + 1)))

    off, leaking = by_row(e.wrong), by_row(e.wrong & e.zero)
    for name, ids in e.ids.items():
        if ids.size == 0 or ids.min() < 0 or ids.max() >= len(e.x):
            continue
        count = np.bincount(ids.ravel().astype(np.intp), minlength=len(e.x))
        rows = listed(np.flatnonzero(off), "row", "rows")
        if np.sum(count == 0) > 1 and np.array_equal(leaking, count == 0):
            unused = listed(np.flatnonzero(count == 0), "row", "rows")
            yield e.finding(
                "missing_mask",
                f"no {name} looks up {unused}, and numeric is 0 there; analytic is not",
                "Only the rows that were looked up receive a gradient.",
            )
        elif np.all(count[off] > 1) and np.any(count == 1):
            kind, advice = _accumulation(e, off, count, ids)
            yield e.finding(
                kind,
                f"only rows whose {name} occur more than once are off ({rows}: "
                f"{listed(count[off], '', '').strip()} times); rows that occur once "
                "are right",
                advice,
            )
        elif np.array_equal(off, count > 0) and np.any(by_row(e.significant) & ~off):
            yield e.finding(
                "not_accumulated",
                f"only rows that {name} look up are off ({rows}); the others are "
                "right, and not zero",
                f"{e.name} is used in two places: add what arrives through the lookup "
                "to the rest.",
            )


def _accumulation(e, off, count, ids):
    """What was done to the rows that are off instead of adding every occurrence."""
    rows = np.flatnonzero(off)
    a, n = e.analytic[:, rows], e.numeric[:, rows]
    times = count[rows].reshape(1, -1, *(1,) * (e.x.ndim - 1))
    # Where all occurrences send back the same, keeping one looks like averaging.
    each_has_its_own = e.y.shape == ids.shape + e.x.shape[1:]
    if each_has_its_own and np.all(np.abs(a * times - n) <= np.max(e.slack)):
        return "constant_factor", "Do not divide by how often a row occurs."
    within = tuple(range(2, e.x.ndim + 1))
    if np.all(np.sum(a * n, axis=(0, *within)) > np.sum(n * n, axis=(0, *within))):
        return "double_count", "Add every occurrence once: np.add.at(d, ids, dy)."
    return (
        "not_accumulated",
        "Add every occurrence: np.add.at(d, ids, dy). d[ids] = dy, and d[ids] += dy "
        "too, keep the last only.",
    )


def let_through(e):
    """Non-zero where the truth is zero, and right elsewhere, or dy as it came."""
    leaks = e.wrong & e.zero
    as_it_came = e.y.shape == e.x.shape and e.alike(
        e.analytic, np.stack(e.dys), e.wrong
    )
    others = np.any(e.wrong & ~leaks)
    if not leaks.any() or (others or e.count(leaks) < 2) and not as_it_came:
        return
    yield e.finding(
        "missing_mask",
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
    yield e.finding(
        "dropped_path",
        _zero(e, lost) + "; the rest is right",
        "These entries reach the output, and nothing is sent back to them.",
    )


def zeros(e):
    """Remarks on zeros that do not explain everything."""
    leaks, lost = e.wrong & e.zero, _lost(e)
    if e.count(leaks) > 1:
        yield e.finding("", _not_zero(e, leaks))
    if e.count(lost) > 1:
        yield e.finding("", _zero(e, lost))


def signs(e):
    """A remark where exactly the entries of one sign, or beyond 1, are off."""
    off = np.any(e.wrong, axis=0)
    if not e.known.all() or off.all():
        return
    tests = {"< 0": e.x < 0, "> 0": e.x > 0, "= 0": e.x == 0}
    tests |= {"beyond ±1": np.abs(e.x) > 1, "within ±1": np.abs(e.x) < 1}
    for words, holds in tests.items():
        if holds.sum() > 1 and np.array_equal(off, holds):
            yield e.finding("", f"it is off exactly where {e.name} is {words}", "")
            return


def _lost(e):
    return e.wrong & e.significant & (np.abs(e.analytic) <= e.slack)


def _not_zero(e, leaks):
    found = entries(e.count(leaks), e.count(e.known))
    return f"analytic is not 0 in {found} where numeric is{_at(e, leaks)}"


def _zero(e, lost):
    found = entries(e.count(lost), e.count(e.known))
    return f"analytic is 0 in {found} where numeric is not{_at(e, lost)}"


def _at(e, mask):
    place = where(mask.any(axis=0), e.known.any(axis=0))
    return f" (at {place})" if place else ""
