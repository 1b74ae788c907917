"""A table, and the source of a function, in the form each reader's page can show."""

import ast
import inspect
import re
from html import escape
from itertools import cycle
from textwrap import dedent

from tabulate import tabulate

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
    """The code of functions as it stands in the package, docstrings cut to a line."""

    def __init__(self, *functions):
        self.functions = functions

    def __repr__(self):
        names = (f"{each.__module__}.{each.__name__}" for each in self.functions)
        return f"Source of {', '.join(names)}"

    def _repr_mimebundle_(self, include=None, exclude=None):
        code = code_of(*self.functions)
        return {"text/markdown": f"```python\n{code}\n```", "text/plain": repr(self)}


def code_of(*functions):
    """The code of functions, docstrings cut to their first line."""
    return "\n\n\n".join(map(_without_docstring, functions))


def _without_docstring(function):
    lines = dedent(inspect.getsource(function)).rstrip().split("\n")
    tree = ast.parse("\n".join(lines)).body[0]
    if ast.get_docstring(tree) is None:
        return "\n".join(lines)
    docstring = tree.body[0]
    first, last = docstring.lineno - 1, docstring.end_lineno
    if last - first > 1:
        lines[first:last] = [lines[first] + '"""']
    return "\n".join(lines)
