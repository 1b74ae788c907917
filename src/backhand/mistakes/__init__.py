"""The catalogue: backward passes people really write wrong, and what hides each.

>>> from backhand import mistakes
>>> mistakes.get("embedding", "assigned").symptom[:43]
'A token that stands k times in the window g'
"""

from . import (
    activations,
    attention,
    blocks,
    calculus,
    embedding,
    linear,
    model,
    norms,
    optimizers,
    probabilities,
)
from .design import Design
from .detect import CHECKERS, detect
from .mistake import Mistake, name_of

__all__ = [
    "CATALOGUE",
    "CHECKERS",
    "Design",
    "Mistake",
    "detect",
    "get",
    "name_of",
    "of",
]

FAMILIES = (
    calculus,
    activations,
    probabilities,
    linear,
    norms,
    attention,
    blocks,
    embedding,
    model,
    optimizers,
)
CATALOGUE = tuple(
    value
    for family in FAMILIES
    for value in vars(family).values()
    if isinstance(value, Mistake)
)


def of(op):
    """The mistakes of one op, given as its module or its name."""
    found = tuple(mistake for mistake in CATALOGUE if mistake.op_name == name_of(op))
    if not found:
        known = sorted({mistake.op_name for mistake in CATALOGUE})
        raise ValueError(f"op is {op!r}; it needs one of {', '.join(known)}")
    return found


def get(op, name):
    """One mistake, by its op and its name: ``get("softmax", "diagonal-only")``."""
    for mistake in of(op):
        if mistake.name == name:
            return mistake
    known = ", ".join(mistake.name for mistake in of(op))
    raise ValueError(f"name is {name!r}; {op} has {known}")
