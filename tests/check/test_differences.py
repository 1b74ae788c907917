import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backhand.check import directional_derivative, numerical_gradient
from backhand.check.differences import magnitude


def test_the_gradient_of_a_sum_of_squares_is_twice_the_input():
    x = np.array([[1.0, -2.0], [0.5, 3.0]])
    gradient = numerical_gradient(lambda x: np.sum(x**2), x)
    np.testing.assert_allclose(gradient, 2 * x, rtol=1e-9)


def test_an_array_of_outputs_is_weighted_by_dy():
    x, dy = np.array([0.3, -1.1]), np.array([2.0, -5.0])
    gradient = numerical_gradient(np.tanh, x, dy)
    np.testing.assert_allclose(gradient, dy * (1 - np.tanh(x) ** 2), rtol=1e-9)


def test_a_forward_difference_of_a_square_is_off_by_the_step():
    gradient = numerical_gradient(lambda x: x * x, 2.0, step=1e-3, scheme="forward")
    assert gradient == pytest.approx(4 + 1e-3, rel=1e-9)


def test_a_central_difference_of_a_cube_is_off_by_the_step_squared():
    gradient = numerical_gradient(lambda x: x**3, 2.0, step=1e-2)
    assert gradient == pytest.approx(12 + 1e-4, rel=1e-9)


@pytest.mark.parametrize(
    ("scheme", "largest_error"), [("central", 1e-9), ("forward", 1e-6)]
)
def test_the_step_suits_the_scheme(scheme, largest_error):
    """With the other one's step, each would be off by ten times as much or more."""
    x = np.linspace(1.0, 2.0, 20)
    error = numerical_gradient(lambda x: x**3, x, scheme=scheme) - 3 * x**2
    assert np.max(np.abs(error)) < largest_error * np.max(3 * x**2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_differences_are_taken_in_the_dtype_of_x(dtype):
    seen = []
    gradient = numerical_gradient(
        lambda x: seen.append(x.dtype) or np.sum(x), np.ones(2, dtype)
    )
    assert gradient.dtype == dtype and set(seen) == {np.dtype(dtype)}


@given(scale=st.integers(-150, 150))
def test_the_step_follows_the_scale_of_the_input(scale):
    x = np.array([1.0, -0.3, 2.0]) * 10.0**scale
    gradient = numerical_gradient(lambda x: np.sum(x * np.array([3.0, 1.0, -2.0])), x)
    np.testing.assert_allclose(gradient, [3.0, 1.0, -2.0], rtol=1e-9)


def test_an_entry_near_zero_is_moved_as_its_neighbours_are():
    assert magnitude(np.array([3.0, 4.0, 0.0]))[2] == pytest.approx(np.sqrt(25 / 3))


def test_an_array_of_zeros_is_moved_by_steps_of_scale_one():
    np.testing.assert_array_equal(magnitude(np.zeros((2, 3))), np.ones((2, 3)))


def test_nan_does_not_decide_how_far_its_neighbours_are_moved():
    assert magnitude(np.array([np.nan, 1.0]))[1] == 1.0


def test_the_input_is_left_as_it_was():
    x = np.array([1.0, 2.0])
    numerical_gradient(lambda v: v.sort() or np.sum(v), x)
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_an_empty_input_has_an_empty_gradient():
    assert numerical_gradient(np.sum, np.zeros((0, 3))).shape == (0, 3)


def test_a_directional_derivative_is_the_gradient_times_the_direction():
    rng = np.random.default_rng(0)
    x, direction, dy = rng.normal(size=(3, 4, 5))
    slope = directional_derivative(np.sin, x, direction, dy)
    assert slope == pytest.approx(np.sum(dy * np.cos(x) * direction), rel=1e-8)


def test_twice_the_direction_is_twice_the_derivative():
    x, direction = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    once = directional_derivative(np.prod, x, direction)
    assert directional_derivative(np.prod, x, 2 * direction) == pytest.approx(2 * once)


def test_going_nowhere_changes_nothing():
    assert directional_derivative(np.sum, np.ones(3), np.zeros(3)) == 0.0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (dict(x=[1, 2]), TypeError, "x has dtype int64"),
        (dict(x=[1.0], step=0.0), ValueError, "step is 0.0"),
        (dict(x=[1.0], scheme="backward"), ValueError, "scheme is 'backward'"),
        (dict(x=[1.0], dy=[1.0, 2.0]), ValueError, r"dy has shape \(2,\)"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    arguments["x"] = np.array(arguments["x"], dtype=None)
    with pytest.raises(error, match=message):
        numerical_gradient(lambda x: x * 1.0, **arguments)


def test_a_direction_of_another_shape_is_named():
    with pytest.raises(ValueError, match=r"direction has shape \(2,\)"):
        directional_derivative(np.sum, np.ones(3), np.ones(2))
