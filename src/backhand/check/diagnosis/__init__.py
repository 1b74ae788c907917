"""Naming the mistake: from two arrays that differ to what makes them differ.

Each detector looks for one pattern and gives a finding, with the numbers that show
it, only where the pattern accounts for what is off. One number supports no pattern.
"""

from itertools import combinations

from . import coupling, factors, jacobian, paths, points, positions, products, question
from .evidence import Evidence
from .shapes import wrong_shape

# All but the last account for every entry that is off. Those of a later group are
# asked only if no earlier one has an answer.
GROUPS = (
    (factors.use_of_dy,),
    (factors.constant,),
    (paths.nothing,),
    (
        paths.straight,
        paths.term,
        paths.penalty,
        paths.looked_up_rows,
        products.matrix_product,
        products.transposed,
        products.reduction,
        points.wrong_point,
        factors.entrywise,
    ),
    (
        jacobian.lost_outputs,
        jacobian.repeated_outputs,
        jacobian.output_factor,
        factors.exchanged_factor,
    ),
    (jacobian.not_transposed, coupling.between_entries),
    (paths.gate,),  # where no coupling explains it
    (factors.partly_constant, factors.constant_by_line, jacobian.passed_on),
    (paths.let_through, paths.left_out),
    (jacobian.partly_constant,),
    (positions.triangle, positions.across),
    (jacobian.leaks,),
    (coupling.multiple_of_a_vector,),
    (paths.zeros, paths.signs),
)


FLAWS = (
    question.kink,
    question.noise,
    question.no_derivative,
    question.uninformative,
)


def diagnose(comparisons, subject, dys):
    """Findings about all gradients, those that are wrong first, and remarks.

    A remark says what is off where there is no name for why.

    Parameters
    ----------
    comparisons : dict of position of an input to Comparison
    subject : Subject
    dys : list of K upstream gradients

    Returns
    -------
    findings : list of Finding
    remarks : dict of name of an input to list of str
    """
    every = [
        Evidence(comparison, subject, position, dys)
        for position, comparison in comparisons.items()
    ]
    wrong, flaws, exchanged = [], [], []
    for e in every:
        if not e.shape_is_right:
            wrong += wrong_shape(e)
            continue
        if e.wrong.any():
            wrong += mistakes(e)
        for flaw in FLAWS:
            flaws += flaw(e)
    for pair in combinations((e for e in every if e.shape_is_right), 2):
        if all(e.wrong.any() for e in pair):
            exchanged += products.exchanged(*pair)
    remarks = {}
    for finding in wrong:
        if not finding.kind:
            remarks.setdefault(finding.name, []).append(finding.evidence)
    return [f for f in exchanged + wrong + flaws if f.kind], remarks


def mistakes(e):
    """Findings about one wrong gradient of the right shape."""
    found = [*question.nonfinite(e), *paths.not_returned(e), *question.cut_short(e)]
    # One number supports no pattern; what becomes of another dy is another number.
    groups = GROUPS if e.count(e.wrong) > 1 else GROUPS[:1]
    for group in groups:
        if found:
            break
        for detector in group:
            kinds = {finding.kind for finding in found}
            found += [finding for finding in detector(e) if finding.kind not in kinds]
    return found
