"""Attention: three rules already known, and the mask is a factor 0 or 1.

A score that is masked adds exp(-inf) = 0 to its row, so the mask enters the softmax
as a factor ``M[t, s]``: 1 where position t may look at s, 0 where it may not. Then the
masked weight is 0, and so is every gradient that has it as a factor:

>>> from sympy import Sum, exp
>>> from backhand.derive import contract, diff, fold, indexed, indices, size
>>> T = size("T")
>>> t, s, r, u = indices("t s r u", T)
>>> M, S, p = indexed("M S p")
>>> weight = M[t, s] * exp(S[t, s]) / Sum(M[t, r] * exp(S[t, r]), r)
>>> fold(contract(diff(weight, S[t, u])), {p[t, s]: weight})
(KroneckerDelta(s, u) - p[t, u])*p[t, s]
"""

from sympy import Sum, exp, sqrt

from .claims import Claim
from .kernel import indexed, indices, size

T, d, m = size("T d m")  # positions, width of queries and keys, width of values
t, s, r = indices("t s r", T)
a, b = indices("a", d), indices("b", m)
q, k, v, c, dc = indexed("q k v c dc")
S, P, M, dS, dP = indexed("S P M dS dP")  # scores, weights, mask

WEIGHT = M[t, s] * exp(S[t, s]) / Sum(M[t, r] * exp(S[t, r]), r)

# The three rules; each takes the gradient that the rule after it hands back.
SCORES = Claim(
    op="attention",
    output=S[t, s],
    forward=Sum(q[t, a] * k[s, a], a) / sqrt(d),
    inputs={"q": q[t, a], "k": k[s, a]},
    gradients={
        "q": Sum(dS[t, s] * k[s, a], s) / sqrt(d),
        "k": Sum(dS[t, s] * q[t, a], t) / sqrt(d),
    },
    examples=({T: 2, d: 3},),
)
WEIGHTS = Claim(
    op="attention",
    output=P[t, s],
    forward=WEIGHT,
    inputs={"scores": S[t, s], "mask": M[t, s]},
    gradients={"scores": P[t, s] * (dP[t, s] - Sum(P[t, r] * dP[t, r], r))},
    definitions={P[t, s]: WEIGHT},
    examples=({T: 3, M: [[1, 0, 0], [1, 1, 0], [1, 1, 1]]},),
)
CONTEXT = Claim(
    op="attention",
    output=c[t, b],
    forward=Sum(P[t, s] * v[s, b], s),
    inputs={"weights": P[t, s], "v": v[s, b]},
    gradients={
        "weights": Sum(dc[t, b] * v[s, b], b),
        "v": Sum(P[t, s] * dc[t, b], t),
    },
    examples=({T: 2, m: 3},),
)

CLAIM = Claim(
    op="attention",
    output=c[t, b],
    forward=CONTEXT.forward,
    inputs={"q": q[t, a], "k": k[s, a], "v": v[s, b], "mask": M[t, s]},
    gradients={
        "P": CONTEXT.gradients["weights"],
        "S": WEIGHTS.gradients["scores"],
        **SCORES.gradients,
        "v": CONTEXT.gradients["v"],
    },
    definitions={S[t, s]: SCORES.forward, P[t, s]: WEIGHT},
    examples=(
        {T: 2, d: 2, m: 1, M: [[1, 0], [1, 1]]},
        {T: 2, d: 1, m: 2, M: [[1, 1], [1, 1]]},
    ),
)
