"""What may be checked, and what is said of what may not."""

import numpy as np
import pytest

from backhand.check import Op, check_gradients

X = np.random.default_rng(0).normal(size=(3, 4))
W = np.random.default_rng(1).normal(size=(3, 4))


def product(x, w):
    return x * w


def check(backward, f=product, inputs=(X, W), **options):
    return check_gradients(Op.plain(f, backward), *inputs, **options)


# ------------------------------------------------------------------- calling ways


class Square:
    """A class will do, as a module does."""

    @staticmethod
    def forward(x):
        return x * x, x

    @staticmethod
    def backward(dy, x):
        return 2 * dy * x


def test_a_class_with_forward_and_backward_is_an_op():
    assert check_gradients(Square, X).verdict == "agree"


def test_forward_and_backward_can_be_put_together():
    assert check_gradients(Op(Square.forward, Square.backward), X).verdict == "agree"


@pytest.mark.parametrize(
    "backward",
    [
        lambda dy, x, w: (dy * w, dy * x),
        lambda dy, x, w: [dy * w, dy * x],
        lambda dy, x, w: {"w": dy * x, "x": dy * w},
    ],
    ids=["tuple", "list", "dict"],
)
def test_gradients_come_in_a_tuple_a_list_or_by_name(backward):
    report = check(backward)
    assert report.verdict == "agree"
    assert [row.name for row in report.rows] == ["x", "w"]


def test_one_gradient_may_come_alone_or_in_a_tuple():
    for wrap in (lambda g: g, lambda g: (g,), lambda g: [g], lambda g: g.tolist()):
        for x in (X, X[0]):
            report = check(lambda dy, x: wrap(2 * dy), lambda x: 2 * x, (x,))
            assert report.verdict == "agree"


def test_what_is_no_array_of_floats_is_passed_on():
    def f(x, axis, mode, nothing):
        assert mode == "sum" and nothing is None
        return x.sum(axis=int(axis))

    report = check(
        lambda dy, x, *rest: np.broadcast_to(dy, x.shape), f, (X, 0, "sum", None)
    )
    assert report.verdict == "agree"


def test_options_reach_forward_and_as_far_as_it_knows_them_backward():
    def f(x, power=2):
        return x**power

    assert (
        check(
            lambda dy, x, power=2: power * dy * x ** (power - 1), f, (X,), power=3
        ).verdict
        == "agree"
    )
    assert check(lambda dy, x: 3 * dy * x**2, f, (X,), power=3).verdict == "agree"


def test_inputs_without_names_are_numbered():
    report = check(lambda dy, *xs: (dy, dy), lambda *xs: xs[0] + xs[1])
    assert [row.name for row in report.rows] == ["input 0", "input 1"]


def test_no_gradient_is_judged_as_zeros():
    assert check(lambda dy, x, w: (dy * w, None)).row("w").verdict == "disagree"
    assert check(lambda dy, x, w: {"x": dy * w}).row("w").verdict == "disagree"
    assert check(lambda dy, x: None, lambda x: 0 * x.sum(), (X,)).verdict == "agree"


def test_a_forgotten_return_leaves_no_gradient_at_all():
    report = check(lambda dy, x, w: None)
    assert [f.kind for f in report.findings] == ["dropped_path", "dropped_path"]
    assert "no gradient of x was returned" in report.findings[0].evidence


# ------------------------------------------------------ shapes and kinds of values


@pytest.mark.parametrize("x", [1.5, np.array(1.5), np.float32(1.5), np.zeros((0, 3))])
def test_a_number_and_an_empty_array_can_be_checked(x):
    assert check(lambda dy, x: 2 * dy * x, lambda x: x * x, (x,)).verdict == "agree"


def test_an_empty_array_has_no_entry_to_show():
    row = check(lambda dy, x: dy, lambda x: 1 * x, (np.zeros((0, 3)),)).rows[0]
    assert row.worst_index is None and row.note == "no entries"


@pytest.mark.parametrize(
    ("f", "backward"),
    [
        (lambda x: float(np.sum(x * x)), lambda dy, x: 2 * dy * x),
        (lambda x: np.array(np.sum(x * x)), lambda dy, x: 2 * dy * x),
        (lambda x: x.T[::-1] ** 2, lambda dy, x: 2 * dy[::-1].T * x),
        (lambda x: (x * x).tolist(), lambda dy, x: 2 * dy * x),
    ],
    ids=["a Python float", "an array of no axes", "a view", "a list"],
)
def test_forward_may_return_any_array_like(f, backward):
    assert check(backward, f, (X,)).verdict == "agree"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_other_floats_are_taken_to_float64(dtype):
    seen = set()

    def f(x):
        seen.add(x.dtype)
        return np.tanh(x)

    report = check(lambda dy, x: dy * (1 - np.tanh(x) ** 2), f, (X.astype(dtype),))
    assert report.verdict == "agree" and seen == {np.dtype(np.float64)}


def test_the_callers_arrays_are_left_alone():
    x = X.copy()

    def f(x):
        x *= 2
        return x

    check(lambda dy, x: 2 * dy, f, (x,))
    np.testing.assert_array_equal(x, X)


# ----------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("backward", "error", "message"),
    [
        (
            lambda dy, x, w: dy,
            ValueError,
            "returned 1 gradient; forward has 2 floating-point inputs: x, w",
        ),
        (lambda dy, x, w: (dy, dy, dy), ValueError, "returned 3 gradients"),
        (lambda dy, x, w: {"v": dy}, ValueError, "gradient for 'v'.* inputs are x, w"),
        (
            lambda dy, x, w: (dy, "no"),
            TypeError,
            "the gradient of w is .* real numbers",
        ),
        (
            lambda dy, x, w: (dy, dy * 1j),
            TypeError,
            "the gradient of w is .*complex128",
        ),
        (
            lambda dy, x, w: (dy, [[1], [2, 3]]),
            TypeError,
            "the gradient of w is not an",
        ),
    ],
)
def test_what_backward_returns_must_match_the_inputs(backward, error, message):
    with pytest.raises(error, match=message):
        check(backward)


@pytest.mark.parametrize(
    ("f", "inputs", "error", "message"),
    [
        (lambda x: x * 1j, (X,), TypeError, "y is .*complex128"),
        (lambda x: "y", (X,), TypeError, "y is "),
        (lambda x: x, (X * 1j,), TypeError, "x is complex"),
    ],
)
def test_only_real_numbers_are_differentiated(f, inputs, error, message):
    with pytest.raises(error, match=message):
        check(lambda dy, x: dy, f, inputs)


def test_a_dy_of_another_shape_is_named():
    with pytest.raises(ValueError, match=r"dy has shape \(4,\); y has shape \(3, 4\)"):
        check(lambda dy, x, w: (dy * w, dy * x), dy=np.ones(4))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_dy_that_is_not_finite_is_refused(bad):
    dy = np.full(X.shape, bad)
    with pytest.raises(ValueError, match="dy has a nan or an infinity"):
        check_gradients(Op.plain(np.tanh, lambda dy, x: dy), X, dy=dy)


def test_an_op_needs_both_passes():
    with pytest.raises(TypeError, match="needs a forward and a backward"):
        check_gradients(np.tanh, X)
    with pytest.raises(TypeError, match="backward is None; it needs to be callable"):
        Op(np.tanh, None)


def test_a_forward_without_a_cache_is_told_of_plain():
    with pytest.raises(TypeError, match=r"return \(y, cache\).*Op.plain"):
        check_gradients(Op(np.tanh, lambda dy, cache: dy), X)
    with pytest.raises(TypeError, match=r"forward returned tuple; it needs"):
        check_gradients(Op(lambda x: (x, x, x), lambda dy, cache: dy), X)


def test_an_error_says_which_call_raised_it_and_on_which_shapes():
    with pytest.raises(ValueError) as forward:
        check(lambda dy, x: dy, lambda x: x @ x, (X,))
    assert forward.value.__notes__ == ["raised by forward on x (3, 4) float64"]
    with pytest.raises(ZeroDivisionError) as backward:
        check(lambda dy, x: 1 // 0, lambda x: 1 * x, (X,))
    assert backward.value.__notes__ == ["raised by backward on dy (3, 4) float64"]
