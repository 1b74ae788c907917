"""Residual: the gradient passes unchanged, and the sublayer's is added to it.

The Jacobian of x + F(x) is I + J_F, whatever F is. At two features:

>>> from sympy import Function, Matrix, eye, symbols
>>> x = Matrix(symbols("x_0 x_1"))
>>> F = Matrix([Function("F_0")(*x), Function("F_1")(*x)])
>>> (x + F).jacobian(x) == eye(2) + F.jacobian(x)
True
"""

from .claims import Claim
from .kernel import indexed, indices, size

n = size("n")
i = indices("i", n)
x, F, y, dy = indexed("x F y dy")

CLAIM = Claim(
    op="residual",
    output=y[i],
    forward=x[i] + F[i],
    inputs={"x": x[i], "fx": F[i]},
    gradients={"x": dy[i], "fx": dy[i]},
    examples=({n: 1}, {n: 3}),
)
