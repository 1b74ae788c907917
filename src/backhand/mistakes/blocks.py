"""Mistakes where paths part and meet: SwiGLU and the residual connection."""

import numpy as np

from ..check import Op
from ..ops import linear, residual, sigmoid, silu, swiglu, tanh
from .design import Design, normal
from .mistake import wrong_backward

GATED = Design("three weights of their own", normal((4, 3), (3, 5), (3, 5), (5, 2)))
NO_UP = Design(
    "an up projection of zeros",
    lambda rng: (
        rng.normal(size=(4, 3)),
        rng.normal(size=(3, 5)),
        np.zeros((3, 5)),
        rng.normal(size=(5, 2)),
    ),
)
NO_GATE = Design(
    "a gate of zeros",
    lambda rng: (
        rng.normal(size=(4, 3)),
        np.zeros((3, 5)),
        rng.normal(size=(3, 5)),
        rng.normal(size=(5, 2)),
    ),
)
OPEN_GATE = Design(
    "a gate wide open",
    lambda rng: (
        rng.uniform(1, 2, size=(4, 3)),
        20 + rng.normal(size=(3, 5)),
        rng.normal(size=(3, 5)),
        rng.normal(size=(5, 2)),
    ),
)


def equal_weights(rng):
    w = rng.normal(size=(3, 5))
    return rng.normal(size=(4, 3)), w, w, rng.normal(size=(5, 2))


EQUAL = Design("gate and up with equal weights", equal_weights)


@wrong_backward(
    swiglu,
    "dropped_path",
    symptom="The gate's weights never move; the layer trains as an ordinary linear one "
    "with a frozen mask.",
    shown_by=GATED,
    hidden_by=[NO_UP],
)
def gate_path_dropped(dy, cache):
    dh, dw_down = linear.backward(dy, cache.down)
    dx, dw_up = linear.backward(dh * cache.s, cache.up)
    return dx, np.zeros_like(cache.gate.w), dw_up, dw_down


@wrong_backward(
    swiglu,
    "dropped_path",
    symptom="All three weights are right, so the layer trains; what lies before it "
    "hears of one path only.",
    shown_by=GATED,
    hidden_by=[NO_UP],
    obscured=True,
)
def up_path_overwrites_dx(dy, cache):
    gate, up, silu_cache, s, u, down = cache
    dh, dw_down = linear.backward(dy, down)
    dx, dw_gate = linear.backward(silu.backward(dh * u, silu_cache), gate)
    dx, dw_up = linear.backward(dh * s, up)  # dx += ...
    return dx, dw_gate, dw_up, dw_down


@wrong_backward(
    swiglu,
    "wrong_point",
    symptom="Negative gates, where SiLU falls, are pushed the wrong way.",
    shown_by=GATED,
    hidden_by=[NO_GATE, OPEN_GATE],
    obscured=True,
)
def silu_slope_at_its_output(dy, cache):
    gate, up, _, s, u, down = cache
    dh, dw_down = linear.backward(dy, down)
    _, at_s = silu.forward(s)  # the derivative belongs at the gate, before silu
    dx_gate, dw_gate = linear.backward(silu.backward(dh * u, at_s), gate)
    dx_up, dw_up = linear.backward(dh * s, up)
    return dx_gate + dx_up, dw_gate, dw_up, dw_down


@wrong_backward(
    swiglu,
    "missing_factor",
    symptom="Closed gates learn as fast as open ones.",
    shown_by=GATED,
    hidden_by=[NO_UP, OPEN_GATE],
    obscured=True,
)
def silu_slope_left_out(dy, cache):
    gate, up, _, s, u, down = cache
    dh, dw_down = linear.backward(dy, down)
    dx_gate, dw_gate = linear.backward(dh * u, gate)  # silu.backward(dh * u, ...)
    dx_up, dw_up = linear.backward(dh * s, up)
    return dx_gate + dx_up, dw_gate, dw_up, dw_down


@wrong_backward(
    swiglu,
    "wrong_operand",
    symptom="The gate learns as if it were its own partner.",
    shown_by=GATED,
    hidden_by=[EQUAL],
)
def gate_for_up(dy, cache):
    gate, up, silu_cache, s, _, down = cache
    dh, dw_down = linear.backward(dy, down)
    ds = dh * silu_cache.x  # dh * u: the other factor of the product
    dx_gate, dw_gate = linear.backward(silu.backward(ds, silu_cache), gate)
    dx_up, dw_up = linear.backward(dh * s, up)
    return dx_gate + dx_up, dw_gate, dw_up, dw_down


@wrong_backward(
    swiglu,
    "wrong_formula",
    symptom="A GLU's gate: right size far from zero, wrong near it.",
    shown_by=GATED,
    hidden_by=[NO_UP],
)
def sigmoid_for_silu(dy, cache):
    gate, up, silu_cache, s, u, down = cache
    dh, dw_down = linear.backward(dy, down)
    dg = sigmoid.backward(dh * u, sigmoid.Cache(silu_cache.sigma))  # silu.backward
    dx_gate, dw_gate = linear.backward(dg, gate)
    dx_up, dw_up = linear.backward(dh * s, up)
    return dx_gate + dx_up, dw_gate, dw_up, dw_down


def stack_forward(x, weights):
    """Layers with a skip, one for each weight: x ← x + tanh(x w)."""
    caches = []
    for w in weights:
        u, product = linear.forward(x, w)
        fx, bend = tanh.forward(u)
        x, skip = residual.forward(x, fx)
        caches.append((product, bend, skip))
    return x, caches


def stack_backward(dy, caches):
    dx, dweights = dy, []
    for product, bend, skip in reversed(caches):
        dx, dfx = residual.backward(dx, skip)
        through_layer, dw = linear.backward(tanh.backward(dfx, bend), product)
        dx = dx + through_layer
        dweights.append(dw)
    return dx, np.stack(dweights[::-1])


STACK = Op(stack_forward, stack_backward)


def depth(layers):
    return normal((4, 3), (layers, 3, 3))


DEEP = Design("three layers", depth(3))
SHALLOW = Design("depth one and a look at the weight only", depth(1), looks_at=(1,))


@wrong_backward(
    residual,
    "dropped_path",
    right=STACK,
    symptom="The last layers learn, the first hardly: the gradient shrinks with every "
    "layer, as if there were no skip.",
    shown_by=DEEP,
    hidden_by=[SHALLOW],
    obscured=True,
)
def replaced_rather_than_added(dy, caches):
    dx, dweights = dy, []
    for product, bend, _ in reversed(caches):
        dx, dw = linear.backward(tanh.backward(dx, bend), product)  # dx +=
        dweights.append(dw)
    return dx, np.stack(dweights[::-1])


@wrong_backward(
    residual,
    "double_count",
    right=STACK,
    symptom="The gradient doubles with every layer on its way down.",
    shown_by=DEEP,
    hidden_by=[SHALLOW],
    obscured=True,
)
def skip_added_twice(dy, caches):
    dx, dweights = dy.copy(), []
    for product, bend, skip in reversed(caches):
        dskip, dfx = residual.backward(dx, skip)
        through_layer, dw = linear.backward(tanh.backward(dfx, bend), product)
        dx += dskip + through_layer  # dx = ...: dskip is dx already
        dweights.append(dw)
    return dx, np.stack(dweights[::-1])


PAIR = Design("a stream and a sublayer", normal((4, 3), (4, 3)))


@wrong_backward(
    residual,
    "dropped_path",
    symptom="The sublayer never trains.",
    shown_by=PAIR,
    hidden_by=[Design("a look at dx only", PAIR.build, looks_at=(0,))],
)
def all_to_the_skip(dy, cache):
    return dy.copy(), np.zeros_like(dy)  # both terms of a sum get all of dy


@wrong_backward(
    residual,
    "constant_factor",
    symptom="The gradient halves with every layer on its way down.",
    shown_by=PAIR,
    hidden_by=[
        Design("a zero-initialised layer behind it", PAIR.build, dy=np.zeros_like)
    ],
)
def shared_out_in_halves(dy, cache):
    return dy / 2, dy / 2  # both terms of a sum get all of dy


@wrong_backward(
    residual,
    "dropped_path",
    symptom="What lies before the sublayer hears it through the sublayer only, as if "
    "there were no skip.",
    shown_by=PAIR,
    hidden_by=[Design("a look at dfx only", PAIR.build, looks_at=(1,))],
)
def nothing_to_the_skip(dy, cache):
    return np.zeros_like(dy), dy.copy()  # both terms of a sum get all of dy
