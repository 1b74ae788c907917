"""The right formula, evaluated at the wrong place."""

import numpy as np


def wrong_point(e):
    """Backward is right at the output, or is what would be right there."""
    if e.y.shape != e.x.shape or e.x.size < 2:
        return
    moved = list(e.subject.values)
    moved[e.position] = e.y.copy()
    there = [e.call(dy, moved) for dy in e.dys]
    if all(g is not None for g in there) and e.same(np.stack(there)):
        yield e.finding(
            "wrong_point",
            f"given the output in place of {e.name}, backward returns the numeric "
            f"gradient {e.everywhere}",
            f"The formula is one in terms of the output: keep y, not {e.name}.",
        )
        return
    derivative = e.derivative(e.dys, e.y)
    if derivative is not None and e.alike(e.analytic, derivative):
        yield e.finding(
            "wrong_point",
            f"analytic is the derivative at the output, not at {e.name}, "
            f"{e.everywhere}",
            f"The formula is one in terms of {e.name}: keep {e.name}, not y.",
        )
