"""A product rule with a term too few is named, whatever the factors are."""

import numpy as np
import pytest

from backhand import Op, check_gradients
from backhand.ops import gelu, rms_norm, silu

X = np.random.default_rng(0).normal(size=(3, 4))


@pytest.mark.parametrize("op", [silu, gelu])
def test_a_gate_held_constant_is_a_dropped_path(op):
    def forward(x):
        y, _ = op.forward(x)
        return y, y / x

    report = check_gradients(Op(forward, lambda dy, gate: dy * gate), X)
    assert [finding.kind for finding in report.findings] == ["dropped_path"]


def test_a_plain_factor_is_no_product_rule():
    double = Op(lambda x: (2 * x, None), lambda dy, _: dy)
    report = check_gradients(double, X)
    assert [finding.kind for finding in report.findings] == ["constant_factor"]


def test_a_factor_that_depends_on_the_row_is_a_coupling_instead():
    def backward(dy, cache):
        return dy * cache.gain / cache.rms, (dy * cache.x_hat).sum(axis=0)

    report = check_gradients(Op(rms_norm.forward, backward), X, np.arange(1.0, 5.0))
    assert [finding.kind for finding in report.findings] == ["dropped_coupling"]
