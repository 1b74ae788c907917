"""Gradients derived with SymPy for every size, and the closed form each op claims.

A chapter writes a derivation with the few functions below; `CLAIMS` holds, for every
operation in `backhand.ops`, the gradients its backward pass computes, ready to be
proved, printed and evaluated. Needs SymPy.
"""

from dataclasses import replace

from . import (
    activations,
    attention,
    cross_entropy,
    embedding,
    linear,
    multi_head_attention,
    normalization,
    residual,
    rope,
    softmax,
    swiglu,
)
from .claims import Claim
from .folding import fold
from .kernel import Index, contract, diff, indexed, indices, size, unfold
from .printing import latex, show
from .proof import difference, explicit

CLAIMS = {
    claim.op: claim
    for claim in (
        activations.SIGMOID,
        activations.TANH,
        activations.RELU,
        activations.LEAKY_RELU,
        activations.SILU,
        activations.GELU,
        softmax.CLAIM,
        cross_entropy.CLAIM,
        linear.CLAIM,
        linear.UNEMBEDDING,
        embedding.CLAIM,
        normalization.LAYER_NORM,
        normalization.RMS_NORM,
        attention.CLAIM,
        replace(attention.CLAIM, op="tiled_attention"),
        multi_head_attention.CLAIM,
        rope.CLAIM,
        swiglu.CLAIM,
        residual.CLAIM,
    )
}

__all__ = [
    "CLAIMS",
    "Claim",
    "Index",
    "contract",
    "diff",
    "difference",
    "explicit",
    "fold",
    "indexed",
    "indices",
    "latex",
    "show",
    "size",
    "unfold",
]
