"""Mistakes before any layer: in the chain rule, and in the check itself."""

import numpy as np

from ..check import Op, differences
from .mistake import Design, wrong_backward


def line_squared_forward(x, slope=3.0, shift=1.0):
    """y = (slope x + shift)², which the chain rule takes apart."""
    return (slope * x + shift) ** 2, (x, slope, shift)


def line_squared_backward(dy, cache):
    x, slope, shift = cache
    return dy * 2 * (slope * x + shift) * slope


LINE_SQUARED = Op(line_squared_forward, line_squared_backward)
CHAIN = "chain_rule"


def some_points(rng):
    return (rng.normal(size=5),)


POINTS = Design("(3x + 1)² at several points", some_points)


@wrong_backward(
    CHAIN,
    "wrong_point",
    right=LINE_SQUARED,
    symptom="6 instead of 24 at x = 1: the outer rate is read where x stands, not "
    "where g(x) does.",
    shown_by=POINTS,
    hidden_by=[
        Design("g(x) = x", some_points, options={"slope": 1.0, "shift": 0.0}),
    ],
)
def outer_rate_at_x(dy, cache):
    x, slope, _ = cache
    return dy * 2 * x * slope  # 2 * (slope * x + shift)


@wrong_backward(
    CHAIN,
    "constant_factor",
    right=LINE_SQUARED,
    symptom="8 instead of 24 at x = 1: the outer rate alone.",
    shown_by=POINTS,
    hidden_by=[Design("g(x) = x + 1", some_points, options={"slope": 1.0})],
)
def inner_rate_forgotten(dy, cache):
    x, slope, shift = cache
    return dy * 2 * (slope * x + shift)  # * slope


@wrong_backward(
    CHAIN,
    "extra_factor",
    right=LINE_SQUARED,
    symptom="The exponent was brought down and left standing too.",
    shown_by=POINTS,
    hidden_by=[Design("x = 0, where g is 1", lambda rng: (np.zeros(1),))],
)
def exponent_not_lowered(dy, cache):
    x, slope, shift = cache
    return dy * 2 * (slope * x + shift) ** 2 * slope  # ** 1


def two_variables_forward(x):
    """y = x₀² x₁ + 3 x₁."""
    return x[..., 0] ** 2 * x[..., 1] + 3 * x[..., 1], x


def two_variables_backward(dy, x):
    return dy * np.array([2 * x[0] * x[1], x[0] ** 2 + 3])


TWO_VARIABLES = Op(two_variables_forward, two_variables_backward)
