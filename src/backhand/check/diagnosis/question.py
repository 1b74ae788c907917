"""Flaws of the question: what keeps a gradient from being judged, or from mattering."""

import numpy as np

from .evidence import entries


def nonfinite(e):
    """Nan or infinity where the output and its derivative are finite."""
    bad = ~np.isfinite(e.analytic) & e.wrong
    if not bad.any():
        return
    values = " or ".join(sorted({str(v) for v in e.analytic[bad]}))
    yield e.finding(
        "nonfinite",
        f"analytic is {values} in {entries(e.count(bad), e.x.size)}, first at "
        f"{_index(_first(bad), e.x.shape)}, where forward and its numeric derivative "
        "are finite",
        "Look for 0/0, inf − inf or 0 · inf: a division by something that can vanish, "
        "an exponential that overflows.",
    )


def cut_short(e):
    """Right but for the digits that a narrow type cannot hold."""
    dtype, size = e.analytic.dtype, np.abs(e.numeric)
    if dtype.kind == "f" and dtype.itemsize < 8:
        digits, room = dtype, np.finfo(dtype).eps * size
    elif dtype.kind in "iu" and np.any(e.analytic):
        digits, room = "whole numbers", np.minimum(1.0, size)
    else:
        return
    if np.all((np.abs(e.excess) <= room + e.slack)[e.known]):
        yield e.finding(
            "float_noise",
            f"backward returned dtype {dtype}: analytic is numeric cut to {digits} "
            f"{e.everywhere}",
            "Keep the dtype of the input: look for an astype, or for an array made "
            "without a dtype and written into.",
        )


def kink(e):
    """One-sided slopes that differ."""
    if not e.kink.any():
        return
    k = int(np.argmax(e.kink.reshape(len(e.kink), e.x.size).any(axis=1)))
    behind, ahead = e.one_sided(k, _first(e.kink[k][None]))
    more = int(e.kink.any(axis=0).sum()) - 1
    yield e.finding(
        "kink",
        f"at {_place(e, e.kink[k][None])} the slope is {behind:.6g} on one side and "
        f"{ahead:.6g} on the other"
        + (f", and at {more} more like this" if more else ""),
        "There is no derivative there, only a convention. Check at another point, and "
        "test the convention by itself.",
    )


def noise(e):
    """Differences that drown in the round-off of forward."""
    blurred = e.undecided & ~e.kink & e.known
    if not blurred.any() or not np.isfinite(e.y).all():
        return
    some = f"in {entries(e.count(blurred), e.count(e.known))}"
    error = np.max(e.error[blurred])
    size = np.nanmax(np.abs(np.stack([e.numeric, e.analytic])))
    if not error < size:
        yield e.finding(
            "float_noise",
            f"the difference quotient does not settle as the step shrinks, {some}",
            "Forward is a step function there, or loses the digits that matter.",
        )
        return
    single = "; forward computes in float32" * (e.subject.y.dtype == np.float32)
    yield e.finding(
        "float_noise",
        f"the two can be compared to ±{error:.1e} only, where the largest entry is "
        f"{size:.1e}, {some}: round-off hides the rest{single}",
        "Compute in float64 throughout, on inputs where the output is neither huge nor "
        "saturated.",
    )


def no_derivative(e):
    """Forward is not finite on both sides of a point."""
    missing = e.undecided & ~e.known
    if not missing.any() or not np.isfinite(e.y).all():
        return
    fixed = missing & ~np.isfinite(e.x)
    if fixed.any():
        yield e.finding(
            "nonfinite",
            f"{_place(e, fixed)} does not move: there is no derivative",
            "Check on finite inputs. A mask is not differentiated if it is passed as "
            "booleans, or held inside forward.",
        )
    else:
        yield e.finding(
            "nonfinite",
            f"forward is not finite, or raises, next to {_place(e, missing)}",
            "Check at a point with room on both sides.",
        )


def uninformative(e):
    """A dy, given by the caller, for which there is no gradient to test."""
    if len(e.dys) < 2 or not e.known.any():
        return
    seeded, given = (np.nanmax(np.abs(numeric)) for numeric in e.numeric)
    error = [np.nanmax(error) for error in e.error]
    if given > 10 * error[1] or seeded <= 100 * error[0]:
        return
    dy = e.dys[1]
    uniform = f"a dy that is {dy.flat[0]:.4g} throughout" if np.ptp(dy) == 0 else ""
    yield e.finding(
        "uninformative_upstream",
        f"for {uniform or 'this dy'} the numeric gradient of {e.name} is 0 (at most "
        f"{given:.1e}); for a random one it is up to {seeded:.4g}",
        "It tests nothing: whatever vanishes with it looks right. Use one that is "
        "signed and not uniform.",
    )


def _first(mask):
    """The flat index of the first entry of x that a (K, *x.shape) mask touches."""
    return int(np.argmax(mask.any(axis=0)))


def _index(entry, shape):
    return tuple(int(i) for i in np.unravel_index(entry, shape))


def _place(e, mask):
    """The first entry a mask touches, as "x[0, 1] = 0.5"."""
    index = _index(_first(mask), e.x.shape)
    at = f"[{', '.join(map(str, index))}]" if index else ""
    return f"{e.name}{at} = {e.x[index]:.6g}"
