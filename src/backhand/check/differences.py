"""Numeric derivatives: what a function does when its input is moved a little.

The step is the whole art. Moved too far, the difference quotient sees the curve
bend (truncation); moved too little, it sees the last digits of the output
(round-off). ε^(1/2) balances the two for a forward difference, ε^(1/3) for a
central one.   A.8; chapters/slopes
"""

import numpy as np

EPS = np.finfo(np.float64).eps
SCHEMES = {"central": 1 / 3, "forward": 1 / 2}  # the best step is ε to this power


def magnitude(x):
    """The size each entry is moved in proportion to: max(|x|, rms of the array).

    An entry that happens to be near zero is moved as its neighbours are. Where
    the whole array is zero there is nothing to go by, and the size is 1.
    """
    largest = np.max(np.abs(x), initial=0.0)
    if not np.isfinite(largest):
        finite = np.where(np.isfinite(x), x, 0.0)
        return magnitude(finite)
    if largest == 0.0:
        return np.ones(x.shape, x.dtype)
    # Dividing first keeps the squares of 1e-200 and 1e200 within range.
    rms = largest * np.sqrt(np.mean((x / largest) ** 2))
    return np.maximum(np.abs(x), rms).astype(x.dtype)


def numerical_gradient(f, x, dy=None, *, step=None, scheme="central"):
    """The gradient of sum(dy · f(x)) with respect to x, by finite differences.

    Parameters
    ----------
    f : callable
        Takes one array of x's shape and dtype, returns a number or an array.
    x : array_like of float32 or float64, any shape
        Where. It is copied, and the differences are taken in its own precision.
    dy : array_like, optional
        What arrives from above, of the shape of f(x). Ones when left out, so a
        scalar f needs none.
    step : float, optional
        How far each entry is moved. Left out: ε^(1/3) (central) or ε^(1/2)
        (forward) times ``max(|x|, rms of x)``, with ε of x's dtype.
    scheme : {"central", "forward"}
        (f(x+h) − f(x−h)) / 2h, with an error of order h², or
        (f(x+h) − f(x)) / h, of order h.

    Returns
    -------
    ndarray of x's shape and dtype

    Raises
    ------
    TypeError
        x is not floating point: moving an integer by 6e-6 does not move it.
    ValueError
        dy has another shape than f(x), step is not positive, unknown scheme.

    Examples
    --------
    >>> numerical_gradient(lambda x: np.sum(x**2), [3.0, 4.0]).round(6)
    array([6., 8.])
    """
    x = _floats(x)
    sizes = magnitude(x)
    gradient = np.empty_like(x)
    for index in np.ndindex(x.shape):
        direction = np.zeros_like(x)
        direction[index] = 1.0
        gradient[index] = quotient(f, x, direction, dy, step, scheme, sizes[index])
    return gradient


def directional_derivative(f, x, direction, dy=None, *, step=None, scheme="central"):
    """How fast sum(dy · f(x)) changes as x moves along a direction.

    One number that every entry of the gradient has a part in: it equals
    sum(gradient · direction), and costs two evaluations however large x is.

    Parameters
    ----------
    direction : array_like of x's shape
        Not normalised: twice the direction gives twice the derivative.
    step : float, optional
        x is moved by step · direction. Left out: as far as numerical_gradient
        would move an entry of typical size.

    The other parameters, and what is raised, are those of numerical_gradient.

    Examples
    --------
    >>> slope = directional_derivative(np.sum, np.zeros(3), [1.0, 2.0, 3.0])
    >>> round(float(slope), 6)
    6.0
    """
    x = _floats(x)
    direction = np.asarray(direction, dtype=x.dtype)
    if direction.shape != x.shape:
        raise ValueError(
            f"direction has shape {direction.shape}; it needs x's shape {x.shape}"
        )
    longest = np.max(np.abs(direction), initial=0.0)
    if longest == 0.0:
        return x.dtype.type(0.0)
    size = np.max(magnitude(x)) / longest
    return quotient(f, x, direction, dy, step, scheme, size)


def quotient(f, x, direction, dy, step, scheme, size):
    """The difference quotient of sum(dy · f) along one direction."""
    if scheme not in SCHEMES:
        raise ValueError(f"scheme is {scheme!r}; it needs to be one of {set(SCHEMES)}")
    if step is None:
        step = np.finfo(x.dtype).eps ** SCHEMES[scheme] * size
    elif not step > 0:
        raise ValueError(f"step is {step}; it needs to be positive")
    step = x.dtype.type(step)
    after = np.asarray(f(x + step * direction))
    if scheme == "central":
        before, run = np.asarray(f(x - step * direction)), 2 * step
    else:
        before, run = np.asarray(f(x.copy())), step
    rise = after - before
    if dy is not None:
        dy = np.asarray(dy)
        if dy.shape != rise.shape:
            raise ValueError(f"dy has shape {dy.shape}; f(x) has shape {rise.shape}")
        rise = dy * rise
    # Differences first, sum last: outputs that did not move add no round-off.
    return np.sum(rise) / run


def _floats(x):
    x = np.array(x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"x has dtype {x.dtype}; a finite difference needs float32 or float64 "
            "(an integer moved by a small step does not move)"
        )
    return x
