"""The page for the second monitor: every row of the reference, with the marks it earned.

A mark is earned when the page is made: SymPy proves the formula, `check_gradients`
finds that the code agrees with finite differences, HIPS autograd gets the same from a
forward pass that shares nothing with it.
"""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from .. import transformer
from ..check import check_gradients
from ..mistakes.mistake import WrongPass
from ..mistakes.model import WrongModel
from ..mistakes.optimizers import WrongStep
from ..reference import rows_under
from .table import code_of

ROUND_OFF = 1e-10


class Section:
    """The rows under one heading of the reference."""

    def __init__(self, heading):
        self.rows = rows_under(heading)
        self.marks = [earned(row) for row in self.rows]

    def __repr__(self):
        return "\n".join(
            f"{row.title}: {', '.join(marks) or 'what the others are checked with'}"
            for row, marks in zip(self.rows, self.marks, strict=True)
        )

    def _repr_mimebundle_(self, include=None, exclude=None):
        rows = map(markdown, self.rows, self.marks)
        return {"text/markdown": "\n\n".join(rows), "text/plain": repr(self)}


def earned(row):
    """The names of the checks that a row passes, among those that apply to it."""
    checks = {}
    if row.claim:
        alone = (m for m in row.mistakes if isinstance(m, WrongPass) and m.right is m.op)
        example = next(alone)  # its inputs are chosen to be informative
        checks["SymPy"] = partial(proved, row.claim)
        checks["finite differences"] = partial(agrees, example)
        checks["autodiff"] = partial(seconded, row.name, example)
    elif row.mistakes and isinstance(row.mistakes[0], WrongModel):
        model = replace(row.mistakes[0], backward=transformer.backward)
        checks["finite differences"] = lambda: model.check().agrees
    elif row.mistakes and isinstance(row.mistakes[0], WrongStep):
        optimizer = replace(row.mistakes[0], optimizer=row.op)
        checks["closed form"] = lambda: not optimizer.is_caught()
    return [name for name, passes in checks.items() if passes()]


def proved(claim):
    """Whether SymPy derives each gradient of a claim, for every size."""
    return not any(claim.prove().values())


def agrees(mistake):
    """Whether the right op agrees with finite differences where a mistake shows."""
    return check_gradients(mistake.op, *mistake.example(), **mistake.options).agrees


def seconded(name, mistake):
    """Whether HIPS autograd gets the same gradients there, to round-off."""
    from .. import oracle  # HIPS autograd is needed here only

    inputs, options = mistake.example(), mistake.options
    y, cache = mistake.op.forward(*inputs, **options)
    dy = np.random.default_rng(0).normal(size=np.shape(y))
    ours = mistake.op.backward(dy if dy.shape else float(dy), cache)
    _, theirs = oracle.differentiate(name, inputs, dy, **options)
    ours = ours if isinstance(ours, tuple) else (ours,)
    return all(
        np.max(np.abs(a - b)) <= ROUND_OFF * max(1, np.max(np.abs(b)))
        for a, b in zip(ours, theirs, strict=True)
    )


def markdown(row, marks):
    """One row, as Markdown with formulas."""
    sides = [(row.side or "other", row.formulas)]
    if row.claim:
        gradients = row.gradients_latex.values()
        sides = [("forward", row.forward_latex), ("backward", gradients)]
    parts = [
        f'<div class="bh-row" id="{row.anchor}">',
        f"**{titled(row)}** <span class='bh-sources'>{', '.join(row.sources)}</span> "
        + " ".join(f"<span class='bh-mark'>✓ {mark}</span>" for mark in marks),
        '<div class="bh-formulas">',
        *(
            f'<div class="bh-{side}-formulas">\n\n{aligned(equations)}\n\n</div>'
            for side, equations in sides
        ),
        "</div>",
        *code(row),
        "</div>",
    ]
    return "\n\n".join(parts)


def titled(row):
    """Its title, which leads to its chapter once that is written."""
    chapter = f"../chapters/{row.chapter}.ipynb"
    return f"[{row.title}]({chapter})" if Path(chapter).exists() else row.title


def aligned(equations):
    """Equations under one another, their signs in line."""
    lines = (re.sub(r" (=|\\leftarrow|\\approx) ", r" &\1 ", e, count=1) for e in equations)
    return "$$\n\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}\n$$"


def code(row):
    """The NumPy of a row, folded away."""
    if row.claim:
        shown = [row.op.backward]
    elif isinstance(row.op, type):
        shown = [row.op.step]
    else:
        return []
    return [
        "<details><summary>NumPy</summary>",
        f"```python\n{code_of(*shown)}\n```",
        "</details>",
    ]
