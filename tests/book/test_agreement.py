"""The agreement figure tells right from wrong."""

import re

import numpy as np

from backhand import Op, ops
from backhand.book import agreement
from backhand.book.agreement import floor


def picture_of(op):
    rng = np.random.default_rng(0)
    return agreement(op, rng.normal(size=(2, 3)), dy=rng.normal(size=(2, 3)))


def caption_error(op):
    picture = picture_of(op)
    return float(re.search(r"largest relative error below (\S+)\.", picture.caption)[1])


def test_a_right_gradient_agrees_to_round_off():
    assert caption_error(ops.softmax) < 1e-8


def test_a_wrong_gradient_does_not():
    wrong = Op(ops.softmax.forward, lambda dy, cache: 2 * ops.softmax.backward(dy, cache))
    assert caption_error(wrong) > 0.4


def test_a_long_step_is_blamed_only_where_the_output_is_curved():
    assert "right of it the curve bends" in picture_of(ops.softmax).caption
    doubled = Op.plain(lambda x: 2 * x, lambda dy, x: 2 * dy)
    assert "right of it nothing does" in picture_of(doubled).caption


def test_a_chapter_may_say_itself_what_there_is_to_see(titles_of, titles_fit):
    x, dy = np.array([0.3, -1.2]), np.array([1.0, 2.0])
    words = {"title": "Theory's step is too short", "caption": "Look left of it."}
    plain = agreement(ops.tanh, x, dy=dy)
    picture = agreement(ops.tanh, x, dy=dy, large=True, **words)
    assert titles_fit(picture)
    assert titles_of(picture)[1] == words["title"]
    assert picture.caption.startswith("2 entries, largest relative error below ")
    assert picture.caption.endswith(". Look left of it.")
    assert picture.drawings[1].width > plain.drawings[1].width


def test_the_floor_of_float32_is_higher_by_what_theory_says_of_the_best_step():
    """At its best step a central difference is off by some ε^(2/3)."""
    rng = np.random.default_rng(0)
    z, dy = rng.normal(size=(4, 6)), rng.normal(size=(4, 6))
    double, single = (
        floor(ops.softmax, z, dy=dy, dtype=dtype) for dtype in (np.float64, np.float32)
    )
    theory = 2.0 ** (29 * 2 / 3)
    assert theory / 5 < single / double < theory * 5
