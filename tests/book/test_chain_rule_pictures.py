"""The chain rule's frames say the rates at both places, and what has come back to x."""

import re

import numpy as np
import pytest

from backhand.book.pictures import chain_rule as pictures


def numbers(text):
    return [float(each) for each in re.findall(r"-?\d+\.?\d*", text.replace("−", "-"))]


def test_an_interval_is_widened_by_the_rates_of_where_it_is(titles_fit):
    picture = pictures.stretched()
    assert titles_fit(picture)
    width, _, middle, _, end, _, _, _, wrong = numbers(picture.caption.replace("²", ""))
    factors = middle / width, end / middle, wrong / middle
    assert factors == pytest.approx((3, 8, 2))


@pytest.mark.parametrize("x", pictures.PLACES)
def test_a_frame_says_the_slope_that_is_measured_and_the_wrong_one(x, titles_fit):
    picture = pictures.standing(x)
    assert titles_fit(picture)
    right, wrong = pictures.rates(x)
    step = 1e-4
    measured = ((3 * (x + step) + 1) ** 2 - (3 * (x - step) + 1) ** 2) / (2 * step)
    assert right == pytest.approx(measured, abs=1e-6)
    assert wrong == pytest.approx(6 * x)
    assert f"{right:.4g}".replace("-", "−") in picture.caption
    assert f"{wrong:.4g}".replace("-", "−") in picture.caption


def test_the_two_readings_meet_at_one_stop_only(titles_of):
    met = [x for x in pictures.PLACES if "one place" in pictures.standing(x).caption]
    assert met == [-0.5]
    assert titles_of(pictures.standing(-0.5)) == ["g(x) is x: one tangent", "Both say −3"]


@pytest.mark.parametrize("way", pictures.WAYS)
def test_the_program_computes_what_it_says(way):
    names = {"dx": 0.0}
    for line in pictures.program(way):
        exec(line.code, names)
        assert names[line.code.split()[0]] == line.value


def test_added_up_the_ways_give_the_slope_and_written_over_they_do_not():
    slope = 9 * pictures.X**2
    ends = [pictures.program(way)[-1].value for way in pictures.WAYS]
    assert ends[0] == slope != ends[1]


@pytest.mark.parametrize("way", pictures.WAYS)
@pytest.mark.parametrize("step", pictures.STEPS)
def test_each_line_of_the_walk_is_named(step, way, titles_fit, titles_of):
    picture = pictures.walk(step, way)
    assert titles_fit(picture)
    line = pictures.program(way)[step - 1]
    assert picture.caption.startswith(f"Line {step}: {line.code}. ")
    side = "Forward" if step <= pictures.FORWARD_LINES else "Backward"
    assert titles_of(picture)[0].startswith(side)
    lost = step == len(pictures.STEPS) and way == "dx ="
    assert ("written over" in picture.caption) == lost
    assert (titles_of(picture)[1] == "The first is lost") == lost


def test_the_gradient_comes_back_along_one_edge_a_line():
    travelled = [len(pictures._travelled(step)) for step in pictures.STEPS]
    assert travelled == [0, 0, 0, 0, 0, 1, 2, 3, 4]


def test_every_step_of_an_explorer_changes_what_is_said():
    walks = [pictures.walk(s, w).caption for s in pictures.STEPS for w in pictures.WAYS]
    places = [pictures.standing(x).caption for x in pictures.PLACES]
    assert len(set(walks)) == len(walks) and len(set(places)) == len(places)
    assert np.all(np.diff(pictures.PLACES) > 0)
