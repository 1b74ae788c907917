"""Contributions to a gradient that are lost, counted twice or let through."""

import numpy as np

from ..report import Finding
from .evidence import entries, listed, where


def nothing(e):
    """No gradient at all, where there is one."""
    if np.any(e.analytic) or not np.any(e.significant):
        return
    total = e.count(e.known)
    yield Finding(
        "dropped_path", e.name,
        f"analytic is 0 in {entries(total, total)}; numeric is up to "
        f"{np.nanmax(np.abs(e.numeric)):.4g}",
        f"A path from {e.name} to the output is left out, or ends in an array that is "
        "not returned.",
    )
    ones = np.ones(e.y.shape)
    if e.y.size > 1 and not np.any(np.abs(e.derivative(ones)) > 1e-6 * np.nanmax(np.abs(e.numeric))):
        yield Finding(
            "uninformative_upstream", e.name,
            f"with a dy of ones the numeric gradient of {e.name} is 0 as well",
            "Zero is right for that dy only. Check with one that is not uniform: a test "
            "of y.sum() cannot see this.",
        )


def identity(e):
    """Off by dy itself: the path straight through, forgotten or taken twice."""
    if e.y.shape != e.x.shape or e.x.size < 2:
        return
    dy = np.stack(e.dys)
    total = e.count(e.known)
    if e.alike(e.analytic + dy, e.numeric):
        yield Finding(
            "dropped_path", e.name,
            f"numeric − analytic = dy in {entries(total, total)}",
            "A term dy is missing: what a skip connection passes on, or the 1 of a "
            "derivative such as 1 − tanh².",
        )
    elif e.alike(e.analytic - dy, e.numeric):
        yield Finding(
            "double_count", e.name,
            f"analytic − numeric = dy in {entries(total, total)}",
            "A term dy is there once too often: what a skip connection passes on, "
            "added twice.",
        )


def penalty(e):
    """Off by a multiple of the input: the derivative of a sum of squares."""
    if e.y.size != 1 or e.x.size < 3:
        return
    x = np.broadcast_to(e.x, e.numeric.shape)
    c = np.sum((e.excess * x)[e.known]) / np.sum((x * x)[e.known])
    c = float(c / e.dys[0].ravel()[0])
    term = c * e.x * np.stack([dy.reshape((1,) * e.x.ndim) for dy in e.dys])
    if e.alike(e.excess, term):
        total = e.count(e.known)
        yield Finding(
            "constant_factor", e.name,
            f"analytic − numeric = {c:.4g} · dy · {e.name} in {entries(total, total)}: "
            "only a term proportional to it is off",
            f"Look at a penalty on {e.name}: r · sum({e.name}²) has the derivative "
            f"2 r · {e.name}.",
        )


def repeated_ids(e):
    """Only rows that are looked up (several times) are off."""
    if e.x.ndim == 0 or not e.known.all():
        return
    axes = (0, *range(2, e.x.ndim + 1))
    wrong = e.wrong.any(axis=axes)
    for name, ids in e.ids.items():
        if ids.size == 0 or ids.min() < 0 or ids.max() >= len(e.x) or e.wrong.sum() < 2:
            continue
        count = np.bincount(ids.ravel(), minlength=len(e.x))
        rows = np.flatnonzero(wrong)
        if np.array_equal(wrong, count > 1) and not wrong.all():
            short = np.abs(e.analytic).sum() < np.abs(e.numeric).sum()
            yield Finding(
                "not_accumulated" if short else "double_count", e.name,
                f"the rows that are off are those whose {name} occur more than once "
                f"({listed(rows)}, {listed(count[rows], 'time', 'times')}); all others are right",
                "Add for every occurrence: np.add.at(d, ids, dy), or += in a loop. "
                "d[ids] = dy and d[ids] += dy both keep the last only.",
            )
        elif np.array_equal(wrong, count > 0) and not wrong.all():
            yield Finding(
                "not_accumulated", e.name,
                f"the rows that are off are those that {name} look up ({listed(rows)}); "
                "all others are right",
                f"{e.name} is used in two places: add what arrives through the lookup "
                "to what arrives through the other.",
            )


def zeros_and_non_zeros(e):
    """Non-zero where the truth is zero, or zero where it is not."""
    let_through = e.wrong & e.zero
    as_it_came = e.y.shape == e.x.shape and e.alike(e.analytic, np.stack(e.dys), e.wrong)
    total = e.count(e.known)
    if e.count(let_through) >= 2 or (e.count(e.wrong) >= 2 and as_it_came and let_through.any()):
        count, place = e.count(let_through), where(let_through.any(axis=0))
        yield Finding(
            "missing_mask", e.name,
            f"analytic is not 0 in {entries(count, total)} where numeric is"
            + (f" (at {place})" if place else "")
            + ("; where it is off, it is dy as it came" if as_it_came else ""),
            "Apply in backward the mask that forward applied, to the same array.",
        )
    lost = e.wrong & e.significant & (np.abs(e.analytic) <= e.slack)
    if e.count(lost) >= 2:
        count, place = e.count(lost), where(lost.any(axis=0))
        yield Finding(
            "dropped_path", e.name,
            f"analytic is 0 in {entries(count, total)} where numeric is not"
            + (f" (at {place})" if place else ""),
            "Something reaches these entries in forward that backward does not send "
            "back.",
        )
