"""Reports in a notebook lead from a finding to the chapter that explains it."""

import os
from pathlib import Path

from IPython import get_ipython

from ..check import Report
from ..reference import CHAPTER_OF_KIND


def links():
    """The address of a chapter for each kind of finding whose chapter is there.

    Notebooks lie in a folder beside `chapters`. The static site leads to its pages, a
    running notebook to the other notebooks.
    """
    extension = "html" if os.environ.get("BACKHAND_FRAMES") == "all" else "ipynb"
    return {
        kind: f"../chapters/{chapter}.{extension}"
        for kind, chapter in CHAPTER_OF_KIND.items()
        if Path(f"../chapters/{chapter}.ipynb").exists()
    }


def show_links():
    """From now on, a report that a cell ends with has them."""
    shell = get_ipython()
    if shell is not None:
        shell.display_formatter.formatters["text/html"].for_type(
            Report, lambda report: report.to_html(links())
        )
