"""A transformer trained with norms whose backward pass is right, wrong, or in between."""

from functools import cache
from typing import NamedTuple

import numpy as np

from .. import mistakes, transformer
from ..corpus import encode, zen
from ..mistakes.mistake import swapped
from ..ops import layer_norm, rms_norm
from ..optim import SGD, Adam
from .tied import cosine

TOKENS, SYMBOLS = encode(zen())
_SHARES = np.bincount(TOKENS) / TOKENS.size
# The loss of a model that knows how often each character stands, and no more.
FREQUENCIES = -np.sum(_SHARES * np.log(_SHARES))

NORMS = {"rms": rms_norm, "layer": layer_norm}
RATES = {Adam: 0.01, SGD: 0.1}
WIDTH = CONTEXT = 16
BATCH, STEPS, EVERY = 8, 100, 5
LAST = "final_norm.gain"


class Run(NamedTuple):
    """What is seen of a training run, every few steps."""

    losses: np.ndarray  # the mean over those steps
    angles: np.ndarray  # between the gradient used and the true one, in degrees
    lengths: np.ndarray  # root mean square of the rows that reach the last norm
    wishes: np.ndarray  # how fast the loss falls as the last norm's output is scaled up

    @property
    def loss(self):
        """The loss at the end: the mean over the last 20 steps."""
        return self.loss_after(len(self.losses) * EVERY)

    def loss_after(self, steps):
        """The mean loss over the 20 steps that end there."""
        return self.losses[(steps - 20) // EVERY : steps // EVERY].mean()

    @property
    def angle(self):
        """The mean angle over the second half."""
        return self.angles[len(self.angles) // 2 :].mean()


def partly(op, wrong, kept):
    """The backward pass of an op with so much of what a wrong one drops."""
    right = op.backward

    def backward(dy, cache):
        pairs = zip(right(dy, cache), wrong(dy, cache), strict=True)
        return tuple(kept * true + (1 - kept) * false for true, false in pairs)

    return backward


def mean_and_error(values):
    """The mean over seeds and its standard error, as text."""
    values = np.asarray(values)
    error = values.std(ddof=1) / np.sqrt(values.size)
    return f"{values.mean():+.2f} ± {error:.2f}"


@cache
def training(norm="rms", mistake=None, kept=0.0, rule=Adam, seed=0, steps=STEPS):
    """Train a transformer of one block on the Zen of Python, character by character.

    Parameters
    ----------
    norm : "rms" or "layer"
    mistake : str, optional
        The backward pass of its norms, by its name in the catalogue.
    kept : float
        How much is kept of what the mistake drops, from 0 to 1.
    rule : SGD or Adam
    seed : int
        Of the first weights and of the text's windows.
    steps : int
        How many; a shorter run is the beginning of a longer one.

    Returns
    -------
    Run
    """
    op = NORMS[norm]
    backward = op.backward
    if mistake:
        backward = partly(op, mistakes.get(op, mistake).backward, kept)
    config = transformer.Config(
        SYMBOLS.size, CONTEXT, WIDTH, layers=1, heads=2, hidden=2 * WIDTH, norm=norm
    )
    params, optimizer = transformer.init(config, seed, np.float64), rule(RATES[rule])
    rng = np.random.default_rng(seed)
    losses, angles, lengths, wishes = [], [], [], []
    for step in range(steps):
        starts = rng.integers(TOKENS.size - CONTEXT, size=(BATCH, 1))
        text = TOKENS[starts + np.arange(CONTEXT + 1)]
        loss, seen = transformer.forward(params, text[:, :-1], text[:, 1:], config)
        with swapped(op, "backward", backward):
            used = transformer.backward(seen)
        losses.append(loss)
        wishes.append(wish(params, used))
        if step % EVERY == 0:
            true = transformer.backward(seen)
            angles.append(degrees(flat(used), flat(true)))
            statistic = seen.final_norm[-1]  # rms, or the deviation of a LayerNorm
            lengths.append(np.sqrt(np.mean(statistic**2)))
        optimizer.step(params, used)
    losses, wishes = np.reshape([losses, wishes], (2, -1, EVERY)).mean(axis=-1)
    return Run(losses, np.array(angles), np.array(lengths), wishes)


def wish(params, gradients):
    """How fast the loss falls as the output of the last norm is scaled up.

    Scaling its gains by s scales its output by s. In a norm without coupling the same
    number, per row, is what pushes its input outwards.
    """
    return -np.sum(params[LAST] * gradients[LAST])


def flat(gradients):
    """A dict of arrays as one vector."""
    return np.concatenate([each.ravel() for each in gradients.values()])


def degrees(a, b):
    """The angle between two arrays, taken as vectors."""
    return np.degrees(np.arccos(min(cosine(a, b), 1)))
