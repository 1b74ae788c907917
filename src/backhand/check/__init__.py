"""Is a hand-written backward pass right, and if not, what is wrong with it?

>>> import numpy as np
>>> from backhand.check import Op, check_gradients
>>> op = Op.plain(lambda x: x**2, lambda dy, x: dy * x)
>>> check_gradients(op, np.array([1.0, 2.0, -3.0])).verdict
'disagree'
"""

from .differences import directional_derivative, numerical_gradient
from .gradients import check_gradients, check_loss
from .op import Op
from .report import Finding, Report, Row

__all__ = [
    "Finding",
    "Op",
    "Report",
    "Row",
    "check_gradients",
    "check_loss",
    "directional_derivative",
    "numerical_gradient",
]
