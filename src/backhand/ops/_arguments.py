"""What the operations share: checking arguments, and products and sums over axes."""

import math
from numbers import Integral, Real

import numpy as np

Array = np.ndarray
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def float_array(name, value, like=None, shape=None, min_ndim=0):
    """Return value as a float array, or raise an error that names it.

    like is an array whose dtype value must have. In shape, None stands for any
    length. A plain float will do where shape is (), as for the dy of a loss.
    """
    if (
        type(value) is Array
        and value.dtype in FLOATS
        and like is not None
        and (value.dtype, value.shape) == (like.dtype, shape)
        and value.size
    ):
        return value  # as nearly every call, and faster than asking one by one
    if shape == () and isinstance(value, float):
        return np.asarray(value, like.dtype)
    array = as_array(name, value)
    if array.dtype not in FLOATS:
        raise TypeError(f"{name} has dtype {array.dtype}; it needs float32 or float64")
    if like is not None and array.dtype != like.dtype:
        raise TypeError(
            f"{name} has dtype {array.dtype}; it needs {like.dtype}, as the others have"
        )
    if array.ndim < min_ndim:
        raise ValueError(
            f"{name} has shape {array.shape}; it needs at least {min_ndim} axes"
        )
    if shape is not None and not fits(array.shape, shape):
        needed = str(shape).replace("None", "any")
        raise ValueError(f"{name} has shape {array.shape}; it needs {needed}")
    return array


def integer_array(name, value, count, shape=None):
    """Return value as an array of ids from 0 to count - 1, or raise an error."""
    array = as_array(name, value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {array.dtype}; it needs integers")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; it needs {shape}")
    outside = (array < 0) | (array >= count)
    if outside.any():
        raise ValueError(
            f"{name} holds {array[outside][0]}; it needs ids from 0 to {count - 1}"
        )
    return array.astype(np.intp)


def as_array(name, value):
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is not an array: {error}") from None
    if array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}; no axis may be empty")
    return array


def fits(shape, pattern):
    if shape == pattern:
        return True
    return len(shape) == len(pattern) and all(
        wanted in (None, length) for length, wanted in zip(shape, pattern)
    )


def number(name, value, valid, needed):
    """Return value as a Python float, which leaves float32 arrays float32."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; it needs {needed}")
    if not valid(value):
        raise ValueError(f"{name} is {value}; it needs {needed}")
    return float(value)


def positive(name, value):
    return number(name, value, lambda v: 0 < v < math.inf, "a positive number")


def positive_integer(name, value):
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; it needs a positive integer")
    if value < 1:
        raise ValueError(f"{name} is {value}; it needs a positive integer")
    return int(value)


def one_of(name, value, choices):
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; it needs one of {', '.join(choices)}")


def rows(x):
    """Flatten all leading axes: (..., n) becomes (N, n)."""
    return x.reshape(-1, x.shape[-1])


def sum_leading(x):
    """Sum over all leading axes: (..., n) becomes (n,)."""
    return rows(x).sum(axis=0)


def matmul(x, w):
    """x @ w for a matrix w, as one product: NumPy would make one for each batch."""
    return (rows(x) @ w).reshape(*x.shape[:-1], -1)


def dot_rows(a, b):
    """Sum a * b over the last axis, which stays as length 1, without forming a * b."""
    return np.vecdot(a, b, keepdims=True)
