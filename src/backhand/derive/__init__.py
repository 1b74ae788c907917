"""Gradients derived with SymPy for every size, and the closed form each op claims.

A chapter writes a derivation with the few functions below; `CLAIMS` holds, for every
operation in `backhand.ops`, the gradients its backward pass computes, ready to be
proved, printed and evaluated. Needs SymPy.
"""

from . import cross_entropy, embedding, linear, softmax
from .claims import Claim
from .kernel import (
    Index,
    contract,
    diff,
    difference,
    explicit,
    fold,
    indexed,
    indices,
    size,
    unfold,
)
from .printing import latex, show

CLAIMS = {
    claim.op: claim
    for claim in (
        softmax.CLAIM,
        cross_entropy.CLAIM,
        linear.CLAIM,
        linear.UNEMBEDDING,
        embedding.CLAIM,
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
