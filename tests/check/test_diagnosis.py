"""Each kind is named where it is, with its numbers, and not where it nearly is."""

import numpy as np
import pytest

from backhand import ops
from backhand.check import Op, check_gradients, check_loss

rng = np.random.default_rng(0)
X = rng.normal(size=(4, 6))
GAIN = np.array([0.5, 1.5, -0.7, 2.0, 1.1, -1.6])
POSITIVE = np.abs(X) + 0.5


def findings(f, backward, *inputs, **options):
    report = check_gradients(Op.plain(f, backward), *inputs, **options)
    return report.findings


def kinds(f, backward, *inputs, **options):
    return [finding.kind for finding in findings(f, backward, *inputs, **options)]


def evidence(kind, f, backward, *inputs, **options):
    found = findings(f, backward, *inputs, **options)
    return next(finding.evidence for finding in found if finding.kind == kind)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def softmax_backward(dy, x):
    p = softmax(x)
    return p * (dy - np.sum(p * dy, axis=-1, keepdims=True))


# ------------------------------------------------------------ what backward returned


@pytest.mark.parametrize(
    ("dtype", "cut_to"), [(np.float16, "float16"), (np.int64, "whole numbers")]
)
def test_a_gradient_that_lost_its_digits_to_a_narrow_type(dtype, cut_to):
    told = evidence(
        "float_noise", lambda x: 3.5 * x, lambda dy, x: (3.5 * dy).astype(dtype), X
    )
    assert f"analytic is numeric cut to {cut_to} in all 24 entries" in told


def test_a_narrow_type_is_not_blamed_for_another_mistake():
    def backward(dy, x):
        return (7 * dy).astype(np.float16)

    assert "float_noise" not in kinds(lambda x: 3.5 * x, backward, X)


def test_noise_in_backward_is_not_taken_for_a_term_without_dy():
    noise = np.random.default_rng(5)

    def backward(dy, x):
        return 2 * dy * x + noise.normal(size=x.shape)

    assert kinds(lambda x: x * x, backward, X) == ["not_repeatable"]


def test_a_clipped_gradient_is_not_said_to_ignore_dy():
    def backward(dy, x):
        g = 2 * dy * x
        return g / np.linalg.norm(g)

    assert "missing_factor" not in kinds(lambda x: x * x, backward, X)


def test_entries_that_change_places_are_not_called_coupled():
    assert kinds(lambda x: x[::-1], lambda dy, x: dy, X) == []


def test_an_infinite_input_is_said_not_to_move():
    mask = np.where(np.tril(np.ones((4, 4))), 0.0, -np.inf)

    def backward(dy, x, mask):
        g = softmax_backward(dy, x + mask)
        return g, g

    report = check_gradients(
        Op.plain(lambda x, mask: softmax(x + mask), backward), X[:, :4], mask
    )
    assert report.row("x").verdict == "agree"
    (finding,) = report.findings
    assert (finding.name, finding.kind) == ("mask", "nonfinite")
    assert finding.evidence.startswith("mask[0, 1] = -inf does not move")


# ----------------------------------------------------------------- constant factors


def test_a_keep_rate_is_told_from_a_drop_rate():
    told = evidence(
        "constant_factor",
        lambda x, p=0.4: x / (1 - p),
        lambda dy, x: dy,
        X,
    )
    assert "0.6 is 1 − p" in told


def test_a_pool_is_told_by_how_many_entries_it_averages():
    told = evidence(
        "constant_factor",
        lambda x: x.reshape(3, 2, 3, 2).mean(axis=(1, 3)),
        lambda dy, x: np.kron(dy, np.ones((2, 2))),
        np.sin(np.arange(36.0)).reshape(6, 6),
    )
    assert "4 is the number of entries of x for each of y" in told


@pytest.mark.parametrize(
    ("part", "place"),
    [(np.s_[37], "37 of axis 0"), (np.s_[:, 5], "5 of axis 1")],
)
def test_the_place_of_a_mistake_is_told_in_an_array_too_large_to_look_at(part, place):
    def backward(dy, x):
        d = dy * np.cos(x)
        d[part] *= 1.01
        return d

    x = np.random.default_rng(3).normal(size=(100, 80))
    report = check_gradients(Op.plain(np.sin, backward), x)
    assert report.row("x").note.endswith(f"entries off, all at {place}")
    assert f"that are off (at index {place})" in report.findings[0].evidence


def mean_of_squares(x):
    return np.mean(x**2)


@pytest.mark.parametrize(
    ("wrong", "number", "because"),
    [
        (lambda dy, x: 2 * dy * x, "24.00", "24 is the number of entries of x"),
        (
            lambda dy, x: 2 * dy * x / 24 / 4,
            "0.2500",
            "0.25 is 1 / the length of axis 0 of x",
        ),
        (
            lambda dy, x: 2 * dy * x / 24 * np.sqrt(6),
            "2.449",
            "2.449 is the root of the length of axis 1 of x",
        ),
        (lambda dy, x: 2 * dy * x / 24 * 0.123, "0.1230", ""),
    ],
)
def test_a_constant_factor_is_measured_and_explained_if_it_can_be(
    wrong, number, because
):
    told = evidence("constant_factor", mean_of_squares, wrong, X)
    assert told.startswith(f"analytic = {number} × numeric in all 24 entries")
    assert because in told if because else "; " not in told


def test_a_constant_factor_may_be_an_option():
    def f(x, slope=0.3):
        return slope * x

    assert "0.3 is slope" in evidence(
        "constant_factor", f, lambda dy, x: 0.3**2 * dy, X
    )


def test_two_is_also_what_comes_of_counting_twice():
    assert kinds(mean_of_squares, lambda dy, x: 4 * dy * x / 24, X) == [
        "constant_factor",
        "double_count",
    ]


def test_a_sign_is_named():
    told = evidence("sign_flip", np.sin, lambda dy, x: -dy * np.cos(x), X)
    assert told == "analytic = −numeric in all 24 entries"


def test_a_sign_and_a_factor_are_both_named():
    assert kinds(mean_of_squares, lambda dy, x: -2 * dy * x, X) == [
        "sign_flip",
        "constant_factor",
    ]


def test_a_factor_in_some_rows_only_is_named_with_where():
    def backward(dy, x):
        dx = dy * np.cos(x)
        dx[[0, 2]] *= 3
        return dx

    told = evidence("constant_factor", np.sin, backward, X)
    assert "in the 12 of 24 entries that are off (at indices 0, 2 of axis 0)" in told


def test_a_factor_that_wavers_is_not_constant():
    wavering = 3 * (1 + 1e-3 * rng.normal(size=X.shape))
    assert not kinds(np.sin, lambda dy, x: wavering * dy * np.cos(x), X)


def test_one_number_supports_no_pattern():
    for factor in (-1, 0, 2, 3):
        assert not kinds(lambda x: x**3, lambda dy, x: factor * dy * 3 * x**2, 1.2)

    def one_entry_off(dy, x):
        dx = dy * np.cos(x)
        dx[1, 1] *= 3
        return dx

    assert not kinds(np.sin, one_entry_off, X)


def test_two_numbers_do():
    def two_entries_off(dy, x):
        dx = dy * np.cos(x)
        dx[1, 1:3] *= 3
        return dx

    told = evidence("constant_factor", np.sin, two_entries_off, X)
    assert told.startswith("analytic = 3.000 × numeric in the 2 of 24 entries")


def test_a_tiny_error_follows_no_pattern_by_being_tiny():
    noise = 1 + 3e-6 * rng.normal(size=X.shape)
    assert not kinds(np.sin, lambda dy, x: noise * dy * np.cos(x), X)
    assert kinds(np.sin, lambda dy, x: 1.00001 * dy * np.cos(x), X) == [
        "constant_factor"
    ]


def test_a_penalty_without_its_two_is_a_constant_factor_of_one_term():
    def f(w):
        return np.sum(np.sin(w)) + 0.1 * np.sum(w**2)

    told = evidence("constant_factor", f, lambda dy, w: dy * (np.cos(w) + 0.1 * w), X)
    assert told.startswith("analytic − numeric = -0.1000 · dy · w in all 24 entries")
    assert not kinds(f, lambda dy, w: dy * (np.cos(w) + 0.2 * np.sin(w)), X)


# ------------------------------------------------------------- factors of an entry


@pytest.mark.parametrize(
    ("factor", "label"),
    [
        (lambda x: x, "x"),
        (sigmoid, "σ(x)"),
        (lambda x: sigmoid(x) * (1 - sigmoid(x)), "σ(x)(1 − σ(x))"),
        (lambda x: 1 - np.tanh(x) ** 2, "(1 − tanh²(x))"),
        (np.exp, "exp(x)"),
        (
            lambda x: np.sqrt(np.mean(x * x, axis=-1, keepdims=True)),
            "the rms of each row",
        ),
    ],
)
def test_a_factor_too_many_or_too_few_is_named(factor, label):
    def f(x):
        return np.sum(np.log(x) ** 2)

    def right(dy, x):
        return dy * 2 * np.log(x) / x

    divisor = label.startswith("the rms")
    more = kinds(f, lambda dy, x: right(dy, x) * factor(x), POSITIVE)
    less = kinds(f, lambda dy, x: right(dy, x) / factor(x), POSITIVE)
    assert (more, less) == (
        (["missing_factor"], ["extra_factor"])
        if divisor
        else (["extra_factor"], ["missing_factor"])
    )
    for wrong in (
        lambda dy, x: right(dy, x) * factor(x),
        lambda dy, x: right(dy, x) / factor(x),
    ):
        assert label in findings(f, wrong, POSITIVE)[0].evidence


def test_another_input_may_be_the_factor():
    def f(x, gain):
        return gain * np.sin(x)

    def backward(dy, x, gain):
        return dy * np.cos(x), np.sum(dy * np.sin(x), axis=0)

    told = evidence("missing_factor", f, backward, X, GAIN)
    assert told == "gain × analytic = numeric in all 24 entries"


def test_a_gain_of_ones_is_no_evidence_for_a_factor():
    def f(x, gain):
        return gain * np.sin(x)

    def backward(dy, x, gain):
        return 3 * dy * gain * np.cos(x), np.sum(dy * np.sin(x), axis=0)

    assert kinds(f, backward, X, np.ones(6)) == ["constant_factor"]


def test_a_factor_that_is_no_known_function_is_not_named():
    def strange(x):
        return np.cos(3 * x) + 2

    assert not kinds(np.sin, lambda dy, x: strange(x) * dy * np.cos(x), X)


def test_a_dy_that_is_left_out_or_used_twice_is_named():
    def f(x):
        return np.sum(np.sin(x))

    assert kinds(f, lambda dy, x: np.cos(x), X) == ["missing_factor"]
    assert kinds(f, lambda dy, x: dy * dy * np.cos(x), X) == ["extra_factor"]
    assert kinds(np.sin, lambda dy, x: np.cos(x), X) == ["missing_factor"]
    assert kinds(lambda x: x**3, lambda dy, x: 3 * x**2, 1.2) == ["missing_factor"]


def test_the_slope_of_an_activation_left_out_of_a_layer_is_named():
    w = rng.normal(size=(6, 5))

    def f(x, w):
        return np.tanh(x @ w)

    def backward(dy, x, w):
        return dy @ w.T, x.T @ dy  # dy * (1 - y * y)

    assert kinds(f, backward, X, w) == ["missing_factor"] * 2
    assert "(1 − y²) × analytic" in evidence("missing_factor", f, backward, X, w)


def test_a_term_without_dy_is_named():
    def f(x):
        return x - np.log(np.sum(np.exp(x), axis=-1, keepdims=True))

    told = evidence("missing_factor", f, lambda dy, x: dy - softmax(x), X)
    assert told.startswith("a term lacks dy: for a dy of zeros dx is up to 0.")


def test_another_factor_than_the_one_meant_is_named():
    def f(x, w, v):
        return x * w + np.sin(v)

    def backward(dy, x, w, v):
        return dy * v, dy * x, dy * np.cos(v)

    told = evidence("wrong_operand", f, backward, X, X + 1, 2 * X - 1)
    assert told == "w × analytic = v × numeric in all 24 entries"


def test_a_divisor_of_each_row_is_a_constant_factor_by_row():
    keep = np.tril(np.ones((4, 6)))

    def f(x):
        return np.sum(keep * x, axis=1) / np.sum(keep, axis=1)

    told = evidence("constant_factor", f, lambda dy, x: dy[:, None] * keep / 6, X)
    assert told == (
        "in each row analytic = c × numeric, with c = 0.3333, 0.5000, 0.6667"
    )


def test_a_dy_passed_on_as_it_came_lacks_a_factor():
    def f(x):
        return np.cos(3 * x) + 2 * x

    told = evidence("missing_factor", f, lambda dy, x: dy, X)
    assert "with a factor of 1; the slopes are " in told


# -------------------------------------------------------------------- wrong points


def test_a_formula_for_the_output_given_the_input_is_named():
    told = evidence("wrong_point", np.tanh, lambda dy, x: dy * (1 - x**2), X)
    assert told.startswith("given the output in place of x")


def test_a_formula_for_the_input_given_the_output_is_named():
    def slope(x):
        return sigmoid(x) * (1 + x * (1 - sigmoid(x)))

    def silu(x):
        return x * sigmoid(x)

    told = evidence("wrong_point", silu, lambda dy, x: dy * slope(silu(x)), X)
    assert told.startswith("analytic is the derivative at the output, not at x")


def test_a_formula_at_some_third_place_is_not():
    assert not kinds(np.tanh, lambda dy, x: dy * (1 - np.tanh(x + 0.3) ** 2), X)


# ---------------------------------------------------------------- paths and masks


def test_nothing_at_all_is_a_dropped_path():
    assert kinds(np.sin, lambda dy, x: None, X) == ["dropped_path"]


def test_zeros_that_are_right_for_a_dy_of_ones_are_told_apart():
    assert kinds(softmax, lambda dy, x: 0 * dy, X) == [
        "dropped_path",
        "uninformative_upstream",
    ]


def test_the_straight_path_forgotten_or_taken_twice_is_named():
    def f(x):
        return x + np.sin(x)

    assert kinds(f, lambda dy, x: dy * np.cos(x), X) == ["dropped_path"]
    assert kinds(f, lambda dy, x: dy * (2 + np.cos(x)), X) == ["double_count"]
    assert not kinds(f, lambda dy, x: dy * (1.1 + np.cos(x)), X)


def test_a_term_of_the_product_rule_left_out_is_named():
    def f(x):
        return x * np.tanh(x)

    told = evidence("dropped_path", f, lambda dy, x: dy * np.tanh(x), X)
    assert told == "numeric − analytic = dy · x · (1 − tanh²(x)) in all 24 entries"


def test_a_term_of_a_loss_left_out_is_named():
    def f(p):
        return np.sum(np.exp(p) * p)

    told = evidence("dropped_path", f, lambda dy, p: dy * p * np.exp(p), X)
    assert told == "numeric − analytic = dy · exp(p) in all 24 entries"


def test_entries_that_get_nothing_are_named_if_the_rest_is_right():
    def backward(dy, x):
        dx = dy * np.cos(x)
        dx[:, 3:5] = 0
        return dx

    told = evidence("dropped_path", np.sin, backward, X)
    assert told == (
        "analytic is 0 in 8 of 24 entries where numeric is not (at indices 3, 4 of "
        "axis 1); the rest is right"
    )

    def and_more(dy, x):
        return np.tanh(backward(dy, x))

    report = check_gradients(Op.plain(np.sin, and_more), X)
    assert not report.findings and "analytic is 0 in 8" in report.rows[0].note


def test_a_mask_left_out_is_named():
    def f(x):
        return np.maximum(x, 0) ** 2 + np.minimum(x, 0) * 0

    told = evidence(
        "missing_mask",
        lambda x: np.sum(np.maximum(x, 0) * 2),
        lambda dy, x: 2 * dy + 0 * x,
        X,
    )
    assert (
        f"analytic is not 0 in {np.sum(X < 0)} of 24 entries where numeric is" in told
    )
    assert kinds(f, lambda dy, x: 2 * dy * np.maximum(x, 0), X) == []


def test_a_float_mask_left_out_is_named():
    mask = (rng.random(X.shape) > 0.4) / 0.6

    def backward(dy, x, mask):
        return dy * np.cos(x) / 0.6, dy * np.sin(x)

    told = kinds(lambda x, mask: mask * np.sin(x), backward, X, mask)
    assert told == ["missing_mask"]


def test_entries_of_one_sign_that_are_off_are_remarked_on():
    def f(x):
        return np.sum(np.sin(x) + np.abs(x))

    report = check_gradients(Op.plain(f, lambda dy, x: dy * (np.cos(x) + 1)), X)
    assert not report.findings
    assert report.rows[0].note.endswith("off exactly where x is < 0")

    def clipped(x):
        return np.sum(np.sin(x) + 3 * np.clip(x, -1, 1))

    report = check_gradients(Op.plain(clipped, lambda dy, x: dy * np.cos(x)), X)
    assert report.rows[0].note.endswith("off exactly where x is within ±1")


def test_dy_let_through_at_two_entries_is_enough_if_it_is_dy_itself():
    keep = np.full(X.shape, 1.25)
    keep[0, 0] = 0

    def backward(dy, x):
        dx = dy * keep
        dx[[0, 1], [0, 1]] = dy[[0, 1], [0, 1]]
        return dx

    assert kinds(lambda x: x * keep, backward, X) == ["missing_mask"]


# --------------------------------------------------------- sums and accumulation


def test_a_sum_over_the_batch_left_out_is_named():
    told = findings(lambda b: X + b, lambda dy, b: dy, np.ones(6))
    assert [f.kind for f in told] == ["missing_sum", "wrong_shape", "silent_broadcast"]
    assert told[0].evidence.startswith(
        "summed over axis 0, the array of shape (4, 6) is"
    )


def test_a_sum_over_two_axes_left_out_is_named():
    x = rng.normal(size=(2, 3, 4))
    told = evidence("missing_sum", lambda b: x * b, lambda dy, b: dy * x, np.ones(4))
    assert told.startswith("summed over axes 0 and 1")


def test_a_sum_too_many_is_told():
    told = evidence(
        "wrong_shape", lambda b: X * b, lambda dy, b: np.sum(dy * X), np.ones(6)
    )
    assert told.endswith("it is the numeric gradient summed over axis 0")


def test_a_shape_with_other_numbers_is_only_a_shape():
    assert kinds(lambda b: X + b, lambda dy, b: dy**2, np.ones(6)) == [
        "wrong_shape",
        "silent_broadcast",
    ]


def test_a_shape_that_does_not_broadcast_is_not_silent():
    assert kinds(lambda x: 2 * x, lambda dy, x: 2 * dy[:, :4], X) == ["wrong_shape"]


def test_the_right_numbers_in_another_shape_are_told():
    told = evidence("wrong_shape", np.sin, lambda dy, x: (dy * np.cos(x)).ravel(), X)
    assert told.endswith("in order, its entries are the right ones")


def test_a_sum_over_the_wrong_axis_is_named_where_it_fits():
    x = rng.normal(size=(5, 5))
    told = evidence(
        "wrong_axis", lambda b: x + b, lambda dy, b: dy.sum(axis=1), np.ones(5)
    )
    assert told.startswith("analytic = dy.sum(axis=1) and numeric = dy.sum(axis=0)")


def test_the_last_contribution_alone_is_named():
    w = rng.normal(size=(6, 3))

    def backward(dy, x, w):
        return dy @ w.T, np.outer(x[-1], dy[-1])

    told = evidence("not_accumulated", lambda x, w: x @ w, backward, X, w)
    assert told.startswith("only dy at index 3 of axis 0 reaches dw, and rightly so")


def test_a_contribution_counted_twice_is_named():
    def f(k):
        return np.stack([k, 2 * k, 3 * k])

    def backward(dy, k):
        return 2 * dy[0] + 2 * dy[1] + 3 * dy[2]

    told = evidence("double_count", f, backward, X)
    assert told == "dy at index 0 of axis 0 is counted twice in dk, the rest once"


IDS = np.array([1, 4, 1, 0, 1])
TABLE = rng.normal(size=(6, 3))


def lookup(ids, table):
    return table[ids]


def test_repeated_ids_that_keep_the_last_are_named():
    def backward(dy, ids, table):
        dtable = np.zeros_like(table)
        dtable[ids] += dy
        return dtable

    told = evidence("not_accumulated", lookup, backward, IDS, TABLE)
    assert told.startswith(
        "only rows whose ids occur more than once are off (row 1: 3 times)"
    )


def test_repeated_ids_that_count_several_times_are_a_double_count():
    def backward(dy, ids, table):
        dtable = np.zeros_like(table)
        for i, token in enumerate(ids):
            dtable[token] += dy[i] * np.sum(ids == token)
        return dtable

    assert kinds(lookup, backward, IDS, TABLE) == ["double_count"]


def test_repeated_ids_that_are_averaged_are_a_constant_factor():
    def backward(dy, ids, table):
        dtable, count = np.zeros_like(table), np.bincount(ids, minlength=6)
        np.add.at(dtable, ids, dy)
        return dtable / np.maximum(count, 1)[:, None]

    assert kinds(lookup, backward, IDS, TABLE) == ["constant_factor"]


def test_keeping_the_last_of_equal_contributions_is_not_called_averaging():
    def bag(ids, table):
        return table[ids].mean(axis=0)

    def backward(dy, ids, table):
        dtable = np.zeros_like(table)
        dtable[ids] += dy / len(ids)
        return dtable

    assert kinds(bag, backward, IDS, TABLE) == ["not_accumulated"]


def test_rows_that_were_never_looked_up_get_nothing():
    def backward(dy, ids, table):
        dtable = np.zeros_like(table) + dy.mean(axis=0)
        np.add.at(dtable, ids, dy)
        return dtable

    told = evidence("missing_mask", lookup, backward, IDS, TABLE)
    assert told.startswith("no ids looks up rows 2, 3, 5")


def test_one_of_two_uses_of_a_table_is_named():
    def f(ids, table):
        return table[ids] @ table.T

    def backward(dy, ids, table):
        return dy.T @ table[ids]

    assert kinds(f, backward, IDS, TABLE) == ["not_accumulated"]


def test_ids_may_be_integers_of_any_width():
    def backward(dy, ids, table):
        dtable = np.zeros_like(table)
        dtable[ids] += dy
        return dtable

    for dtype in (np.uint8, np.int32, np.uint64):
        assert kinds(lookup, backward, IDS.astype(dtype), TABLE) == ["not_accumulated"]


def test_rows_of_wrong_numbers_are_not_said_to_be_short():
    def backward(dy, ids, table):
        dtable = np.zeros_like(table)
        np.add.at(dtable, ids, dy[::-1])
        return dtable

    assert not kinds(lookup, backward, IDS, TABLE)


# ----------------------------------------------------------------- matrix products

A, B = rng.normal(size=(2, 4, 4))


def product(a, b):
    return a @ b


def test_a_missing_transpose_is_named_with_the_product_that_is_meant():
    told = evidence("transpose", product, lambda dy, a, b: (dy @ b, a.T @ dy), A, B)
    assert told == "analytic = dy @ b and numeric = dy @ b.T in all 16 entries"


def test_a_missing_transpose_is_named_for_a_vector():
    v = rng.normal(size=4)
    told = evidence(
        "transpose",
        lambda a, v: a @ v,
        lambda dy, a, v: (np.outer(dy, v), a @ dy),
        A,
        v,
    )
    assert told == "analytic = dy @ a.T and numeric = dy @ a in all 4 entries"


def test_a_gradient_that_is_transposed_is_named():
    def backward(dy, a, b):
        return (dy @ b.T).T, a.T @ dy

    assert kinds(product, backward, A, B) == ["transpose"]
    wide = rng.normal(size=(4, 7))
    found = kinds(product, lambda dy, a, b: (dy @ b.T, (a.T @ dy).T), A, wide)
    assert found == ["transpose", "wrong_shape"]


def test_a_jacobian_for_its_transpose_is_named():
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    told = evidence(
        "transpose",
        lambda x: np.tanh(x) @ turn,
        lambda dy, x: (1 - np.tanh(x) ** 2) * dy @ turn,
        X,
    )
    assert told.startswith("backward multiplies dy by the Jacobian of y")


def test_another_array_in_the_product_is_named():
    told = evidence(
        "wrong_operand", product, lambda dy, a, b: (dy @ b.T, b.T @ dy), A, B
    )
    assert told == "analytic = b.T @ dy and numeric = a.T @ dy in all 16 entries"


def test_gradients_in_the_order_of_other_inputs_are_named():
    def f(q, k):
        return np.sin(q) * np.exp(k)

    def backward(dy, q, k):
        return dy * np.sin(q) * np.exp(k), dy * np.cos(q) * np.exp(k)

    told = findings(f, backward, X, 0.3 * X)[0]
    assert told.kind == "wrong_operand"
    assert told.evidence.startswith(
        "what backward returned for q is the numeric gradient"
    )


# ------------------------------------------------------------------------ coupling


def centred(x):
    return x - x.mean(axis=-1, keepdims=True)


def layer_norm(x):
    return centred(x) / np.sqrt(np.mean(centred(x) ** 2, axis=-1, keepdims=True))


def layer_norm_backward(dy, x, first=1.0, second=1.0):
    x_hat = layer_norm(x)
    s = np.sqrt(np.mean(centred(x) ** 2, axis=-1, keepdims=True))
    mean = dy.mean(axis=-1, keepdims=True)
    couple = x_hat * np.mean(dy * x_hat, axis=-1, keepdims=True)
    return (dy - first * mean - second * couple) / s


def test_the_diagonal_alone_is_a_dropped_coupling():
    def backward(dy, x):
        p = softmax(x)
        return dy * p * (1 - p)

    told = evidence("dropped_coupling", softmax, backward, X)
    assert "an entry of x moves other outputs too" in told
    assert kinds(layer_norm, lambda dy, x: layer_norm_backward(dy, x, 0, 0), X) == [
        "dropped_coupling"
    ]


@pytest.mark.parametrize(
    ("sizes", "kind", "vector"),
    [
        ((0, 1), "dropped_coupling", "ones"),
        ((1, 0), "dropped_coupling", "the output"),
        ((6, 1), "constant_factor", "ones"),
        ((1, -1), "sign_flip", "the output"),
    ],
)
def test_one_of_two_coupling_terms_is_told_from_the_other(sizes, kind, vector):
    found = findings(layer_norm, lambda dy, x: layer_norm_backward(dy, x, *sizes), X)
    assert [f.kind for f in found] == [kind]
    assert found[0].evidence.startswith(f"each row is off by a multiple of {vector} (")


def test_a_coupling_of_the_wrong_size_says_by_how_much():
    told = evidence(
        "constant_factor", layer_norm, lambda dy, x: layer_norm_backward(dy, x, 6, 1), X
    )
    assert told.endswith("6.000 × what it should be; 6 is the length of axis 1 of x")


def test_a_sign_in_the_coupling_is_named():
    def backward(dy, x):
        p = softmax(x)
        return p * dy + p * (np.sum(p * dy, axis=-1, keepdims=True) - 2 * p * dy)

    told = evidence("sign_flip", softmax, backward, X)
    assert told.startswith("between different entries analytic = −numeric")


def test_columns_couple_as_rows_do():
    def backward(dy, x):
        return layer_norm_backward(dy.T, x.T, 0, 1).T

    told = evidence("dropped_coupling", lambda x: layer_norm(x.T).T, backward, X)
    assert told.startswith("each column is off by a multiple of ones")


def test_a_term_that_should_not_be_there_is_remarked_on_and_not_named():
    def rms(x):
        return np.sqrt(np.mean(x * x, axis=-1, keepdims=True))

    def backward(dy, x):
        x_hat = x / rms(x)
        return (
            centred(dy) - x_hat * np.mean(dy * x_hat, axis=-1, keepdims=True)
        ) / rms(x)

    report = check_gradients(Op.plain(lambda x: x / rms(x), backward), X)
    assert not report.findings
    assert "each row is off by a multiple of ones" in report.rows[0].note


def test_rows_off_by_unrelated_amounts_are_no_coupling():
    def backward(dy, x):
        return layer_norm_backward(dy, x) + 0.1 * dy * np.sin(7 * x)

    assert not kinds(layer_norm, backward, X)


def test_two_entries_are_always_a_multiple_of_something():
    x = np.array([0.3, -1.1])

    def backward(dy, x):
        return softmax_backward(dy, x) + dy.sum() * np.array([0.3, 0.5])

    assert "dropped_coupling" not in kinds(softmax, backward, x)


def test_positions_mixed_by_backward_alone_are_named():
    x = rng.normal(size=(2, 3, 5))

    def backward(dy, x):
        p = softmax(x)
        return p * (dy - np.sum(p * dy, axis=(-1, -2), keepdims=True))

    told = evidence("wrong_axis", softmax, backward, x)
    assert "in forward each position along axis 1 is on its own" in told


def test_the_mask_of_a_hidden_layer_left_out_is_named_at_its_bias():
    w = rng.normal(size=(5, 2))

    def f(b):
        return np.maximum(X[:, :5] + b, 0) @ w

    told = evidence(
        "missing_mask", f, lambda dy, b: np.sum(dy @ w.T, axis=0), np.ones(5)
    )
    assert (
        told.startswith("backward uses ") and "the 34 that are not 0 are right" in told
    )


def test_a_norm_of_an_input_taken_as_a_constant_is_a_dropped_coupling():
    def f(a):
        return np.sum(a * GAIN, axis=-1) / np.sqrt(np.sum(a * a, axis=-1))

    def backward(dy, a):
        return dy[:, None] * GAIN / np.sqrt(np.sum(a * a, axis=-1, keepdims=True))

    told = evidence("dropped_coupling", f, backward, X)
    assert told.startswith("each row is off by a multiple of a (")


def test_a_causal_mask_left_out_of_backward_is_named():
    mask = np.tril(np.ones((4, 4), bool))

    def weights(x, mask):
        return softmax(np.where(mask, x @ x.T, -1e30))

    def f(v):
        return weights(X, mask) @ v

    told = evidence("missing_mask", f, lambda dy, v: weights(X, True).T @ dy, X)
    assert "no output depends on later positions of v (axis 0)" in told
    assert "in 6 of 6 pairs" in told


# ------------------------------------------------------------- what is not a mistake


RIGHT = {
    "sin": (np.sin, lambda dy, x: dy * np.cos(x)),
    "softmax": (softmax, softmax_backward),
    "layer norm": (layer_norm, layer_norm_backward),
    "relu": (lambda x: np.maximum(x, 0), lambda dy, x: dy * (x > 0)),
    "sum": (np.sum, lambda dy, x: dy + 0 * x),
    "transpose": (lambda x: x.T, lambda dy, x: dy.T),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_gradient_has_no_findings(name):
    f, backward = RIGHT[name]
    report = check_gradients(Op.plain(f, backward), X)
    assert report.verdict == "agree" and not report.findings


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("shape", [(2,), (3,), (2, 2), (4, 6)])
def test_a_gradient_of_random_numbers_follows_no_pattern(shape, seed):
    """Linear in dy, repeatable, of the right shape and otherwise nonsense."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=shape)
    matrix = draw.normal(size=(x.size, x.size))

    def backward(dy, x):
        return (matrix @ dy.ravel()).reshape(x.shape)

    report = check_gradients(Op.plain(np.sin, backward), x, seed=seed)
    assert report.verdict == "disagree" and not report.findings


def test_a_large_block_of_a_model_is_diagnosed_from_a_sample():
    params = {"w": rng.normal(size=(70, 50)), "b": rng.normal(size=50)}
    data = rng.normal(size=(8, 70))

    def loss(p):
        return np.mean(np.tanh(data @ p["w"] + p["b"]))

    def grads(p):
        g = (1 - np.tanh(data @ p["w"] + p["b"]) ** 2) / 400
        return {"w": 8 * data.T @ g, "b": g.sum(axis=0)}

    report = check_loss(loss, grads, params)
    assert [(f.kind, f.name) for f in report.findings] == [("constant_factor", "w")]
    assert "8.000 × numeric" in report.findings[0].evidence


# ------------------------------------------------------------------ and never a crash

SPOILED = {
    "scaled": lambda g: g * np.arange(1.0, g.size + 1).reshape(g.shape),
    "nothing": lambda g: None,
    "nan": lambda g: g * np.nan,
    "infinite": lambda g: g + np.inf,
    "summed": lambda g: g.sum(),
    "transposed": lambda g: g.T,
    "reversed": lambda g: g[::-1],
    "an axis more": lambda g: np.stack([g, g]),
    "an axis less": lambda g: g[0],
    "rounded": lambda g: np.round(10 * g).astype(int),
    "half precision": lambda g: (1.5 * g).astype(np.float16),
    "ones": np.ones_like,
}
SHAPES = {
    "rms_norm": [(4, 6), (6,)],
    "linear": [(2, 3, 4), (4, 5), (5,)],
    "attention": [(3, 4), (3, 4), (3, 2)],
    "embedding": [IDS, (6, 3)],
    "cross_entropy": [(5, 6), IDS],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e50])
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("how", SPOILED)
def test_every_spoiled_gradient_gets_a_report(how, name, scale):
    op, inputs = getattr(ops, name), []
    for shape in SHAPES[name]:
        is_shape = isinstance(shape, tuple)
        inputs.append(scale * rng.normal(size=shape) if is_shape else shape)

    def backward(dy, cache):
        gradients = op.backward(dy, cache)
        if isinstance(gradients, tuple):
            return SPOILED[how](gradients[0]), *gradients[1:]
        return SPOILED[how](gradients)

    report = check_gradients(Op(op.forward, backward), *inputs)
    assert len(report.rows) == sum(isinstance(shape, tuple) for shape in SHAPES[name])
    assert max(map(len, str(report).splitlines())) <= 72
    if scale == 1.0:
        assert report.verdict == "disagree"
