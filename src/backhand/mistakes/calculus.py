"""Mistakes before any layer: in chain rule, gradient, Jacobian, and the check itself."""

import numpy as np

from ..check import Op
from .design import Design, normal
from .mistake import wrong_backward


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
    obscured=True,
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
    obscured=True,
)
def exponent_not_lowered(dy, cache):
    x, slope, shift = cache
    return dy * 2 * (slope * x + shift) ** 2 * slope  # ** 1


def line_times_square_forward(x, slope=3.0, shift=1.0):
    """y = (slope x + shift) x²: two ways lead from x to y."""
    return (slope * x + shift) * x**2, (x, slope, shift)


def line_times_square_backward(dy, cache):
    x, slope, shift = cache
    da, db = dy * x**2, dy * (slope * x + shift)
    return da * slope + db * 2 * x


@wrong_backward(
    CHAIN,
    "dropped_path",
    right=Op(line_times_square_forward, line_times_square_backward),
    symptom="Too small, and right wherever one of two ways happens to be blocked: "
    "the second contribution was written over the first.",
    shown_by=Design("(3x + 1) x² at several points", some_points),
    hidden_by=[Design("a first way of rate zero", some_points, options={"slope": 0.0})],
    obscured=True,
)
def first_way_overwritten(dy, cache):
    x, slope, shift = cache
    da, db = dy * x**2, dy * (slope * x + shift)
    dx = da * slope
    dx = db * 2 * x  # dx += ...
    return dx


def cubes_and_product_forward(x, coupling=1.0):
    """y = Σ x³ + coupling · Π x: a number for a check to differentiate."""
    return np.sum(x**3, axis=-1) + coupling * np.prod(x, axis=-1), (x, coupling)


def cubes_and_product_backward(dy, cache):
    x, coupling = cache
    others = np.array([np.prod(np.delete(x, i)) for i in range(x.size)])
    return dy * (3 * x**2 + coupling * others)


CUBES_AND_PRODUCT = Op(cubes_and_product_forward, cubes_and_product_backward)
CHECK, GRADIENT = "differences", "gradient"


def three_variables(rng):
    return (rng.normal(size=3),)


VARIABLES = Design("three variables that meet in a product", three_variables)
ROUGH = Design("a tolerance of two decimals", three_variables, tolerance=1e-2)


@wrong_backward(
    GRADIENT,
    "inplace_mutation",
    right=CUBES_AND_PRODUCT,
    symptom="The first entry agrees and the later ones are a little off, or a correct "
    "gradient is blamed: each is measured somewhere else.",
    shown_by=VARIABLES,
    hidden_by=[
        Design(
            "a sum of separate terms",
            three_variables,
            options={"coupling": 0.0},
            tolerance=1e-5,
        ),
        ROUGH,
    ],
)
def entry_not_restored(dy, cache):
    x, coupling = cache
    gradient, h = np.zeros_like(x), 1e-3
    for i in range(x.size):
        x[i] += h
        after, _ = cubes_and_product_forward(x, coupling)
        x[i] -= 2 * h
        before, _ = cubes_and_product_forward(x, coupling)
        gradient[i] = dy * (after - before) / (2 * h)  # then x[i] += h
    return gradient


@wrong_backward(
    GRADIENT,
    "wrong_formula",
    right=CUBES_AND_PRODUCT,
    symptom="Every entry holds the same number, the sum of all partial derivatives.",
    shown_by=VARIABLES,
    hidden_by=[
        Design("one variable", lambda rng: (rng.normal(size=1),), tolerance=1e-6)
    ],
)
def everything_moved_at_once(dy, cache):
    x, coupling = cache
    gradient, h = np.zeros_like(x), 1e-5
    for i in range(x.size):
        after, _ = cubes_and_product_forward(x + h, coupling)  # moves every entry
        before, _ = cubes_and_product_forward(x - h, coupling)
        gradient[i] = dy * (after - before) / (2 * h)
    return gradient


@wrong_backward(
    CHECK,
    "float_noise",
    right=CUBES_AND_PRODUCT,
    symptom="A correct gradient is blamed, by another amount at every point: the two "
    "values agree in all but their last digits.",
    shown_by=VARIABLES,
    hidden_by=[ROUGH],
    obscured=True,
)
def step_below_round_off(dy, cache):
    x, coupling = cache
    gradient, h = np.zeros_like(x), 1e-12  # ε^(1/3), about 6e-6, is best
    for i in range(x.size):
        step = h * (np.arange(x.size) == i)
        after, _ = cubes_and_product_forward(x + step, coupling)
        before, _ = cubes_and_product_forward(x - step, coupling)
        gradient[i] = dy * (after - before) / (2 * h)
    return gradient


def bowl_forward(x):
    """y = Σ (x − 1)², lowest at ones."""
    return np.sum((x - 1) ** 2, axis=-1), x


def bowl_backward(dy, x):
    return dy * 2 * (x - 1)


@wrong_backward(
    GRADIENT,
    "sign_flip",
    right=Op(bowl_forward, bowl_backward),
    symptom="The loss rises at every step, as the minus of the descent is in the "
    "gradient already.",
    shown_by=Design("somewhere on the slope", three_variables),
    hidden_by=[Design("the lowest point", lambda rng: (np.ones(3),))],
)
def downhill_already(dy, x):
    return -dy * 2 * (x - 1)  # 2 * (x - 1) points uphill


def matrix_times_vector_forward(w, x):
    """y = w x, as the texts write it: w has a row for each output."""
    return w @ x, (w, x)


def matrix_times_vector_backward(dy, cache):
    w, x = cache
    return np.outer(dy, x), w.T @ dy


MATRIX_TIMES_VECTOR = Op(matrix_times_vector_forward, matrix_times_vector_backward)
JACOBIAN = "jacobian"
SQUARE = Design("a square matrix", normal((3, 3), 3))


@wrong_backward(
    JACOBIAN,
    "transpose",
    right=MATRIX_TIMES_VECTOR,
    symptom="An error about shapes, or none where there are as many outputs as inputs: "
    "each input hears the outputs that it does not feed.",
    shown_by=SQUARE,
    hidden_by=[
        Design(
            "a symmetric matrix",
            lambda rng: ((w := rng.normal(size=(3, 3))) + w.T, rng.normal(size=3)),
        )
    ],
)
def transpose_left_out(dy, cache):
    w, x = cache
    return np.outer(dy, x), w @ dy  # w.T @ dy


@wrong_backward(
    JACOBIAN,
    "transpose",
    right=MATRIX_TIMES_VECTOR,
    symptom="The matrix learns with rows and columns exchanged.",
    shown_by=SQUARE,
    hidden_by=[
        Design(
            "an identity matrix and dy equal to y",
            lambda rng: (np.eye(3), rng.normal(size=3)),
            dy=lambda y: y,
        )
    ],
)
def outer_product_turned(dy, cache):
    w, x = cache
    return np.outer(x, dy), w.T @ dy  # np.outer(dy, x)


@wrong_backward(
    JACOBIAN,
    "missing_factor",
    right=MATRIX_TIMES_VECTOR,
    symptom="Each input hears all outputs alike, whatever the loss makes of them: the "
    "Jacobian was summed where it should be multiplied.",
    shown_by=SQUARE,
    hidden_by=[Design("dy of ones", normal((3, 3), 3), dy=np.ones_like)],
)
def summed_over_outputs(dy, cache):
    w, x = cache
    return np.outer(dy, x), w.sum(axis=0)  # w.T @ dy


@wrong_backward(
    JACOBIAN,
    "wrong_shape",
    right=MATRIX_TIMES_VECTOR,
    symptom="A matrix where a vector belongs, which the next update may broadcast.",
    shown_by=SQUARE,
    hidden_by=[Design("one output, and dy of one", normal((1, 3), 3), dy=np.ones_like)],
)
def whole_jacobian_returned(dy, cache):
    w, x = cache
    return np.outer(dy, x), w  # w.T @ dy
