"""The toy language model that chapters train on made-up data or on a text."""

import numpy as np
import pytest

from backhand import check_loss
from backhand.book import bigram
from backhand.optim import SGD


def test_every_token_has_the_same_number_of_successors_and_predecessors():
    counts = np.zeros((bigram.VOCAB, bigram.VOCAB), int)
    np.add.at(counts, (bigram.TOKENS, bigram.TARGETS), 1)
    after_itself_and_each_other = np.eye(bigram.VOCAB, k=1) + np.eye(bigram.VOCAB, k=-7)
    assert (counts == np.where(after_itself_and_each_other, 33, 1)).all()


def test_the_best_loss_is_that_of_the_true_probabilities():
    p = np.full((bigram.VOCAB, bigram.VOCAB), 1 / 40)
    p[np.arange(bigram.VOCAB), (np.arange(bigram.VOCAB) + 1) % bigram.VOCAB] = 33 / 40
    perfect = {"embedding": np.eye(bigram.VOCAB), "unembedding": np.log(p).T}
    loss, _ = bigram.forward(perfect)
    assert np.isclose(loss, bigram.BEST_LOSS)


def test_its_gradients_agree_with_finite_differences():
    report = check_loss(
        lambda params: bigram.forward(params)[0],
        lambda params: bigram.backward(bigram.forward(params)[1]),
        bigram.init(),
    )
    assert report.verdict == "agree"


def test_training_comes_close_to_the_best_loss_and_repeats_itself():
    losses, params = bigram.train(SGD(0.3), positions=64)
    again, _ = bigram.train(SGD(0.3), positions=64)
    assert (losses == again).all()
    assert losses[-1] == bigram.forward(params)[0]
    assert bigram.BEST_LOSS < losses[-1] < bigram.BEST_LOSS + 0.1


@pytest.mark.parametrize(
    "tokens, targets, entropy",
    [([0, 1, 0, 1], [1, 0, 1, 0], 0.0), ([0, 0, 1, 1], [0, 1, 0, 1], np.log(2))],
    ids=["certain", "a coin"],
)
def test_the_best_loss_is_the_entropy_of_what_follows(tokens, targets, entropy):
    pairs = bigram.Pairs(np.array(tokens), np.array(targets))
    assert np.isclose(pairs.best_loss, entropy)


def test_asking_for_the_loss_less_often_changes_none_of_it():
    every_step, _ = bigram.train(SGD(0.3), 8, steps=6)
    every_other, _ = bigram.train(SGD(0.3), 8, steps=6, every=2)
    assert (every_other == every_step[::2]).all()


def test_another_seed_is_another_run():
    runs = [bigram.train(SGD(0.3), 8, steps=2, seed=seed)[0] for seed in (0, 1)]
    assert (runs[0] != runs[1]).all()
