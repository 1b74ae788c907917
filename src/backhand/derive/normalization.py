"""RMSNorm and LayerNorm: dividing by a statistic of the row couples its entries.

RMSNorm, and the Jacobian of the normalised row:

>>> from sympy import Sum, Symbol, sqrt
>>> from backhand.derive import contract, diff, difference, fold, indexed, indices, size
>>> n, eps, r = size("n"), Symbol("epsilon", positive=True), Symbol("r", positive=True)
>>> i, j, k, l = indices("i j k l", n)
>>> x, xhat, gain, dy = indexed("x xhat gamma dy")
>>> rms = sqrt(Sum(x[k] ** 2, k) / n + eps)
>>> names = {r: rms, xhat[i]: x[i] / r}
>>> fold(contract(diff(rms, x[j])), {r: rms})
x[j]/(n*r)
>>> fold(contract(diff(x[i] / rms, x[j])), names)
(n*KroneckerDelta(i, j) - xhat[i]*xhat[j])/(n*r)

LayerNorm in two steps. Take the mean away; that is a projection, which leaves rows
whose sum is zero alone. Then do RMSNorm:

>>> centred = x[i] - Sum(x[k], k) / n
>>> contract(diff(centred, x[j]))
KroneckerDelta(i, j) - 1/n
>>> difference(Sum(centred, i), 0)
0

So the gradient of RMSNorm arrives, and the same projection takes its mean away.
"""

from sympy import KroneckerDelta, Sum, Symbol, sqrt

from .claims import Claim
from .kernel import indexed, indices, size

n = size("n")
i, j, k = indices("i j k", n)
x, y, dy, gain, bias, xhat, c, dc = indexed("x y dy gamma beta xhat c dc")
eps = Symbol("epsilon", positive=True)
r, sigma = Symbol("r", positive=True), Symbol("sigma", positive=True)
mu = Symbol("mu", real=True)

RMS_DEFINITIONS = {r: sqrt(Sum(x[k] ** 2, k) / n + eps), xhat[i]: x[i] / r}
RMS_JACOBIAN = (KroneckerDelta(i, j) - xhat[i] * xhat[j] / n) / r  # ∂x̂_i / ∂x_j

RMS_NORM = Claim(
    op="rms_norm",
    output=y[i],
    forward=gain[i] * xhat[i],
    inputs={"x": x[j], "gain": gain[j], "eps": eps},
    gradients={
        "x": (gain[j] * dy[j] - xhat[j] * Sum(gain[i] * dy[i] * xhat[i], i) / n) / r,
        "gain": dy[j] * xhat[j],
    },
    definitions=RMS_DEFINITIONS,
    examples=({n: 1}, {n: 2}, {n: 3}),
)

LAYER_DEFINITIONS = {
    mu: Sum(x[k], k) / n,
    sigma: sqrt(Sum((x[k] - mu) ** 2, k) / n + eps),
    xhat[i]: (x[i] - mu) / sigma,
}

LAYER_NORM = Claim(
    op="layer_norm",
    output=y[i],
    forward=gain[i] * xhat[i] + bias[i],
    inputs={"x": x[j], "gain": gain[j], "bias": bias[j], "eps": eps},
    gradients={
        "x": (
            gain[j] * dy[j]
            - Sum(gain[i] * dy[i], i) / n
            - xhat[j] * Sum(gain[i] * dy[i] * xhat[i], i) / n
        )
        / sigma,
        "gain": dy[j] * xhat[j],
        "bias": dy[j],
    },
    definitions=LAYER_DEFINITIONS,
    examples=({n: 1}, {n: 2}, {n: 3}),
)

# LayerNorm in two steps: project the mean out, then RMSNorm.
PROJECTION = KroneckerDelta(i, j) - 1 / n  # ∂c_i / ∂x_j
IN_TWO_STEPS = Claim(
    op="layer_norm",
    output=y[i],
    forward=LAYER_NORM.forward,
    inputs=LAYER_NORM.inputs,
    gradients={
        "c": RMS_NORM.gradients["x"],
        "x": dc[j] - Sum(dc[i], i) / n,
        "gain": dy[j] * xhat[j],
        "bias": dy[j],
    },
    definitions={
        c[j]: x[j] - Sum(x[k], k) / n,
        r: sqrt(Sum(c[k] ** 2, k) / n + eps),
        xhat[i]: c[i] / r,
    },
    examples=LAYER_NORM.examples,
)
