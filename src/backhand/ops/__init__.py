"""Every operation of a transformer, one module each, with forward and backward."""

from . import cross_entropy, embedding, linear, softmax, unembedding

__all__ = ["cross_entropy", "embedding", "linear", "softmax", "unembedding"]
