"""The plain test sees what it asks about, and nothing else."""

import numpy as np
import pytest

from backhand import Op
from backhand.mistakes.weak import passes
from backhand.ops import layer_norm, softmax

X = np.random.default_rng(0).normal(size=(3, 5))


def uneven(y):
    return np.random.default_rng(1).normal(size=y.shape)


@pytest.mark.parametrize("dy", [np.ones_like, uneven])
def test_right_gradients_pass(dy):
    assert passes(softmax, X, dy=dy)
    assert passes(layer_norm, X, np.full(5, 2.0), np.zeros(5), dy=dy)


def test_zeros_for_softmax_pass_under_ones_and_no_other_dy():
    zeros = Op.plain(lambda z: softmax.forward(z)[0], lambda dy, z: 0 * z)
    assert passes(zeros, X)
    assert not passes(zeros, X, dy=uneven)


def test_every_gradient_is_looked_at_and_its_shape():
    def with_dgain(dgain_of):
        def backward(dy, cache):
            dx, dgain, dbias = layer_norm.backward(dy, cache)
            return dx, dgain_of(dgain), dbias

        return Op(layer_norm.forward, backward)

    inputs = X, np.ones(5), np.zeros(5)
    assert not passes(with_dgain(lambda dgain: 2 * dgain), *inputs, dy=uneven)
    assert not passes(with_dgain(lambda dgain: dgain[None]), *inputs, dy=uneven)


def test_a_loose_tolerance_lets_a_small_error_pass():
    nearly = Op.plain(np.tanh, lambda dy, x: 1.005 * dy * (1 - np.tanh(x) ** 2))
    assert not passes(nearly, X, dy=uneven)
    assert passes(nearly, X, dy=uneven, rtol=1e-2)
