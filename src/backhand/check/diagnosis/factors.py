"""A gradient that is the right one times something."""

from itertools import permutations

import numpy as np

from .evidence import number, where

# What one divides by, usually.
DIVISORS = ("the rms", "the standard deviation", "the norm", "the sum")


def use_of_dy(e):
    """Backward is linear in dy: twice of it gives twice the gradient, none none."""
    dy, factor = e.dys[0], -1.75  # negative: what is clipped has lost its size only
    once, more, none = e.analytic[0], e.call(factor * dy), e.call(0 * dy)
    if more is None or none is None or not np.any(once):
        return
    close = 1e-9 * np.max(np.abs(once))
    if np.all(np.abs(more - once) <= close):
        yield e.finding(
            "missing_factor",
            f"dy makes no difference: {factor} · dy gives the same {e.gradient}",
            "Multiply by dy, what arrives from above. It is 1 only at the very end.",
        )
    elif np.all(np.abs(more - factor**2 * once) <= factor**2 * close):
        yield e.finding(
            "extra_factor",
            f"dy is in it twice: {factor} · dy gives {factor**2:g} times {e.gradient}",
            "Multiply by dy once.",
        )
    elif np.any(np.abs(none) > close):
        yield e.finding(
            "missing_factor",
            f"a term lacks dy: for a dy of zeros {e.gradient} is up to "
            f"{np.max(np.abs(none)):.4g}",
            "Multiply every term by dy, or by a sum over it.",
        )


def constant(e):
    """analytic = c · numeric in all entries."""
    yield from _constant(e, e.known)


def partly_constant(e):
    """analytic = c · numeric in the entries that are off, while the rest is right."""
    yield from _constant(e, e.wrong)


def _constant(e, scope):
    strong = e.significant & scope
    if e.count(strong) < 2:
        return
    a, n = e.analytic[strong], e.numeric[strong]
    c = float(a @ n / (n @ n))
    if abs(c) < 1e-3 or not e.alike(e.analytic, c * e.numeric, scope, max(1, abs(c))):
        return
    is_one = abs(abs(c) - 1) <= 1e-6 + 2 * np.max(e.slack) / np.max(np.abs(n))
    times = "−numeric" if c < 0 and is_one else f"{number(c)} × numeric"
    evidence = f"analytic = {times} {_scope(e, scope)}{e.because(c)}"
    if c < 0:
        yield e.finding(
            "sign_flip",
            evidence,
            "Look for a difference taken the other way round, or a minus lost.",
        )
    if not is_one:
        yield e.finding(
            "constant_factor",
            evidence,
            "Look for a scale left out or used twice: the count of a mean, the 2 of a "
            "square, 1/√d.",
        )
    if abs(abs(c) - 2) < 1e-4:
        yield e.finding(
            "double_count",
            evidence,
            "If no 2 belongs there, each contribution may be added twice.",
        )


def _scope(e, scope):
    """In words, the entries a mask touches."""
    count, total = e.count(scope), e.count(e.known)
    if count == total:
        return e.everywhere
    place = where(np.any(scope, axis=0), np.any(e.known, axis=0))
    at = f" (at {place})" if place else ""
    return f"in the {count} of {total} entries that are off{at}"


def constant_by_line(e):
    """analytic = c · numeric in each row, or column, with a c of its own."""
    if e.x.ndim < 2 or not e.known.all():
        return
    for axis, line in ((-1, "row"), (0, "column")):
        k_axis = axis if axis < 0 else axis + 1
        squares = np.sum(e.numeric**2, axis=(0, k_axis), keepdims=True)
        c = np.sum(e.analytic * e.numeric, axis=(0, k_axis), keepdims=True)
        c = c / np.where(squares > 0, squares, 1)
        strong = np.sum(np.any(e.significant, axis=0), axis=axis, keepdims=True) > 1
        several = c[0][strong]
        if len(several) > 1 and np.all(several) and e.alike(e.analytic, c * e.numeric):
            shown = ", ".join(number(v) for v in several[:4])
            more = ", …" if len(several) > 4 else ""
            yield e.finding(
                "constant_factor",
                f"in each {line} analytic = c × numeric, with c = {shown}{more}",
                f"Look for a scale that each {line} has of its own: a count, a norm.",
            )
            return


def entrywise(e):
    """analytic and numeric differ by a factor that is a known function."""
    strong = e.significant | (e.known & (np.abs(e.analytic) > 100 * e.slack))
    if e.count(strong) < 2:
        return
    for label, q in known_functions(e):
        q = np.broadcast_to(q, e.numeric.shape)
        if not varies(q[strong]):
            continue
        size = max(1.0, float(np.max(np.abs(q[strong]))))
        for kind, a, n in (
            ("extra_factor", e.analytic, q * e.numeric),
            ("missing_factor", q * e.analytic, e.numeric),
        ):
            sign = np.sign(np.sum((a * n)[e.known]))
            if e.alike(a, sign * n, scale=size) and not e.alike(a, 0 * a, scale=size):
                yield factor_finding(e, kind, label, e.everywhere, q, minus=sign < 0)
                return


def exchanged_factor(e):
    """numeric has one array as a factor where analytic has another."""
    arrays = {e.name: e.x, **e.others, "y": e.y}
    arrays = {
        n: np.broadcast_to(v, e.x.shape) for n, v in arrays.items() if fits(v, e.x)
    }
    for (used, p), (meant, q) in permutations(arrays.items(), 2):
        if {used, meant} == {e.name, "y"}:
            continue  # y / x is the slope itself wherever y is a multiple of x
        size = max(1.0, float(np.max(np.abs(p))), float(np.max(np.abs(q))))
        product = e.analytic * q
        same = e.alike(product, e.numeric * p, scale=size)
        if same and np.any(p != q) and not e.alike(product, 0 * q, scale=size):
            yield e.finding(
                "wrong_operand",
                f"{meant} × analytic = {used} × numeric {e.everywhere}",
                f"Where {used} stands as a factor, {meant} is meant.",
            )
            return


def factor_finding(e, kind, label, scope, q, minus=False):
    """A missing or extra factor q; a mask where that is only zero or one number."""
    left, right = "analytic", "numeric"
    if kind == "extra_factor":
        right = f"{label} × {right}"
        advice = f"Leave out the factor {label}; it may have come in with dy."
    else:
        left = f"{label} × {left}"
        advice = f"Multiply by {label}."
    evidence = f"{left} = {'−' if minus else ''}{right} {scope}"
    if label.startswith(DIVISORS):  # of these, what is missing or extra is the division
        if kind == "extra_factor":
            return e.finding("missing_factor", evidence, f"Divide by {label}.")
        return e.finding("extra_factor", evidence, f"Divide by {label} once.")
    if kind == "missing_factor" and len(np.unique(q)) == 2 and np.any(q == 0):
        kind = "missing_mask"
    return e.finding(kind, evidence, advice)


def varies(q):
    """Whether q is more than a constant, as far as these numbers can tell."""
    return np.ptp(q) > 1e-3 * np.max(np.abs(q))


def known_functions(e):
    """Arrays that may be a factor, in words and in a shape that broadcasts to x's."""
    for name, value in e.others.items():
        if fits(value, e.x):
            yield name, value
            yield f"{name}²", value**2
    points = [(e.name, e.x)]
    if e.y.shape == e.x.shape:
        points.append(("y", e.y))
        if len(e.dys) == 1:
            yield "dy", e.dys[0]
    for name, v in points:
        yield from functions_of(name, v)


def functions_of(name, v):
    """What derivatives of the usual functions are made of, at v."""
    with np.errstate(all="ignore"):
        sigmoid, tanh = 1 / (1 + np.exp(-v)), np.tanh(v)
        yield name, v
        yield f"{name}(1 − {name})", v * (1 - v)
        yield f"(1 − {name}²)", 1 - v * v
        yield f"(1 − {name})", 1 - v
        yield f"{name}²", v * v
        yield f"σ({name})(1 − σ({name}))", sigmoid * (1 - sigmoid)
        yield f"(1 − tanh²({name}))", 1 - tanh * tanh
        yield f"σ({name})", sigmoid
        yield f"(1 − σ({name}))", 1 - sigmoid
        yield f"tanh({name})", tanh
        yield f"exp({name})", np.exp(v)
        yield f"the root of {name}", np.sqrt(v)
    for axis, of in ((-1, "each row"), (0, "each column"))[: min(v.ndim, 2)]:
        if v.shape[axis] < 2:
            continue
        of = of if v.ndim > 1 else "all"
        mean = v.mean(axis, keepdims=True)
        square = np.mean(v * v, axis, keepdims=True)
        yield f"the rms of {of} of {name}", np.sqrt(square)
        yield (
            f"the standard deviation of {of} of {name}",
            np.sqrt(np.mean((v - mean) ** 2, axis, keepdims=True)),
        )
        yield f"the norm of {of} of {name}", np.sqrt(square * v.shape[axis])
        yield f"the sum of {of} of {name}", v.sum(axis, keepdims=True)
        p = np.exp(v - v.max(axis, keepdims=True))
        p /= p.sum(axis, keepdims=True)
        yield f"p (the softmax of {of} of {name})", p
        yield f"p(1 − p) (p: the softmax of {of} of {name})", p * (1 - p)


def fits(value, x):
    """Whether value broadcasts to x without making it larger."""
    try:
        return value.size > 1 and np.broadcast_shapes(value.shape, x.shape) == x.shape
    except ValueError:
        return False
