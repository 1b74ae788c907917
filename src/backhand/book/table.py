"""A table, and the source of a function, in the form each reader's page can show."""

import ast
import inspect
import re
from html import escape
from itertools import cycle
from textwrap import dedent

from tabulate import tabulate

from ..ops import _arguments

CHECKS = {
    getattr(_arguments, name)
    for name in ("float_array", "integer_array", "positive", "positive_integer", "one_of")
}
PHONE = 32  # characters in a row of a table on a narrow page


class Table:
    """Rows under a header: HTML on a page, plain text everywhere else.

    Parameters
    ----------
    header : sequence of str
    rows : iterable of sequence
        Numbers come formatted as text, so that they compare across machines.
    caption : str
        What the table says, in a sentence.
    """

    def __init__(self, header, rows, caption):
        self.header = list(header)
        self.rows = [[str(cell) for cell in row] for row in rows]
        self.caption = caption

    def __repr__(self):
        return f"{self.caption}\n{self._format('simple')}"

    def _repr_mimebundle_(self, include=None, exclude=None):
        html = self._format("html")
        opening, body = html.split(">", 1)
        stacks = " bh-stacks" if self._is_wide() else ""
        return {
            "text/html": f'<div class="bh-table{stacks}">{opening} class="table">'
            f"<caption>{self.caption}</caption>{self._labelled(body)}</div>",
            "text/plain": repr(self),
        }

    def _is_wide(self):
        """Whether its columns do not fit beside each other on a phone."""
        columns = zip(self.header, *self.rows, strict=True)
        return sum(max(map(len, column)) for column in columns) > PHONE

    def _labelled(self, body):
        """The body, each cell with its column's name: where rows are stacked."""
        names = cycle(f'<td data-label="{escape(each)}"' for each in self.header)
        return re.sub("<td", lambda _: next(names), body)

    def _format(self, form):
        return tabulate(self.rows, self.header, tablefmt=form, disable_numparse=True)


class Source:
    """The code of functions as it stands in the package, docstrings cut to a line.

    Where an operation checks its arguments, a comment says which, and no more.
    """

    def __init__(self, *functions):
        self.functions = functions

    def __repr__(self):
        names = (f"{each.__module__}.{each.__name__}" for each in self.functions)
        return f"Source of {', '.join(names)}"

    def _repr_mimebundle_(self, include=None, exclude=None):
        code = code_of(*self.functions)
        return {"text/markdown": f"```python\n{code}\n```", "text/plain": repr(self)}


def code_of(*functions):
    """The code of functions, docstrings cut to their first line, checks to a comment."""
    return "\n\n\n".join(map(_shortened, functions))


def _shortened(function):
    lines = dedent(inspect.getsource(function)).rstrip().split("\n")
    tree = ast.parse("\n".join(lines)).body[0]
    # From the end, so that what stands before keeps its place.
    for first, last, names in reversed(_checks(tree, function.__globals__)):
        indent = lines[first][: -len(lines[first].lstrip())]
        lines[first:last] = [f"{indent}# {', '.join(names)}: checked"]
    if ast.get_docstring(tree) is None:
        return "\n".join(lines)
    docstring = tree.body[0]
    first, last = docstring.lineno - 1, docstring.end_lineno
    if last - first > 1:
        lines[first:last] = [lines[first] + '"""']
    return "\n".join(lines)


def _checks(tree, known):
    """Runs of statements that check an argument: first line, end, and of which."""
    runs = []
    for statement in tree.body:
        if not isinstance(statement, ast.Assign | ast.Expr):
            continue
        call = statement.value
        called = call.func if isinstance(call, ast.Call) else None
        if not (isinstance(called, ast.Name) and known.get(called.id) in CHECKS):
            continue
        first, last = statement.lineno - 1, statement.end_lineno
        name = call.args[0].value
        if runs and runs[-1][1] == first:
            runs[-1] = (runs[-1][0], last, [*runs[-1][2], name])
        else:
            runs.append((first, last, [name]))
    return runs
