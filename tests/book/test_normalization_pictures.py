"""The normalization chapter's frames say what a norm's coupling term is for."""

import re
from collections import Counter

import numpy as np
import pytest

from backhand import check_gradients, transformer
from backhand.corpus import zen
from backhand.book.norm_training import (
    FREQUENCIES,
    LAST,
    NORMS,
    mean_and_error,
    partly,
    training,
    wish,
)
from backhand.book.pictures import normalization as pictures
from backhand.check import Op
from backhand.ops import layer_norm, rms_norm


def test_two_projections_leave_the_one_direction_that_the_captions_name(titles_fit):
    assert titles_fit(pictures.two_projections())
    np.testing.assert_allclose(pictures.projected(pictures.upstream(0))[1], [1, -2, 1])
    _, cache = layer_norm.forward(pictures.ROW, np.ones(3), np.zeros(3), eps=1e-15)
    for turn in pictures.TURNS:
        g = pictures.upstream(turn)
        left = pictures.projected(g)[1]
        dx, *_ = layer_norm.backward(g, cache)
        np.testing.assert_allclose(left, dx * pictures.ROW.std(), atol=1e-12)
        picture = pictures.turned(turn)
        assert titles_fit(picture)
        if "Nothing is left" in picture.caption:
            assert np.abs(left).max() < 0.01
            continue
        times = float(
            re.search(r"What is left is (\S+) times", picture.caption)[1].replace("−", "-")
        )
        assert left[0] == pytest.approx(times, abs=0.05)
        np.testing.assert_allclose(left, left[0] * np.array([1, -2, 1]), atol=1e-12)


def test_nothing_is_left_twice_in_the_round():
    empty = [t for t in pictures.TURNS if "Nothing" in pictures.turned(t).caption]
    assert empty == [26.6, 206.6]


@pytest.mark.parametrize("output, pushed", pictures.PUSHED.items())
def test_what_arrives_at_and_around_a_large_entry_falls_with_its_powers(output, pushed):
    def dx(large):
        return np.abs(pictures.arriving(large, pushed)[0])

    powers = np.log10(dx(1e2) / dx(1e3))
    own, between = (3, 2) if pushed == 0 else (1, 2)
    assert powers[pushed] == pytest.approx(own, abs=0.02)
    assert powers[3 if pushed == 0 else 0] == pytest.approx(between, abs=0.02)


@pytest.mark.parametrize("large", pictures.LARGE)
@pytest.mark.parametrize("output", pictures.PUSHED)
def test_a_frame_says_what_the_entry_behind_the_pushed_output_receives(
    large, output, titles_fit
):
    picture = pictures.large_entry(large, output)
    assert titles_fit(picture)
    pushed = pictures.PUSHED[output]
    said = float(re.search(r"receives (\S+?)[ ;]", picture.caption)[1])
    assert said == pytest.approx(pictures.arriving(large, pushed)[0][pushed], rel=0.06)


def test_the_valley_moves_as_far_as_the_rows_are_larger(titles_fit):
    rng = np.random.default_rng(0)
    (rows, dy), (gain, bias) = rng.normal(size=(2, 4, 6)), rng.normal(size=(2, 6))
    assert titles_fit(pictures.moved_valley(rows, gain, bias, dy))
    best = {
        size: pictures.STEPS[np.argmin(pictures.valley(size, rows, gain, bias, dy))]
        for size in (1, 1e4)
    }
    assert 1e3 < best[1e4] / best[1] < 1e5


def test_the_wish_is_how_fast_bolder_scores_would_lower_the_loss():
    rng = np.random.default_rng(0)
    config = transformer.Config(5, 4, 8, layers=1, heads=2, hidden=8)
    params = transformer.init(config, 0, np.float64)
    params |= {LAST: rng.normal(size=8), "embedding": rng.normal(size=(5, 8))}
    text = rng.integers(5, size=(3, 5))

    def loss(scale):
        scaled = params | {LAST: scale * params[LAST]}
        return transformer.forward(scaled, text[:, :-1], text[:, 1:], config)

    measured = (loss(1 - 1e-6)[0] - loss(1 + 1e-6)[0]) / 2e-6
    assert abs(measured) > 0.1
    gradients = transformer.backward(loss(1)[1])
    assert wish(params, gradients) == pytest.approx(measured, rel=1e-6)


def test_without_coupling_the_rows_are_pushed_out_by_the_wish_and_then_pulled_in():
    for seed in range(2):
        run = training("rms", pictures.DROPPED.name, seed=seed)
        assert run.wishes.shape == run.losses.shape
        assert run.wishes[:3].min() > 0 > run.wishes[4:8].mean()
        assert run.lengths[0] < run.lengths[8] < run.lengths[4]


@pytest.mark.parametrize("kept", pictures.KEPT)
def test_a_frame_tells_the_end_of_its_own_run(kept, titles_fit):
    picture = pictures.coupling(kept)
    assert titles_fit(picture)
    run = training("rms", pictures.DROPPED.name, kept)
    share = "All" if kept == 1 else f"{kept:.0%}"
    assert picture.caption.startswith(f"{share} of the coupling kept: ")
    assert f"the loss ends at {run.loss:.2f}, " in picture.caption
    assert picture.caption.endswith(f" {run.lengths.max():.1f}.")


def test_with_all_of_the_coupling_nothing_is_wrong(titles_of):
    assert titles_of(pictures.coupling(1)) == [
        "It follows the circle",
        "The true gradient",
        "The curves agree",
        "Rows keep their size",
    ]


def test_the_arrow_leaves_the_circle_the_more_the_less_is_kept():
    off = [pictures._on_the_circle(kept)[1] for kept in pictures.KEPT]
    assert (np.diff(off) < 0).all()
    assert off[0] == pytest.approx(55, abs=0.01)  # but for the eps in the norm
    assert off[-1] == pytest.approx(0, abs=1e-4)


def test_a_blend_is_right_when_all_is_kept_and_the_mistake_when_nothing_is():
    rng = np.random.default_rng(0)
    x, gain, dy = rng.normal(size=(3, 5)), rng.normal(size=5), rng.normal(size=(3, 5))
    _, cache = rms_norm.forward(x, gain)
    for kept, op in ((1, rms_norm), (0, pictures.DROPPED)):
        blend = partly(rms_norm, pictures.DROPPED.backward, kept)
        for ours, theirs in zip(blend(dy, cache), op.backward(dy, cache), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kept", [0, 0.5, 0.95])
def test_a_blend_is_no_gradient_unless_all_is_kept(kept):
    rng = np.random.default_rng(0)
    x, gain = rng.normal(size=(3, 5)), rng.normal(size=5)
    blend = partly(rms_norm, pictures.DROPPED.backward, kept)
    assert check_gradients(Op(rms_norm.forward, blend), x, gain).verdict == "disagree"


def test_a_run_with_a_mistake_leaves_the_norms_as_they_were():
    before = rms_norm.backward, layer_norm.backward
    training("layer", "mean-term-dropped", seed=1)
    assert (rms_norm.backward, layer_norm.backward) == before


def test_the_right_run_uses_the_true_gradient_and_reads_its_input():
    for norm in NORMS:
        run = training(norm)
        assert run.angles.max() < 1e-3
        assert run.loss < FREQUENCIES - 0.5


def test_without_coupling_the_first_step_is_nearly_right_and_the_run_is_lost():
    for seed in range(2):
        run = training("rms", pictures.DROPPED.name, seed=seed)
        assert run.angles[0] < 15 and run.angle > 30
        assert run.losses[0] > run.loss > FREQUENCIES - 0.2
        assert run.lengths.max() > 10 * training(seed=seed).lengths.max()


def test_with_nine_tenths_most_of_the_learning_is_lost_at_a_small_angle():
    run = training("rms", pictures.DROPPED.name, 0.9)
    right = training()
    assert run.angle < 10
    learnt = FREQUENCIES - run.loss
    assert learnt < 0.5 * (FREQUENCIES - right.loss)


def test_the_loss_of_the_frequencies_is_that_of_guessing_by_them():
    text = zen()
    counts = Counter(text)
    losses = [-np.log(counts[character] / len(text)) for character in text]
    assert np.mean(losses) == pytest.approx(FREQUENCIES)


def test_a_wide_row_hides_what_a_narrow_one_shows(titles_fit):
    picture = pictures.hiding()
    assert titles_fit(picture)
    shown = re.findall(r"([\d.]+)%, ([\d.]+)%", picture.caption)
    assert len(shown) == len(pictures.HIDDEN_BY_WIDTH)
    assert all(float(wide) < float(narrow) / 10 for narrow, wide in shown)


@pytest.mark.parametrize("width", [8, 64, 768])
def test_a_dropped_mean_is_off_by_its_share_of_the_directions(width):
    mistake, _ = pictures.HIDDEN_BY_WIDTH["LayerNorm, mean dropped"]
    off = pictures.error(mistake, np.random.default_rng(0).normal(size=(500, width)))
    assert off == pytest.approx(1 / np.sqrt(width - 2), rel=0.15)


def test_a_misplaced_eps_shows_in_small_rows_only():
    rows = np.random.default_rng(0).normal(size=(8, 16))
    assert pictures.error(pictures.EPS_OUTSIDE, 1e-3 * rows) > 1
    assert pictures.error(pictures.EPS_OUTSIDE, rows) < 1e-4
    assert pictures.error(pictures.EPS_OUTSIDE, 1e-3 * rows, eps=1e-12) < 1e-2


def test_a_shorter_run_is_the_beginning_of_a_longer_one():
    short, long = training(), training(steps=120)
    np.testing.assert_array_equal(long.losses[:20], short.losses)
    assert long.loss_after(100) == short.loss
    assert long.loss == long.loss_after(120) != short.loss


def test_a_mean_is_given_with_its_standard_error():
    assert mean_and_error([1.0, 2.0, 3.0, 4.0]) == "+2.50 ± 0.65"
