"""Gradient mistakes people reported in public, each re-created from its mathematics.

Every case has the function, the backward pass under suspicion and the right one, on
inputs of its own. Where the report turned out to blame a right gradient, or a check
that was itself at fault, the suspect must not be accused.

`kind` is what a black box can tell of it. None where it cannot: a factor inside a
hidden layer leaves no pattern outside, and one number supports none.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from backhand.check import Op, check_gradients


@dataclass
class Case:
    f: Callable
    suspect: Callable
    right: Callable
    inputs: tuple
    dy: np.ndarray | None = None
    name: str = ""
    source: str = ""
    kind: str | None = None
    verdict: str = "disagree"

    def check(self, backward):
        return check_gradients(Op.plain(self.f, backward), *self.inputs, dy=self.dy)


CASES = []


def reported(source, kind, verdict="disagree"):
    """Collect a function that builds a case; its docstring tells what was reported."""

    def collect(build):
        case = build()
        case.name, case.source = build.__name__, source
        case.kind, case.verdict = kind, verdict
        CASES.append(case)
        return build

    return collect


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def one_hot(ids, n):
    return np.eye(n)[ids]


# --------------------------------------------------------------- softmax and losses


@reported("stackoverflow.com/questions/65275522", "constant_factor")
def mean_cross_entropy_without_its_divisor():
    """Where does the batch size enter the softmax classifier's gradient?"""
    targets = np.array([3, 0, 1, 1, 2])

    def f(z):
        return -np.mean(np.log(softmax(z)[np.arange(5), targets]))

    def right(dy, z):
        return dy * (softmax(z) - one_hot(targets, 4)) / 5

    return Case(f, lambda dy, z: 5 * right(dy, z), right, (normal(1, 5, 4),))


@reported("stackoverflow.com/questions/40575841", "dropped_coupling")
def softmax_jacobian_squeezed_into_a_vector():
    """A double loop assigns to g[i], so that only the last column survives."""

    def suspect(dy, x):
        p, g = softmax(x), np.zeros_like(x)
        for i in range(len(x)):
            for j in range(len(x)):
                g[i] = p[i] * (1 - x[i]) if i == j else -p[i] * x[j]
        return dy * g

    def right(dy, x):
        p = softmax(x)
        return p * (dy - dy @ p)

    return Case(softmax, suspect, right, (np.array([0.7, -0.6, 0.1, 1.2, -1.4]),))


@reported("github.com/neuroph/neuroph/issues/37", "dropped_coupling")
def softmax_derivative_as_one_minus_the_output():
    def right(dy, x):
        p = softmax(x)
        return p * (dy - dy @ p)

    return Case(
        softmax,
        lambda dy, x: dy * (1 - softmax(x)),
        right,
        (np.array([0.2, 1.1, -0.9, 0.5]),),
    )


@reported(
    "github.com/rasbt/python-machine-learning-book-2nd-edition/issues/54",
    "extra_factor",
)
def slope_of_the_sigmoid_multiplied_in_again():
    """In the logistic loss it has cancelled already."""
    t = np.array([0.0, 1.0, 1.0, 0.0])

    def f(z):
        a = sigmoid(z)
        return -np.sum(t * np.log(a) + (1 - t) * np.log(1 - a))

    def suspect(dy, z):
        a = sigmoid(z)
        return dy * (a - t) * a * (1 - a)

    return Case(
        f,
        suspect,
        lambda dy, z: dy * (sigmoid(z) - t),
        (np.array([0.4, -1.1, 2.0, 0.8]),),
    )


@reported("github.com/jingtinghuang/CS231n-Spring-2017/issues/3", "constant_factor")
def penalty_without_its_two():
    x, t = normal(2, 4, 3), normal(3, 4)

    def f(w):
        return np.mean((x @ w - t) ** 2) + 0.2 * np.sum(w**2)

    def gradient(dy, w, factor):
        return dy * (2 / 4 * x.T @ (x @ w - t) + factor * 0.2 * w)

    return Case(
        f,
        lambda dy, w: gradient(dy, w, 1),
        lambda dy, w: gradient(dy, w, 2),
        (normal(4, 3),),
    )


# ---------------------------------------------------------------- two-layer networks


def two_layers(suspect, hidden=np.tanh, seed=5):
    """A network with squared error on fixed data: what the reports have in common."""
    x, t = normal(seed, 4, 3), normal(seed + 1, 4, 2)

    def f(w1, w2):
        return np.sum((hidden(x @ w1) @ w2 - t) ** 2) / 8

    def right(dy, w1, w2):
        return backward(dy, w1, w2, x, t)

    def backward(dy, w1, w2, x, t):
        h = hidden(x @ w1)
        error = dy * (h @ w2 - t) / 4
        slope = 1 - h * h
        return x.T @ (error @ w2.T * slope), h.T @ error

    return Case(
        f,
        lambda dy, w1, w2: suspect(dy, w1, w2, x, t),
        right,
        (normal(seed + 2, 3, 2), normal(seed + 3, 2, 2)),
    )


def parts(dy, w1, w2, x, t):
    h = np.tanh(x @ w1)
    z = h @ w2
    return h, z, dy * (z - t) / 4


@reported("community.deeplearning.ai/t/63071", "constant_factor")
def divided_by_the_batch_in_both_layers():
    def suspect(dy, w1, w2, x, t):
        h, _, error = parts(dy, w1, w2, x, t)
        return x.T @ (error @ w2.T * (1 - h * h)) / 4, h.T @ error

    return two_layers(suspect)


@reported("github.com/dennybritz/nn-from-scratch/pull/3", None)
def slope_of_tanh_at_the_next_layer():
    def suspect(dy, w1, w2, x, t):
        h, z, error = parts(dy, w1, w2, x, t)
        return x.T @ (error @ w2.T * (1 - np.tanh(z) ** 2)), h.T @ error

    return two_layers(suspect)


@reported("github.com/SciML/SciMLBook/issues/164", None)
def slope_of_the_hidden_layer_lost():
    def suspect(dy, w1, w2, x, t):
        h, _, error = parts(dy, w1, w2, x, t)
        return x.T @ (error @ w2.T), h.T @ error

    return two_layers(suspect)


def sigmoid_twice(suspect):
    x, t = normal(11, 4, 2), normal(12, 4, 2)

    def f(w1, w2):
        return 0.5 * np.sum((sigmoid(sigmoid(x @ w1) @ w2) - t) ** 2)

    def forward(w1, w2):
        h = sigmoid(x @ w1)
        y = sigmoid(h @ w2)
        return h, y, (y - t) * y * (1 - y)

    def right(dy, w1, w2):
        h, _, delta = forward(w1, w2)
        return dy * x.T @ (delta @ w2.T * h * (1 - h)), dy * h.T @ delta

    return Case(
        f,
        lambda dy, w1, w2: suspect(dy, w1, w2, x, t, *forward(w1, w2)),
        right,
        (normal(13, 2, 2), normal(14, 2, 2)),
    )


@reported("github.com/Bot-Academy/NeuralNetworkFromScratch/pull/3", None)
def cross_entropy_delta_with_squared_error():
    def suspect(dy, w1, w2, x, t, h, y, delta):
        delta = y - t
        return dy * x.T @ (delta @ w2.T * h * (1 - h)), dy * h.T @ delta

    return sigmoid_twice(suspect)


@reported("github.com/Bot-Academy/NeuralNetworkFromScratch/pull/3", None)
def weights_updated_before_the_error_goes_through_them():
    def suspect(dy, w1, w2, x, t, h, y, delta):
        dw2 = h.T @ delta
        w2 = w2 - 0.3 * dw2
        return dy * x.T @ (delta @ w2.T * h * (1 - h)), dy * dw2

    return sigmoid_twice(suspect)


@reported("datascience.stackexchange.com/questions/25394", None)
def own_activation_for_that_of_the_layer_before():
    def suspect(dy, w1, w2, x, t, h, y, delta):
        return dy * x.T @ (delta @ w2.T * h * (1 - h)), dy * y.T @ delta

    return sigmoid_twice(suspect)


@reported("github.com/udacity/deep-learning-v2-pytorch/issues/24", "sign_flip")
def error_with_the_other_sign():
    x, t = np.array([0.5, -1.0, 0.9, 0.3]), 1.0

    def f(w):
        return 0.5 * (t - sigmoid(x @ w)) ** 2

    def right(dy, w):
        y = sigmoid(x @ w)
        return dy * (y - t) * y * (1 - y) * x

    return Case(
        f, lambda dy, w: -right(dy, w), right, (np.array([0.3, 0.2, -0.6, 0.1]),)
    )


# -------------------------------------------------------------------- activations

POINTS = np.array([-1.6, -0.5, 0.3, 0.9, 2.1])


@reported("github.com/BoltzmannEntropy/interviews.ai/issues/15", "wrong_point")
def x_one_minus_x_of_the_input():
    def right(dy, x):
        y = sigmoid(x)
        return dy * y * (1 - y)

    return Case(sigmoid, lambda dy, x: dy * x * (1 - x), right, (POINTS,))


@reported("github.com/sausheong/gonn/issues/8", None)
def sigma_minus_for_sigma_times():
    def right(dy, x):
        y = sigmoid(x)
        return dy * y * (1 - y)

    return Case(
        sigmoid, lambda dy, x: dy * (sigmoid(x) - (1 - sigmoid(x))), right, (POINTS,)
    )


@reported("github.com/scutan90/DeepLearning-500-questions/issues/544", "dropped_path")
def tanh_without_its_leading_one():
    return Case(
        np.tanh,
        lambda dy, x: -dy * np.tanh(x) ** 2,
        lambda dy, x: dy * (1 - np.tanh(x) ** 2),
        (POINTS,),
    )


@reported("github.com/chelsea0x3b/dfdx/pull/915", None)
def silu_without_its_parentheses():
    def right(dy, x):
        e = np.exp(-x)
        return dy * (1 + e + x * e) / (1 + e) ** 2

    def suspect(dy, x):
        e = np.exp(-x)
        return dy * (1 + e + x * e / (1 + e) ** 2)

    return Case(lambda x: x * sigmoid(x), suspect, right, (POINTS,))


@reported("github.com/tensorflow/tensorflow/issues/127690", "wrong_shape")
def scale_of_each_column_summed_over_all():
    x = normal(20, 4, 3)

    def right(dy, beta):
        s = sigmoid(beta * x)
        return np.sum(dy * x * x * s * (1 - s), axis=0)

    return Case(
        lambda beta: x * sigmoid(beta * x),
        lambda dy, beta: right(dy, beta).sum(),
        right,
        (np.array([0.4, 1.6, -0.8]),),
    )


@reported("github.com/iamtrask/Grokking-Deep-Learning/issues/56", "missing_mask")
def relu_mask_that_is_always_true():
    """output >= 0 holds everywhere."""
    w = normal(21, 2, 3)

    def backward(dy, x, mask):
        h = np.maximum(x, 0)
        return dy * 2 * (h @ w @ w.T) * mask

    return Case(
        lambda x: np.sum((np.maximum(x, 0) @ w) ** 2),
        lambda dy, x: backward(dy, x, np.maximum(x, 0) >= 0),
        lambda dy, x: backward(dy, x, x > 0),
        (np.array([[0.9, -0.4], [-1.2, 0.7], [0.2, 1.1]]),),
    )


@reported("github.com/pytorch/pytorch/issues/2421", "nonfinite")
def norm_of_a_zero_vector():
    """0/0. What differences see is a kink, so the right gradient stays undecided."""

    def f(x):
        return np.sqrt(np.sum(x * x))

    def suspect(dy, x):
        return dy * x / f(x)

    def right(dy, x):
        return dy * x / max(f(x), 1e-300)

    return Case(f, suspect, right, (np.zeros(4),))


@reported("github.com/karpathy/nn-zero-to-hero/issues/52", "wrong_point")
def derivative_of_exp_taken_as_its_input():
    return Case(np.exp, lambda dy, x: dy * x, lambda dy, x: dy * np.exp(x), (POINTS,))


@reported("github.com/CaptainE/RNN-LSTM-in-numpy/issues/1", None)
def gate_itself_for_its_derivative():
    def right(dy, z, c):
        s = sigmoid(z)
        return dy * c * s * (1 - s), dy * s

    def suspect(dy, z, c):
        return dy * c * sigmoid(sigmoid(z)), dy * sigmoid(z)

    return Case(
        lambda z, c: sigmoid(z) * c,
        suspect,
        right,
        (np.array([0.5, -0.2, 1.3]), np.array([1.1, 0.6, -0.7])),
    )


# ------------------------------------------------------------------ linear algebra


@reported("github.com/HomericIntelligence/Odyssey/issues/2136", "transpose")
def matrix_product_without_transposes():
    return Case(
        lambda a, b: a @ b,
        lambda dy, a, b: (dy @ b, a @ dy),
        lambda dy, a, b: (dy @ b.T, a.T @ dy),
        (normal(30, 3, 3), normal(31, 3, 3)),
    )


@reported("github.com/harvard-edge/cs249r_book/pull/1781", "silent_broadcast")
def transpose_of_a_vector():
    """.T leaves an array of one axis alone, and dy @ v.T is a number."""
    return Case(
        lambda a, v: a @ v,
        lambda dy, a, v: (np.matmul(dy, v.T), a.T @ dy),
        lambda dy, a, v: (np.outer(dy, v), a.T @ dy),
        (normal(32, 3, 3), np.array([0.5, -0.8, 1.2])),
    )


@reported("github.com/jimfleming/differentiation/issues/1", "missing_sum")
def bias_keeps_the_batch():
    x = normal(33, 5, 3)
    return Case(
        lambda b: x + b,
        lambda dy, b: dy + 0.0,
        lambda dy, b: dy.sum(axis=0),
        (np.array([0.1, -0.3, 0.7]),),
    )


@reported("github.com/riccardoandreoni0/CNN-from-scratch/issues/1", "not_accumulated")
def pooling_returns_after_the_first_window():
    def windows(x):
        for i in range(2):
            for j in range(2):
                block = x[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
                top = np.unravel_index(block.argmax(), block.shape)
                yield (i, j), (2 * i + top[0], 2 * j + top[1])

    def f(x):
        y = np.zeros((2, 2))
        for out, into in windows(x):
            y[out] = x[into]
        return y

    def backward(dy, x, early):
        dx = np.zeros_like(x)
        for out, into in windows(x):
            dx[into] = dy[out]
            if early:
                break
        return dx

    return Case(
        f,
        lambda dy, x: backward(dy, x, True),
        lambda dy, x: backward(dy, x, False),
        (normal(34, 4, 4),),
    )


# ------------------------------------------------------ embeddings, reuse and tying


@reported("github.com/paiml/entrenar/issues/314", "not_accumulated")
def tied_table_with_one_of_its_two_contributions():
    tokens, targets = np.array([0, 3, 0]), np.array([3, 1, 4])

    def f(tokens, table):
        p = softmax(table[tokens] @ table.T)
        return -np.sum(np.log(p[np.arange(3), targets]))

    def backward(dy, tokens, table, both):
        h = table[tokens]
        dz = dy * (softmax(h @ table.T) - one_hot(targets, 5))
        dtable = dz.T @ h
        if both:
            np.add.at(dtable, tokens, dz @ table)
        return dtable

    return Case(
        f,
        lambda *given: backward(*given, False),
        lambda *given: backward(*given, True),
        (tokens, normal(40, 5, 2)),
    )


@reported("github.com/sebgao/cTensor/issues/5", None)
def node_visited_twice_on_a_tape():
    """7 instead of 6: one number."""
    return Case(
        lambda x: 3 * x * x,
        lambda dy, x: dy * (6 * x + x),
        lambda dy, x: dy * 6 * x,
        (np.array([1.0]),),
    )


# ----------------------------------------------------------------- normalisations


def standardised(x, axis=-1):
    centred = x - x.mean(axis=axis, keepdims=True)
    deviation = np.sqrt(np.mean(centred**2, axis=axis, keepdims=True) + 1e-5)
    return centred / deviation, deviation


def layer_norm_backward(dy, x, axis=-1, mean=np.mean):
    x_hat, deviation = standardised(x, axis)
    first = mean(dy, axis=axis, keepdims=True)
    second = x_hat * np.mean(dy * x_hat, axis=axis, keepdims=True)
    return (dy - first - second) / deviation


@reported("datascience.stackexchange.com/questions/89630", "uninformative_upstream")
def layer_norm_said_to_pass_no_gradient():
    """The rows of its Jacobian sum to zero: true, and the answer for a dy of ones."""
    return Case(
        lambda x: standardised(x)[0],
        lambda dy, x: np.zeros_like(x),
        layer_norm_backward,
        (normal(50, 3, 5),),
    )


@reported("github.com/pytorch/pytorch/issues/107007", "dropped_coupling")
def each_entry_and_its_own_share_of_the_mean():
    return Case(
        lambda x: x - x.mean(),
        lambda dy, x: dy * (1 - 1 / 5),
        lambda dy, x: dy - dy.mean(),
        (np.array([2.0, 1.0, 4.0, 3.0, 7.0]),),
        np.ones(5),
    )


@reported("github.com/flagos-ai/FlagGems/issues/5392", "wrong_axis")
def layer_norm_backward_over_positions_too():
    def suspect(dy, x):
        x_hat, deviation = standardised(x)
        both = dict(axis=(1, 2), keepdims=True)
        couple = dy.mean(**both) + x_hat * np.mean(dy * x_hat, **both)
        return (dy - couple) / deviation

    return Case(
        lambda x: standardised(x)[0],
        suspect,
        layer_norm_backward,
        (normal(51, 2, 3, 4),),
    )


@reported("github.com/mlpack/mlpack/issues/1923", "constant_factor")
def batch_norm_sums_where_it_should_average():
    return Case(
        lambda x: standardised(x, 0)[0],
        lambda dy, x: layer_norm_backward(dy, x, 0, mean=np.sum),
        lambda dy, x: layer_norm_backward(dy, x, 0),
        (normal(52, 6, 3),),
    )


@reported("github.com/mlpack/mlpack/pull/2474", None, verdict="agree")
def batch_norm_without_a_term_that_is_zero():
    """A reviewer misses the variance's path through the mean. Its sum vanishes."""

    def suspect(dy, x):
        x_hat, deviation = standardised(x, 0)
        centred = x - x.mean(0)
        through_variance = np.sum(dy * centred, 0) * -0.5 / deviation[0] ** 3
        return (
            dy / deviation
            + through_variance * 2 * centred / 6
            - dy.sum(0) / deviation / 6
        )

    return Case(
        lambda x: standardised(x, 0)[0],
        suspect,
        lambda dy, x: layer_norm_backward(dy, x, 0),
        (normal(53, 6, 3),),
    )


def rms_norm(suspect):
    def inverse(x):
        return 1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5)

    def right(dy, x, gain):
        r, g = inverse(x), dy * gain
        coupled = x * r**3 * np.mean(g * x, axis=-1, keepdims=True)
        return g * r - coupled, np.sum(dy * x * r, axis=0)

    return Case(
        lambda x, gain: gain * x * inverse(x),
        lambda dy, x, gain: (suspect(dy, x, gain, inverse(x)), right(dy, x, gain)[1]),
        right,
        (normal(54, 3, 4), np.array([0.6, 1.4, -0.9, 1.8])),
    )


@reported("github.com/ooples/AiDotNet/pull/695", "dropped_coupling")
def rms_taken_as_a_constant():
    return rms_norm(lambda dy, x, gain, r: dy * gain * r)


@reported("github.com/NVIDIA/Megatron-LM/pull/6859", "extra_factor")
def gain_twice_in_the_coupled_term():
    def suspect(dy, x, gain, r):
        g = dy * gain
        return g * r - gain * x * r**3 * np.mean(g * x, axis=-1, keepdims=True)

    return rms_norm(suspect)


@reported("github.com/chainer/chainer/pull/4190", "constant_factor")
def unit_length_assumed_beside_a_large_eps():
    """The coupled term is |x| / (|x| + eps) of what it should be."""

    def f(x):
        return x / (np.sqrt(np.sum(x * x)) + 0.4)

    def right(dy, x):
        n = np.sqrt(np.sum(x * x))
        return dy / (n + 0.4) - x * (x @ dy) / (n * (n + 0.4) ** 2)

    def suspect(dy, x):
        y, n = f(x), np.sqrt(np.sum(x * x))
        return (dy - y * (y @ dy)) / (n + 0.4)

    return Case(f, suspect, right, (np.array([0.3, -1.0, 0.8, 0.4]),))


@reported("github.com/NVIDIA/cudnn-frontend/pull/432", "constant_factor")
def variance_with_n_minus_one_in_backward_only():
    def suspect(dy, x):
        deviation = np.sqrt(x.var(0, ddof=1) + 1e-5)
        x_hat = (x - x.mean(0)) / deviation
        return (dy - dy.mean(0) - x_hat * np.sum(dy * x_hat, 0) / 5) / deviation

    return Case(
        lambda x: standardised(x, 0)[0],
        suspect,
        lambda dy, x: layer_norm_backward(dy, x, 0),
        (normal(55, 6, 3),),
    )


# ------------------------------------------------------------------------ dropout

MASK = np.array([[1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 0.0]]) / 0.8


@reported("github.com/kaldi-asr/kaldi/issues/3890", "missing_mask")
def mask_recovered_from_output_over_input():
    """Where the input is 0 that ratio is nothing, and dy went through as it came."""
    x = normal(60, 3, 4)
    x[0, 1] = x[1, 3] = 0.0

    def suspect(dy, x):
        ratio = x * MASK / np.where(x == 0, 1, x)
        return np.where(x == 0, dy, ratio * dy)

    return Case(lambda x: x * MASK, suspect, lambda dy, x: dy * MASK, (x,))


@reported("github.com/pytorch/tutorials/issues/25", "nondeterministic", "inconclusive")
def dropout_that_draws_a_new_mask_each_time():
    rng = np.random.default_rng(61)
    return Case(
        lambda x: x * (rng.random(x.shape) > 0.2) / 0.8,
        lambda dy, x: dy * MASK,
        lambda dy, x: dy * MASK,
        (normal(62, 3, 4),),
    )


# -------------------------------------------------------------- attention and RoPE

TRIANGLE = np.tril(np.ones((4, 4), bool))


def weights(q, k, mask=TRIANGLE):
    return softmax(np.where(mask, q @ k.T / np.sqrt(q.shape[-1]), -1e30))


def attention_backward(dy, q, k, v, mask=TRIANGLE):
    p = weights(q, k, mask)
    dp = dy @ v.T
    ds = p * (dp - np.sum(dp * p, axis=-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return ds @ k, ds.T @ q, p.T @ dy


def attend(q, k, v):
    return weights(q, k) @ v


QKV = normal(70, 4, 3), normal(71, 4, 3), normal(72, 4, 3)


@reported("github.com/HKUSTDial/flash-sparse-attention/pull/203", "constant_factor")
def scale_twice_in_dq():
    def suspect(dy, q, k, v):
        dq, dk, dv = attention_backward(dy, q, k, v)
        return dq / np.sqrt(3), dk, dv

    return Case(attend, suspect, attention_backward, QKV)


@reported("github.com/hao-ai-lab/FastVideo/pull/925", "missing_mask")
def probabilities_recomputed_without_the_mask():
    def suspect(dy, q, k, v):
        return attention_backward(dy, q, k, v, mask=np.ones((4, 4), bool))

    return Case(attend, suspect, attention_backward, QKV)


@reported("github.com/marin-community/levanter/pull/449", "not_accumulated")
def shared_keys_get_the_last_head_only():
    q, _, v = QKV

    def f(k):
        return np.stack([attend(q, k, v), attend(2 * q, k, v)])

    def each(dy, k):
        heads = zip(dy, (q, 2 * q))
        return [attention_backward(d, head, k, v)[1] for d, head in heads]

    return Case(
        f, lambda dy, k: each(dy, k)[-1], lambda dy, k: sum(each(dy, k)), (QKV[1],)
    )


@reported("github.com/pytorch/pytorch/issues/41508", "nonfinite")
def softmax_of_a_row_that_is_all_masked():
    p = np.array([[1.0, 0.0], [0.0, 0.0]])
    scores = np.array([[0.3, -np.inf], [-np.inf, -np.inf]])

    def suspect(dy, v):
        with np.errstate(invalid="ignore"):
            return softmax(scores).T @ dy

    return Case(lambda v: p @ v, suspect, lambda dy, v: p.T @ dy, (normal(73, 2, 2),))


def turned(v):
    """Half of the features to the other half, as RoPE does."""
    return np.concatenate([-v[2:], v[:2]])


@reported("github.com/PaddlePaddle/Paddle/pull/74716", "transpose")
def rotated_and_scaled_in_the_order_of_forward():
    cosine = np.cos([0.4, 1.0, 0.4, 1.0])
    sine = np.sin([0.4, 1.0, 0.7, 0.8])
    return Case(
        lambda x: x * cosine + turned(x) * sine,
        lambda dy, x: dy * cosine - turned(dy) * sine,
        lambda dy, x: dy * cosine - turned(dy * sine),
        (np.array([0.6, -0.9, 1.1, 0.2]),),
    )


@reported("github.com/huggingface/candle/pull/3612", "sign_flip")
def rotated_forward_in_backward():
    angle = np.array([0.4, 1.0, 0.4, 1.0])
    return Case(
        lambda x: x * np.cos(angle) + turned(x) * np.sin(angle),
        lambda dy, x: dy * np.cos(angle) + turned(dy) * np.sin(angle),
        lambda dy, x: dy * np.cos(angle) - turned(dy) * np.sin(angle),
        (np.array([0.6, -0.9, 1.1, 0.2]),),
    )


# ------------------------------------------------------------------- recurrences


@reported("github.com/CaptainE/RNN-LSTM-in-numpy/issues/1", None)
def hidden_gradient_not_carried_back_in_time():
    """Two weights, one number each."""
    steps = [0.4, -0.9, 0.7]

    def states(w, u):
        h = [0.0]
        for x in steps:
            h.append(np.tanh(w * h[-1] + u * x))
        return h

    def backward(dy, w, u, carry):
        h, dw, du, dh = states(w, u), 0.0, 0.0, dy
        for t in reversed(range(3)):
            dz = dh * (1 - h[t + 1] ** 2)
            dw, du, dh = dw + dz * h[t], du + dz * steps[t], carry * dz * w
        return dw, du

    return Case(
        lambda w, u: states(w, u)[-1],
        lambda *given: backward(*given, 0),
        lambda *given: backward(*given, 1),
        (0.8, 0.5),
    )


@reported("github.com/d2l-ai/d2l-en/issues/2616", None)
def total_derivatives_inside_a_sum_of_total_derivatives():
    """The book's partial derivative is right, the proposed repair counts twice."""
    return Case(
        lambda w: w**3,
        lambda dy, w: dy * (3 + 2 + 1) * w**2,
        lambda dy, w: dy * 3 * w**2,
        (0.7,),
    )


# --------------------------------------------- where the question was at fault


@reported("github.com/torch/torch7/issues/232", "missing_factor")
def local_derivative_compared_with_a_backward_pass():
    def right(dy, x):
        y = sigmoid(x)
        return dy * y * (1 - y)

    x = np.array([0.3, 0.7, 0.9, 1.2])
    return Case(sigmoid, lambda dy, x: right(1.0, x), right, (x,), sigmoid(x))


@reported("example-a.com/answer/78417131", "integer_input", "inconclusive")
def integers_that_cut_off_the_step():
    """3 − 1e-4 is stored as 2. The gradient was right."""

    def right(dy, x):
        return 2 * dy * x

    return Case(lambda x: np.sum(x**2), right, right, (np.array([3, 4]),))


@reported("github.com/pytorch/pytorch/issues/5351", None, "agree")
def layer_computed_in_float32():
    """Steps of 1e-6 in float32 gave errors of per cents. The gradient was right."""
    w = np.array([-0.4, 0.3], np.float32)

    def f(x):
        return x.astype(np.float32) @ w + np.float32(0.4)

    def right(dy, x):
        return dy * w

    return Case(f, right, right, (np.array([0.3, 0.5]),))


@reported("ai.stackexchange.com/questions/35741", "nonfinite")
def loss_and_softmax_differentiated_apart():
    """The probability underflows to 0 and is divided by."""

    def f(z):
        z = z - z.max()
        return np.log(np.sum(np.exp(z))) - z[0]

    def suspect(dy, z):
        p = softmax(z)
        with np.errstate(all="ignore"):
            dp = -one_hot(0, 2) / p
        return dy * (np.diag(p) - np.outer(p, p)) @ dp

    return Case(
        f,
        suspect,
        lambda dy, z: dy * (softmax(z) - one_hot(0, 2)),
        (np.array([0.0, 900.0]),),
    )


@reported("github.com/apache/mxnet/issues/12377", "kink", "inconclusive")
def relu_closer_to_its_kink_than_any_step():
    """A step of 5e-3 straddled 0 at 1e-4 and 5e-4. There, a shorter one will do."""

    def right(dy, x):
        return dy * (x > 0)

    return Case(
        lambda x: np.maximum(x, 0),
        right,
        lambda dy, x: dy * (x > 0),
        (np.array([2.0, 1e-4, 5e-4, 1e-18]),),
    )


# --------------------------------------------------------------------- the tests

by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@by_name
def test_the_verdict_on_the_suspect_is_right(case):
    assert case.check(case.suspect).verdict == case.verdict


@by_name
def test_the_right_gradient_is_not_accused(case):
    assert case.check(case.right).verdict != "disagree"


@by_name
def test_a_finding_is_never_invented_where_there_is_no_pattern(case):
    if case.kind is None:
        assert not case.check(case.suspect).findings


def test_the_kind_is_named_in_four_of_five_cases_that_show_it():
    shown = [case for case in CASES if case.kind is not None]
    named = [
        case
        for case in shown
        if case.kind in {finding.kind for finding in case.check(case.suspect).findings}
    ]
    assert len(CASES) >= 51
    assert len(named) >= 0.8 * len(shown) >= 0.8 * 35
