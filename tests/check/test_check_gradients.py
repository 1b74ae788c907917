"""Verdicts: what is wrong, what is right, and what cannot be told."""

import numpy as np
import pytest

from backhand import ops
from backhand.check import Op, check_gradients

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 4))


def check(f, backward, *inputs, **options):
    return check_gradients(Op.plain(f, backward), *inputs, **options)


def kinds(report):
    return [finding.kind for finding in report.findings]


def softmax_backward(dy, x):
    return ops.softmax.backward(dy, ops.softmax.forward(x)[1])


def softmax(x):
    return ops.softmax.forward(x)[0]


# ------------------------------------------------------------------ how exact it is


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_relative_error_of_1e_4_is_caught_at_any_scale(scale):
    def backward(dy, x):
        dx = scale * dy * np.cos(x)
        dx[1, 2] += 1e-4 * np.max(np.abs(dx))
        return dx

    row = check(lambda x: scale * np.sin(x), backward, X).rows[0]
    assert row.verdict == "disagree" and row.worst_index == (1, 2)
    assert row.max_relative_error == pytest.approx(1e-4, rel=0.01)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_an_error_below_1e_6_of_the_largest_entry_is_let_pass(scale):
    def backward(dy, x):
        dx = scale * dy * np.cos(x)
        dx[1, 2] += 5e-7 * np.max(np.abs(dx))
        return dx

    assert check(lambda x: scale * np.sin(x), backward, X).verdict == "agree"


def test_a_row_tells_where_it_is_off_most_and_by_how_much():
    def backward(dy, x):
        dx = 2 * dy * x
        dx[2, 1] *= 3
        return dx

    row = check(lambda x: x * x, backward, X).row("x")
    assert row.worst_index == (2, 1)
    assert row.ratio == pytest.approx(3)
    assert row.analytic == pytest.approx(3 * row.numeric)
    assert row.note == "1 of 12 entries off"


def test_arrays_are_judged_one_by_one():
    report = check(lambda x, w: x * w, lambda dy, x, w: (dy * w, 2 * dy * x), X, X + 1)
    assert [row.verdict for row in report.rows] == ["agree", "disagree"]
    assert report.verdict == "disagree" and not report.agrees


def test_a_right_row_beside_a_much_larger_wrong_one_is_right():
    report = check(
        lambda x, w: 1e-8 * np.sum(x) + np.sum(w),
        lambda dy, x, w: (1e-8 * dy + 0 * x, 2 * dy + 0 * w),
        X,
        X,
    )
    assert [row.verdict for row in report.rows] == ["agree", "disagree"]


def test_the_same_seed_gives_the_same_report():
    report, again = (check(np.sin, lambda dy, x: dy * x, X, seed=3) for _ in range(2))
    assert str(report) == str(again)
    assert str(report) != str(check(np.sin, lambda dy, x: dy * x, X, seed=4))


# ------------------------------------------------------------------ upstream gradient


def test_dy_is_signed_and_not_uniform():
    seen = []
    check(lambda x: 1 * x, lambda dy, x: seen.append(dy) or dy, X)
    assert np.any(seen[0] > 0) and np.any(seen[0] < 0)
    assert len(np.unique(np.abs(seen[0]))) == X.size


@pytest.mark.parametrize("seed", range(20))
def test_dy_of_a_number_is_neither_0_nor_1_nor_minus_1(seed):
    seen = []
    check(np.sum, lambda dy, x: seen.append(dy) or dy + 0 * x, X, seed=seed)
    assert min(abs(seen[0]), abs(abs(seen[0]) - 1)) > 0.05


@pytest.mark.parametrize(
    "dy", [np.ones((3, 4)), np.zeros((3, 4)), np.full((3, 4), -2.0)]
)
def test_a_given_dy_in_the_null_space_is_named_and_does_not_hide_a_mistake(dy):
    report = check(softmax, softmax_backward, X, dy=dy)
    assert report.verdict == "agree" and kinds(report) == ["uninformative_upstream"]
    wrong = check(softmax, lambda dy, x: 2 * softmax_backward(dy, x), X, dy=dy)
    assert wrong.verdict == "disagree"


def test_a_gradient_that_is_wrong_for_the_given_dy_only_is_wrong():
    def backward(dy, x):
        return dy * x if np.all(dy == 1) else 2 * dy * x

    assert check(lambda x: x * x, backward, X).verdict == "agree"
    assert check(lambda x: x * x, backward, X, dy=np.ones((3, 4))).verdict == "disagree"


def test_an_informative_dy_is_not_complained_about():
    assert not check(softmax, softmax_backward, X, dy=X).findings


# ------------------------------------------------------------- rules of good conduct


def changed_by(name):
    def backward(dy, x, w):
        target = {"dy": dy, "x": x, "w": w}[name]
        gradients = dy * w, dy * x
        target += 1.0
        return gradients

    return backward


@pytest.mark.parametrize("name", ["dy", "x", "w"])
def test_a_backward_that_changes_its_arguments_is_wrong(name):
    report = check(lambda x, w: x * w, changed_by(name), X, X + 1)
    assert report.verdict == "disagree"
    assert [(f.kind, f.name) for f in report.findings] == [("inplace_mutation", name)]
    assert [row.verdict for row in report.rows] == ["agree", "agree"]


def test_a_forward_that_changes_its_input_is_wrong():
    def forward(x):
        y = 2 * x
        x[0] = 0.0
        return y

    report = check(forward, lambda dy, x: 2 * dy, X)
    assert report.verdict == "disagree" and kinds(report) == ["inplace_mutation"]


@pytest.mark.parametrize("cache_for", [lambda x: [2 * x], lambda x: [2 * x.copy()]])
def test_a_backward_that_writes_into_its_cache_is_not_repeatable(cache_for):
    def backward(dy, cache):
        cache[0] *= dy
        return cache[0].copy()

    report = check_gradients(Op(lambda x: (x * x, cache_for(x)), backward), X)
    assert report.verdict == "disagree" and kinds(report) == ["not_repeatable"]


def test_a_gradient_added_to_a_buffer_that_is_kept_is_not_repeatable():
    kept = np.zeros(X.shape)

    def backward(dy, x):
        kept[...] += 2 * dy * x
        return kept

    report = check(lambda x: x * x, backward, X)
    assert report.verdict == "disagree" and kinds(report) == ["not_repeatable"]
    assert report.rows[0].verdict == "agree"


def test_a_backward_that_draws_random_numbers_is_not_repeatable():
    noise = np.random.default_rng(1)
    report = check(
        lambda x: 2 * x, lambda dy, x: 2 * dy + 1e-3 * noise.normal(size=x.shape), X
    )
    assert report.verdict == "disagree" and kinds(report)[0] == "not_repeatable"


def test_a_forward_that_draws_random_numbers_has_no_derivative_to_check():
    noise = np.random.default_rng(1)
    report = check(lambda x: x * (noise.random(x.shape) > 0.5), lambda dy, x: dy, X)
    assert report.verdict == "inconclusive" and kinds(report) == ["nondeterministic"]
    assert report.rows[0].verdict == "inconclusive"


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_sums_taken_in_another_order_are_the_same(scale):
    orders = np.random.default_rng(2)

    def f(x):
        return scale * np.sum(x.ravel()[orders.permutation(x.size)])

    assert check(f, lambda dy, x: scale * dy + 0 * x, X).verdict == "agree"


# ----------------------------------------------------------------------- integers


def test_integers_beside_floats_are_not_differentiated():
    table = rng.normal(size=(5, 2))
    report = check_gradients(ops.embedding, np.array([1, 4, 1]), table)
    assert report.verdict == "agree" and [row.name for row in report.rows] == ["table"]


def test_no_float_at_all_is_inconclusive():
    report = check(lambda x: np.sum(x**2), lambda dy, x: 2 * dy * x, np.array([3, 4]))
    assert report.verdict == "inconclusive" and not report.rows
    assert kinds(report) == ["integer_input"]


@pytest.mark.parametrize(("factor", "verdict"), [(2, "agree"), (3, "disagree")])
def test_an_integer_with_a_gradient_is_taken_as_float(factor, verdict):
    report = check(
        lambda n, w: np.sum(w * n**2),
        lambda dy, n, w: (factor * dy * w * n, dy * n**2),
        np.array([3, 4]),
        np.array([0.5, -1.0]),
    )
    assert report.row("n").verdict == verdict
    assert kinds(report)[0] == "integer_input"


def test_ids_cannot_be_taken_as_floats():
    report = check(
        lambda ids, table: table[ids],
        lambda dy, ids, table: (dy[:, 0], dy + 0 * table),
        np.array([0, 1]),
        np.array([[1.0, 2.0], [3.0, 4.0]]),
    )
    assert [row.name for row in report.rows] == ["table"]
    assert "It indexes something" in report.findings[0].evidence


def test_a_None_for_the_integers_is_nothing_to_talk_about():
    def backward(dy, ids, table):
        dtable = np.zeros_like(table)
        np.add.at(dtable, ids, dy)
        return None, dtable

    report = check(lambda ids, t: t[ids], backward, np.array([0, 1, 0]), X)
    assert report.verdict == "agree" and not report.findings


# ------------------------------------------------------------ kinks and their kin


def test_a_kink_is_undecided_at_that_entry_only():
    x = np.array([1.0, 0.0, -2.0])

    def backward(dy, x):
        return dy * (x > 0)

    report = check(lambda x: np.maximum(x, 0), backward, x)
    row = report.rows[0]
    assert report.verdict == "inconclusive" and kinds(report) == ["kink"]
    assert row.worst_index == (1,)

    def wrong(dy, x):
        return 2 * dy * (x > 0)

    assert check(lambda x: np.maximum(x, 0), wrong, x).verdict == "disagree"


@pytest.mark.parametrize("at_zero", [0.0, 0.5, 1.0])
def test_no_convention_at_a_kink_is_blamed_or_praised(at_zero):
    def backward(dy, x):
        return dy * np.where(x == 0, at_zero, x > 0)

    x = np.array([1.0, 0.0, -2.0])
    assert check(lambda x: np.maximum(x, 0), backward, x).verdict == "inconclusive"


@pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-8])
@pytest.mark.parametrize("side", [1, -1])
def test_close_to_a_kink_a_shorter_step_decides(distance, side):
    x = np.array([1.0, side * distance, -2.0])

    def f(x):
        return np.maximum(x, 0)

    assert check(f, lambda dy, x: dy * (x > 0), x).verdict == "agree"
    assert check(f, lambda dy, x: dy * (x < 0.5), x).verdict == "disagree"


def test_ties_of_a_maximum_are_kinks():
    report = check(np.max, lambda dy, x: dy * (x == x.max()), np.array([1.0, 3.0, 3.0]))
    assert report.verdict == "inconclusive" and kinds(report) == ["kink"]
    assert "and at 1 more" in report.findings[0].evidence


def test_a_jump_has_no_derivative():
    report = check(lambda x: 1.0 * (x > 0), lambda dy, x: 0 * dy, np.array([1.0, 0.0]))
    assert report.verdict == "inconclusive"


def test_the_edge_of_the_domain_is_undecided():
    report = check(np.sqrt, lambda dy, x: dy / (2 * np.sqrt(x)), np.array([1.0, 0.0]))
    assert report.verdict == "inconclusive" and report.rows[0].worst_index == (1,)
    assert kinds(report) == ["nonfinite"]


def test_a_forward_that_raises_beyond_its_domain_is_undecided_there():
    def f(x):
        if np.any(x < 0):
            raise ValueError("x is negative")
        return x * x

    report = check(f, lambda dy, x: 2 * dy * x, np.array([0.0, 1.0, 2.0, 3.0, 4.0]))
    assert report.verdict == "inconclusive" and report.rows[0].worst_index == (0,)


# ---------------------------------------------------------------- nan and infinity


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_where_forward_is_is_wrong(bad):
    def backward(dy, x):
        dx = dy * np.cos(x)
        dx[0, 1] = bad
        return dx

    report = check(np.sin, backward, X)
    assert report.verdict == "disagree" and kinds(report) == ["nonfinite"]
    assert report.rows[0].worst_index == (0, 1)
    assert report.rows[0].max_relative_error == np.inf


def test_where_forward_is_nan_nothing_is_blamed_and_the_rest_is_checked():
    x = np.array([1.0, -1.0, 2.0])
    right = check(np.log, lambda dy, x: dy / x, x)
    assert right.verdict == "inconclusive" and kinds(right) == ["nonfinite"]
    assert right.findings[0].name == "y"
    assert check(np.log, lambda dy, x: 2 * dy / x, x).verdict == "disagree"


def test_an_input_of_nan_is_undecided():
    x = np.array([1.0, np.nan, 2.0])
    assert check(lambda x: 2 * x, lambda dy, x: 2 * dy, x).verdict == "inconclusive"


# ----------------------------------------------------------------- along directions


def test_a_large_input_is_checked_along_directions():
    x = rng.normal(size=(60, 50))
    row = check(np.sin, lambda dy, x: dy * np.cos(x), x).rows[0]
    assert row.verdict == "agree" and row.worst_index is None
    assert row.note == "along 3 random directions"


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_a_direction_follows_the_scale_of_the_input(scale):
    x = scale * rng.normal(size=(60, 50))

    def f(x):
        return np.sin(x / scale)

    def backward(dy, x, factor=1.0):
        return factor * dy * np.cos(x / scale) / scale

    assert check(f, backward, x).verdict == "agree"
    assert check(f, lambda dy, x: backward(dy, x, 1.01), x).verdict == "disagree"


@pytest.mark.parametrize("size", [1e-4, 1.0])
def test_one_wrong_entry_of_thousands_is_caught_and_found(size):
    """What torch's fast mode lets pass: its tolerance grows with the array."""
    x = rng.normal(size=(80, 80))

    def backward(dy, x):
        dx = dy * np.cos(x)
        dx[41, 7] += size * np.max(np.abs(dx))
        return dx

    row = check(np.sin, backward, x).rows[0]
    assert row.verdict == "disagree" and row.worst_index == (41, 7)


def test_one_nan_of_thousands_is_found():
    x = rng.normal(size=(80, 80))

    def backward(dy, x):
        dx = dy * np.cos(x)
        dx[41, 7] = np.nan
        return dx

    report = check(np.sin, backward, x)
    assert report.rows[0].worst_index == (41, 7) and kinds(report) == ["nonfinite"]


def test_a_pattern_is_named_in_a_large_array_too():
    x = rng.normal(size=(80, 80))
    report = check(np.sin, lambda dy, x: 3 * dy * np.cos(x), x)
    assert kinds(report) == ["constant_factor"]
    assert "3.000 × numeric" in report.findings[0].evidence


@pytest.mark.parametrize("entrywise", [True, False])
def test_the_caller_may_choose(entrywise):
    row = check(np.sin, lambda dy, x: dy * np.cos(x), X, entrywise=entrywise).rows[0]
    assert row.verdict == "agree" and (row.worst_index is None) is not entrywise


def test_inputs_that_all_agree_are_moved_together():
    calls = []

    def f(x, w):
        calls.append(1)
        return np.sum(np.sin(x) * w)

    def backward(dy, x, w):
        return dy * np.cos(x) * w, dy * np.sin(x)

    report = check(f, backward, X, X + 1, entrywise=False)
    assert {row.note for row in report.rows} == {
        "all inputs together, along 3 random directions"
    }
    assert len(calls) <= 2 * 3 + 3


def test_inputs_of_different_sizes_are_not_judged_by_the_largest_gradient():
    def backward(dy, x, w):
        return 1e6 * dy + 0 * x, 1.001 * dy + 0 * w

    report = check(
        lambda x, w: 1e6 * np.sum(x) + np.sum(w), backward, X, X, entrywise=False
    )
    assert [row.verdict for row in report.rows] == ["agree", "disagree"]
