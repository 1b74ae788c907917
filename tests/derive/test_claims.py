"""Every claim is proved, and no wrong claim is."""

from dataclasses import replace

import numpy as np
import pytest
from sympy import KroneckerDelta, Sum

from backhand import ops
from backhand.derive import CLAIMS

EVERY_GRADIENT = [
    pytest.param(claim, name, id=f"{op}-{name}")
    for op, claim in CLAIMS.items()
    for name in claim.gradients
]


@pytest.mark.parametrize("claim, name", EVERY_GRADIENT)
def test_the_claim_is_what_sympy_derives_for_every_size(claim, name):
    assert claim.prove(name) == 0


@pytest.mark.parametrize("claim, name", EVERY_GRADIENT)
def test_the_claim_is_the_brute_force_gradient(claim, name):
    for values in claim.examples:
        assert claim.brute_force(name, values).is_zero_matrix is True


def test_claims_are_filed_under_the_op_they_are_about():
    assert all(op == claim.op and hasattr(ops, op) for op, claim in CLAIMS.items())


def wrong(claim, name, gradient, what):
    return pytest.param(claim, name, gradient, id=f"{claim.op}-{name}: {what}")


def wrong_softmax():
    from backhand.derive.softmax import CLAIM, dp, j, k, p

    yield wrong(CLAIM, "z", p[j] * (dp[j] + Sum(dp[k] * p[k], k)), "sign")
    yield wrong(CLAIM, "z", dp[j] - Sum(dp[k] * p[k], k), "p left out")
    yield wrong(CLAIM, "z", p[j] * (dp[j] - Sum(dp[k], k)), "p left out of the sum")
    yield wrong(CLAIM, "z", p[j] * (1 - p[j]) * dp[j], "diagonal only")


def wrong_cross_entropy():
    from backhand.derive.cross_entropy import CLAIM, N, T, c, dL, j, p, t

    y = KroneckerDelta(j, c[t])
    yield wrong(CLAIM, "logits", dL * (p[t, j] - y), "no divisor")
    yield wrong(CLAIM, "logits", dL * (p[t, j] - y) / N**2, "divisor twice")
    yield wrong(CLAIM, "logits", dL * (p[t, j] - y) / T, "mean's divisor for a sum")
    yield wrong(CLAIM, "logits", dL * (y - p[t, j]) / N, "sign")
    yield wrong(CLAIM, "logits", dL * p[t, j] / N, "target left out")


def wrong_linear():
    from backhand.derive.linear import CLAIM, UNEMBEDDING, dy, dz, e, h, i, j, t, v, w, x

    yield wrong(CLAIM, "x", Sum(dy[t, j] * w[j, i], j), "no transpose")
    yield wrong(CLAIM, "w", x[t, i] * dy[t, j], "no sum over positions")
    yield wrong(CLAIM, "b", dy[t, j], "no sum over positions")
    yield wrong(UNEMBEDDING, "h", Sum(dz[t, v] * e[i, v], v), "no transpose")
    yield wrong(UNEMBEDDING, "table", -Sum(dz[t, v] * h[t, i], t), "sign")


def wrong_embedding():
    from backhand.derive.embedding import CLAIM, T, a, dy, t, token, v

    last = KroneckerDelta(v, token[T - 1]) * dy[T - 1, a]
    yield wrong(CLAIM, "table", last, "only the last token")
    yield wrong(CLAIM, "table", Sum(dy[t, a], t), "every row")


WRONG = [
    *wrong_softmax(),
    *wrong_cross_entropy(),
    *wrong_linear(),
    *wrong_embedding(),
]


@pytest.mark.parametrize("claim, name, gradient", WRONG)
def test_a_wrong_claim_is_refuted(claim, name, gradient):
    claim = replace(claim, gradients={name: gradient})
    assert claim.prove(name) != 0


# For each op: inputs of the NumPy forward, then what the claim calls its options.
random = np.random.default_rng(0).standard_normal
NUMBERS = {
    "softmax": ({"z": random(5)}, {}),
    "cross_entropy": (
        {"logits": random((4, 3)), "targets": np.array([2, 0, 0, 1])},
        {"divisor": 4},
    ),
    "linear": ({"x": random((4, 3)), "w": random((3, 2)), "b": random(2)}, {}),
    "unembedding": ({"h": random((4, 3)), "table": random((5, 3))}, {}),
    "embedding": (
        {"tokens": np.array([2, 0, 2, 3, 2]), "table": random((5, 3))},
        {},
    ),
}


@pytest.mark.parametrize("op", CLAIMS)
def test_the_numpy_backward_computes_the_claim(op):
    inputs, options = NUMBERS[op]
    module = getattr(ops, op)
    y, cache = module.forward(**inputs)
    dy = random(y.shape)
    gradients = module.backward(dy, cache)
    if not isinstance(gradients, tuple):
        gradients = (gradients,)
    claimed = CLAIMS[op].evaluate(dy, **inputs, **options)
    assert list(claimed) == [name for name in inputs if inputs[name].dtype.kind == "f"]
    for name, gradient in zip(claimed, gradients, strict=True):
        np.testing.assert_allclose(gradient, claimed[name], rtol=1e-12, atol=1e-14)
