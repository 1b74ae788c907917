"""The agreement figure tells right from wrong."""

import re

import numpy as np

from backhand import Op, ops
from backhand.book import agreement


def caption_error(op):
    rng = np.random.default_rng(0)
    picture = agreement(op, rng.normal(size=(2, 3)), dy=rng.normal(size=(2, 3)))
    return float(re.search(r"largest relative error (\S+)\.", picture.caption)[1])


def test_a_right_gradient_agrees_to_round_off():
    assert caption_error(ops.softmax) < 1e-8


def test_a_wrong_gradient_does_not():
    wrong = Op(ops.softmax.forward, lambda dy, cache: 2 * ops.softmax.backward(dy, cache))
    assert caption_error(wrong) > 0.4
