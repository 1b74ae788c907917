"""Matrix products with the wrong operand, or one the wrong way round."""

from itertools import combinations, product

import numpy as np

from ..report import Finding
from .evidence import entries


def matrix_product(e):
    """Both gradients are products of dy and an array at hand, but not the same."""
    if e.x.ndim < 2 or e.x.size < 2 or e.y.ndim < 2:
        return
    right = next(_equal_to(e, e.numeric), None)
    wrong = right and next(_equal_to(e, e.analytic), None)
    if not wrong:
        return
    total = e.count(e.known)
    yield Finding(
        "transpose" if {n for n, _ in wrong} == {n for n, _ in right} else "wrong_operand", e.name,
        f"analytic = {_written(wrong)} and numeric = {_written(right)} in "
        f"{entries(total, total)}",
        f"Write {_written(right)}.",
    )


def reduction(e):
    """dy summed over the wrong axes."""
    if e.x.ndim == 0 or e.x.size < 2:
        return
    right = next(_sums_equal_to(e, e.numeric), None)
    wrong = right and next(_sums_equal_to(e, e.analytic), None)
    if wrong:
        total = e.count(e.known)
        yield Finding(
            "wrong_axis", e.name,
            f"analytic is dy summed over axis {listed_axes(wrong)}, numeric is dy summed "
            f"over axis {listed_axes(right)}, in {entries(total, total)}",
            f"Write dy.sum(axis={right if len(right) > 1 else right[0]}).",
        )


def listed_axes(axes):
    return " and ".join(map(str, axes))


def _sums_equal_to(e, target):
    for n in range(1, e.y.ndim + 1):
        for axes in combinations(range(e.y.ndim), n):
            found = [dy.sum(axis=axes) for dy in e.dys]
            if found[0].shape == e.x.shape and e.alike(np.stack(found), target):
                yield axes


def transposed(e):
    """The transpose of the right gradient, where it happens to fit."""
    if e.x.ndim != 2 or e.x.shape[0] != e.x.shape[1] or e.x.size < 2:
        return
    if e.alike(np.swapaxes(e.analytic, 1, 2), e.numeric):
        total = e.count(e.known)
        yield Finding(
            "transpose", e.name,
            f"the transpose of analytic = numeric in {entries(total, total)}",
            "Exchange the factors: (a @ b).T is b.T @ a.T.",
        )


def exchanged(pair):
    """The gradients of two inputs stand in each other's place."""
    a, b = pair
    if a.x.shape != b.x.shape or a.x.size < 2:
        return
    if a.alike(b.analytic, a.numeric) and b.alike(a.analytic, b.numeric):
        total = a.count(a.known)
        yield Finding(
            "wrong_operand", a.name,
            f"what backward returned for {a.name} is the numeric gradient of {b.name} "
            f"in {entries(total, total)}, and the other way round",
            "Return the gradients in the order of forward's inputs.",
        )


def _equal_to(e, target):
    """Products, as two (name, transposed) pairs, that are the target everywhere."""
    known = {e.name: e.x, **e.others, "y": e.y}
    known = {name: value for name, value in known.items() if value.ndim >= 2}
    for (name, value), first, flags in product(
        known.items(), (True, False), product((False, True), repeat=2)
    ):
        found = [_product(dy, value, first, flags, e.x.shape) for dy in e.dys]
        if all(f is not None for f in found) and e.alike(np.stack(found), target):
            names = ("dy", name) if first else (name, "dy")
            yield tuple(zip(names, flags))


def _product(dy, value, dy_first, flags, shape):
    """The product, summed over leading axes, if it has the shape asked for."""
    pair = (dy, value) if dy_first else (value, dy)
    a, b = (np.swapaxes(m, -1, -2) if flag else m for m, flag in zip(pair, flags))
    try:
        result = a @ b
    except ValueError:
        return None
    if result.ndim > len(shape):
        result = result.sum(axis=tuple(range(result.ndim - len(shape))))
    return result if result.shape == shape else None


def _written(pairs):
    return " @ ".join(f"{name}.T" if flag else name for name, flag in pairs)
