"""Mistakes in the linear layer and in the readout, which is one."""

import numpy as np

from ..ops import linear, unembedding
from ..ops._arguments import rows, sum_leading
from .design import Design, normal
from .mistake import wrong_backward

LAYER = Design("unequal widths", normal((4, 3), (3, 2), (2,)))
ONE_POSITION = Design("one position", normal((1, 3), (3, 2), (2,)))


def gradients(cache, dx, dw, db):
    """What backward returns: there is no db where the layer has no bias."""
    return (dx, dw, db) if cache.bias else (dx, dw)


def symmetric(n):
    """Return a `Design.build` with a symmetric n x n weight."""

    def build(rng):
        w = rng.normal(size=(n, n))
        return rng.normal(size=(4, n)), w + w.T, rng.normal(size=n)

    return build


@wrong_backward(
    linear,
    "transpose",
    symptom="An error about shapes, or none at all: a square weight takes the product "
    "and sends every error to the wrong unit.",
    shown_by=Design("a square weight", normal((4, 3), (3, 3), (3,))),
    hidden_by=[Design("a symmetric weight", symmetric(3))],
)
def w_for_its_transpose(dy, cache):
    x, w, _ = cache
    dx = dy @ w  # dy @ w.T
    return gradients(cache, dx, rows(x).T @ rows(dy), sum_leading(dy))


@wrong_backward(
    linear,
    "transpose",
    symptom="The weight learns with its two axes exchanged.",
    shown_by=Design("a square weight", normal((4, 3), (3, 3), (3,))),
    hidden_by=[
        Design(
            "an identity weight and dy equal to y",
            lambda rng: (rng.normal(size=(4, 3)), np.eye(3), np.zeros(3)),
            dy=lambda y: y,
        )
    ],
)
def dw_transposed(dy, cache):
    x, w, _ = cache
    dw = rows(dy).T @ rows(x)  # x.T @ dy
    return gradients(cache, dy @ w.T, dw, sum_leading(dy))


@wrong_backward(
    linear,
    "missing_sum",
    symptom="The bias becomes a matrix at its first update, silently, and the layer "
    "learns one bias a position.",
    shown_by=LAYER,
    hidden_by=[ONE_POSITION],
)
def bias_keeps_the_batch(dy, cache):
    x, w, _ = cache
    db = dy.copy()  # dy.sum(axis=0)
    return gradients(cache, dy @ w.T, rows(x).T @ rows(dy), db)


@wrong_backward(
    linear,
    "not_accumulated",
    symptom="The layer learns from the last position only.",
    shown_by=LAYER,
    hidden_by=[ONE_POSITION],
)
def last_position_only(dy, cache):
    x, w, _ = cache
    for x_t, dy_t in zip(rows(x), rows(dy), strict=True):
        dw = np.outer(x_t, dy_t)  # dw += ...
        db = dy_t
    return gradients(cache, dy @ w.T, dw, db)


@wrong_backward(
    linear,
    "constant_factor",
    symptom="Weights learn the slower the larger the batch, as the loss has averaged "
    "over it already; the gradient passed on to earlier layers is right.",
    shown_by=LAYER,
    hidden_by=[ONE_POSITION],
)
def averaged_over_the_batch_again(dy, cache):
    x, w, _ = cache
    dw = rows(x).T @ rows(dy) / len(rows(x))
    db = rows(dy).mean(axis=0)  # the divisor is the loss's affair
    return gradients(cache, dy @ w.T, dw, db)


@wrong_backward(
    linear,
    "wrong_axis",
    symptom="An error about shapes, or none: with as many positions as units the bias "
    "gets the sum of a position's errors.",
    shown_by=Design("as many positions as units", normal((3, 2), (2, 3), (3,))),
    hidden_by=[
        Design("dy of ones", normal((3, 2), (2, 3), (3,)), dy=np.ones_like),
    ],
)
def bias_summed_over_units(dy, cache):
    x, w, _ = cache
    db = dy.sum(axis=-1)  # axis=0
    return gradients(cache, dy @ w.T, rows(x).T @ rows(dy), db)


@wrong_backward(
    linear,
    "wrong_operand",
    symptom="An error about shapes, or none: with equal widths the weight learns from "
    "what the layer put out instead of what it was given.",
    shown_by=Design("equal widths", normal((4, 3), (3, 3), (3,))),
    hidden_by=[
        Design(
            "an identity weight",
            lambda rng: (rng.normal(size=(4, 3)), np.eye(3), rng.normal(size=3)),
        )
    ],
)
def output_for_input(dy, cache):
    x, w, _ = cache
    y = x @ w
    dw = rows(y).T @ rows(dy)  # x.T @ dy
    return gradients(cache, dy @ w.T, dw, sum_leading(dy))


@wrong_backward(
    linear,
    "wrong_operand",
    symptom="An error about shapes, or none: with as many positions as units in and "
    "out, xᵀ fits where wᵀ belongs.",
    shown_by=Design("three of everything", normal((3, 3), (3, 3), (3,))),
    hidden_by=[
        Design(
            "an input equal to the weight",
            lambda rng: (w := rng.normal(size=(3, 3)), w, rng.normal(size=3)),
        )
    ],
)
def input_for_weight(dy, cache):
    x, _, _ = cache
    dx = dy @ rows(x).T  # dy @ w.T
    return gradients(cache, dx, rows(x).T @ rows(dy), sum_leading(dy))


@wrong_backward(
    linear,
    "silent_broadcast",
    symptom="Every entry of the weight moves by the same amount: .T leaves a vector as "
    "it is, so that an inner product stands where an outer one belongs.",
    shown_by=Design("one vector, equal widths", normal(3, (3, 3), 3)),
    hidden_by=[Design("a batch", normal((4, 3), (3, 3), 3))],
)
def transpose_of_a_vector(dy, cache):
    x, w, _ = cache
    dw = x.T @ dy  # np.outer(x, dy) where x is a vector
    return gradients(cache, dy @ w.T, dw, sum_leading(dy))


READOUT = Design("unequal widths", normal((4, 3), (5, 3)))


@wrong_backward(
    unembedding,
    "transpose",
    symptom="An error about shapes, or none where the vocabulary is as large as the "
    "model is wide.",
    shown_by=Design("a square table", normal((4, 3), (3, 3))),
    hidden_by=[
        Design(
            "a symmetric table",
            lambda rng: (rng.normal(size=(4, 3)), np.ones((3, 3)) + np.eye(3)),
        )
    ],
)
def table_transposed(dy, cache):
    h, table = cache
    return dy @ table.T, rows(dy).T @ rows(h)  # logits = h @ table.T: dy @ table


@wrong_backward(
    unembedding,
    "not_accumulated",
    symptom="The table hears the last position of the window only.",
    shown_by=READOUT,
    hidden_by=[Design("one position", normal((1, 3), (5, 3)))],
)
def last_position_overwrites(dy, cache):
    h, table = cache
    for h_t, dy_t in zip(rows(h), rows(dy), strict=True):
        dtable = np.outer(dy_t, h_t)  # dtable += ...
    return dy @ table, dtable


@wrong_backward(
    unembedding,
    "dropped_path",
    symptom="The table trains and nothing before it does: the model is a bag of "
    "frequencies.",
    shown_by=READOUT,
    hidden_by=[
        Design(
            "a table of zeros", lambda rng: (rng.normal(size=(4, 3)), np.zeros((5, 3)))
        )
    ],
)
def nothing_passed_on(dy, cache):
    h, _ = cache
    return np.zeros_like(h), rows(dy).T @ rows(h)  # dy @ table
