"""How the tests are spread over the processors, and what nbval compares."""

import pytest


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    """Keep together what shares a kernel, a page or another costly fixture."""
    for item in items:
        page = getattr(item, "callspec", None) and item.callspec.params.get("name")
        group = f"{item.path} {page}" if page else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))


def pytest_collectstart(collector):
    """Compare text and LaTeX: pictures and widgets are tested on the site."""
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += ("text/html", "text/markdown", "image/svg+xml")
