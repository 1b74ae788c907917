"""One row of nan does not keep the others from being checked."""

import numpy as np

from backhand import Op, check_gradients


def test_a_forward_with_one_row_of_nan_is_reported():
    def forward(z):  # shifted by the maximum of the batch: 0 / 0 far below it
        e = np.exp(z - z.max())
        p = e / e.sum(axis=-1, keepdims=True)
        return p, p

    def backward(dy, p):
        return p * (dy - np.sum(p * dy, axis=-1, keepdims=True))

    z = np.random.default_rng(0).normal(size=(3, 5)) + [[0], [0], [-900]]
    report = check_gradients(Op(forward, backward), z)
    assert report.verdict == "inconclusive"
    assert [finding.kind for finding in report.findings] == ["nonfinite"]
