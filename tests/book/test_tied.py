"""A table with two uses: its gradient is the sum of two, and neither of them."""

import numpy as np
import pytest

from backhand.book import bigram, tied
from backhand.check import numerical_gradient

PAIRS = bigram.Pairs.of(np.array([0, 1, 0, 2, 0, 4]))
ABSENT = 3


@pytest.fixture(scope="module")
def gradients():
    params = tied.init(vocab=5)

    def numeric(name):
        return numerical_gradient(
            lambda x: tied.forward(params | {name: x}, *PAIRS)[0], params[name]
        )

    _, caches = tied.forward(params, *PAIRS)
    return *tied.backward(caches), numeric("table"), numeric("w")


def test_only_the_sum_of_both_uses_agrees_with_differences(gradients):
    from_input, from_readout, dw, dtable, dw_numeric = gradients
    np.testing.assert_allclose(from_input + from_readout, dtable, atol=1e-8)
    np.testing.assert_allclose(dw, dw_numeric, atol=1e-8)
    assert np.abs(from_input - dtable).max() > 0.1 * np.abs(dtable).max()
    assert np.abs(from_readout - dtable).max() > 0.1 * np.abs(dtable).max()


def test_the_readout_reaches_every_row_and_the_input_those_that_were_read(gradients):
    from_input, from_readout, *_ = gradients
    assert from_readout.any(axis=1).all()
    assert not from_input[ABSENT].any()


def test_training_by_both_uses_beats_training_by_one():
    final = {uses: tied.train(PAIRS, uses, steps=200)[0][-1] for uses in tied.USES}
    assert final["both"] < min(final["input"], final["readout"])


def test_the_cosine_is_that_of_the_step_taken_with_the_gradient():
    _, whole = tied.train(PAIRS, "both", steps=2)
    _, half = tied.train(PAIRS, "input", steps=2)
    np.testing.assert_allclose(whole, 1)
    assert (np.abs(half) < 0.999).all()
