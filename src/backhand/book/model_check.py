"""How far off finite differences of a whole model are, block by block."""

from typing import NamedTuple

import numpy as np

from .. import transformer
from ..check import directional_derivative

CONFIG = transformer.Config(
    vocab=32, context=16, width=16, layers=1, heads=2, hidden=32
)


class Errors(NamedTuple):
    """Of one block of n parameters: each error is relative to what it measures.

    Attributes
    ----------
    n : int
    size : float
        The root mean square of the block's gradient.
    entry : float
        The error of a difference along one entry, in units of `size`.
    direction : float
        The same along a normal direction through the whole block, in units of
        √n · size, which is how large such a slope is.
    """

    n: int
    size: float
    entry: float
    direction: float


def batch():
    """Tokens that go up by one or two, and what comes after each of them."""
    steps = np.random.default_rng(0).integers(1, 3, size=(2, CONFIG.context + 1))
    text = np.cumsum(steps, axis=1) % CONFIG.vocab
    return text[:, :-1], text[:, 1:]


def errors(dtype, steps, lines=12):
    """Errors of central differences of an untrained transformer's loss.

    Parameters
    ----------
    dtype : float32 or float64
        What the differences are taken in. The gradient they are held against is
        backward's, in float64.
    steps : sequence of float
        The best of them counts, for entries and for directions.
    lines : int
        How many entries of a block are looked at, and how many directions.

    Returns
    -------
    dict of block's name to Errors
    """
    exact = transformer.init(CONFIG, seed=0, dtype=np.float64)
    _, cache = transformer.forward(exact, *batch(), CONFIG)
    gradients = transformer.backward(cache)
    params = {name: value.astype(dtype) for name, value in exact.items()}
    return {
        name: _of_block(params, name, gradient, steps, lines)
        for name, gradient in gradients.items()
    }


def _of_block(params, name, gradient, steps, lines):
    x, rng = params[name], np.random.default_rng(1)

    def loss(moved):
        return transformer.forward(params | {name: moved}, *batch(), CONFIG)[0]

    def error(directions):
        """The root mean square over the directions, at the best of the steps."""
        return min(
            _rms(
                [
                    directional_derivative(loss, x, d, step=h) - np.sum(d * gradient)
                    for d in directions
                ]
            )
            for h in steps
        )

    entries = rng.choice(x.size, size=min(lines, x.size), replace=False)
    along_one = np.eye(x.size, dtype=x.dtype)[entries].reshape(-1, *x.shape)
    along_all = rng.normal(size=(lines, *x.shape)).astype(x.dtype)
    size = _rms(gradient)
    return Errors(
        x.size, size, error(along_one) / size, error(along_all) / size / x.size**0.5
    )


def _rms(values):
    return float(np.sqrt(np.mean(np.square(values))))
