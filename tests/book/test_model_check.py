"""How far off differences of a whole model are, in both precisions."""

import numpy as np
import pytest

from backhand import transformer
from backhand.book import model_check

SMALLEST = {"blocks.0.attention.w_q", "blocks.0.attention.w_k"}


@pytest.fixture(scope="module")
def single():
    return model_check.errors(np.float32, steps=(1e-3, 1e-2))


@pytest.fixture(scope="module")
def double():
    return model_check.errors(np.float64, steps=(1e-5,))


def test_there_is_one_for_every_block(single):
    shapes = transformer.shapes(model_check.CONFIG)
    assert {name: each.n for name, each in single.items()} == {
        name: np.prod(shape) for name, shape in shapes.items()
    }


def test_queries_and_keys_have_the_smallest_gradients_and_the_most_noise(single):
    def first_two(key, reverse=False):
        return set(sorted(single, key=key, reverse=reverse)[:2])

    assert first_two(lambda name: single[name].size) == SMALLEST
    assert first_two(lambda name: single[name].entry, reverse=True) == SMALLEST


def test_along_a_direction_there_is_less_noise_where_noise_is_all_there_is(single):
    for name in SMALLEST:
        assert single[name].direction < single[name].entry / 5


def test_one_entry_in_float64_beats_any_direction_in_float32(single, double):
    for name in single:
        assert double[name].entry < 1e-3 * single[name].direction


def test_a_long_step_is_refused_where_a_shorter_one_is_better():
    long, both = (
        model_check.errors(np.float64, steps, 4) for steps in [(0.1,), (0.1, 1e-5)]
    )
    assert both["embedding"].entry < 1e-3 * long["embedding"].entry
