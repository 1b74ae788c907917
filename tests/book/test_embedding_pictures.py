"""The embedding chapter's frames say what assigning a row does."""

import re
from collections import Counter

import numpy as np
import pytest

from backhand.corpus import zen
from backhand.book.pictures import embedding as pictures
from backhand.optim import SGD, Adam


@pytest.mark.parametrize("times", pictures.TIMES)
def test_the_text_holds_e_so_many_times_and_its_repeats_are_lost(times, titles_fit):
    picture = pictures.repeats(times)
    assert titles_fit(picture)
    caption = picture.caption
    positions = int(re.search(r"The first (\d+) characters", caption)[1])
    text = zen()[:positions]
    assert text.count("e") == times
    lost = sum(count - 1 for count in Counter(text).values())
    said = f"{lost} of {positions} contributions are lost"
    assert (said if lost else "no contribution is lost") in caption


def test_where_no_character_repeats_gradients_are_the_same_and_training_is_not(titles_of):
    right, wrong = pictures.gradients(pictures.opening(1))
    np.testing.assert_array_equal(wrong, right)
    picture = pictures.repeats(1)
    rows, _, training = titles_of(picture)
    assert (rows, training) == ("Every row is right", "The curves hardly differ")
    runs = pictures.losses(5)
    assert not np.array_equal(runs["assigned"], runs["accumulated"])
    assert picture.caption.endswith("there some repeat.")


def test_a_small_step_gains_as_much_as_is_said():
    pairs = pictures.opening(12)
    right, wrong = pictures.gradients(pairs)
    params = pictures.bigram.init(vocab=pictures.TEXT.vocab)

    def loss_after(step):
        moved = params | {"embedding": params["embedding"] - 1e-6 * step}
        return pictures.bigram.forward(moved, *pairs)[0]

    before = loss_after(0 * right)
    measured = (before - loss_after(wrong)) / (before - loss_after(right))
    assert pictures.gain(wrong, right) == pytest.approx(measured, abs=1e-3)
    assert f"gains {measured:.1%}" in pictures.repeats(12).caption


def test_assignment_costs_the_more_the_more_tokens_a_step_has(titles_of):
    lost = [pictures.missed(pictures.losses(n)) for n in (27, 126, 855)]
    assert 0 < lost[0] < lost[1] < lost[2]
    assert titles_of(pictures.repeats(90))[2] == f"{lost[2]:.0%} of the learning is lost"


def test_adam_hides_what_sgd_shows():
    sgd, adam = (pictures.missed(pictures.losses(855, rule)) for rule in (SGD, Adam))
    assert adam < 0.2 < 0.6 < sgd


def test_half_a_gradient_trains_part_of_the_way_and_loses_its_direction(titles_fit):
    picture = pictures.two_uses()
    assert titles_fit(picture)
    runs = pictures.runs_by_use()
    for uses, (losses, _) in runs.items():
        assert f"{uses} {losses[-1]:.1f}" in picture.caption
    losses, cosines = runs["input"]
    assert losses[-1] > losses.min() + 0.1
    assert cosines[0] > 0.7 and np.abs(cosines[200:]).mean() < 0.2
