"""The page of all mistakes: what each does, what hides it, which checks notice it.

Which checks notice is measured when the page is made, by `mistakes.detect`.
"""

from functools import cache
from html import escape

from ..mistakes import CATALOGUE, detect
from ..reference import rows_under
from .catalogue import hiding_places
from .derivative_reference import titled
from .table import Table

OTHERS = ("float32, entry by entry", "dy of ones", "one direction")
INSTEAD = {  # what notices a mistake that leaves every gradient right, by `checked_by`
    "right values": "a comparison with the right output",
    "closed form": "a comparison with the closed form",
    "memory": "a measurement of its memory",
}
measured = cache(detect)


def checks():
    """A table: how many mistakes each way of checking notices."""
    results = [measured(mistake) for mistake in CATALOGUE]
    gradients = [each for each in results if each["backhand"] is not None]
    rows = []
    for check in ("backhand", *OTHERS):
        noticed = [each[check] for each in gradients if each[check] is not None]
        rows.append([check, sum(noticed), len(noticed) - sum(noticed)])
    return Table(
        ["check", "noticed", "let through"],
        rows,
        f"{len(CATALOGUE)} mistakes; in {len(gradients)} there is a gradient to check",
    )


class Section:
    """The mistakes in the operations under one heading of the reference."""

    def __init__(self, heading):
        self.rows = [row for row in rows_under(heading) if row.mistakes]

    def __repr__(self):
        return "\n".join(map(text, (m for row in self.rows for m in row.mistakes)))

    def _repr_mimebundle_(self, include=None, exclude=None):
        parts = [
            "\n\n".join(
                [
                    '<div class="bh-op">',
                    f"**{titled(row)}**",
                    *map(markdown, row.mistakes),
                    "</div>",
                ]
            )
            for row in self.rows
        ]
        return {"text/markdown": "\n\n".join(parts), "text/plain": repr(self)}


def facts(mistake):
    """What is known of it and what is measured, by what each fact is called."""
    found = measured(mistake)
    known = {
        "hidden by": hiding_places(mistake),
        "let through by": "; ".join(each for each in OTHERS if found[each] is False),
    }
    if found["backhand"]:
        kinds = dict.fromkeys(finding.kind for finding in mistake.check().findings)
        words = "; ".join(kinds).replace("_", " ") or "that it is wrong"
        known["the report says"] = words
    else:
        known["noticed by"] = INSTEAD[mistake.checked_by]
    return {name: fact for name, fact in known.items() if fact}


def text(mistake):
    listed = "; ".join(f"{name} {fact}" for name, fact in facts(mistake).items())
    return f"{mistake.op_name}, {mistake.name}: {listed}"


def markdown(mistake):
    """One mistake, its code folded away."""
    listed = "".join(
        f"<dt>{name}</dt><dd>{escape(fact)}</dd>"
        for name, fact in facts(mistake).items()
    )
    op = mistake.op_name.replace("_", "-")
    return "\n\n".join(
        [
            f'<div class="bh-mistake" id="{op}-{mistake.name}">',
            f"**{mistake.name.replace('-', ' ')}**",
            f"<p>{escape(mistake.symptom)}</p><dl>{listed}</dl>",
            "<details><summary>the code</summary>",
            f"```python\n{mistake.source.rstrip()}\n```",
            "</details></div>",
        ]
    )
