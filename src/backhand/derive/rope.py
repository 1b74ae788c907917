"""RoPE: a rotation of each pair of features, so its backward pass is the inverse one.

>>> from sympy import eye, simplify, symbols
>>> from backhand.derive.rope import rotation
>>> here, there = symbols("alpha beta", real=True)
>>> simplify(rotation(here).T * rotation(here)) == eye(2)
True
>>> rotation(here).T == rotation(-here)
True

A score is a product of a rotated query and a rotated key. Only the distance of the
two positions is left in it:

>>> simplify(rotation(here).T * rotation(there) - rotation(there - here))
Matrix([
[0, 0],
[0, 0]])
"""

from sympy import KroneckerDelta, Matrix, Sum, Symbol, cos, sin

from .claims import Claim
from .kernel import indexed, indices, size


def rotation(angle):
    """The 2 × 2 rotation by `angle`."""
    return Matrix([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])


T, M = size("T M")  # positions, pairs of features
t = indices("t", T)
m = indices("m", M)
a, b = indices("a b", 2)  # the two features of a pair
x, y, dy, R, phi = indexed("x y dy R phi")
base = Symbol("B", positive=True)

CLAIM = Claim(
    op="rope",
    output=y[t, m, a],
    forward=Sum(R[t, m, a, b] * x[t, m, b], b),
    inputs={"x": x[t, m, b], "base": base},
    gradients={"x": Sum(R[t, m, a, b] * dy[t, m, a], a)},
    # Entry (a, b) of rotation(phi): a - b is -1 above the diagonal and 1 below.
    definitions={
        phi[t, m]: t * base ** (-m / M),
        R[t, m, a, b]: KroneckerDelta(a, b) * cos(phi[t, m]) + (a - b) * sin(phi[t, m]),
    },
    examples=({T: 2, M: 1}, {T: 3, M: 2}),
)
