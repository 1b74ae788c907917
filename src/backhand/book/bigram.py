"""The smallest language model: one vector a token, scored against every next token.

Two tables and the loss. By default on data whose best possible loss is known. A
training run takes milliseconds, so that a slider can have one for each of its frames.
"""

from typing import NamedTuple

import numpy as np

from ..ops import cross_entropy, embedding, unembedding

VOCAB = WIDTH = 8


class Pairs(NamedTuple):
    """Tokens, and after each of them the one to guess."""

    tokens: np.ndarray
    targets: np.ndarray

    @classmethod
    def of(cls, text):
        """Each token of a text with the one that follows it."""
        return cls(text[:-1], text[1:])

    @property
    def vocab(self):
        return 1 + max(self.tokens.max(), self.targets.max())

    @property
    def best_loss(self):
        """The loss of the frequencies themselves: no model of pairs has a lower one."""
        counts = np.zeros((self.vocab, self.vocab))
        np.add.at(counts, self, 1)
        followed = counts.sum(axis=1, keepdims=True)
        p = np.divide(counts, followed, where=counts > 0, out=np.ones_like(counts))
        return -np.sum(counts * np.log(p)) / counts.sum()


# Each token occurs 40 times: 33 times before the next one, once before every other.
_STEPS = np.array([1] * 33 + [0, 2, 3, 4, 5, 6, 7])
TOKENS = np.repeat(np.arange(VOCAB), _STEPS.size)
TARGETS = (TOKENS + np.tile(_STEPS, VOCAB)) % VOCAB
PAIRS = Pairs(TOKENS, TARGETS)
BEST_LOSS = PAIRS.best_loss


def init(seed=0, vocab=VOCAB):
    """Both tables, normal with standard deviation 1/2."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(scale=0.5, size=(vocab, WIDTH))
        for name in ("embedding", "unembedding")
    }


def forward(params, tokens=TOKENS, targets=TARGETS):
    """The mean loss, by default over all data, and the caches."""
    h, at_input = embedding.forward(tokens, params["embedding"])
    logits, at_readout = unembedding.forward(h, params["unembedding"])
    loss, at_loss = cross_entropy.forward(logits, targets)
    return loss, (at_input, at_readout, at_loss)


def backward(caches):
    """The gradient of each table."""
    at_input, at_readout, at_loss = caches
    dlogits = cross_entropy.backward(1.0, at_loss)
    dh, dunembedding = unembedding.backward(dlogits, at_readout)
    return {"embedding": embedding.backward(dh, at_input), "unembedding": dunembedding}


def window(positions, rng, pairs=PAIRS):
    """Tokens and targets at as many positions, drawn from the data."""
    drawn = rng.integers(pairs.tokens.size, size=positions)
    return pairs.tokens[drawn], pairs.targets[drawn]


def train(optimizer, positions, steps=60, pairs=PAIRS, every=1, seed=0):
    """Train on a fresh window each step; the same windows for the same seed.

    Returns
    -------
    losses : (steps // every + 1,)
        The loss over all data before the first step and after each `every` steps.
    params : dict of str to array
    """
    params, rng = init(seed, pairs.vocab), np.random.default_rng(seed + 1)
    losses = [forward(params, *pairs)[0]]
    for step in range(1, steps + 1):
        _, caches = forward(params, *window(positions, rng, pairs))
        optimizer.step(params, backward(caches))
        if step % every == 0:
            losses.append(forward(params, *pairs)[0])
    return np.array(losses), params
