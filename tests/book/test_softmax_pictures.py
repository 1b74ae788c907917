"""The softmax chapter's frames say what the operation does."""

import numpy as np
import pytest

from backhand.book.pictures import softmax as pictures
from backhand.ops import softmax


def test_the_push_on_a_score_is_its_weight_times_its_arm_and_none_is_created():
    for second in pictures.SECOND:
        g = np.array([pictures.UPSTREAM[0], second, pictures.UPSTREAM[2]])
        p, mean, push = pictures.balance(pictures.EIGHTHS, g)
        np.testing.assert_allclose(push, p * (g - mean), atol=1e-14)
        assert abs(push.sum()) < 1e-14


def test_the_three_seesaws_say_who_is_pushed(titles_fit):
    picture = pictures.seesaw()
    assert titles_fit(picture)
    assert "The pushes on the scores are -0.625 0 +0.625." in picture.alt
    assert "the pushes are 0 0 0." in picture.alt
    _, _, pushes = pictures.balance(10 * pictures.EIGHTHS, pictures.UPSTREAM)
    assert np.abs(pushes).max() < 1e-3


@pytest.mark.parametrize("second", pictures.SECOND)
def test_tilt_tells_the_mean_and_the_pushes(second, titles_fit):
    picture = pictures.tilt(second)
    assert titles_fit(picture)
    assert f"the weighted mean is {(-4 + 2 * second + 10) / 8:.2f}".replace(
        "-", "−"
    ) in picture.caption
    assert ("pushed down: another" in picture.caption) == (second > 5)


def test_the_second_and_the_third_score_each_stand_on_the_balance_point_once():
    still = [s for s in pictures.SECOND if "is not pushed" in pictures.tilt(s).caption]
    assert still == [1, 5]


@pytest.mark.parametrize("scale", pictures.SCALES)
def test_saturation_tells_the_norm_of_the_jacobian(scale, titles_fit):
    picture = pictures.saturation(scale)
    norm = np.linalg.norm(softmax.jacobian(scale * pictures.SCORES))
    assert f"norm of the Jacobian is {norm:.1e}, " in picture.caption
    assert titles_fit(picture)


@pytest.mark.parametrize("top", pictures.TOP_SCORES)
def test_exp_leaves_the_format_at_either_end(top, titles_fit):
    picture = pictures.overflow(top)
    assert titles_fit(picture)
    nans = picture.caption.partition("nan from")[2].partition(";")[0]
    for dtype in (np.float32, np.float64):
        kept = np.finfo(dtype)
        over = top > np.log(float(kept.max))
        under = top < np.log(float(kept.smallest_subnormal)) - np.log(2)
        assert (f"exp(z), {dtype.__name__}" in nans) == (over or under)
    assert "shifted" not in picture.caption


def test_between_right_and_nan_low_scores_lose_their_digits():
    caption = pictures.overflow(-101).caption
    assert "float32 gives 0.667, 0.267, 0.067 for 0.665, 0.245, 0.090" in caption
    assert "all three agree" in pictures.overflow(-87).caption
    assert "all three agree" in pictures.overflow(88).caption
