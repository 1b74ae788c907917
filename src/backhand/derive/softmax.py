"""Softmax: the Jacobian diag(p) - p pᵀ and its product with a gradient, for every n.

>>> from sympy import Sum, exp
>>> from backhand.derive import contract, diff, fold, indexed, indices, size
>>> n = size("n")
>>> i, j, k = indices("i j k", n)
>>> z, p, dp = indexed("z p dp")
>>> softmax = exp(z[i]) / Sum(exp(z[k]), k)
>>> contract(diff(softmax, z[j]))  # doctest: +NORMALIZE_WHITESPACE
-exp(z[i])*exp(z[j])/Sum(exp(z[k]), (k, 0, n - 1))**2 +
 exp(z[i])*KroneckerDelta(i, j)/Sum(exp(z[k]), (k, 0, n - 1))
>>> jacobian = fold(_, {p[i]: softmax})
>>> jacobian
(KroneckerDelta(i, j) - p[j])*p[i]
>>> contract(Sum(dp[i] * jacobian, i))
dp[j]*p[j] - p[j]*Sum(dp[i]*p[i], (i, 0, n - 1))
"""

from sympy import KroneckerDelta, Sum, exp

from .claims import Claim
from .kernel import indexed, indices, size

n = size("n")
i, j, k = indices("i j k", n)
z, p, dp = indexed("z p dp")

SOFTMAX = exp(z[i]) / Sum(exp(z[k]), k)
JACOBIAN = p[i] * (KroneckerDelta(i, j) - p[j])  # ∂p_i / ∂z_j

CLAIM = Claim(
    op="softmax",
    output=p[i],
    forward=SOFTMAX,
    inputs={"z": z[j]},
    gradients={"z": p[j] * (dp[j] - Sum(dp[k] * p[k], k))},
    definitions={p[i]: SOFTMAX},
    examples=({n: 2}, {n: 3}, {n: 4}),
)
