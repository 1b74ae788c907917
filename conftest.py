"""How the tests are spread over the processors, and what nbval compares."""

import re

from xdist.scheduler import LoadScopeScheduling


class ByFileAndPage(LoadScopeScheduling):
    """A worker takes a whole file, since a notebook's cells need one kernel.

    Of the site's tests it takes a page, which it then opens only once.
    """

    def _split_scope(self, nodeid):
        file, _, test = nodeid.partition("::")
        page = re.search(r"\[(.+?)(-light|-dark|\])", test)
        return f"{file} {page[1]}" if page and file.startswith("tests/site/") else file


def pytest_xdist_make_scheduler(config, log):
    return ByFileAndPage(config, log)


def pytest_collectstart(collector):
    """Compare text and LaTeX: pictures and widgets are tested on the site."""
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += ("text/html", "text/markdown", "image/svg+xml")
