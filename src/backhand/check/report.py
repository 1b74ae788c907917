"""What a check found: as data, as text for a terminal, and as HTML for a page."""

from html import escape
from textwrap import wrap
from typing import NamedTuple

WIDTH = 72
VERDICTS = ("disagree", "inconclusive", "agree")  # the first that occurs decides


class Row(NamedTuple):
    """How the gradient of one input compares with the numeric one."""

    name: str
    verdict: str
    max_relative_error: float  # largest difference / largest entry of the two arrays
    worst_index: tuple | None  # where it is; None where no single entry was compared
    analytic: float  # what backward returned there
    numeric: float  # what finite differences gave there
    ratio: float  # analytic / numeric
    note: str = ""  # how many entries are off, and where


class Finding(NamedTuple):
    """A mistake, or a flaw of the question, and what shows it."""

    kind: str  # "constant_factor"
    name: str  # of the input it is about, or "y", "dy"
    evidence: str  # in numbers
    advice: str  # what to try


class Report:
    """The outcome of a check.

    Attributes
    ----------
    verdict : str
        "disagree", "inconclusive" or "agree".
    rows : tuple of Row
        One for each input that was differentiated.
    findings : tuple of Finding
        What is wrong, likeliest first. There may be none.
    remarks : tuple of str
        What else is to be said of the check: what was left out of it.
    """

    def __init__(self, rows, findings, verdict, remarks=()):
        self.remarks = tuple(remarks)
        self.rows = tuple(rows)
        self.findings = tuple(findings)
        self.verdict = verdict

    @property
    def agrees(self):
        """Whether the verdict is "agree"."""
        return self.verdict == "agree"

    def row(self, name):
        """The row of one input, by its name."""
        for row in self.rows:
            if row.name == name:
                return row
        known = ", ".join(row.name for row in self.rows)
        raise KeyError(f"no input {name!r}; the report has {known}")

    def __repr__(self):
        kinds = [f"{finding.kind} in {finding.name}" for finding in self.findings]
        return f"<Report: {', '.join([self.verdict, *kinds])}>"

    def __str__(self):
        """The report at 72 columns."""
        parts = [_paragraph(f"{self.verdict}: {self.summary()}")]
        if self.rows:
            parts.append(_text_table(self.rows))
        for number, (kind, name, evidence, advice) in enumerate(self.findings, 1):
            what = f"{number}. {kind} in {name}"
            shown, try_ = _paragraph(evidence, "   "), _paragraph(advice, "   ", "-> ")
            parts.append(f"{what}\n{shown}\n{try_}")
        parts += map(_paragraph, self.remarks)
        return "\n\n".join(parts)

    def summary(self):
        """Which gradients are right and which are not, in a line."""
        wording = ("wrong: {}", "undecided: {}", "right: {}")
        groups = [
            words.format(
                ", ".join(row.name for row in self.rows if row.verdict == verdict)
            )
            for verdict, words in zip(VERDICTS, wording)
            if any(row.verdict == verdict for row in self.rows)
        ]
        if self.verdict not in {row.verdict for row in self.rows} and self.findings:
            first = self.findings[0]
            groups.append(f"but {first.kind} in {first.name}")
        return "; ".join(groups) or "nothing could be compared"

    def to_html(self, links=None):
        """The report as an HTML fragment that takes its colours from the page.

        Parameters
        ----------
        links : mapping, optional
            Addresses by kind of finding, for pages that explain them.
        """
        return _html(self, links or {})

    def _repr_html_(self):
        return self.to_html()


COLUMNS = ("input", "verdict", "largest error", "at", "analytic", "numeric", "ratio")


def _cells(row):
    """A row as strings, in the order of COLUMNS."""
    at = "" if row.worst_index is None else str(tuple(map(int, row.worst_index)))
    numbers = [f"{value:.6g}" for value in (row.analytic, row.numeric)]
    return (
        row.name,
        row.verdict,
        f"{row.max_relative_error:.1e}",
        at,
        *numbers,
        f"{row.ratio:.4g}",
    )


def _text_table(rows):
    heads = tuple(head.removeprefix("largest ") for head in COLUMNS)
    lines = _aligned([heads, *map(_cells, rows)])
    if len(max(lines, key=len)) > WIDTH:  # name and place on a line of their own
        values = [("", cells[1], cells[2], *cells[4:]) for cells in map(_cells, rows)]
        head, *lines = _aligned([("", heads[1], heads[2], *heads[4:]), *values])
        places = [f"{row.name}  {_cells(row)[3]}".rstrip() for row in rows]
        lines = [head, *(f"{place}\n{line}" for place, line in zip(places, lines))]
    for number, row in enumerate(rows, 1):
        if row.note:
            lines[number] += "\n" + _paragraph(row.note, "  ")
    return "\n".join(lines)


def _aligned(table):
    """Lines of text with the columns one under the other, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table)]
    numeric = {2, *range(len(widths) - 3, len(widths))}
    return [
        "  ".join(
            cell.rjust(width) if number in numeric else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(cells, widths))
        ).rstrip()
        for cells in table
    ]


def _paragraph(text, indent="", first=""):
    return "\n".join(
        wrap(
            first + text,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent + " " * len(first),
            break_on_hyphens=False,
        )
    )


STYLE = """
.backhand-report { color: inherit; line-height: 1.45; }
.backhand-report .verdict {
  border-inline-start: 0.35em solid currentColor; padding-inline-start: 0.6em;
}
.backhand-report .disagree .sign { color: var(--backhand-disagree, #d9480f); }
.backhand-report .agree .sign { color: var(--backhand-agree, #2b8a6e); }
.backhand-report .scroll { overflow-x: auto; }
.backhand-report table { border-collapse: collapse; color: inherit; }
.backhand-report caption { text-align: start; padding-block: 0.3em; }
.backhand-report th, .backhand-report td {
  border-block-end: 1px solid currentColor; padding: 0.25em 0.7em;
  text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap;
}
.backhand-report th:nth-child(-n+2), .backhand-report td.text { text-align: start; }
.backhand-report td.note { white-space: normal; text-align: start; }
.backhand-report ol { margin-block-start: 0.8em; }
.backhand-report li p { margin-block: 0.2em; }
"""
MARKS = {"disagree": "✗", "inconclusive": "?", "agree": "✓"}


def _html(report, links):
    mark = {
        verdict: f'<span class="sign" aria-hidden="true">{sign}</span> {verdict}'
        for verdict, sign in MARKS.items()
    }
    parts = [
        f"<style>{STYLE}</style>",
        f'<p class="verdict {report.verdict}"><strong>{mark[report.verdict]}</strong>: '
        f"{escape(report.summary())}</p>",
    ]
    if report.rows:
        heads = "".join(f'<th scope="col">{head}</th>' for head in COLUMNS)
        body = "".join(_html_row(row, mark) for row in report.rows)
        parts.append(
            '<div class="scroll" tabindex="0" role="group" '
            'aria-label="Analytic and numeric gradients">'
            "<table><caption>Each gradient against finite differences, "
            "at the entry where they differ most</caption>"
            f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
        )
    if report.findings:
        items = "".join(_html_finding(finding, links) for finding in report.findings)
        parts.append(f"<ol>{items}</ol>")
    parts += [f"<p>{escape(remark)}</p>" for remark in report.remarks]
    return f'<div class="backhand-report">{"".join(parts)}</div>'


def _html_row(row, mark):
    name, verdict, *numbers = _cells(row)
    cells = "".join(f"<td>{escape(number)}</td>" for number in numbers)
    html = (
        f'<tr class="{verdict}"><th scope="row">{escape(name)}</th>'
        f'<td class="text">{mark[verdict]}</td>{cells}</tr>'
    )
    if row.note:
        note, width = escape(row.note), len(COLUMNS)
        html += f'<tr><td class="note" colspan="{width}">{note}</td></tr>'
    return html


def _html_finding(finding, links):
    kind = escape(finding.kind.replace("_", " "))
    if finding.kind in links:
        kind = f'<a href="{escape(links[finding.kind])}">{kind}</a>'
    return (
        f"<li><p><strong>{kind}</strong> in <code>{escape(finding.name)}</code></p>"
        f"<p>{escape(finding.evidence)}</p><p>{escape(finding.advice)}</p></li>"
    )
