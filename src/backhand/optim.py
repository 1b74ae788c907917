"""Optimisers: what to do with a gradient.   A.7; chapters/optimizers

Each has step(params, grads), which takes two dicts of arrays and changes the arrays
in params in place. An optimiser keeps its state by name, so names, shapes and dtypes
must match, and stay the same from step to step. Where they do not, nothing changes.
"""

import numpy as np

from .ops._arguments import float_array, number, positive


class SGD:
    """Gradient descent: w ← w - lr · dw.

    Examples
    --------
    >>> params = {"w": np.array([1.0, 2.0])}
    >>> SGD(lr=0.5).step(params, {"w": np.array([1.0, -1.0])})
    >>> params["w"]
    array([0.5, 2.5])
    """

    def __init__(self, lr):
        self.lr = positive("lr", lr)

    def step(self, params, grads):
        """Take one step, in place."""
        for w, dw in matched(params, grads):
            w -= self.lr * dw


class Momentum:
    """Descent with a memory: v ← beta · v + dw, then w ← w - lr · v.

    beta is at least 0, which is SGD, and below 1.
    """

    def __init__(self, lr, beta=0.9):
        self.lr = positive("lr", lr)
        self.beta = decay("beta", beta)
        self.v = {}

    def step(self, params, grads):
        """Take one step, in place."""
        for w, dw, v in matched(params, grads, self.v):
            v *= self.beta
            v += dw
            w -= self.lr * v


class Adam:
    """Running mean over root of running mean square, both corrected for starting at 0.

    m ← beta1 · m + (1 - beta1) · dw
    v ← beta2 · v + (1 - beta2) · dw²
    w ← w - lr · (m / (1 - beta1ᵗ)) / (√(v / (1 - beta2ᵗ)) + eps)   for t = 1, 2, …
    """

    def __init__(self, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
        self.lr = positive("lr", lr)
        self.beta1 = decay("beta1", beta1)
        self.beta2 = decay("beta2", beta2)
        self.eps = positive("eps", eps)
        self.m, self.v, self.t = {}, {}, 0

    def step(self, params, grads):
        """Take one step, in place."""
        arrays = matched(params, grads, self.m, self.v)
        self.t += 1
        step = self.lr / (1 - self.beta1**self.t)
        v_correction = 1 - self.beta2**self.t
        for w, dw, m, v in arrays:
            m += (1 - self.beta1) * (dw - m)
            v += (1 - self.beta2) * (dw * dw - v)
            w -= step * m / (np.sqrt(v / v_correction) + self.eps)


def decay(name, value):
    return number(name, value, lambda v: 0 <= v < 1, "a number from 0 to below 1")


def matched(params, grads, *states):
    """Return (w, dw, *state) for each name, once all of them are known to match.

    A state that is still empty is then filled with zeros.
    """
    for name, w in params.items():
        if not isinstance(w, np.ndarray):
            raise TypeError(f"params[{name!r}] is a {type(w).__name__}, not an array")
    for title, arrays in [("grads", grads)] + [("state", s) for s in states if s]:
        unmatched = sorted(arrays.keys() ^ params.keys())
        if unmatched:
            raise ValueError(f"{title} and params do not both have {unmatched}")
        for name, w in params.items():
            float_array(f"{title}[{name!r}]", arrays[name], like=w, shape=w.shape)
    for state in states:
        if not state:
            state.update((name, np.zeros_like(w)) for name, w in params.items())
    return [(w, grads[name], *(s[name] for s in states)) for name, w in params.items()]
