"""The smallest language model: one vector a token, scored against every next token.

Two tables and the loss, on data whose best possible loss is known. A training run
takes milliseconds, so that a slider can have one for each of its frames.
"""

import numpy as np

from ..ops import cross_entropy, embedding, unembedding

VOCAB = WIDTH = 8

# Each token occurs 40 times: 33 times before the next one, once before every other.
_STEPS = np.array([1] * 33 + [0, 2, 3, 4, 5, 6, 7])
TOKENS = np.repeat(np.arange(VOCAB), _STEPS.size)
TARGETS = (TOKENS + np.tile(_STEPS, VOCAB)) % VOCAB
BEST_LOSS = -(33 * np.log(33 / 40) + 7 * np.log(1 / 40)) / 40


def init(seed=0):
    """Both tables, normal with standard deviation 1/2."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(scale=0.5, size=(VOCAB, WIDTH))
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


def window(positions, rng):
    """Tokens and targets at as many positions, drawn from the data."""
    drawn = rng.integers(TOKENS.size, size=positions)
    return TOKENS[drawn], TARGETS[drawn]


def train(optimizer, positions, steps=60):
    """Train on a fresh window each step; the same windows on every call.

    Returns
    -------
    losses : (steps + 1,)
        The loss over all data before each step and after the last.
    params : dict of str to array
    """
    params, rng = init(), np.random.default_rng(1)
    losses = []
    for _ in range(steps):
        losses.append(forward(params)[0])
        _, caches = forward(params, *window(positions, rng))
        optimizer.step(params, backward(caches))
    return np.array([*losses, forward(params)[0]]), params
