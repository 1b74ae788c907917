"""Every operation of a transformer, one module each, with forward and backward."""

from . import (
    cross_entropy,
    embedding,
    gelu,
    layer_norm,
    leaky_relu,
    linear,
    relu,
    residual,
    rms_norm,
    sigmoid,
    silu,
    softmax,
    swiglu,
    tanh,
    unembedding,
)

__all__ = [
    "cross_entropy",
    "embedding",
    "gelu",
    "layer_norm",
    "leaky_relu",
    "linear",
    "relu",
    "residual",
    "rms_norm",
    "sigmoid",
    "silu",
    "softmax",
    "swiglu",
    "tanh",
    "unembedding",
]
