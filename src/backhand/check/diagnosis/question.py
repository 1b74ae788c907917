"""Flaws of the question: what keeps a gradient from being judged, or from mattering."""

import numpy as np

from ..report import Finding
from .evidence import entries


def nonfinite(e):
    """Nan or infinity where the output and its derivative are finite."""
    bad = ~np.isfinite(e.analytic) & e.wrong
    if not bad.any():
        return
    _, *index = (int(i) for i in np.argwhere(bad)[0])
    values = {str(v) for v in e.analytic[bad]}
    yield Finding(
        "nonfinite", e.name,
        f"analytic is {' or '.join(sorted(values))} in "
        f"{entries(e.count(bad), e.count(e.known))} (first at {tuple(index)}) where "
        "forward and its numeric derivative are finite",
        "Look for 0/0, inf − inf or 0 · inf: a division by something that can vanish, "
        "an exponential that overflows.",
    )


def kink(e, comparison):
    """One-sided slopes that differ."""
    if not comparison.kink.any():
        return
    k, *index = (int(i) for i in np.argwhere(comparison.kink)[0])
    behind, ahead = e.one_sided(k, tuple(index))
    count = int(comparison.kink.any(axis=0).sum())
    yield Finding(
        "kink", e.name,
        f"at {e.name}[{', '.join(map(str, index))}] = {e.x[tuple(index)]:.6g} the slope "
        f"is {behind:.6g} on one side and {ahead:.6g} on the other"
        + (f", and at {count - 1} more like this" if count > 1 else ""),
        "There is no derivative there, only a convention. Check at another point, and "
        "test the convention by itself.",
    )


def noise(e, comparison):
    """Differences that drown in the round-off of forward."""
    blurred = comparison.undecided & ~comparison.kink & np.isfinite(e.numeric)
    if not blurred.any() or not np.isfinite(e.y).all():
        return
    size = np.nanmax(np.abs(np.stack([e.numeric, e.analytic])))
    error = np.nanmax(np.where(blurred, e.error, 0.0))
    single = e.subject.y.dtype == np.float32
    if not np.isfinite(error):
        yield Finding(
            "float_noise", e.name,
            f"the difference quotient does not settle as the step shrinks, in "
            f"{entries(e.count(blurred), e.count(e.known))}",
            "Forward is a step function there, or loses the digits that matter.",
        )
        return
    yield Finding(
        "float_noise", e.name,
        f"the two can be compared to ±{error:.1e} only, where the largest entry is {size:.1e}, "
        f"in {entries(e.count(blurred), e.count(e.known))}: round-off hides the rest"
        + ("; forward computes in float32" if single else ""),
        "Compute in float64 throughout, on inputs where the output is neither huge nor "
        "saturated.",
    )


def no_derivative(e, comparison):
    """Forward is not finite on both sides of a point."""
    missing = comparison.undecided & ~np.isfinite(e.numeric)
    if missing.any() and np.isfinite(e.y).all():
        _, *index = (int(i) for i in np.argwhere(missing)[0])
        yield Finding(
            "nonfinite", e.name,
            f"forward is not finite, or raises, next to {e.name}"
            f"[{', '.join(map(str, index))}] = {e.x[tuple(index)]:.6g}",
            "Check at a point with room on both sides.",
        )


def uninformative(e):
    """A dy, given by the caller, that every gradient passes or nearly."""
    if len(e.dys) < 2 or not e.known.any():
        return
    seeded, given = (np.nanmax(np.abs(n)) for n in e.numeric)
    if given > 10 * np.nanmax(e.error[1]) or seeded <= 100 * np.nanmax(e.error[0]):
        return
    dy = e.dys[1]
    what = (
        f"a dy of {'ones' if dy.flat[0] == 1 else f'{dy.flat[0]:.4g} throughout'}"
        if np.ptp(dy) == 0
        else "this dy"
    )
    yield Finding(
        "uninformative_upstream", e.name,
        f"for {what} the numeric gradient of {e.name} is 0 (at most {given:.1e}); for a "
        f"random one it is up to {seeded:.4g}",
        "It tests nothing: whatever vanishes with it looks right. Use one that is "
        "signed and not uniform.",
    )
