"""The checking chapter's frames say what a check is worth."""

import numpy as np
import pytest

from backhand import mistakes
from backhand.book.pictures import checking as pictures

EPS = {dtype: float(np.finfo(dtype).eps) for dtype in pictures.DTYPES}


def title(picture):
    return picture._panels[0].get_title(loc="left")


@pytest.mark.parametrize("scheme", ["central", "forward"])
@pytest.mark.parametrize("dtype", pictures.DTYPES)
def test_no_other_step_is_better_than_the_best(scheme, dtype):
    best = pictures.best_step(scheme, EPS[dtype])
    around = pictures.expected_error(scheme, best * np.logspace(-3, 3, 61), EPS[dtype])
    lowest = pictures.expected_error(scheme, best, EPS[dtype])
    assert (around >= lowest * (1 - 1e-12)).all()


@pytest.mark.parametrize("scheme", ["central", "forward"])
@pytest.mark.parametrize("dtype", pictures.DTYPES)
def test_measured_errors_follow_the_derived_ones(scheme, dtype):
    for h in 0.5 ** pictures.HALVINGS[dtype][2::5]:
        found = pictures.measured_error(scheme, h, dtype)
        expected = pictures.expected_error(scheme, h, EPS[dtype])
        assert expected / 30 < found < 1.5 * expected


def test_the_valley_tells_the_best_steps(titles_fit):
    picture = pictures.valley()
    assert titles_fit(picture)
    assert "float64 central 8.7e-06, error 3.8e-11" in picture.caption
    assert "float32 forward 6.9e-04, error 6.9e-04" in picture.caption


@pytest.mark.parametrize("bug", pictures.BUGS)
def test_a_bug_is_as_large_as_it_says(bug):
    *_, right, _ = pictures.layer_norm_problem()
    off = np.abs(pictures.with_bug(bug) - right).max() / np.abs(right).max()
    assert off == pytest.approx(bug, rel=1e-6)


@pytest.mark.parametrize("tolerance", pictures.TOLERANCES)
@pytest.mark.parametrize("bug", pictures.BUGS)
def test_a_frame_tells_both_verdicts(bug, tolerance, titles_fit):
    picture = pictures.tolerance(bug, tolerance)
    assert titles_fit(picture)
    assert title(picture) in pictures.TITLES.values()
    for dtype in pictures.DTYPES:
        right, wrong = (pictures.gaps(size, dtype).max() for size in (0, bug))
        said = (
            "accuses the right one"
            if right > tolerance
            else "catches the bug" if wrong > tolerance else "lets it pass"
        )
        assert f"{dtype.__name__} {said}" in picture.caption


@pytest.mark.parametrize("dtype, smallest", [(np.float64, 1e-7), (np.float32, 1e-4)])
def test_a_stop_lies_in_the_wedge_of_each_bug_that_can_be_caught(dtype, smallest):
    for bug in pictures.BUGS:
        caught = "catches the bug" in {
            pictures.verdict(bug, allowed, dtype) for allowed in pictures.TOLERANCES
        }
        assert caught == (bug >= smallest)


def test_float64_leaves_five_decades_where_float32_leaves_none():
    bug = 1e-5
    for dtype, low, high in ((np.float64, 1e5, 1e7), (np.float32, 0, 10)):
        wedge = pictures.gaps(bug, dtype).max() / pictures.gaps(0, dtype).max()
        assert low < wedge < high


def test_the_mistakes_that_change_no_value_have_no_size():
    sizes = pictures.sizes_of_mistakes()
    small = {mistake.name for mistake, size in sizes.items() if size < 1e-6}
    assert small == {"dy-zeroed-in-place", "cached-p-overwritten"}
    doubled = mistakes.get("cross_entropy", "no-divisor")
    positions = len(doubled.example()[1])
    assert sizes[doubled] == pytest.approx(positions - 1)


@pytest.mark.parametrize("n", pictures.COUNTS)
def test_one_wrong_entry_is_one_part_in_root_n(n):
    seen = [pictures.seen_along(n, seed) for seed in range(pictures.DRAWS)]
    assert np.sqrt(np.mean(np.square(seen))) == pytest.approx(n**-0.5, rel=0.5)


def test_the_other_pictures_draw_and_their_titles_fit(titles_fit):
    assert titles_fit(pictures.one_direction())
    assert "11 blocks" in pictures.blocks().caption
    assert titles_fit(pictures.blocks())
