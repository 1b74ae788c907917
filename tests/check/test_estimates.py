"""Derivatives of functions that make differences hard, and how far they are trusted.

Each is right, so none may be accused; where a wrong one can be told from it, it is.
"""

import numpy as np
import pytest

from backhand.check import Op, check_gradients
from backhand.check.numeric import Forward

X = np.random.default_rng(0).normal(size=(3, 4))
AGREE, OPEN = {"agree"}, {"agree", "inconclusive"}


def verdict(f, derivative, x, factor=1.0):
    op = Op.plain(f, lambda dy, x: factor * dy * derivative(x))
    return check_gradients(op, x).verdict


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sigmoid_slope(x):
    return sigmoid(x) * sigmoid(-x)


HARD = {
    "tiny inputs": (lambda x: x**2, lambda x: 2 * x, 1e-150 * X, AGREE),
    "huge inputs": (lambda x: x**2, lambda x: 2 * x, 1e150 * X, AGREE),
    "tiny inputs of an output of size one": (sigmoid, sigmoid_slope, 1e-150 * X, AGREE),
    "an output of 1e12 beside": (lambda x: 1e12 + x**2, lambda x: 2 * x, X, OPEN),
    "an output of 1e-12": (
        lambda x: 1e-12 * np.sin(x),
        lambda x: 1e-12 * np.cos(x),
        X,
        AGREE,
    ),
    "a sum that cancels to 8 digits": (
        lambda x: (1e8 + np.sin(x)) - 1e8,
        np.cos,
        X,
        OPEN,
    ),
    "a sum that cancels to nothing": (
        lambda x: (1e16 + x) - 1e16,
        np.ones_like,
        X,
        OPEN,
    ),
    "1e16 among the inputs": (
        np.sum,
        np.ones_like,
        np.array([1e16, 1.0, -1e16]),
        AGREE,
    ),
    "log(1 + x) of a tiny x": (
        lambda x: np.log(1 + x),
        lambda x: 1 / (1 + x),
        1e-150 * np.abs(X),
        OPEN,
    ),
    "a bump in the shade of 1e150": (
        lambda x: np.exp(-x * x),
        lambda x: -2 * x * np.exp(-x * x),
        np.array([1e150, 1.0, -0.5]),
        AGREE,
    ),
    "saturated on either side": (sigmoid, sigmoid_slope, 300 * X, AGREE),
    "almost saturated": (sigmoid, sigmoid_slope, 15 + np.abs(X), OPEN),
    "oscillating faster than the usual step": (
        lambda x: np.sin(1e7 * x),
        lambda x: 1e7 * np.cos(1e7 * x),
        X,
        OPEN,
    ),
    "steep at zero": (np.cbrt, lambda x: np.cbrt(x) / (3 * x), 1e-3 * X, AGREE),
    "exponential": (np.exp, np.exp, 300 * X, AGREE),
    "a quotient whose numerator moves in jumps": (
        lambda x: np.log(1 + x) / x,
        lambda x: -0.5 + 0 * x,
        np.array([1e-9, 1e-8, 3e-9]),
        OPEN,
    ),
    "another, falling": (
        lambda x: (np.exp(x) - 1) / x,
        lambda x: 0.5 + 0 * x,
        np.array([1e-9, 1e-8, 3e-9]),
        OPEN,
    ),
    "a numerator of squares": (
        lambda x: (1 - np.cos(x)) / x**2,
        lambda x: -x / 12,
        np.array([1e-5, 3e-5, 1e-4]),
        OPEN,
    ),
    "constant": (lambda x: 0 * x + 7.0, np.zeros_like, X, AGREE),
    "zero by symmetry": (lambda x: np.sum(x / x), np.zeros_like, X, AGREE),
}
hard = pytest.mark.parametrize("name", HARD)


@hard
def test_a_right_gradient_is_not_accused(name):
    f, derivative, x, allowed = HARD[name]
    with np.errstate(all="ignore"):
        assert verdict(f, derivative, x) in allowed


@hard
def test_twice_the_gradient_is_not_praised(name):
    f, derivative, x, _ = HARD[name]
    with np.errstate(all="ignore"):
        visible = np.max(np.abs(derivative(x)) * np.abs(x)) > 1e-12 * np.max(
            np.abs(f(x))
        )
        if visible:
            assert verdict(f, derivative, x, factor=2.0) != "agree"


@pytest.mark.parametrize(
    "name",
    [
        "tiny inputs",
        "huge inputs",
        "an output of 1e12 beside",
        "an output of 1e-12",
        "a sum that cancels to 8 digits",
        "1e16 among the inputs",
        "a bump in the shade of 1e150",
        "almost saturated",
        "steep at zero",
        "exponential",
    ],
)
def test_twice_the_gradient_is_caught_where_differences_can_tell(name):
    f, derivative, x, _ = HARD[name]
    with np.errstate(all="ignore"):
        assert verdict(f, derivative, x, factor=2.0) == "disagree"


@pytest.mark.parametrize("seed", range(20))
def test_noise_that_does_not_show_in_the_output_is_never_held_against_anyone(seed):
    """The difference of h and h/2 alone is small by luck in one entry of ten."""
    x = np.random.default_rng(seed).normal(size=(20, 20))

    def f(x):
        return (1e6 + np.sin(x)) - 1e6  # eps · 1e6 of noise on an output of size one

    assert verdict(f, np.cos, x) != "disagree"


def test_float32_inside_forward_is_not_held_against_backward():
    def f(x):
        return np.tanh(x.astype(np.float32))

    assert verdict(f, lambda x: 1 - np.tanh(x) ** 2, X) in OPEN
    assert verdict(f, lambda x: 1 - np.tanh(x) ** 2, X, factor=1.5) == "disagree"


def test_float32_inside_backward_is_not_held_against_it():
    def backward(dy, x):
        x = x.astype(np.float32)
        return (dy * (1 - np.tanh(x) ** 2)).astype(np.float32)

    assert check_gradients(Op.plain(np.tanh, backward), X).verdict in OPEN


def test_backward_may_round_as_its_own_inputs_do():
    """x − mean(x) of numbers around 1e9 has seven digits, in both passes alike."""
    x = 1e9 + X

    def forward(x):
        y = np.sin(x - x.mean())
        return y, x

    def backward(dy, x):
        g = dy * np.cos(x - x.mean())
        return g - g.mean()

    assert check_gradients(Op(forward, backward), x).verdict != "disagree"


# ----------------------------------------------------- where there is no derivative


@pytest.mark.parametrize("factor", [0.0, 1.0, 7.0])
def test_at_a_jump_nothing_is_agreed_to(factor):
    op = Op.plain(lambda x: 2 * x + np.floor(x), lambda dy, x: 2 * factor * dy)
    assert check_gradients(op, np.array([1.0, -3.0])).verdict == "inconclusive"
    assert check_gradients(op, np.array([0.5, 1.0, -3.0])).verdict != "agree"


def test_a_jump_is_not_called_round_off():
    step = Op.plain(np.floor, lambda dy, x: 0 * dy)
    report = check_gradients(step, np.array([0.5, 1.0, -3.0]))
    assert report.verdict == "inconclusive"
    (finding,) = report.findings
    assert "does not settle" in finding.evidence
    assert "2 of 3 entries" in finding.evidence


def test_a_jump_in_one_entry_hides_no_mistake_in_another():
    """The slope across it is as large as 1/h, and no scale for the others."""
    x = np.array([0.5, 1.0, 0.7])

    def backward(dy, x):
        return dy * np.array([0.0, 0.0, 0.02])

    report = check_gradients(Op.plain(np.floor, backward), x)
    assert (report.verdict, report.row("x").worst_index) == ("disagree", (2,))


@pytest.mark.parametrize("f", [np.abs, np.linalg.norm, lambda x: np.max(np.abs(x))])
def test_a_kink_shows_where_all_slopes_are_zero_by_symmetry(f):
    report = check_gradients(Op.plain(f, lambda dy, x: np.zeros(3)), np.zeros(3))
    assert report.verdict == "inconclusive"
    assert [finding.kind for finding in report.findings] == ["kink"]


def test_a_parabola_has_no_kink_at_its_foot():
    assert verdict(lambda x: x**2, lambda x: 2 * x, np.zeros(3)) == "agree"


# ------------------------------------------------------- many points at once


def stacked(f, *inputs, position=0):
    """Whether the points are evaluated in one call."""
    inputs = [np.asarray(v) for v in inputs]
    calls = []

    def run(values):
        calls.append(1)
        return np.asarray(f(*values))

    forward = Forward(run, inputs, position, run(inputs))
    forward.stack()
    calls.clear()
    points = (
        inputs[position]
        + np.zeros((7, 1))[(...,) + (None,) * (inputs[position].ndim - 1)]
    )
    y = forward(points)
    expected = np.asarray(f(*inputs)).ravel()
    np.testing.assert_allclose(y, np.tile(expected, (7, 1)), rtol=1e-12)
    return len(calls) == 1


def test_an_op_on_the_last_axis_is_given_a_stack():
    assert stacked(np.tanh, X)
    assert stacked(lambda x: x / x.sum(axis=-1, keepdims=True), X)
    assert stacked(lambda x, w: x @ w, X, X.T)


def test_inputs_that_need_the_same_leading_axes_are_stacked_together():
    def f(x, w):
        assert x.shape == w.shape
        return x * w

    assert stacked(f, X, X, position=1)


@pytest.mark.parametrize(
    "f",
    [
        np.mean,  # over the stack, too
        lambda x: x - x.mean(),
        lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
        lambda x: x.T @ x,
        lambda x: x[[0, 1, 2]],
        lambda x: x.reshape(-1),
        lambda x: np.cumsum(x, axis=0),
        lambda x: np.sum(x, axis=1),
    ],
)
def test_an_op_that_reads_leading_axes_otherwise_is_not(f):
    assert not stacked(f, X)


@pytest.mark.parametrize("n", range(1, 7))
def test_a_lookup_of_the_first_rows_is_not_mistaken_for_a_stack(n):
    ids = np.arange(n)
    table = np.random.default_rng(n).normal(size=(n, 3))
    op = Op.plain(lambda ids, table: table[ids], lambda dy, ids, table: dy)
    assert check_gradients(op, ids, table).verdict == "agree"


def test_rows_that_are_on_their_own_are_moved_at_once():
    calls = []

    def f(x):
        calls.append(x.shape)
        return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)

    def backward(dy, x):
        p = f(x)
        return p * (dy - np.sum(p * dy, axis=-1, keepdims=True))

    x = np.random.default_rng(1).normal(size=(50, 6))
    assert check_gradients(Op.plain(f, backward), x).verdict == "agree"
    points = sum(int(np.prod(shape[:-2])) for shape in calls)
    assert points < 2 * 50 + 2 * 6 + 20  # and not 2 · 300


def test_rows_that_depend_on_one_another_are_not():
    mix = np.tril(np.ones((5, 5)))
    x = np.random.default_rng(2).normal(size=(5, 4))

    def f(x):
        return np.tanh(mix @ x)

    def backward(dy, x):
        return mix.T @ (dy * (1 - np.tanh(mix @ x) ** 2))

    assert check_gradients(Op.plain(f, backward), x).verdict == "agree"
    own_row = Op.plain(f, lambda dy, x: dy * (1 - np.tanh(mix @ x) ** 2))
    assert check_gradients(own_row, x).verdict == "disagree"
