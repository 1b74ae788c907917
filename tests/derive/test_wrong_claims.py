"""No wrong closed form is proved: the proof must be able to fail."""

from dataclasses import replace

import pytest
from sympy import KroneckerDelta, Piecewise, Sum, exp, sqrt, tanh

from backhand.derive import (
    CLAIMS,
    activations,
    attention,
    cross_entropy,
    embedding,
    linear,
    multi_head_attention,
    normalization,
    residual,
    rope,
    softmax,
    swiglu,
)


def activations_():
    m = activations
    dy, i, s, x, u = m.dy, m.i, m.sigma, m.x, m.u
    yield m.SIGMOID, "x", dy[i] * x[i] * (1 - x[i]), "fed the input"
    yield m.SIGMOID, "x", dy[i] * s[i] * (1 + s[i]), "sign"
    yield m.TANH, "x", dy[i] * (1 - tanh(x[i])), "no square"
    yield m.TANH, "x", -dy[i] * tanh(x[i]) ** 2, "no one"
    yield m.RELU, "x", dy[i], "no mask"
    yield m.RELU, "x", dy[i] * Piecewise((x[i], x[i] > 0), (0, True)), "the output"
    flat = Piecewise((1, x[i] > 0), (0, True))
    yield m.LEAKY_RELU, "x", dy[i] * flat, "no leak"
    yield m.SILU, "x", dy[i] * s[i] * (1 + x[i] - s[i]), "parentheses"
    yield m.SILU, "x", dy[i] * s[i], "second term"
    yield m.GELU, "x", dy[i] * m.GATE_TERM, "second term"
    yield m.GELU, "x", m.GELU_EXACT.gradients["x"], "slope of the exact form"
    no_cubic = x[i] * (1 - tanh(u[i]) ** 2) * m.c / 2
    yield m.GELU, "x", dy[i] * (m.GATE_TERM + no_cubic), "inner slope"


def softmax_():
    dp, j, k, p = softmax.dp, softmax.j, softmax.k, softmax.p
    yield softmax.CLAIM, "z", p[j] * (dp[j] + Sum(dp[k] * p[k], k)), "sign"
    yield softmax.CLAIM, "z", dp[j] - Sum(dp[k] * p[k], k), "factor p"
    yield softmax.CLAIM, "z", p[j] * (dp[j] - Sum(dp[k], k)), "p in the sum"
    yield softmax.CLAIM, "z", p[j] * (1 - p[j]) * dp[j], "diagonal only"


def cross_entropy_():
    m = cross_entropy
    dL, N, j, p, t = m.dL, m.N, m.j, m.p, m.t
    y = KroneckerDelta(j, m.c[t])
    yield m.CLAIM, "logits", dL * (p[t, j] - y), "no divisor"
    yield m.CLAIM, "logits", dL * (p[t, j] - y) / N**2, "divisor twice"
    yield m.CLAIM, "logits", dL * (p[t, j] - y) / m.T, "the mean's divisor for a sum"
    yield m.CLAIM, "logits", dL * (y - p[t, j]) / N, "sign"
    yield m.CLAIM, "logits", dL * p[t, j] / N, "target"
    yield m.CLAIM, "logits", (p[t, j] - y) / N, "upstream"


def linear_():
    m = linear
    i, j, t, v, w, e = m.i, m.j, m.t, m.v, m.w, m.e
    yield m.CLAIM, "x", Sum(m.dy[t, j] * w[j, i], j), "transpose"
    yield m.CLAIM, "w", m.x[t, i] * m.dy[t, j], "sum over positions"
    yield m.CLAIM, "b", m.dy[t, j], "sum over positions"
    yield m.CLAIM, "b", Sum(m.dy[t, j], t) / m.T, "a mean"
    yield m.UNEMBEDDING, "h", Sum(m.dz[t, v] * e[i, v], v), "transpose"
    yield m.UNEMBEDDING, "table", -Sum(m.dz[t, v] * m.h[t, i], t), "sign"


def embedding_():
    m = embedding
    a, dy, t = m.a, m.dy, m.t
    last = KroneckerDelta(m.v, m.token[m.T - 1]) * dy[m.T - 1, a]
    yield m.CLAIM, "table", last, "assigned"
    yield m.CLAIM, "table", Sum(dy[t, a], t), "every row"


def normalization_():
    m = normalization
    dy, gain, i, j, n, r, s, xhat = m.dy, m.gain, m.i, m.j, m.n, m.r, m.sigma, m.xhat
    g_j, g_i = gain[j] * dy[j], gain[i] * dy[i]
    mean, coupling = Sum(g_i, i) / n, xhat[j] * Sum(g_i * xhat[i], i) / n
    yield m.RMS_NORM, "x", g_j / r, "coupling"
    yield m.RMS_NORM, "x", (g_j + coupling) / r, "sign"
    yield m.RMS_NORM, "x", (g_j - n * coupling) / r, "sum for mean"
    yield m.RMS_NORM, "x", g_j - coupling, "division by r"
    ungained = dy[j] - xhat[j] * Sum(dy[i] * xhat[i], i) / n
    yield m.RMS_NORM, "x", ungained / r, "gain"
    yield m.RMS_NORM, "gain", m.dy[j] * m.x[j], "not normalised"
    yield m.LAYER_NORM, "x", (g_j - coupling) / s, "RMSNorm's formula"
    yield m.LAYER_NORM, "x", (g_j - mean) / s, "coupling"
    unbiased = (g_j - mean - coupling * n / (n - 1)) / s
    yield m.LAYER_NORM, "x", unbiased, "n - 1"
    yield m.LAYER_NORM, "bias", dy[j] * gain[j], "gain"
    yield m.IN_TWO_STEPS, "x", m.dc[j], "projection"
    yield m.IN_TWO_STEPS, "c", m.RMS_NORM.gradients["x"] * r, "division by r"


def attention_():
    m = attention
    P, S, a, b, d, s, t, r = m.P, m.S, m.a, m.b, m.d, m.s, m.t, m.r
    dP, dS, dc, k, q = m.dP, m.dS, m.dc, m.k, m.q
    yield m.CLAIM, "q", Sum(dS[t, s] * k[s, a], s), "1/√d"
    yield m.CLAIM, "q", Sum(dS[t, s] * k[s, a], s) / d, "1/√d twice"
    yield m.CLAIM, "k", Sum(dS[s, t] * q[t, a], t) / sqrt(d), "transpose"
    yield m.CLAIM, "v", Sum(P[s, t] * dc[t, b], t), "transpose"
    yield m.CLAIM, "S", P[t, s] * dP[t, s], "coupling"
    wrong = P[t, s] * (dP[t, s] - Sum(P[t, r] * dP[t, s], r))
    yield m.CLAIM, "S", wrong, "coupling with itself"
    unmasked = exp(S[t, s]) / Sum(exp(S[t, r]), r)
    gap = dP[t, s] - Sum(P[t, r] * dP[t, r], r)
    yield m.CLAIM, "S", unmasked * gap, "mask"


def multi_head_attention_():
    m = multi_head_attention
    a, d, h, i, s, t = m.a, m.d, m.h, m.i, m.s, m.t
    only_q = Sum(m.dq[t, h, a] * m.w_q[i, h, a], h, a)
    yield m.CLAIM, "x", only_q, "only the queries' path"
    x = m.CLAIM.gradients["x"]
    yield m.CLAIM, "x", x - 2 * only_q, "one sign"
    yield m.CLAIM, "q", Sum(m.dS[h, t, s] * m.k[s, h, a], s), "1/√d"
    yield m.CLAIM, "w_o", Sum(m.v[t, h, a] * m.dy[t, m.o], t), "v for the context"


def rope_():
    m = rope
    R, a, b, dy, pair, t = m.R, m.a, m.b, m.dy, m.m, m.t
    forward = Sum(R[t, pair, b, a] * dy[t, pair, a], a)
    yield m.CLAIM, "x", forward, "the forward rotation"
    yield m.CLAIM, "x", dy[t, pair, b], "no rotation"


def swiglu_():
    m = swiglu
    dh, dg, ds, g, h, j, s, sigma, t, u = (
        *(m.dh, m.dg, m.ds, m.g, m.h),
        *(m.j, m.s, m.sigma, m.t, m.u),
    )
    yield m.CLAIM, "x", Sum(m.du[t, j] * m.up[m.i, j], j), "gate's path"
    yield m.CLAIM, "s", dh[t, j] * s[t, j], "s for u"
    yield m.CLAIM, "u", dh[t, j] * g[t, j], "gate before the SiLU"
    yield m.CLAIM, "g", ds[t, j] * sigma[t, j], "second term"
    wrong_point = ds[t, j] * sigma[t, j] * (1 + s[t, j] * (1 - sigma[t, j]))
    yield m.CLAIM, "g", wrong_point, "slope at the output"


def residual_():
    m = residual
    yield m.CLAIM, "x", 2 * m.dy[m.i], "twice"
    yield m.CLAIM, "fx", 0 * m.dy[m.i], "replaced"


WRONG = [
    pytest.param(claim, name, wrong, id=f"{claim.op}, {name}: {what}")
    for family in (
        *(activations_, softmax_, cross_entropy_, linear_, embedding_),
        *(normalization_, attention_, multi_head_attention_, rope_, swiglu_),
        residual_,
    )
    for claim, name, wrong, what in family()
]


@pytest.mark.parametrize("claim, name, wrong", WRONG)
def test_a_wrong_claim_is_refuted(claim, name, wrong):
    mistaken = replace(claim, gradients={**claim.gradients, name: wrong})
    assert mistaken.prove(name)[name] != 0


def test_every_op_has_a_wrong_claim():
    refuted = {param.values[0].op for param in WRONG}
    assert refuted == set(CLAIMS) - {"tiled_attention"}
