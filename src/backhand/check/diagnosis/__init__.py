"""Naming the mistake: from two arrays that differ to what makes them differ.

Each detector looks for one pattern and gives a finding, with the numbers that show
it, only where the pattern accounts for what is off. One number supports no pattern.
"""

from itertools import combinations

import numpy as np

from . import factors, jacobian, paths, points, products, question, rows
from .evidence import Evidence
from .shapes import wrong_shape

# Each accounts for every entry that is off. Those of a later group are asked only
# if no earlier one has an answer.
GROUPS = (
    (factors.use_of_dy,),
    (factors.constant,),
    (paths.nothing,),
    (
        paths.identity,
        paths.penalty,
        paths.repeated_ids,
        products.matrix_product,
        products.transposed,
        points.wrong_point,
        factors.entrywise,
    ),
    (jacobian.lost_outputs, jacobian.not_transposed, jacobian.coupling, rows.row_vector),
    (factors.partly_constant,),
    (jacobian.triangle, paths.zeros_and_non_zeros),
)
NEEDS_JACOBIANS = {
    jacobian.lost_outputs, jacobian.not_transposed, jacobian.coupling, jacobian.triangle
}


def diagnose(comparisons, subject, dys):
    """Findings about all gradients, those that are wrong first.

    Parameters
    ----------
    comparisons : dict of position of an input to Comparison
    subject : Subject
    dys : list of K upstream gradients
    """
    evidences = {
        position: Evidence(comparison, subject, position, dys)
        for position, comparison in comparisons.items()
    }
    wrong, open_ = [], []
    for position, comparison in comparisons.items():
        e = evidences[position]
        if not comparison.shape_is_right:
            wrong += wrong_shape(e)
            continue
        if comparison.wrong.any():
            wrong += mistakes(e)
        open_ += [
            *question.kink(e, comparison),
            *question.noise(e, comparison),
            *question.no_derivative(e, comparison),
        ]
    exchanged = []
    suspects = [
        e for p, e in evidences.items()
        if comparisons[p].shape_is_right and comparisons[p].wrong.any()
    ]
    for pair in combinations(suspects, 2):
        exchanged += products.exchanged(pair)
    return exchanged + wrong + open_


def mistakes(e):
    """Findings about one wrong gradient of the right shape."""
    found = list(question.nonfinite(e))
    if found:
        return found
    for group in GROUPS:
        for detector in group:
            if e.count(e.wrong) < 2 and detector is not factors.use_of_dy:
                continue
            if detector in NEEDS_JACOBIANS and e.jacobians is None:
                continue
            found += detector(e)
        if found:
            return found
    return []
