"""What nbval compares: text and LaTeX. Pictures and widgets are tested on the site."""


def pytest_collectstart(collector):
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += ("text/html", "text/markdown", "image/svg+xml")
