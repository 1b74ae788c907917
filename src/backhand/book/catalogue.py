"""The mistakes of an operation, as a chapter lists them."""

from .. import mistakes
from .table import Table


def catalogue(op_name):
    """A table: each known mistake in an op, what it does, what hides it."""
    found = mistakes.of(op_name)
    return Table(
        ["mistake", "what you see", "hidden by", "the report says"],
        [
            [
                each.name.replace("-", " "),
                each.symptom,
                hiding_places(each) or "nothing tried",
                each.kind.replace("_", " ") if each.tellable else "that it is wrong",
            ]
            for each in found
        ],
        caption=f"{len(found)} ways to get {op_name.replace('_', '-')} wrong",
    )


def hiding_places(mistake):
    """The tests under which it passes."""
    return "; ".join(design.name for design in mistake.hidden_by)
