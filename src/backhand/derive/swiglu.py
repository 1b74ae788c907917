"""SwiGLU: a product of two paths, so the gradient flows back along both.

>>> from sympy import Function, Symbol
>>> u = Symbol("u")
>>> gate, up = Function("gate")(u), Function("up")(u)
>>> (gate * up).diff(u)
gate(u)*Derivative(up(u), u) + up(u)*Derivative(gate(u), u)
"""

from sympy import Sum, exp

from .claims import Claim
from .kernel import indexed, indices, size

T, d, f, D = size("T d f D")  # positions, width, hidden width, width out
t = indices("t", T)
i = indices("i", d)
j = indices("j", f)
o = indices("o", D)
x, y, dy, gate, up, down = indexed("x y dy W_g W_u W_d")
g, u, sigma, s, h = indexed("g u sigma s h")
dh, ds, du, dg = indexed("dh ds du dg")

CLAIM = Claim(
    op="swiglu",
    output=y[t, o],
    forward=Sum(h[t, j] * down[j, o], j),
    inputs={
        "x": x[t, i],
        "w_gate": gate[i, j],
        "w_up": up[i, j],
        "w_down": down[j, o],
    },
    gradients={
        "h": Sum(dy[t, o] * down[j, o], o),
        "s": dh[t, j] * u[t, j],
        "u": dh[t, j] * s[t, j],
        "g": ds[t, j] * sigma[t, j] * (1 + g[t, j] * (1 - sigma[t, j])),
        "x": Sum(dg[t, j] * gate[i, j], j) + Sum(du[t, j] * up[i, j], j),
        "w_gate": Sum(x[t, i] * dg[t, j], t),
        "w_up": Sum(x[t, i] * du[t, j], t),
        "w_down": Sum(h[t, j] * dy[t, o], t),
    },
    definitions={
        g[t, j]: Sum(x[t, i] * gate[i, j], i),
        u[t, j]: Sum(x[t, i] * up[i, j], i),
        sigma[t, j]: 1 / (1 + exp(-g[t, j])),
        s[t, j]: g[t, j] * sigma[t, j],
        h[t, j]: s[t, j] * u[t, j],
    },
    examples=({T: 1, d: 2, f: 1, D: 2}, {T: 2, d: 1, f: 2, D: 1}),
)
