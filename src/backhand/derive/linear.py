"""Linear layer and readout: each gradient is a product with the other operand.

>>> from sympy import Sum
>>> from backhand.derive import contract, diff, indexed, indices, size
>>> T, n, m = size("T n m")
>>> (s, t), (a, i), (b, j) = indices("s t", T), indices("a i", n), indices("b j", m)
>>> x, w, dy = indexed("x w dy")
>>> loss = Sum(dy[t, b] * Sum(x[t, a] * w[a, b], a), t, b)
>>> contract(diff(loss, w[i, j]))
Sum(dy[t, j]*x[t, i], (t, 0, T - 1))
>>> contract(diff(loss, x[s, i]))
Sum(dy[s, b]*w[i, b], (b, 0, m - 1))
"""

from sympy import Sum

from .claims import Claim
from .kernel import indexed, indices, size

T, n, m, V = size("T n m V")  # positions, width in, width out, vocabulary
t = indices("t", T)
i = indices("i", n)
j = indices("j", m)
v = indices("v", V)

x, w, bias, y, dy = indexed("x w b y dy")
CLAIM = Claim(
    op="linear",
    output=y[t, j],
    forward=Sum(x[t, i] * w[i, j], i) + bias[j],
    inputs={"x": x[t, i], "w": w[i, j], "b": bias[j]},
    gradients={
        "x": Sum(dy[t, j] * w[i, j], j),
        "w": Sum(x[t, i] * dy[t, j], t),
        "b": Sum(dy[t, j], t),
    },
    examples=({T: 1, n: 2, m: 3}, {T: 3, n: 2, m: 2}, {T: 2, n: 3, m: 1}),
)

h, e, z, dz = indexed("h e z dz")
UNEMBEDDING = Claim(
    op="unembedding",
    output=z[t, v],
    forward=Sum(h[t, i] * e[v, i], i),
    inputs={"h": h[t, i], "table": e[v, i]},
    gradients={
        "h": Sum(dz[t, v] * e[v, i], v),
        "table": Sum(dz[t, v] * h[t, i], t),
    },
    examples=({T: 1, n: 2, V: 3}, {T: 3, n: 2, V: 2}, {T: 2, n: 3, V: 4}),
)
