"""Multi-head attention: three projections of one input, so three gradients meet.

>>> from sympy import Sum
>>> from backhand.derive import contract, diff, indexed, indices, size
>>> T, D, d = size("T D d")
>>> (t, s), i, a = indices("t s", T), indices("i", D), indices("a", d)
>>> x, w_q, w_k, w_v, dq, dk, dv = indexed("x w_q w_k w_v dq dk dv")
>>> paths = [(dq, w_q), (dk, w_k), (dv, w_v)]
>>> loss = sum(Sum(g[t, a] * Sum(x[t, i] * w[i, a], i), t, a) for g, w in paths)
>>> contract(diff(loss, x[s, i]))  # doctest: +NORMALIZE_WHITESPACE
Sum(dk[s, a]*w_k[i, a], (a, 0, d - 1)) + Sum(dq[s, a]*w_q[i, a], (a, 0, d - 1)) +
 Sum(dv[s, a]*w_v[i, a], (a, 0, d - 1))
"""

from sympy import Sum, exp, sqrt

from .claims import Claim
from .kernel import indexed, indices, size

T, D, H, d = size("T D H d")  # positions, model width, heads, width of a head
t, s, r = indices("t s r", T)
i, o = indices("i o", D)
h = indices("h", H)
a = indices("a", d)
x, y, dy = indexed("x y dy")
w_q, w_k, w_v, w_o = indexed("w_q w_k w_v w_o")
q, k, v, c, S, P, M = indexed("q k v c S P M")
dq, dk, dv, dc, dS, dP = indexed("dq dk dv dc dS dP")

# A head is an axis: column (h, a) of a projection is column h · d + a of the array.
CLAIM = Claim(
    op="multi_head_attention",
    output=y[t, o],
    forward=Sum(c[t, h, a] * w_o[h, a, o], h, a),
    inputs={
        "x": x[t, i],
        "w_q": w_q[i, h, a],
        "w_k": w_k[i, h, a],
        "w_v": w_v[i, h, a],
        "w_o": w_o[h, a, o],
        "mask": M[t, s],
    },
    gradients={
        "c": Sum(dy[t, o] * w_o[h, a, o], o),
        "P": Sum(dc[t, h, a] * v[s, h, a], a),
        "S": P[h, t, s] * (dP[h, t, s] - Sum(P[h, t, r] * dP[h, t, r], r)),
        "q": Sum(dS[h, t, s] * k[s, h, a], s) / sqrt(d),
        "k": Sum(dS[h, t, s] * q[t, h, a], t) / sqrt(d),
        "v": Sum(P[h, t, s] * dc[t, h, a], t),
        "x": Sum(dq[t, h, a] * w_q[i, h, a], h, a)
        + Sum(dk[t, h, a] * w_k[i, h, a], h, a)
        + Sum(dv[t, h, a] * w_v[i, h, a], h, a),
        "w_q": Sum(x[t, i] * dq[t, h, a], t),
        "w_k": Sum(x[s, i] * dk[s, h, a], s),
        "w_v": Sum(x[s, i] * dv[s, h, a], s),
        "w_o": Sum(c[t, h, a] * dy[t, o], t),
    },
    definitions={
        q[t, h, a]: Sum(x[t, i] * w_q[i, h, a], i),
        k[s, h, a]: Sum(x[s, i] * w_k[i, h, a], i),
        v[s, h, a]: Sum(x[s, i] * w_v[i, h, a], i),
        S[h, t, s]: Sum(q[t, h, a] * k[s, h, a], a) / sqrt(d),
        P[h, t, s]: M[t, s] * exp(S[h, t, s]) / Sum(M[t, r] * exp(S[h, t, r]), r),
        c[t, h, a]: Sum(P[h, t, s] * v[s, h, a], s),
    },
    examples=({T: 2, D: 1, H: 2, d: 1, M: [[1, 0], [1, 1]]},),
)
