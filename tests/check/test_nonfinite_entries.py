"""One entry that is nan or infinite, where its derivative is finite, is wrong."""

import numpy as np
import pytest

from backhand import Op, check_gradients
from backhand.check import check_loss

NOT_NUMBERS = [np.inf, -np.inf, np.nan]


def spoilt(gradient, value, *where):
    gradient = np.array(gradient)
    for entry in where:
        gradient.flat[entry] = value
    return gradient


@pytest.mark.parametrize("value", NOT_NUMBERS)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (2048,), (2049,), (64, 64)])
def test_one_entry_of_an_array_of_any_size(shape, value):
    x = np.asarray(np.random.default_rng(0).normal(size=shape))
    last = x.size - 1
    op = Op.plain(
        np.tanh, lambda dy, x: spoilt(dy * (1 - np.tanh(x) ** 2), value, last)
    )
    report = check_gradients(op, x)
    assert report.verdict == "disagree"
    assert [finding.kind for finding in report.findings] == ["nonfinite"]
    index = tuple(map(int, np.unravel_index(last, shape))) if shape else ()
    assert report.row("x").worst_index == index
    assert report.findings[0].evidence.startswith(f"analytic is {value} in ")


@pytest.mark.parametrize("values", [(np.inf, np.inf), (np.inf, -np.inf)])
def test_two_infinities_do_not_cancel(values):
    def backward(dy, x):
        gradient = dy * 2 * x
        gradient[9], gradient[3000] = values
        return gradient

    x = np.random.default_rng(0).normal(size=4096)
    report = check_gradients(Op.plain(lambda x: x * x, backward), x)
    assert report.verdict == "disagree"


@pytest.mark.parametrize("value", NOT_NUMBERS)
@pytest.mark.parametrize("bad", ["x", "w"])
def test_only_the_input_it_is_in_is_wrong(bad, value):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(60, 50)), rng.normal(size=(50, 70))

    def backward(dy, x, w):
        gradients = {"x": dy @ w.T, "w": x.T @ dy}
        return gradients | {bad: spoilt(gradients[bad], value, 100)}

    report = check_gradients(Op.plain(lambda x, w: x @ w, backward), x, w)
    assert [row.name for row in report.rows if row.verdict != "agree"] == [bad]
    assert [(f.kind, f.name) for f in report.findings] == [("nonfinite", bad)]


@pytest.mark.parametrize("value", NOT_NUMBERS)
@pytest.mark.parametrize("size", [1, 5, 4096])
def test_one_entry_of_a_block_of_a_model(size, value):
    params = {"a": np.array([1.0, -2.0]), "b": np.linspace(1.0, 2.0, size)}

    def loss(p):
        return np.sum(p["a"] ** 2) + np.mean(p["b"] ** 2)

    def grads(p):
        return {"a": 2 * p["a"], "b": spoilt(2 * p["b"] / size, value, size - 1)}

    report = check_loss(loss, grads, params)
    assert report.row("a").verdict == "agree"
    assert report.row("b").verdict == "disagree"
    assert [(f.kind, f.name) for f in report.findings] == [("nonfinite", "b")]
