"""A language model that reads one table twice: tokens go in by it, and come out by it.

A linear layer stands for everything a larger model has between the two.
"""

import numpy as np

from ..ops import cross_entropy, embedding, linear, unembedding
from ..optim import SGD

WIDTH = 8
USES = ("both", "input", "readout")


def init(vocab, seed=0):
    """The table, and the weight of the layer."""
    rng = np.random.default_rng(seed)
    return {
        "table": rng.normal(scale=0.3, size=(vocab, WIDTH)),
        "w": rng.normal(scale=WIDTH**-0.5, size=(WIDTH, WIDTH)),
    }


def forward(params, tokens, targets):
    """The mean loss of guessing each target from its token, and the caches."""
    x, at_input = embedding.forward(tokens, params["table"])
    h, at_layer = linear.forward(x, params["w"])
    logits, at_readout = unembedding.forward(h, params["table"])
    loss, at_loss = cross_entropy.forward(logits, targets)
    return loss, (at_input, at_layer, at_readout, at_loss)


def backward(caches):
    """The gradients of the table's two uses, and that of w."""
    at_input, at_layer, at_readout, at_loss = caches
    dlogits = cross_entropy.backward(1.0, at_loss)
    dh, from_readout = unembedding.backward(dlogits, at_readout)
    dx, dw = linear.backward(dh, at_layer)
    from_input = embedding.backward(dx, at_input)
    return from_input, from_readout, dw


def train(pairs, uses, steps=600, seed=0):
    """Train on all pairs at once, by the whole gradient of the table or a part of it.

    Parameters
    ----------
    pairs : bigram.Pairs
    uses : one of USES
    steps : int
    seed : int
        Of the first table and weight.

    Returns
    -------
    losses : (steps + 1,)
        The loss before each step and after the last.
    cosines : (steps + 1,)
        Of the angle between the part that was used and the whole.
    """
    params, optimizer = init(pairs.vocab, seed), SGD(lr=0.5)
    losses, cosines = [], []
    for _ in range(steps + 1):
        loss, caches = forward(params, *pairs)
        from_input, from_readout, dw = backward(caches)
        whole = from_input + from_readout
        used = {"both": whole, "input": from_input, "readout": from_readout}[uses]
        losses.append(loss)
        cosines.append(cosine(used, whole))
        optimizer.step(params, {"table": used, "w": dw})
    return np.array(losses), np.array(cosines)


def cosine(a, b):
    """Of the angle between two arrays, taken as vectors."""
    return np.sum(a * b) / (np.linalg.norm(a) * np.linalg.norm(b))
