"""Mistakes in LayerNorm and RMSNorm: a statistic couples a row, a gain scales it."""

from dataclasses import replace

import numpy as np

from ..ops import layer_norm, rms_norm
from ..ops._arguments import sum_leading
from .design import Design, normal
from .mistake import wrong_backward, wrong_forward

ROWS, WIDTH = 3, 6


def centred(a):
    """Subtract each row's mean."""
    return a - a.mean(axis=-1, keepdims=True)


def with_unit_gain(x):
    """Return a `Design.build` with x(rng), a gain of ones and a bias of zeros."""

    def build(rng):
        rows = x(rng)
        width = rows.shape[-1]
        return rows, np.ones(width), np.zeros(width)

    return build


def without_bias(build):
    """The same for RMSNorm, which has none."""
    return lambda rng: build(rng)[:2]


def normal_rows(rng):
    return rng.normal(size=(ROWS, WIDTH))


def unit_rows(rng):
    """Rows of mean 0 and mean square 1, as a norm before it leaves them."""
    rows = centred(normal_rows(rng))
    return rows / np.sqrt(np.mean(rows * rows, axis=-1, keepdims=True))


def one_entry(y):
    dy = np.zeros(y.shape)
    dy[..., 0] = 1
    return dy


def centred_dy(y):
    return centred(np.random.default_rng(1).normal(size=y.shape))


TINY_EPS = {"eps": 1e-12}
LAYER = Design("a gain and a bias of its own", normal((ROWS, WIDTH), WIDTH, WIDTH))
UNIT_GAIN = Design("gain of ones", with_unit_gain(normal_rows))
ONES = Design(
    "dy of ones and gain of ones", with_unit_gain(normal_rows), dy=np.ones_like
)
WIDE = Design(
    "a wide row, one entry of dy and two decimals",
    with_unit_gain(lambda rng: rng.normal(size=(1, 8192))),
    dy=one_entry,
    tolerance=1e-2,
)
ONE_ROW = Design("one position", normal((1, WIDTH), WIDTH, WIDTH))
NORMALISED = Design(
    "rows normalised already", with_unit_gain(unit_rows), options=TINY_EPS
)
SMALL_ROWS = Design(
    "rows of small variance",
    lambda rng: (0.01 * normal_rows(rng), rng.normal(size=WIDTH), np.zeros(WIDTH)),
)
FAR_FROM_ZERO = Design(
    "rows far from zero",
    lambda rng: (1e3 + normal_rows(rng), np.ones(WIDTH), np.zeros(WIDTH)),
)
ORDINARY = Design(
    "rows of ordinary size and a tolerance of three decimals",
    LAYER.build,
    tolerance=1e-3,
)


@wrong_backward(
    layer_norm,
    "dropped_coupling",
    symptom="Roughly the right direction, so the loss still falls; the entries of dx "
    "no longer sum to zero.",
    shown_by=LAYER,
    hidden_by=[
        Design(
            "dy that sums to zero and gain of ones",
            with_unit_gain(normal_rows),
            dy=centred_dy,
        ),
        WIDE,
    ],
)
def mean_term_dropped(dy, cache):
    gain, x_hat, std = cache
    g = dy * gain
    dx = (g - x_hat * np.mean(g * x_hat, axis=-1, keepdims=True)) / std  # - mean(g)
    return dx, sum_leading(dy * x_hat), sum_leading(dy)


@wrong_backward(
    layer_norm,
    "dropped_coupling",
    symptom="Roughly the right direction; scaling a row up now seems to change the "
    "loss.",
    shown_by=LAYER,
    hidden_by=[ONES, WIDE],
)
def variance_term_dropped(dy, cache):
    gain, x_hat, std = cache
    g = dy * gain
    dx = (g - np.mean(g, axis=-1, keepdims=True)) / std  # - x̂ mean(g x̂)
    return dx, sum_leading(dy * x_hat), sum_leading(dy)


@wrong_backward(
    layer_norm,
    "dropped_coupling",
    symptom="Mean and deviation are taken for constants; roughly the right direction, "
    "so the loss still falls.",
    shown_by=LAYER,
    hidden_by=[WIDE],
)
def statistics_held_constant(dy, cache):
    gain, x_hat, std = cache
    dx = dy * gain / std  # - mean(g) - x̂ mean(g x̂)
    return dx, sum_leading(dy * x_hat), sum_leading(dy)


@wrong_backward(
    layer_norm,
    "missing_factor",
    symptom="Right at initialisation, when every gain is one; it drifts off as the "
    "gains train.",
    shown_by=LAYER,
    hidden_by=[UNIT_GAIN],
)
def gain_left_out_of_dx(dy, cache):
    _, x_hat, std = cache
    through_mean = np.mean(dy, axis=-1, keepdims=True)
    through_std = x_hat * np.mean(dy * x_hat, axis=-1, keepdims=True)
    dx = (dy - through_mean - through_std) / std  # g = dy * gain for dy
    return dx, sum_leading(dy * x_hat), sum_leading(dy)


@wrong_backward(
    layer_norm,
    "extra_factor",
    symptom="Right at initialisation, when every gain is one; it drifts off as the "
    "gains train.",
    shown_by=LAYER,
    hidden_by=[UNIT_GAIN],
)
def gain_twice(dy, cache):
    gain, x_hat, std = cache
    g = dy * gain
    through_mean = np.mean(g, axis=-1, keepdims=True)
    through_std = x_hat * np.mean(g * x_hat, axis=-1, keepdims=True)
    dx = gain * (g - through_mean - through_std) / std  # gain is in g
    return dx, sum_leading(dy * x_hat), sum_leading(dy)


@wrong_backward(
    layer_norm,
    "wrong_axis",
    symptom="The rows of a batch leak into one another; alone, each is right.",
    shown_by=LAYER,
    hidden_by=[ONE_ROW],
)
def means_over_the_batch_too(dy, cache):
    gain, x_hat, std = cache
    g = dy * gain
    dx = (g - np.mean(g) - x_hat * np.mean(g * x_hat)) / std  # axis=-1, keepdims=True
    return dx, sum_leading(dy * x_hat), sum_leading(dy)


@wrong_backward(
    layer_norm,
    "missing_sum",
    symptom="Gain and bias become one row a position at their first update.",
    shown_by=LAYER,
    hidden_by=[ONE_ROW],
)
def gain_and_bias_keep_the_batch(dy, cache):
    dx, _, _ = layer_norm.backward(dy, cache)
    return dx, dy * cache.x_hat, dy.copy()  # .sum(axis=0)


@wrong_backward(
    layer_norm,
    "missing_factor",
    symptom="The gain learns what the bias should.",
    shown_by=LAYER,
    hidden_by=[Design("a look at dx only", LAYER.build, looks_at=(0,))],
)
def dgain_without_x_hat(dy, cache):
    dx, _, dbias = layer_norm.backward(dy, cache)
    return dx, sum_leading(dy), dbias  # dy * x̂


@wrong_backward(
    layer_norm,
    "eps_placement",
    symptom="Rows that hardly vary, such as padding, get gradients far too long.",
    shown_by=SMALL_ROWS,
    hidden_by=[ORDINARY, replace(LAYER, name="a tiny eps", options=TINY_EPS)],
)
def eps_outside_the_root(dy, cache):
    dx, dgain, dbias = layer_norm.backward(dy, cache)
    variance = cache.std**2 * np.mean(cache.x_hat**2, axis=-1, keepdims=True)
    eps = cache.std**2 - variance
    std = np.sqrt(variance) + eps  # np.sqrt(variance + eps), as in forward
    return dx * cache.std / std, dgain, dbias


@wrong_forward(
    layer_norm,
    "variance_n_vs_n1",
    symptom="Outputs and gradients a little too small, by 1/(2n): a reference "
    "that divides by n never quite agrees.",
    shown_by=LAYER,
    hidden_by=[WIDE],
)
def variance_by_n_minus_one(x, gain, bias, eps=1e-5):
    std = np.sqrt(x.var(axis=-1, keepdims=True, ddof=1) + eps)  # ddof=0
    x_hat = (x - x.mean(axis=-1, keepdims=True)) / std
    return gain * x_hat + bias, layer_norm.Cache(gain, x_hat, std)


@wrong_forward(
    layer_norm,
    "float_noise",
    symptom="In float32, noise or the root of a negative number where a row's mean is "
    "large against its spread.",
    shown_by=replace(FAR_FROM_ZERO, dtype=np.float32, tolerance=1e-3),
    hidden_by=[replace(FAR_FROM_ZERO, name="float64", tolerance=1e-6), LAYER],
    obscured=True,
)
def variance_by_difference(x, gain, bias, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = np.mean(x * x, axis=-1, keepdims=True) - mean**2  # mean((x - mean)²)
    std = np.sqrt(variance + eps)
    x_hat = (x - mean) / std
    return gain * x_hat + bias, layer_norm.Cache(gain, x_hat, std)


RMS = Design("a gain of its own", normal((ROWS, WIDTH), WIDTH))
RMS_UNIT_GAIN = Design("gain of ones", without_bias(UNIT_GAIN.build))
RMS_CENTRED = Design(
    "centred rows, dy of ones and gain of ones",
    without_bias(with_unit_gain(lambda rng: centred(normal_rows(rng)))),
    dy=np.ones_like,
)
RMS_WIDE = Design(WIDE.name, without_bias(WIDE.build), dy=one_entry, tolerance=1e-2)
RMS_ONE_ROW = Design("one position", normal((1, WIDTH), WIDTH))
RMS_NORMALISED = Design(
    NORMALISED.name, without_bias(NORMALISED.build), options=TINY_EPS
)


@wrong_backward(
    rms_norm,
    "dropped_coupling",
    symptom="Roughly the right direction, so the loss still falls; dx is no longer at "
    "right angles to x.",
    shown_by=RMS,
    hidden_by=[RMS_CENTRED, RMS_WIDE],
)
def rms_held_constant(dy, cache):
    gain, x_hat, rms = cache
    return dy * gain / rms, sum_leading(dy * x_hat)  # (g - x̂ mean(g x̂)) / rms


@wrong_backward(
    rms_norm,
    "sign_flip",
    symptom="The part of dy along x is doubled instead of removed.",
    shown_by=RMS,
    hidden_by=[RMS_CENTRED, RMS_WIDE],
)
def coupling_added(dy, cache):
    gain, x_hat, rms = cache
    g = dy * gain
    dx = (g + x_hat * np.mean(g * x_hat, axis=-1, keepdims=True)) / rms  # g - ...
    return dx, sum_leading(dy * x_hat)


@wrong_backward(
    rms_norm,
    "constant_factor",
    symptom="The coupling is too strong by the width of the row; the loss falls in "
    "narrow toys and not in the model.",
    shown_by=RMS,
    hidden_by=[RMS_CENTRED],
)
def coupling_summed(dy, cache):
    gain, x_hat, rms = cache
    g = dy * gain
    dx = (g - x_hat * np.sum(g * x_hat, axis=-1, keepdims=True)) / rms  # np.mean
    return dx, sum_leading(dy * x_hat)


@wrong_backward(
    rms_norm,
    "wrong_operand",
    symptom="Right for rows of unit size, as behind another norm; otherwise the "
    "coupling is off by the square of the row's rms.",
    shown_by=Design(
        "rows of size three", lambda rng: (3 * normal_rows(rng), rng.normal(size=WIDTH))
    ),
    hidden_by=[RMS_NORMALISED],
)
def x_for_x_hat(dy, cache):
    gain, x_hat, rms = cache
    g = dy * gain
    x = x_hat * rms
    dx = (g - x * np.mean(g * x, axis=-1, keepdims=True)) / rms  # x̂ in both places
    return dx, sum_leading(dy * x_hat)


@wrong_backward(
    rms_norm,
    "wrong_formula",
    symptom="LayerNorm's formula: dx sums to zero, which here it need not.",
    shown_by=RMS,
    hidden_by=[
        Design(
            "dy that sums to zero and gain of ones",
            RMS_UNIT_GAIN.build,
            dy=centred_dy,
        )
    ],
)
def mean_subtracted_too(dy, cache):
    gain, x_hat, rms = cache
    g = dy * gain
    coupling = x_hat * np.mean(g * x_hat, axis=-1, keepdims=True)
    dx = (g - np.mean(g, axis=-1, keepdims=True) - coupling) / rms  # no mean(g)
    return dx, sum_leading(dy * x_hat)


@wrong_backward(
    rms_norm,
    "missing_factor",
    symptom="Right at initialisation, when every gain is one; it drifts off as the "
    "gains train.",
    shown_by=RMS,
    hidden_by=[RMS_UNIT_GAIN],
)
def gain_forgotten(dy, cache):
    _, x_hat, rms = cache
    dx = (dy - x_hat * np.mean(dy * x_hat, axis=-1, keepdims=True)) / rms  # dy * gain
    return dx, sum_leading(dy * x_hat)


@wrong_backward(
    rms_norm,
    "missing_factor",
    symptom="Layers behind large activations learn too fast, behind small ones too "
    "slowly.",
    shown_by=RMS,
    hidden_by=[RMS_NORMALISED],
)
def rms_left_out(dy, cache):
    gain, x_hat, _ = cache
    g = dy * gain
    dx = g - x_hat * np.mean(g * x_hat, axis=-1, keepdims=True)  # / rms
    return dx, sum_leading(dy * x_hat)


@wrong_backward(
    rms_norm,
    "missing_sum",
    symptom="The gain becomes one row a position at its first update.",
    shown_by=RMS,
    hidden_by=[RMS_ONE_ROW],
)
def gain_keeps_the_batch(dy, cache):
    dx, _ = rms_norm.backward(dy, cache)
    return dx, dy * cache.x_hat  # .sum(axis=0)


@wrong_backward(
    rms_norm,
    "not_accumulated",
    symptom="The gain learns from the last position only.",
    shown_by=RMS,
    hidden_by=[RMS_ONE_ROW],
)
def gain_from_the_last_position(dy, cache):
    dx, _ = rms_norm.backward(dy, cache)
    for index in np.ndindex(dy.shape[:-1]):
        dgain = dy[index] * cache.x_hat[index]  # dgain += ...
    return dx, dgain
