"""Mistakes in the activations: sigmoid, tanh, ReLU, leaky ReLU, SiLU, GELU."""

import math

import numpy as np

from ..ops import gelu, leaky_relu, relu, sigmoid, silu, tanh
from .design import Design, normal
from .mistake import wrong_backward, wrong_forward

BOTH_SIDES = Design("inputs of both signs", normal((3, 4)))
ONES = Design("dy of ones", normal((3, 4)), dy=np.ones_like)
NEAR_ZERO = Design("inputs near zero", lambda rng: (1e-5 * rng.normal(size=(3, 4)),))
NO_UPSTREAM = Design(
    "a zero-initialised layer behind it", normal((3, 4)), dy=np.zeros_like
)


def spread(low, high):
    """Return a `Design.build` of inputs between two bounds."""
    return lambda rng: (rng.uniform(low, high, size=(3, 4)),)


SATURATED = Design(
    "saturated on either side",
    lambda rng: (np.where(rng.normal(size=(3, 4)) > 0, 50.0, -50.0),),
)
POSITIVE = Design("positive inputs", spread(0.1, 3))
FAR_RIGHT = Design("large positive inputs", spread(30, 50))


@wrong_forward(
    sigmoid,
    "wrong_point",
    symptom="Units far from zero are thrown about instead of left alone: x(1 - x) "
    "grows where σ(1 - σ) dies.",
    shown_by=BOTH_SIDES,
    hidden_by=[NO_UPSTREAM],
)
def input_cached(x):
    y, _ = sigmoid.forward(x)
    return y, sigmoid.Cache(x)  # Cache(y): backward takes y (1 - y)


@wrong_backward(
    sigmoid,
    "wrong_point",
    symptom="The slope is nearly the same everywhere, between 0.20 and 0.25: "
    "saturated units seem alive.",
    shown_by=BOTH_SIDES,
    hidden_by=[NO_UPSTREAM],
)
def sigmoid_of_the_output(dy, cache):
    s, _ = sigmoid.forward(cache.y)  # y is σ(x) already
    return dy * s * (1 - s)


@wrong_backward(
    sigmoid,
    "missing_factor",
    symptom="Units saturated at one learn at full speed.",
    shown_by=BOTH_SIDES,
    hidden_by=[Design("large negative inputs", spread(-50, -30))],
)
def one_minus_y_left_out(dy, cache):
    return dy * cache.y  # * (1 - y)


@wrong_backward(
    sigmoid,
    "extra_factor",
    symptom="Learning is at least four times too slow, most of all where it is slow "
    "anyway.",
    shown_by=BOTH_SIDES,
    hidden_by=[SATURATED],
)
def derivative_twice(dy, cache):
    dy = dy * cache.y * (1 - cache.y)  # the loss's gradient had it already
    return dy * cache.y * (1 - cache.y)


@wrong_backward(
    sigmoid,
    "missing_factor",
    symptom="The layer learns the same whatever the loss says: the local derivative "
    "is taken for the gradient.",
    shown_by=BOTH_SIDES,
    hidden_by=[ONES],
)
def upstream_forgotten(dy, cache):
    return cache.y * (1 - cache.y)  # dy * ...


@wrong_forward(
    sigmoid,
    "nonfinite",
    symptom="nan for inputs above 709 in float64, 88 in float32.",
    shown_by=Design("large inputs", spread(750, 800)),
    hidden_by=[BOTH_SIDES],
)
def naive_exponential(x):
    y = np.exp(x) / (1 + np.exp(x))  # inf / inf; 1 / (1 + exp(-x))
    return y, sigmoid.Cache(y.copy())


@wrong_backward(
    tanh,
    "dropped_path",
    symptom="The gradient is zero where the unit is most alive and has the wrong sign "
    "everywhere else.",
    shown_by=BOTH_SIDES,
    hidden_by=[NO_UPSTREAM],
)
def leading_one_missing(dy, cache):
    return -dy * cache.y**2  # 1 - y²


@wrong_backward(
    tanh,
    "wrong_formula",
    symptom="Units on the negative side get up to twice the push they should.",
    shown_by=BOTH_SIDES,
    hidden_by=[FAR_RIGHT, Design("inputs of zero", lambda rng: (np.zeros((3, 4)),))],
)
def square_forgotten(dy, cache):
    return dy * (1 - cache.y)  # y²


@wrong_forward(
    tanh,
    "wrong_point",
    symptom="Right while the net is freshly initialised; later units beyond ±1 are "
    "pushed the wrong way.",
    shown_by=BOTH_SIDES,
    hidden_by=[NEAR_ZERO],
)
def tanh_input_cached(x):
    y, _ = tanh.forward(x)
    return y, tanh.Cache(x)  # Cache(y): backward takes 1 - y²


@wrong_backward(
    tanh,
    "wrong_point",
    symptom="The slope never falls below 0.42: saturated units seem alive.",
    shown_by=BOTH_SIDES,
    hidden_by=[NEAR_ZERO],
)
def tanh_of_the_output(dy, cache):
    return dy * (1 - np.tanh(cache.y) ** 2)  # y is tanh(x) already


@wrong_backward(
    relu,
    "missing_mask",
    symptom="Units that are off learn as if they were on: an output is never below "
    "zero, so this mask is always true.",
    shown_by=BOTH_SIDES,
    hidden_by=[POSITIVE],
)
def mask_of_the_output(dy, cache):
    y = np.maximum(cache.x, 0)
    return dy * (y >= 0)  # x > 0


@wrong_backward(
    relu,
    "dropped_path",
    symptom="Only positive gradients pass, so no unit is ever told to go down.",
    shown_by=BOTH_SIDES,
    hidden_by=[ONES],
)
def rectified_gradient(dy, cache):
    return np.maximum(dy, 0) * (cache.x > 0)  # dy * (x > 0)


@wrong_backward(
    relu,
    "inplace_mutation",
    symptom="The gradient is right, but the residual path that holds the same dy has "
    "lost entries.",
    shown_by=BOTH_SIDES,
    hidden_by=[Design("a look at the gradient only", normal((3, 4)))],
)
def dy_zeroed_in_place(dy, cache):
    dy[cache.x <= 0] = 0  # dy belongs to the caller
    return dy


@wrong_backward(
    leaky_relu,
    "constant_factor",
    symptom="Negative units learn at full speed.",
    shown_by=BOTH_SIDES,
    hidden_by=[POSITIVE],
)
def slope_one_everywhere(dy, cache):
    x, alpha = cache
    y = np.where(x > 0, x, alpha * x)
    return np.where(np.abs(y) > 0, dy, alpha * dy)  # y > 0


@wrong_backward(
    leaky_relu,
    "dropped_path",
    symptom="Units die after all, which the leak was there to prevent.",
    shown_by=BOTH_SIDES,
    hidden_by=[POSITIVE],
)
def leak_left_out(dy, cache):
    return dy * (cache.x > 0)  # + alpha * dy * (x <= 0)


@wrong_backward(
    leaky_relu,
    "constant_factor",
    symptom="Right until somebody changes alpha.",
    shown_by=Design("a slope of its own", normal((3, 4)), options={"alpha": 0.2}),
    hidden_by=[BOTH_SIDES],
)
def default_slope_written_in(dy, cache):
    return np.where(cache.x > 0, dy, 0.01 * dy)  # alpha * dy


@wrong_backward(
    silu,
    "dropped_path",
    symptom="Training appears to work: the missing term is at most 0.22, and gone far "
    "from zero.",
    shown_by=BOTH_SIDES,
    hidden_by=[SATURATED],
)
def gate_held_constant(dy, cache):
    return dy * cache.sigma  # + dy * x σ (1 - σ)


@wrong_backward(
    silu,
    "wrong_formula",
    symptom="Negative inputs get gradients that grow with their size.",
    shown_by=BOTH_SIDES,
    hidden_by=[FAR_RIGHT],
)
def missing_parentheses(dy, cache):
    x, sigma = cache
    return dy * (sigma * 1 + x * (1 - sigma))  # σ (1 + x (1 - σ))


@wrong_backward(
    silu,
    "wrong_point",
    symptom="The dip left of zero, where SiLU falls, is smoothed away.",
    shown_by=BOTH_SIDES,
    hidden_by=[FAR_RIGHT],
)
def derivative_at_the_output(dy, cache):
    x, sigma = cache
    y = x * sigma
    sigma, _ = sigmoid.forward(y)  # σ(x) and x
    return dy * sigma * (1 + y * (1 - sigma))


@wrong_backward(
    gelu,
    "dropped_path",
    symptom="Training appears to work: the missing term is 0 at the origin, at most "
    "0.242 and fades beyond 3.",
    shown_by=BOTH_SIDES,
    hidden_by=[SATURATED],
)
def second_term_dropped(dy, cache):
    return dy * 0.5 * (1 + cache.t)  # + x (1 - t²) u' / 2


@wrong_backward(
    gelu,
    "missing_factor",
    symptom="Off by at most 0.04, where the slope bends; the tails are right.",
    shown_by=BOTH_SIDES,
    hidden_by=[SATURATED],
    obscured=True,
)
def inner_derivative_left_out(dy, cache):
    x, t = cache
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t))  # * u'


@wrong_backward(
    gelu,
    "missing_factor",
    symptom="Off by at most 0.03, near ±1.6; the origin and the tails are right.",
    shown_by=BOTH_SIDES,
    hidden_by=[
        SATURATED,
        Design("a tolerance of two decimals", normal((3, 4)), tolerance=5e-2),
    ],
    obscured=True,
)
def cube_without_its_three(dy, cache):
    x, t = cache
    du = gelu.C * (1 + gelu.A * x * x)  # 3 * A * x²
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * du)


@wrong_backward(
    gelu,
    "wrong_formula",
    symptom="Off in the fourth decimal: the tanh form's value with the slope of the "
    "exact form.",
    shown_by=BOTH_SIDES,
    hidden_by=[Design("a tolerance of three decimals", normal((3, 4)), tolerance=1e-3)],
)
def slope_of_the_exact_form(dy, cache):
    x, t = cache
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return dy * (0.5 * (1 + t) + x * density)  # Φ is (1 + t) / 2, Φ' is not its slope
