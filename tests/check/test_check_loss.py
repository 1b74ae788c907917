"""A whole model: a few directions a block."""

import numpy as np
import pytest

from backhand.check import check_loss

rng = np.random.default_rng(0)
DATA, TARGET = rng.normal(size=(20, 6)), rng.normal(size=(20, 3))
PARAMS = {
    "w1": rng.normal(size=(6, 8)),
    "b1": rng.normal(size=8),
    "w2": rng.normal(size=(8, 3)),
    "scale": np.array(1.3),
}


def loss(p):
    y = np.tanh(DATA @ p["w1"] + p["b1"]) @ p["w2"]
    return float(np.mean((p["scale"] * y - TARGET) ** 2))


def grads(p):
    h = np.tanh(DATA @ p["w1"] + p["b1"])
    y = h @ p["w2"]
    g = 2 * (p["scale"] * y - TARGET) / TARGET.size
    dz = p["scale"] * g @ p["w2"].T * (1 - h * h)
    return {
        "w1": DATA.T @ dz,
        "b1": dz.sum(axis=0),
        "w2": p["scale"] * h.T @ g,
        "scale": np.sum(g * y),
    }


def test_a_right_model_agrees_block_by_block():
    report = check_loss(loss, grads, PARAMS)
    assert report.verdict == "agree"
    assert [row.name for row in report.rows] == list(PARAMS)


@pytest.mark.parametrize("block", PARAMS)
def test_a_wrong_block_is_found_and_the_others_are_right(block):
    def wrong(p):
        return {
            name: g * (3.0 if name == block else 1.0) for name, g in grads(p).items()
        }

    report = check_loss(loss, wrong, PARAMS)
    assert report.verdict == "disagree"
    assert [row.name for row in report.rows if row.verdict == "disagree"] == [block]
    assert report.row(block).ratio == pytest.approx(3.0)


def test_a_relative_error_of_1e_4_in_one_entry_is_caught():
    def wrong(p):
        g = grads(p)
        g["w1"][3, 5] += 1e-4 * np.max(np.abs(g["w1"]))
        return g

    row = check_loss(loss, wrong, PARAMS).row("w1")
    assert row.verdict == "disagree" and row.worst_index == (3, 5)


def test_a_block_without_a_gradient_is_judged_as_zeros():
    def without(p):
        return {name: g for name, g in grads(p).items() if name != "w2"}

    report = check_loss(loss, without, PARAMS)
    assert report.row("w2").verdict == "disagree"
    assert [f.kind for f in report.findings] == ["dropped_path"]
    assert (
        check_loss(loss, lambda p: {**grads(p), "w2": None}, PARAMS).row("w2").analytic
        == 0
    )


def test_a_block_of_one_number_without_a_gradient_is_told_so():
    """One number supports no pattern; that nothing was returned needs none."""
    report = check_loss(loss, lambda p: {**grads(p), "scale": None}, PARAMS)
    (finding,) = report.findings
    assert (finding.kind, finding.name) == ("dropped_path", "scale")
    assert "no gradient of scale was returned" in finding.evidence


@pytest.mark.parametrize(
    ("f", "derivative", "why"),
    [
        (lambda w: np.sum(np.abs(w)), np.sign, "there is a kink"),
        (
            lambda w: np.float32(1e3 + np.sum(np.sin(30 * w))),
            lambda w: 30 * np.cos(30 * w),
            "round-off hides the rest",
        ),
        (
            lambda w: np.sum(w) + 0 * np.sqrt(w[0, 0] - 0.1),
            np.ones_like,
            "not finite nearby",
        ),
    ],
)
def test_a_block_that_cannot_be_judged_says_why(f, derivative, why):
    w = np.linspace(0.1, 0.3, 60).reshape(6, 10)
    if why == "there is a kink":
        w[2] = 0
    report = check_loss(
        lambda p: f(p["w"]), lambda p: {"w": derivative(p["w"])}, {"w": w}
    )
    assert report.verdict == "inconclusive"
    assert why in report.row("w").note


def test_a_penalty_is_described_without_a_dy_that_the_caller_has_not():
    def wrong(p):
        return {**grads(p), "w1": grads(p)["w1"] + 0.1 * p["w1"]}

    (finding,) = check_loss(loss, wrong, PARAMS).findings
    assert "analytic − numeric = 0.1000 · w1 in all 48 entries" in finding.evidence


def test_float32_parameters_are_checked_in_float64():
    single = {name: value.astype(np.float32) for name, value in PARAMS.items()}
    assert check_loss(loss, grads, single).verdict == "agree"


def test_integers_among_the_parameters_are_left_out():
    report = check_loss(loss, grads, {**PARAMS, "step": np.array(3)})
    assert [row.name for row in report.rows] == list(PARAMS)


def test_the_parameters_are_left_alone():
    before = {name: value.copy() for name, value in PARAMS.items()}
    check_loss(loss, grads, PARAMS)
    for name, value in PARAMS.items():
        np.testing.assert_array_equal(value, before[name])


def test_gradients_kept_from_the_call_before_are_noticed():
    kept = {name: np.zeros_like(value) for name, value in PARAMS.items()}

    def accumulating(p):
        for name, g in grads(p).items():
            kept[name] += g
        return kept

    report = check_loss(loss, accumulating, PARAMS)
    assert {f.kind for f in report.findings} == {"not_repeatable"}


def test_a_loss_that_draws_random_numbers_is_inconclusive():
    noise = np.random.default_rng(1)
    report = check_loss(lambda p: loss(p) + noise.normal(), grads, PARAMS)
    assert report.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("f", "g", "error", "message"),
    [
        (lambda p: p["w1"], grads, ValueError, r"loss has shape \(6, 8\); it needs"),
        (loss, lambda p: {"w3": 1.0}, ValueError, "gradient for 'w3'"),
        (loss, lambda p: [1.0], TypeError, "grads returned list; it needs a dict"),
    ],
)
def test_bad_arguments_are_named(f, g, error, message):
    with pytest.raises(error, match=message):
        check_loss(f, g, PARAMS)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({}, ValueError, "params is empty"),
        ({"layer": {"w": "no"}}, TypeError, r"params\['layer.w'\] .* real numbers"),
        ({"w": None}, TypeError, r"params\['w'\] .* needs real numbers"),
    ],
)
def test_params_that_hold_no_arrays_are_refused(params, error, message):
    with pytest.raises(error, match=message):
        check_loss(lambda p: 1.0, lambda p: {}, params)


def test_params_need_to_be_arrays():
    for nothing in ("w", 3, None):
        with pytest.raises(TypeError, match="it needs a dict or a list of arrays"):
            check_loss(loss, grads, nothing)
