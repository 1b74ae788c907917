"""Activations: each output depends on its own input, so the Jacobian is diagonal.

>>> from sympy import exp, factor
>>> from backhand.derive import contract, diff, difference, fold, indexed, indices, size
>>> n = size("n")
>>> i, j = indices("i j", n)
>>> x, sigma = indexed("x sigma")
>>> sigmoid = {sigma[i]: 1 / (1 + exp(-x[i]))}
>>> slope = diff(sigmoid[sigma[i]], x[i])
>>> slope
exp(-x[i])/(1 + exp(-x[i]))**2
>>> difference(slope, sigma[i] * (1 - sigma[i]), sigmoid)
0
"""

from sympy import Mul, Piecewise, Rational, Symbol, erf, exp, pi, sqrt, tanh

from .claims import Claim
from .kernel import indexed, indices, size

n = size("n")
i = indices("i", n)
x, y, dy, sigma, u = indexed("x y dy sigma u")


def _entrywise(op, value, slope, definitions=None, **options):
    """The claim that y_i = value and that its gradient is dy_i times slope."""
    return Claim(
        op=op,
        output=y[i],
        forward=value,
            inputs={"x": x[i], **options},
        gradients={"x": dy[i] * slope},
        definitions=definitions or {},
        examples=({n: 1}, {n: 3}),
    )


SIGMOID_OF_X = {sigma[i]: 1 / (1 + exp(-x[i]))}
SIGMOID = _entrywise("sigmoid", sigma[i], sigma[i] * (1 - sigma[i]), SIGMOID_OF_X)
TANH = _entrywise("tanh", tanh(x[i]), 1 - tanh(x[i]) ** 2)
SILU = _entrywise(
    "silu", x[i] * sigma[i], sigma[i] * (1 + x[i] * (1 - sigma[i])), SIGMOID_OF_X
)

# At 0 neither has a derivative; the last branch is the convention.
alpha = Symbol("alpha", positive=True)
RELU = _entrywise(
    "relu", Piecewise((x[i], x[i] > 0), (0, True)), Piecewise((1, x[i] > 0), (0, True))
)
LEAKY_RELU = _entrywise(
    "leaky_relu",
    Piecewise((x[i], x[i] > 0), (alpha * x[i], True)),
    Piecewise((1, x[i] > 0), (alpha, True)),
    alpha=alpha,
)

# The tanh form, and the exact form it approximates: x times the normal distribution.
a, c = Symbol("a", positive=True), Symbol("c", positive=True)
HALF = Rational(1, 2)
GATE_TERM = Mul(HALF, 1 + tanh(u[i]), evaluate=False)
DROPPED_TERM = HALF * x[i] * (1 - tanh(u[i]) ** 2) * c * (1 + 3 * a * x[i] ** 2)
GELU = _entrywise(
    "gelu",
    x[i] * GATE_TERM,
    GATE_TERM + DROPPED_TERM,
    {a: Rational("0.044715"), c: sqrt(2 / pi), u[i]: c * (x[i] + a * x[i] ** 3)},
)
GELU_EXACT = _entrywise(
    "gelu",
    x[i] * (1 + erf(x[i] / sqrt(2))) / 2,
    (1 + erf(x[i] / sqrt(2))) / 2 + x[i] * exp(-(x[i] ** 2) / 2) / sqrt(2 * pi),
)
