"""Bias correction: what a running mean that starts at zero falls short of.

Unrolled, the running mean m ← β m + (1 - β) g weighs the gradient of step s with
β to the power of its age. For a constant gradient that is a finite geometric sum:

>>> from sympy import Eq, simplify
>>> geometric = UNROLLED.xreplace({g[s]: G}).doit().subs(Eq(beta, 1), False)
>>> simplify(geometric - MEAN)
0

The same without a sum: the closed form starts at zero and takes the same step.

>>> MEAN.subs(t, 0), simplify(update(MEAN.subs(t, t - 1), G) - MEAN)
(0, 0)
"""

from sympy import Sum, Symbol

from .kernel import indexed

t = Symbol("t", integer=True, nonnegative=True)
s = Symbol("s", integer=True, positive=True)
beta = Symbol("beta", positive=True)
g, G = indexed("g"), Symbol("g", real=True)  # a gradient for each step; a constant one


def update(mean, gradient):
    """One step of the running mean."""
    return beta * mean + (1 - beta) * gradient


UNROLLED = (1 - beta) * Sum(beta ** (t - s) * g[s], (s, 1, t))
MEAN = (1 - beta**t) * G  # divide by 1 - β^t, and the constant gradient comes back
