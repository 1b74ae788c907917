"""What a notebook says in its own words: its figures, where they come from, its phrases."""

import re
from collections import defaultdict

# What has digits and is no figure: names, and where things stand in the texts.
_PLACE = r"(?:[A-E]\.\d+|9\.\d+[a-z]?)"  # A.3 of text A, 9.14 of the chapter
_PLACES = rf"{_PLACE}(?:(?:,|;| to| and)\s+{_PLACE})"
NO_FIGURE = [
    r"Python 3\.\d+",
    rf"\({_PLACES}*\)",
    rf"\b{_PLACES}+",
    rf"\b(?:section|equation|chapter)s? {_PLACE}",
    r"\b[A-E]\.\d+\b",
    r"\b\d+-bit\b",
]

_MARK = re.compile(r"<!--\s*arithmetic:(.*?)-->", re.S)
_NUMBER = r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
# Not within a name: float32, GPT-2, x86.
_FIGURE = re.compile(
    rf"(?<![\w.])(?<![A-Za-z]-)"
    rf"(?:(?P<ratio>\d+/\d+)|(?P<number>{_NUMBER})(?:[eE](?P<power>[-+]?\d+))?)"
    rf"(?P<percent>\s?(?:%|per cent))?(?![A-Za-z_])"
)
_WORDS = re.compile(r"[a-z']+")


def words(source):
    """A Markdown cell's prose: no formula, code, comment, address or label in it."""
    text = source.replace("−", "-")
    # A fence around a directive holds prose, any other holds code.
    text = re.sub(r"(?ms)^(`{3,})(?!`)[^{\n]*\n(?:.*?\n)?\1\s*?$", " ", text)
    text = re.sub(r"(?m)^\s*[`:]{3,}.*$|^:[\w-]+:.*$|^\([\w-]+\)=$", " ", text)
    for left_out in (
        r"(?s)<!--.*?-->",
        r"(?s)\$\$.*?\$\$(?:\s*\([\w-]+\))?",
        r"(?s)\$[^$]*\$",
        r"(?s)(?:\{[\w:-]+\})?(`+).*?\1",
        r"https?://\S+",
        r"</?\w[^>]*>",
    ):
        text = re.sub(left_out, " ", text)
    return re.sub(r"\]\([^)]*\)", "] ", text)


def figures(text, smallest=10):
    """The figures of a text, in one spelling: without sign, separators and per cent.

    Whole numbers below `smallest` are words; a percentage or a ratio never is.
    """
    found = set()
    for match in _FIGURE.finditer(text.replace("−", "-")):
        if match["ratio"]:
            found.add(match["ratio"])
            continue
        number = match["number"].replace(",", "")
        whole = "." not in number and not match["power"] and not match["percent"]
        if whole and int(number) < smallest:
            continue
        found.add(f"{number}e{int(match['power'])}" if match["power"] else number)
    return found


def arithmetic(source):
    """The figures that a cell's comments mark as plain arithmetic."""
    return {
        figure
        for mark in _MARK.findall(source)
        for listed in re.split(r",\s+|,$", mark.strip())
        for figure in figures(listed, smallest=0)
    }


def printed(notebook):
    """The figures of the outputs that are compared with what a run shows."""
    found = set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            continue
        for output in cell.outputs:
            text = output.get("text") if output.get("name") == "stdout" else None
            text = text or output.get("data", {}).get("text/plain", "")
            found |= figures(text, smallest=0) | figures(
                text.replace("/", " "), smallest=0
            )
    return found


def unaccounted(notebook):
    """For each cell whose prose has figures that no compared output has: which."""
    known = printed(notebook)
    found = {}
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        text = words(cell.source)
        for name in NO_FIGURE:
            text = re.sub(name, " ", text)
        marked = arithmetic(cell.source)
        stated = figures(text)
        problems = [f"{each}: printed nowhere" for each in stated - known - marked]
        problems += [
            f"{each}: marked as arithmetic, not in the prose"
            for each in marked - figures(text, smallest=0)
        ]
        if problems:
            found[cell.id] = sorted(problems)
    return found


def phrases(notebook, length=4):
    """Every run of so many words within a sentence."""
    found = set()
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        # Headings and sentences end where a new one begins.
        for sentence in re.split(r"[.!?:;]\s|\n\s*\n|\n#", words(cell.source).lower()):
            run = _WORDS.findall(sentence)
            found |= {
                " ".join(run[at : at + length]) for at in range(len(run) - length + 1)
            }
    return found


def shared_phrases(notebooks, least=4):
    """Phrases of four words that stand in so many notebooks, and in which."""
    where = defaultdict(set)
    for name, notebook in notebooks.items():
        for phrase in phrases(notebook):
            where[phrase].add(name)
    return {each: names for each, names in where.items() if len(names) >= least}
