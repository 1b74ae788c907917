"""The page of all mistakes: what each does, what hides it, which checks notice it.

Which checks notice is measured when the page is made, by `mistakes.detect`.
"""

import re
from collections import Counter
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
    """A table: how many mistakes each way of checking notices. Its rows add up."""
    results = [measured(mistake) for mistake in CATALOGUE]
    rows = []
    for check in ("backhand", *OTHERS):
        found = [each[check] for each in results]
        rows.append([check, *map(found.count, (True, False, None)), len(found)])
    return Table(
        ["check", "noticed", "let through", "nothing to check", "together"],
        rows,
        f"{len(CATALOGUE)} mistakes and four ways of checking",
    )


def remainders():
    """A table: why a row of `checks` has what it lets through or cannot check."""
    groups = {}
    for mistake in CATALOGUE:
        found = measured(mistake)
        if found["backhand"] is None:
            why = ("any check of gradients", "nothing to check", NO_GRADIENT)
        elif found["backhand"] is False:
            why = ("backhand", "let through", reason(mistake))
        elif found["dy of ones"] is None:
            why = ("dy of ones", "nothing to check", ONE_NUMBER)
        else:
            continue
        groups.setdefault(why, []).append(mistake)
    rows = [
        [check, what, len(found), named(found), why]
        for (check, what, why), found in groups.items()
    ]
    return Table(
        ["check", "what it does", "mistakes", "which", "why"],
        sorted(rows),
        "What backhand lets through, and where a check has nothing to check",
    )


def named(found):
    """Mistakes by name, or where they are many the operations they are in."""
    if len(found) == 1:
        (mistake,) = found
        return f"{mistake.op_name}, {mistake.name}".replace("_", "-").replace("-", " ")
    counts = Counter(mistake.op_name.replace("_", " ") for mistake in found)
    return ", ".join(f"{count} in {op}" for op, count in counts.items())


NO_GRADIENT = "an optimiser takes gradients and returns none"
ONE_NUMBER = "a model's loss is one number, and its upstream gradient is one anyway"


def reason(mistake):
    """Why `check_gradients` rightly agrees with one whose forward pass is wrong."""
    if mistake.checked_by == "memory":
        return "every number is right: the memory is not"
    if mistake.kind == "float_noise":
        return "right in float64, in which backhand works; float32 is too short for it"
    return "backward is the gradient of the wrong forward pass"


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
                    f'<details class="bh-op"><summary>{escape(row.title)}: '
                    f"{len(row.mistakes)}</summary>",
                    *chapter(row),
                    *map(markdown, row.mistakes),
                    "</details>",
                ]
            )
            for row in self.rows
        ]
        return {"text/markdown": "\n\n".join(parts), "text/plain": repr(self)}


def chapter(row):
    """The way to the chapter of an operation, once that is written."""
    title = titled(row)
    return [f"In its chapter: {title}"] if title != row.title else []


# What readers say of what they see, and what it is called here: a pattern that is
# looked for in the kind and the symptom of a mistake.
SAID = {
    "loss is nan inf infinite not a number overflow": r"nonfinite|\bnan\b",
    "trains learns slower slowly too small shrinks vanishing gradient": (
        r"slow|timid|hardly|half as strong|too (short|small|weak)|sluggish|shrinks"
        r"|halves|weaker"
    ),
    "too large explodes exploding diverges unstable": (
        r"too (fast|long|strong)|full speed|blows up|double|\bgrow|thrown|as hard"
    ),
    "shapes don't match shape mismatch dimensions size error ValueError": (
        r"wrong_shape|about shapes|missing_sum|becomes? (a matrix|one row)"
    ),
    "loss goes up increases": r"loss rises|sign_flip|blows up",
    "doesn't does not learn train stuck dead frozen zero gradient": (
        r"never (moves?|trains?)|no gradient|frozen|as it was drawn|\bdie|stop learning"
        r"|nothing before it"
    ),
    "works at first then gets worse passes small tests": (
        r"initialis|Right (until|in every|once|at position)|toys|appears to work"
    ),
    "trains worse plateau loss still falls": r"loss (still )?falls|appears to work",
    "changes on second call mutated": r"not_repeatable|inplace_mutation",
    "out of memory": r"quadratic_memory",
    "loss too good cheats sees the future leak": r"missing_mask",
    "tests pass by chance flaky noise tolerance": r"float_noise|correct gradient",
}


def said(mistake):
    """What the search of the page finds it by, beside its text."""
    text = f"{mistake.kind} {mistake.symptom}"
    words = [mistake.op_name, mistake.kind]
    words += [words for words, pattern in SAID.items() if re.search(pattern, text)]
    return " ".join(words).replace("_", " ")


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
            f'<div class="bh-mistake" id="{op}-{mistake.name}" '
            f'data-words="{escape(said(mistake))}">',
            f"**{mistake.name.replace('-', ' ')}**",
            f"<p>{escape(mistake.symptom)}</p><dl>{listed}</dl>",
            "<details><summary>the code</summary>",
            f"```python\n{mistake.source.rstrip()}\n```",
            "</details></div>",
        ]
    )
