"""Terms that couple the entries of a row: those with a sum in them.

A softmax or a norm has a term of the form vector · Σ(something · dy). If it is missing
or has the wrong size, backward is wrong between different entries, and each row is off
by a multiple of the vector: ones, the output, the normalised input.
"""

import numpy as np

from .evidence import number
from .factors import DIVISORS, factor_finding, functions_of, varies
from .jacobian import room, with_jacobians


@with_jacobians
def between_entries(e, analytic, numeric):
    """What is off is how an output depends on the other entries of x."""
    if e.y.shape != e.x.shape or e.x.size < 2:
        return
    close = room(analytic, numeric)
    off = ~np.eye(e.x.size, dtype=bool)
    coupled = off & (np.abs(numeric) > 100 * close)
    count = int(coupled.sum())
    if np.all(np.sum(np.abs(numeric) > close, axis=1) <= 1):
        return  # entries change places, and none is coupled to another
    if count < 2 or not np.any((np.abs(analytic - numeric) > close) & off):
        return
    a, n = analytic[coupled], numeric[coupled]
    if np.all(np.abs(analytic[off]) <= close):
        yield e.finding(
            "dropped_coupling",
            "backward sends each dy back to its own entry only; in forward an entry of "
            f"{e.name} moves other outputs too (up to {np.max(np.abs(n)):.3g}, in "
            f"{count} places)",
            "The output depends on a sum over the row (softmax: Σ p·dy; a norm: "
            "Σ x̂·dy): differentiate that as well.",
        )
        yield from _own_factor(e, np.diag(analytic), np.diag(numeric), close)
        return
    c = float(a @ n / (n @ n))
    if abs(c - 1) > 1e-4 and np.all(np.abs(analytic - c * numeric)[off] <= close):
        flipped = abs(c + 1) < 1e-4
        times = "−numeric" if flipped else f"{number(c)} × numeric"
        yield e.finding(
            "sign_flip" if flipped else "constant_factor",
            f"between different entries analytic = {times}, in {count} places"
            + e.because(c),
            "Look at the term that couples the entries: the one with the sum.",
        )
        return
    yield from _coupling_factor(e, analytic, numeric, off, close)


def _own_factor(e, a, n, close):
    """With the coupling gone: is what each entry keeps for itself right?"""
    if np.all(np.abs(a - n) <= close):
        return
    for label, q in [*functions_of("y", e.y), *functions_of(e.name, e.x)]:
        q = np.broadcast_to(q, e.x.shape).ravel()
        # (1 − y) is what the lost coupling itself leaves in a softmax.
        is_left = label.startswith("(1 − ")
        if varies(q) and not is_left and np.all(np.abs(q * a - n) <= close):
            scope = f"for the {len(a)} dy at the entry's own place"
            yield factor_finding(e, "missing_factor", label, scope, q)
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
        slack = close * max(1.0, np.max(np.abs(q)))
        for factor in (q[None, :], q[:, None]):
            for kind, a, n in (
                ("extra_factor", analytic, factor * numeric),
                ("missing_factor", factor * analytic, numeric),
            ):
                if np.all(np.abs(a - n)[off] <= slack):
                    scope = "for what goes between different entries"
                    yield factor_finding(e, kind, name, scope, q)
                    return


def multiple_of_a_vector(e):
    """Each row is off by a multiple of ones, the output or the normalised input."""
    if e.x.ndim == 0 or not e.known.all():
        return
    for axis in (-1, 0)[: min(e.x.ndim, 2)]:
        for label, vector in _vectors(e, axis):
            multiples = _multiples(e, vector, axis)
            if multiples is not None:
                yield _name_it(e, axis, label, vector, multiples)
                return


def _vectors(e, axis):
    if e.y.shape == e.x.shape:
        yield "ones", np.ones(e.x.shape)
        yield "the output", e.y
    yield f"{e.name} less its mean", e.x - e.x.mean(axis, keepdims=True)
    yield e.name, e.x


def _multiples(e, vector, axis):
    """The multiples, if all rows are off by one of their vector."""
    k_axis = axis if axis < 0 else axis + 1
    squares = np.sum(vector * vector, axis, keepdims=True)
    c = np.sum(e.excess * vector, k_axis, keepdims=True)
    c = c / np.where(squares > 0, squares, 1)
    off = np.any(e.wrong, axis=k_axis)
    # One number is always a multiple of another: what is left must be enough.
    if (vector.shape[axis] - 1) * off.sum() < 2 or not e.alike(e.excess, c * vector):
        return None
    return np.squeeze(c, k_axis)[off]


def _name_it(e, axis, label, vector, multiples):
    line = (
        "the gradient" if e.x.ndim == 1 else "each row" if axis < 0 else "each column"
    )
    shown = ", ".join(f"{c:.3g}" for c in multiples[:3])
    more = ", …" if len(multiples) > 3 else ""
    evidence = f"{line} is off by a multiple of {label} ({shown}{more})"
    advice = f"Look at the term with {label} and a sum over dy."

    sizes = _sizes(e, axis, vector)
    if sizes is None:
        return e.finding("dropped_coupling", evidence, advice)
    analytic, numeric = sizes
    small = 1e-4 * max(np.max(np.abs(analytic)), np.max(np.abs(numeric)))
    if np.all(np.abs(analytic) <= small):
        evidence += ": numeric has a term with it, analytic has none"
        return e.finding("dropped_coupling", evidence, advice)
    there = np.abs(numeric) > small
    if not np.any(there):
        return e.finding("", f"{evidence}, a term that numeric has not")

    evidence += ": that term is"
    ratio = analytic[there] / numeric[there]
    c = float(np.mean(ratio))
    if np.ptp(ratio) <= 1e-3 * abs(c):
        kind = "sign_flip" if abs(c + 1) < 1e-3 else "constant_factor"
        evidence += f" {number(c)} × what it should be{e.because(c)}"
        return e.finding(kind, evidence, advice)
    for name, q in functions_of(e.name, e.x):
        q = np.broadcast_to(q, e.x.shape).ravel()[there]
        for kind, factor, how in (
            ("missing_factor", q, "times"),
            ("extra_factor", 1 / q, "divided by"),
        ):
            if name.startswith(DIVISORS) and np.allclose(ratio, factor, rtol=1e-3):
                return e.finding(
                    kind, f"{evidence} what it should be {how} {name}", advice
                )
    return e.finding("", evidence.removesuffix(": that term is"))


def _sizes(e, axis, vector):
    """How much of the vector is in each output's row of the two Jacobians.

    What an output owes to the other entries of its row is fitted by the vector and, for
    the two terms of a LayerNorm, by ones and the centred input. None if it is not.
    """
    if e.jacobians is None or e.y.shape != e.x.shape:
        return None
    x, basis = e.x, [vector]
    if np.ptp(vector) == 0:
        basis.append(x - x.mean(axis, keepdims=True))
    elif np.all(np.abs(vector.mean(axis)) <= 1e-12 * np.max(np.abs(vector))):
        basis.append(np.ones(x.shape))
    basis = np.stack([b.ravel() for b in basis], axis=-1)
    index = np.arange(x.size).reshape(x.shape)
    lines = np.moveaxis(index, axis, -1).reshape(-1, x.shape[axis])
    if lines.shape[1] < basis.shape[1] + 2:
        return None
    found = np.zeros((2, x.size))
    for line in lines:
        for output in line:
            others = line[line != output]
            owed = np.stack([j[output, others] for j in e.jacobians], axis=-1)
            sizes, *_ = np.linalg.lstsq(basis[others], owed, rcond=None)
            left = np.abs(basis[others] @ sizes - owed)
            if np.any(left > 1e-5 * np.max(np.abs(owed))):
                return None
            found[:, output] = sizes[0]
    return found
