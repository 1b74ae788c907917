"""Cross-entropy of softmax: the gradient collapses to p - y, for every vocabulary.

One position, with any target distribution y:

>>> from sympy import Sum, exp, log
>>> from backhand.derive import contract, diff, fold, indexed, indices, size
>>> n = size("n")
>>> i, j, k = indices("i j k", n)
>>> z, p, y = indexed("z p y")
>>> softmax = exp(z[i]) / Sum(exp(z[k]), k)
>>> loss = -Sum(y[i] * log(softmax), i)
>>> fold(contract(diff(loss, z[j])), {p[i]: softmax})
p[j]*Sum(y[i], (i, 0, n - 1)) - y[j]

The y of a target sum to one, which leaves p[j] - y[j].
"""

from sympy import KroneckerDelta, Sum, Symbol, exp, log

from .claims import Claim
from .kernel import indexed, indices, size

T, V = size("T V")  # positions, vocabulary
t = indices("t", T)
j, k = indices("j k", V)
z, p = indexed("z p")
c = indexed("c", integer=True)  # the target's id at each position
N = Symbol("N", positive=True)  # T when the loss is a mean, 1 when it is a sum
L, dL = Symbol("L"), Symbol("dL", real=True)

CLAIM = Claim(
    op="cross_entropy",
    output=L,
    forward=-Sum(log(p[t, c[t]]), t) / N,
    inputs={"logits": z[t, j], "targets": c[t], "divisor": N},
    gradients={"logits": dL * (p[t, j] - KroneckerDelta(j, c[t])) / N},
    definitions={p[t, j]: exp(z[t, j]) / Sum(exp(z[t, k]), k)},
    examples=(
        {T: 1, V: 3, c: [2]},
        {T: 2, V: 3, c: [1, 0]},
        {T: 3, V: 2, c: [0, 1, 1]},
    ),
)
