"""Embedding: a lookup is a one-hot matrix times the table, its gradient a scatter-add.

>>> from sympy import KroneckerDelta, Sum
>>> from backhand.derive import contract, diff, explicit, indexed, indices, size
>>> T, V, d = size("T V d")
>>> t, (u, v), (a, b) = indices("t", T), indices("u v", V), indices("a b", d)
>>> (e, dy), token = indexed("e dy"), indexed("token", integer=True)
>>> lookup = Sum(KroneckerDelta(v, token[t]) * e[v, a], v)
>>> contract(lookup)
e[token[t], a]
>>> de = contract(diff(Sum(dy[t, a] * lookup, t, a), e[u, b]))
>>> de
Sum(KroneckerDelta(u, token[t])*dy[t, b], (t, 0, T - 1))

Token 2 stands twice, so its row of the gradient is a sum of two:

>>> explicit(de, {T: 3, V: 3, d: 1, token: [2, 0, 2]}, u, b).T
Matrix([[dy[1, 0], 0, dy[0, 0] + dy[2, 0]]])
"""

from sympy import KroneckerDelta, Sum

from .claims import Claim
from .kernel import indexed, indices, size

T, V, d = size("T V d")  # positions, vocabulary, width
t = indices("t", T)
v = indices("v", V)
a = indices("a", d)
e, y, dy = indexed("e y dy")
token = indexed("token", integer=True)

CLAIM = Claim(
    op="embedding",
    output=y[t, a],
    forward=Sum(KroneckerDelta(v, token[t]) * e[v, a], v),
    inputs={"tokens": token[t], "table": e[v, a]},
    gradients={"table": Sum(KroneckerDelta(v, token[t]) * dy[t, a], t)},
    examples=(
        {T: 1, V: 3, d: 2, token: [1]},
        {T: 3, V: 4, d: 2, token: [2, 0, 2]},
        {T: 4, V: 2, d: 1, token: [1, 1, 1, 0]},
    ),
)
