"""A gradient that is the right one times something."""

import numpy as np

from ..report import Finding
from .evidence import entries, number, where


def use_of_dy(e):
    """Backward is linear in dy: twice the dy gives twice the gradient."""
    factor = 1.75
    once, more = e.analytic[0], e.call(factor * e.dys[0])
    if more is None or not np.any(once):
        return
    close = 1e-9 * np.max(np.abs(once))
    if np.all(np.abs(more - once) <= close):
        yield Finding(
            "missing_factor", e.name,
            f"dy makes no difference: {factor} · dy gives the same {e.gradient}",
            "Multiply by dy, what arrives from above. It is 1 only at the very end.",
        )
    elif np.all(np.abs(more - factor**2 * once) <= factor**2 * close):
        yield Finding(
            "extra_factor", e.name,
            f"dy is in it twice: {factor} · dy gives {factor**2:g} times {e.gradient}",
            "Multiply by dy once.",
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
    count, total = e.count(scope), e.count(e.known)
    place = where(np.any(scope, axis=0))
    scope_in_words = (
        f"in {entries(total, total)}"
        if count == total
        else f"in the {count} of {total} entries that are off"
        + (f" (at {place})" if place else "")
    )
    is_one = abs(abs(c) - 1) <= 1e-6 + 2 * np.max(e.slack) / np.max(np.abs(n))
    times = "−numeric" if c < 0 and is_one else f"{number(c)} × numeric"
    explained = e.explain(c)
    evidence = f"analytic = {times} {scope_in_words}{explained and '; '}{explained}"
    if c < 0:
        yield Finding(
            "sign_flip", e.name, evidence,
            "Look for a difference taken the other way round, or a minus lost.",
        )
    if not is_one:
        yield Finding(
            "constant_factor", e.name, evidence,
            "Look for a scale left out or used twice: the count of a mean, the 2 of a "
            "square, 1/√d.",
        )
    if abs(abs(c) - 2) < 1e-4:
        yield Finding(
            "double_count", e.name, evidence,
            "If no 2 belongs there, each contribution may be added twice.",
        )


def entrywise(e):
    """analytic and numeric differ by a factor that is a known function."""
    strong = e.significant | (e.known & (np.abs(e.analytic) > 100 * e.slack))
    total = e.count(e.known)
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
                scope = f"in {entries(total, total)}"
                yield factor_finding(kind, e.name, label, scope, q, minus=sign < 0)
                return


def factor_finding(kind, name, label, scope, q, minus=False):
    """A missing or extra factor q; a mask where that is only zero or one number."""
    extra = kind == "extra_factor"
    sides = ("analytic", f"{label} × numeric") if extra else (f"{label} × analytic", "numeric")
    evidence = f"{sides[0]} = {'−' if minus else ''}{sides[1]} {scope}"
    if label.startswith(DIVISORS):  # dividing by it is the usual thing
        kind = "missing_factor" if extra else "extra_factor"
        advice = f"Divide by {label}." if extra else f"Divide by {label} once."
    elif extra:
        advice = f"Leave out the factor {label}; it may have come in with dy."
    else:
        kind = "missing_mask" if len(np.unique(q)) == 2 and np.any(q == 0) else kind
        advice = f"Multiply by {label}."
    return Finding(kind, name, evidence, advice)


def varies(q):
    """Whether q is more than a constant, as far as these numbers can tell."""
    return np.ptp(q) > 1e-3 * np.max(np.abs(q))


DIVISORS = ("the rms", "the standard deviation", "the norm", "the sum")


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
        yield f"p = softmax of {of} of {name}", p
        yield f"p(1 − p), p = softmax of {of} of {name},", p * (1 - p)


def fits(value, x):
    """Whether value broadcasts to x without making it larger."""
    try:
        return value.size > 1 and np.broadcast_shapes(value.shape, x.shape) == x.shape
    except ValueError:
        return False
