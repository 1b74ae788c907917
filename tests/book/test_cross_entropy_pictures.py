"""Every frame of the cross-entropy chapter's pictures, and what they say."""

import numpy as np
import pytest
from backhand.book import bigram
from backhand.book.pictures import cross_entropy as pictures
from backhand.ops import cross_entropy
from backhand.optim import SGD, Adam


@pytest.mark.parametrize("positions", pictures.POSITIONS)
def test_a_frame_of_the_missing_divisor_draws_and_its_titles_fit(positions, titles_fit):
    picture = pictures.missing_divisor(positions)
    assert "Adam sees no difference" in picture.html
    assert titles_fit(picture)


@pytest.mark.parametrize("lead", pictures.LEADS)
def test_a_frame_of_the_push_draws_and_its_titles_fit(lead, titles_fit):
    picture = pictures.push(lead)
    assert titles_fit(picture)
    loss, _, dz = pictures._loss_and_push(lead)
    assert f"loss {loss:.2g}, norm of the push {np.linalg.norm(dz):.2g}" in picture.html


@pytest.mark.parametrize("positions", pictures.POSITIONS)
def test_every_entry_is_off_by_the_number_of_positions(positions):
    np.testing.assert_allclose(
        pictures.gradient_ratios("not divided", positions), positions, rtol=1e-12
    )
    np.testing.assert_allclose(
        pictures.gradient_ratios("divided twice", positions), 1 / positions, rtol=1e-12
    )


def test_at_one_position_all_three_runs_are_one():
    runs = [pictures.training_run(name, SGD(0.3), 1) for name in pictures.DIVISORS]
    assert (runs[0] == runs[1]).all() and (runs[0] == runs[2]).all()


def test_without_the_divisor_a_few_positions_learn_faster_at_first():
    for positions in (4, 6):
        right, wrong = runs(SGD, positions)
        assert (wrong[1:10] < right[1:10]).all()


def test_without_the_divisor_64_positions_do_not_survive_three_steps():
    right, wrong = runs(SGD, 64)
    assert right[3] < right[0] < wrong[3]


@pytest.mark.parametrize("positions", pictures.POSITIONS)
def test_adam_sees_no_difference(positions):
    right, wrong = runs(Adam, positions)
    np.testing.assert_allclose(wrong, right, atol=1e-6)


def test_sgd_without_the_divisor_is_sgd_at_a_higher_rate():
    _, wrong = runs(SGD, 16)
    hot, _ = bigram.train(SGD(16 * 0.3), 16)
    assert (wrong == hot).all()
    assert "SGD at 0.3 is SGD at 4.8" in pictures.missing_divisor(16).caption


def test_the_push_is_bounded_while_the_loss_is_not():
    sizes, losses = [], []
    for lead in pictures.LEADS:
        loss, _, dz = pictures._loss_and_push(lead)
        sizes.append(np.linalg.norm(dz))
        losses.append(loss)
    assert (np.diff(sizes) < 0).all() and (np.diff(losses) < 0).all()
    assert max(losses) > 20 and max(sizes) < np.sqrt(2)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_road_through_1_over_p_ends_where_1_over_p_overflows(dtype):
    limit = np.log(float(np.finfo(dtype).max))
    with np.errstate(all="ignore"):
        before, after = (
            pictures.in_two_steps(np.array([-lead, 0], dtype), 0)
            for lead in (limit - 0.1, limit + 0.1)
        )
    np.testing.assert_allclose(before, [-1, 1], rtol=1e-2)
    assert np.isnan(after[0])


def test_the_road_through_1_over_p_ends_for_a_right_answer_too():
    limit = -np.log(2.0**-150)  # from here on exp rounds to zero in float32
    with np.errstate(all="ignore"):
        before, after = (
            pictures.in_two_steps(np.array([lead, 0], np.float32), 0)
            for lead in (limit - 0.1, limit + 0.1)
        )
    assert np.isfinite(before).all() and np.isnan(after).any()


def test_on_ordinary_numbers_both_roads_agree():
    logits = np.random.default_rng(0).normal(size=6)
    _, cache = cross_entropy.forward(logits, 2)
    np.testing.assert_allclose(
        pictures.in_two_steps(logits, 2), cross_entropy.backward(1.0, cache), rtol=1e-13
    )


def test_the_guard_takes_the_push_away_with_the_nan():
    for behind, push in [(10, -1), (np.log(1e9), -0.5), (30, 0)]:
        guarded = pictures.in_two_steps(np.array([-behind, 0.0]), 0, guard=1e-9)
        np.testing.assert_allclose(guarded, [push, -push], atol=1e-4)


def test_the_caption_of_apart_says_where_the_push_is_lost(titles_fit):
    picture = pictures.apart()
    assert titles_fit(picture)
    for limit in ("88.5 behind", "float16 at 11.1", "at 20.5 behind half"):
        assert limit in picture.caption


def runs(optimizer, positions):
    rate = pictures.RATES[optimizer]
    return [
        pictures.training_run(name, optimizer(rate), positions)
        for name in ("divided once", "not divided")
    ]
