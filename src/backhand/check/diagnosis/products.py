"""Products and sums of the wrong arrays, or the wrong way round."""

from itertools import combinations, product

import numpy as np


def matrix_product(e):
    """Both gradients are products of dy and an array at hand, but not the same."""
    if e.x.ndim < 1 or e.x.size < 2 or e.y.ndim < 1:
        return
    right, wrong = (next(_products(e, g), None) for g in (e.numeric, e.analytic))
    if right and wrong:
        same_arrays = {name for name, _ in wrong} == {name for name, _ in right}
        yield e.finding(
            "transpose" if same_arrays else "wrong_operand",
            f"analytic = {_written(wrong)} and numeric = {_written(right)} "
            f"{e.everywhere}",
            f"Write {_written(right)}.",
        )


def transposed(e):
    """The transpose of the right gradient, where it happens to fit."""
    if e.x.ndim != 2 or e.x.shape[0] != e.x.shape[1] or e.x.size < 2:
        return
    if e.alike(np.swapaxes(e.analytic, 1, 2), e.numeric):
        yield e.finding(
            "transpose",
            f"the transpose of analytic = numeric {e.everywhere}",
            "Exchange the factors: (a @ b).T is b.T @ a.T.",
        )


def reduction(e):
    """dy summed over the wrong axes."""
    if e.x.ndim == 0 or e.x.size < 2:
        return
    right, wrong = (next(_sums(e, g), None) for g in (e.numeric, e.analytic))
    if right is not None and wrong is not None:
        yield e.finding(
            "wrong_axis",
            f"analytic = dy.sum(axis={wrong}) and numeric = dy.sum(axis={right}) "
            f"{e.everywhere}",
            f"Write dy.sum(axis={right}).",
        )


def exchanged(a, b):
    """The gradients of two inputs stand in each other's place."""
    if a.x.shape != b.x.shape or a.x.size < 2:
        return
    if a.alike(b.analytic, a.numeric) and b.alike(a.analytic, b.numeric):
        yield a.finding(
            "wrong_operand",
            f"what backward returned for {a.name} is the numeric gradient of {b.name} "
            f"{a.everywhere}, and the other way round",
            "Return the gradients in the order of forward's inputs.",
        )


def _products(e, target):
    """Products, as two (name, transposed) pairs, that are the target everywhere."""
    arrays = {e.name: e.x, **e.others, "y": e.y}
    arrays = {name: value for name, value in arrays.items() if value.ndim}
    flags = tuple(product((False, True), repeat=2))
    for (name, value), first, flips in product(arrays.items(), (True, False), flags):
        pair = (e.y, value) if first else (value, e.y)
        if any(flip and array.ndim < 2 for flip, array in zip(flips, pair)):
            continue
        found = [_product(dy, value, first, flips, e.x.shape) for dy in e.dys]
        if all(f is not None for f in found) and e.alike(np.stack(found), target):
            names = ("dy", name) if first else (name, "dy")
            yield tuple(zip(names, flips))


def _product(dy, value, dy_first, flips, shape):
    """The product, summed over leading axes, if it has the shape asked for."""
    pair = (dy, value) if dy_first else (value, dy)
    a, b = (np.swapaxes(m, -1, -2) if flip else m for m, flip in zip(pair, flips))
    try:
        result = a @ b
    except ValueError:
        return None
    if result.ndim > len(shape):
        result = result.sum(axis=tuple(range(result.ndim - len(shape))))
    return result if result.shape == shape else None


def _written(pairs):
    return " @ ".join(f"{name}.T" if flipped else name for name, flipped in pairs)


def _sums(e, target):
    """Axes over which the sum of dy is the target."""
    for count in range(1, e.y.ndim + 1):
        for axes in combinations(range(e.y.ndim), count):
            found = np.stack([dy.sum(axis=axes) for dy in e.dys])
            if found.shape == e.numeric.shape and e.alike(found, target):
                yield axes if count > 1 else axes[0]
