"""The slopes chapter's frames say how far a secant or a difference is off, and why."""

import re

import numpy as np
import pytest

from backhand.book.pictures import slopes as pictures


def stated(caption):
    found = re.findall(r"off by (\S+) of the slope", caption)
    return [0.0 if each == "nothing" else float(each) for each in found]


@pytest.mark.parametrize("h", pictures.GAPS)
def test_a_frame_of_the_secant_says_its_slope(h, titles_fit):
    picture = pictures.secant(h)
    assert titles_fit(picture)
    slope = ((2 + h) ** 2 - 4) / h
    said = float(re.search(r"secant's slope is (\S+),", picture.caption)[1])
    assert said == pytest.approx(slope, rel=1e-7)


def test_the_secant_is_off_by_its_step_until_the_digits_run_out():
    for h in pictures.GAPS:
        off = abs(pictures.quotient(h) - 4)
        caption = pictures.secant(h).caption
        assert (off == pytest.approx(h, rel=0.2)) == (h >= 1e-7)
        assert ("That is h" in caption) == (h >= 0.05)
        assert ("running out" in caption) == (5e-15 <= h < 1e-7)
        assert ("staircase" in caption) == (2e-16 < h < 5e-15)


@pytest.mark.parametrize("h", [1e-16, 2e-16])
def test_a_step_between_two_floats_is_none(h, titles_of):
    assert pictures.POINT + h == pictures.POINT
    assert "nothing rose" in pictures.secant(h).caption
    assert titles_of(pictures.secant(h)) == ["A secant of slope 0", "No step is taken"]


@pytest.mark.parametrize("name", pictures.FUNCTIONS)
@pytest.mark.parametrize("h", pictures.STEPS)
def test_every_frame_of_the_valley_states_its_errors(h, name, titles_fit):
    picture = pictures.valley(h, name)
    assert titles_fit(picture)
    assert picture.caption.startswith(f"{name} at x = 1, h = {h:g}.")
    f, x, slope = pictures.FUNCTIONS[name]
    if not pictures.stands_still(h, np.float64) and stated(picture.caption):
        measured = abs((f(x + h) - f(x)) / h / slope - 1)
        said = stated(picture.caption)[0]
        assert said == pytest.approx(measured, rel=0.5, abs=1e-300)


def test_the_slopes_held_against_are_the_right_ones():
    for f, x, slope in pictures.FUNCTIONS.values():
        assert (f(x + 1e-6) - f(x - 1e-6)) / 2e-6 == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_exponential_is_best_at_the_steps_that_are_marked(dtype):
    exponential = pictures.FUNCTIONS["eˣ"]
    for kind, (power, *_) in pictures.POWERS.items():
        marked = np.finfo(dtype).eps ** power
        best, longer, shorter = (
            np.mean([
                pictures.error(exponential, marked * scale * jitter, kind, dtype)
                for jitter in np.linspace(0.8, 1.25, 20)
            ])
            for scale in (1, 100, 0.01)
        )
        assert best < longer / 5 and best < shorter / 5


def test_a_line_has_no_truncation_and_a_parabola_none_both_ways():
    assert pictures.error(pictures.FUNCTIONS["3x + 1"], 1.0, "forward") == 0
    square = pictures.FUNCTIONS["(3x + 1)²"]
    assert pictures.error(square, 1.0, "central") == 0
    assert pictures.error(square, 1.0, "forward") == pytest.approx(9 / 24)


def test_a_step_that_float32_cannot_take_is_named(titles_of):
    picture = pictures.valley(1e-8, "eˣ")
    assert "In float32 1 + h is 1" in picture.caption
    assert "In float64 1 + h is 1" not in picture.caption
    assert titles_of(picture)[1] == "float32: 1 + h is 1"


def test_three_magnifications_fit_their_titles(titles_fit):
    assert titles_fit(pictures.magnified())
