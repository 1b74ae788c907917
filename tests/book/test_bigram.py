"""The smallest language model learns what its data says, and no more than that."""

import numpy as np
import pytest

from backhand import check_loss
from backhand.book import bigram
from backhand.optim import SGD

ALTERNATING = bigram.Pairs.of(np.array([0, 1, 0, 1, 0, 1, 0]))
COIN = bigram.Pairs(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))


@pytest.mark.parametrize("pairs, best", [(ALTERNATING, 0.0), (COIN, np.log(2))])
def test_the_best_loss_is_the_entropy_of_what_follows(pairs, best):
    assert pairs.best_loss == pytest.approx(best)


def test_its_gradients_agree_with_differences_of_its_loss():
    report = check_loss(
        lambda params: bigram.forward(params)[0],
        lambda params: bigram.backward(bigram.forward(params)[1]),
        bigram.init(),
    )
    assert report.agrees


def test_training_comes_near_the_best_loss_and_not_below():
    losses, _ = bigram.train(SGD(1.0), positions=320, steps=300)
    assert bigram.BEST_LOSS < losses[-1] < bigram.BEST_LOSS + 0.05


def test_asking_for_the_loss_less_often_changes_none_of_it():
    every_step, _ = bigram.train(SGD(0.3), 8, steps=6)
    every_other, _ = bigram.train(SGD(0.3), 8, steps=6, every=2)
    np.testing.assert_array_equal(every_other, every_step[::2])
