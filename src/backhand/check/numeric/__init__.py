"""Numeric derivatives with an honest error: what may be held against an analytic one.

`lines`     where x is moved: along each entry, or in a few random directions
`forward`   y at many points, in one call where the op allows that
`response`  differences of sum(dy · y) along lines, and the noise in them
`ladder`    many steps a line, where one step does not settle it
`estimate`  the stages, each only for what the one before left open
"""

from .estimate import CERTAIN, KINKED, NEGLIGIBLE, estimate
from .forward import Forward
from .lines import Directions, Entries
from .response import STEP, Response

__all__ = [
    "CERTAIN",
    "KINKED",
    "NEGLIGIBLE",
    "STEP",
    "Directions",
    "Entries",
    "Forward",
    "Response",
    "estimate",
]
