"""Mistakes in softmax and in the cross-entropy behind it."""

from typing import NamedTuple

import numpy as np

from ..check import Op
from ..ops import cross_entropy, softmax, unembedding
from ..ops._arguments import Array, rows
from .design import Design, normal
from .mistake import wrong_backward, wrong_forward

SCORES = Design("a few rows of scores", normal((3, 5)))
ONES = Design("dy of ones", normal((3, 5)), dy=np.ones_like)
ONE_ROW = Design("a single row", normal((1, 5)))
SATURATED = Design(
    "saturated scores", lambda rng: (20 * np.eye(5)[[0, 3, 1]],), tolerance=1e-7
)


@wrong_backward(
    softmax,
    "dropped_coupling",
    symptom="Each score hears of its own probability only, so the gradient of a row "
    "no longer sums to zero.",
    shown_by=SCORES,
    hidden_by=[SATURATED],
)
def diagonal_only(dy, cache):
    (p,) = cache
    return p * (1 - p) * dy  # all -p_i p_j beside the diagonal are missing


@wrong_backward(
    softmax,
    "dropped_coupling",
    symptom="Every score is pushed by its own dy, as if the others did not give way.",
    shown_by=SCORES,
    hidden_by=[
        Design(
            "scores of zero and a centred dy",
            lambda rng: (np.zeros((3, 5)),),
            dy=lambda y: np.broadcast_to(np.arange(5) - 2.0, y.shape),
        ),
    ],
)
def sum_left_out(dy, cache):
    (p,) = cache
    return p * dy  # p * (dy - Σ p dy)


@wrong_backward(
    softmax,
    "missing_factor",
    symptom="Improbable scores are pushed as hard as probable ones; saturation no "
    "longer stops the gradient.",
    shown_by=SCORES,
    hidden_by=[ONES],
)
def factor_p_left_out(dy, cache):
    (p,) = cache
    return dy - np.sum(p * dy, axis=-1, keepdims=True)  # p * (...)


@wrong_backward(
    softmax,
    "sign_flip",
    symptom="The loss rises with every step.",
    shown_by=SCORES,
    hidden_by=[ONES, SATURATED],
)
def sum_minus_dy(dy, cache):
    (p,) = cache
    return p * (np.sum(p * dy, axis=-1, keepdims=True) - dy)  # dy - Σ p dy


@wrong_backward(
    softmax,
    "wrong_axis",
    symptom="The rows of a batch leak into one another; alone, each is right.",
    shown_by=SCORES,
    hidden_by=[ONE_ROW],
)
def sum_over_the_batch_too(dy, cache):
    (p,) = cache
    return p * (dy - np.sum(p * dy))  # np.sum(..., axis=-1, keepdims=True)


@wrong_backward(
    softmax,
    "wrong_shape",
    symptom="An error about shapes, unless broadcasting swallows it: the whole "
    "Jacobian is handed on where its product with dy belongs.",
    shown_by=SCORES,
    hidden_by=[
        Design(
            "saturated scores, as many rows as classes",
            lambda rng: (20 * np.eye(5),),
            tolerance=1e-7,
        )
    ],
)
def jacobian_for_its_product(dy, cache):
    (p,) = cache
    return p[..., :, None] * (np.eye(p.shape[-1]) - p[..., None, :])  # Jᵀ dy


@wrong_forward(
    softmax,
    "nonfinite",
    symptom="nan, not slower training, as soon as a score passes 88 in float32 or 709 in "
    "float64; where a whole row lies below -87 or -708 its digits go first, then nan.",
    shown_by=Design("large scores", lambda rng: (800 + rng.normal(size=(3, 5)),)),
    hidden_by=[SCORES],
)
def unshifted(z):
    e = np.exp(z)  # np.exp(z - z.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p, softmax.Cache(p.copy())


@wrong_forward(
    softmax,
    "nonfinite",
    symptom="nan in the rows whose scores all lie far below the largest of the batch.",
    shown_by=Design(
        "rows of very different height",
        lambda rng: (rng.normal(size=(3, 5)) + [[0], [0], [-900]],),
    ),
    hidden_by=[SCORES, ONE_ROW],
)
def shifted_by_the_maximum_of_the_batch(z):
    e = np.exp(z - z.max())  # z.max(axis=-1, keepdims=True)
    p = e / e.sum(axis=-1, keepdims=True)
    return p, softmax.Cache(p.copy())


def logits_and_targets(leading, n):
    """Return a `Design.build` of normal logits and random targets."""
    return lambda rng: (
        rng.normal(size=(*leading, n)),
        rng.integers(n, size=leading),
    )


POSITIONS = Design("several positions", logits_and_targets((4,), 5))
ONE_POSITION = Design("one position", logits_and_targets((1,), 5))
SUM = Design(
    "reduction by sum", logits_and_targets((4,), 5), options={"reduction": "sum"}
)
LEARNT = Design("answers already learnt", lambda rng: (20 * np.eye(4), np.arange(4)))


def p_minus_y(cache):
    """The gradient of the summed loss, which all of these get right."""
    p, targets, _ = cache
    d = rows(p).copy()
    d[np.arange(targets.size), targets.ravel()] -= 1
    return d.reshape(p.shape)


@wrong_backward(
    cross_entropy,
    "constant_factor",
    symptom="Every gradient of the model is as many times too long as there are "
    "positions; with SGD it looks like a learning rate that is too high.",
    shown_by=POSITIONS,
    hidden_by=[ONE_POSITION, SUM],
)
def no_divisor(dy, cache):
    return dy * p_minus_y(cache)  # / cache.divisor: the loss is a mean


@wrong_backward(
    cross_entropy,
    "constant_factor",
    symptom="Training slows down as the window grows: the gradient shrinks with the "
    "square of its length.",
    shown_by=POSITIONS,
    hidden_by=[ONE_POSITION, SUM],
)
def divisor_twice(dy, cache):
    dlogits = dy * p_minus_y(cache) / cache.divisor
    return dlogits / cache.divisor  # the caller "averages over the batch" again


@wrong_backward(
    cross_entropy,
    "constant_factor",
    symptom="The gradient is too short by the size of the vocabulary.",
    shown_by=POSITIONS,
    hidden_by=[LEARNT],
)
def divided_by_all_entries(dy, cache):
    return dy * p_minus_y(cache) / cache.p.size  # .size counts the classes too


@wrong_backward(
    cross_entropy,
    "wrong_point",
    symptom="The push is timid: a certain wrong answer gets less than it should, and "
    "a certain right one is still pushed.",
    shown_by=POSITIONS,
    hidden_by=[
        Design("logits of zero", lambda rng: (np.zeros((4, 5)), np.arange(4))),
    ],
    obscured=True,
)
def softmax_applied_twice(dy, cache):
    p, _ = softmax.forward(cache.p)  # cache.p is a softmax already
    return dy * p_minus_y(cache._replace(p=p)) / cache.divisor


@wrong_backward(
    cross_entropy,
    "sign_flip",
    symptom="The model learns to avoid the right answer; the loss rises.",
    shown_by=POSITIONS,
    hidden_by=[LEARNT],
)
def y_minus_p(dy, cache):
    return -dy * p_minus_y(cache) / cache.divisor  # "error = target - output"


@wrong_backward(
    cross_entropy,
    "dropped_path",
    symptom="Only the logit of the target is pulled up; nothing pushes the others "
    "down.",
    shown_by=POSITIONS,
    hidden_by=[LEARNT],
)
def target_entry_only(dy, cache):
    p, targets, divisor = cache
    dlogits = np.zeros_like(p)
    at_target = targets[..., None]
    p_target = np.take_along_axis(p, at_target, axis=-1)
    np.put_along_axis(dlogits, at_target, p_target - 1, axis=-1)  # the rest is p
    return dy * dlogits / divisor


@wrong_backward(
    cross_entropy,
    "extra_factor",
    symptom="A certain wrong answer, the worst there is, gets no gradient: p(1 - p) is "
    "zero there.",
    shown_by=POSITIONS,
    hidden_by=[LEARNT],
)
def times_the_derivative_of_softmax(dy, cache):
    p = cache.p
    return dy * p_minus_y(cache) * p * (1 - p) / cache.divisor  # p - y has it already


@wrong_backward(
    cross_entropy,
    "not_repeatable",
    symptom="Right once; whoever reads the probabilities afterwards, or calls backward "
    "again, finds p - y in their place.",
    shown_by=POSITIONS,
    hidden_by=[Design("a single call of backward", POSITIONS.build)],
)
def cached_p_overwritten(dy, cache):
    p, targets, divisor = cache
    # p.copy() first: rows(p) is a view, and the cache is not ours to change.
    rows(p)[np.arange(targets.size), targets.ravel()] -= 1
    return dy * p / divisor


@wrong_backward(
    cross_entropy,
    "nonfinite",
    symptom="nan from the first token the model is certain is impossible.",
    shown_by=Design(
        "a certain wrong answer", lambda rng: (800 * np.eye(4)[:3], np.array([1, 2, 3]))
    ),
    hidden_by=[POSITIONS],
)
def softmax_and_log_apart(dy, cache):
    p, targets, divisor = cache
    y = np.eye(p.shape[-1])[targets]
    dp = -dy * y / p / divisor  # 0/0 where p underflows
    return p * (dp - np.sum(p * dp, axis=-1, keepdims=True))


def guarded_forward(logits, targets, guard=1e-9):
    """Mean of -log(p_target + guard), which is finite where p_target is 0."""
    p, _ = softmax.forward(logits)
    p_target = np.take_along_axis(p, targets[..., None], axis=-1)
    loss = -np.mean(np.log(p_target + guard))
    kept = p_target / (p_target + guard)  # of each row's gradient
    return loss, (cross_entropy.Cache(p, targets, targets.size), kept)


def guarded_backward(dy, cache):
    """p - y times p_target / (p_target + guard), which ruled-out answers have not."""
    cache, kept = cache
    return cross_entropy.backward(dy, cache) * kept


GUARDED = Op(guarded_forward, guarded_backward)


@wrong_backward(
    cross_entropy,
    "constant_factor",
    right=GUARDED,
    symptom="Backward pushes an answer that the model has ruled out, while the loss, "
    "-log(p + 1e-9), stays at 20.7 wherever its logit goes.",
    shown_by=Design(
        "certain wrong answers",
        lambda rng: (rng.normal(size=(3, 4)) + 22 * np.eye(4)[:3], np.array([1, 2, 3])),
    ),
    hidden_by=[
        Design("probabilities above the guard", POSITIONS.build, tolerance=1e-6)
    ],
)
def guarded_log_taken_for_a_log(dy, cache):
    cache, kept = cache
    return cross_entropy.backward(dy, cache)  # * kept


class PenalisedCache(NamedTuple):
    h: Array
    table: Array
    decay: float
    loss: cross_entropy.Cache


def penalised_forward(h, table, targets, decay=0.1):
    """Mean cross-entropy of a readout plus decay · Σ table²."""
    logits, _ = unembedding.forward(h, table)
    loss, cache = cross_entropy.forward(logits, targets)
    penalty = decay * np.sum(table * table)
    return loss + penalty, PenalisedCache(h, table, decay, cache)


def penalised_backward(dy, cache):
    h, table, decay, loss = cache
    dlogits = cross_entropy.backward(dy, loss)
    return dlogits @ table, dlogits.T @ h + dy * 2 * decay * table


PENALISED = Op(penalised_forward, penalised_backward)


def readout_and_targets(positions):
    return lambda rng: (
        rng.normal(size=(positions, 3)),
        rng.normal(size=(5, 3)),
        rng.integers(5, size=positions),
    )


PENALTY = Design("several positions and a penalty", readout_and_targets(4))


@wrong_backward(
    cross_entropy,
    "constant_factor",
    right=PENALISED,
    symptom="The penalty on the weights seems weaker the longer the window: the data's "
    "gradient is a sum, the penalty's belongs to a mean.",
    shown_by=PENALTY,
    hidden_by=[Design("one position", readout_and_targets(1))],
)
def summed_beside_a_penalty(dy, cache):
    h, table, decay, loss = cache
    dlogits = dy * p_minus_y(loss)  # / loss.divisor, as the penalty is not summed
    return dlogits @ table, dlogits.T @ h + dy * 2 * decay * table


@wrong_backward(
    cross_entropy,
    "constant_factor",
    right=PENALISED,
    symptom="Regularisation is half as strong as it says.",
    shown_by=PENALTY,
    hidden_by=[
        Design("no penalty", readout_and_targets(4), options={"decay": 0.0}),
    ],
)
def penalty_without_its_two(dy, cache):
    h, table, decay, loss = cache
    dlogits = cross_entropy.backward(dy, loss)
    return dlogits @ table, dlogits.T @ h + dy * decay * table  # 2 * decay * table
