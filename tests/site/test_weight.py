"""What a page loads at first sight, gzipped, its fonts and all that pages share included."""

import gzip
from urllib.parse import unquote, urlsplit

import pytest

MATHJAX = "tex-chtml-full.js"
PACKED = (".woff", ".woff2", ".png")  # not smaller when gzipped


@pytest.fixture(scope="module")
def loaded(browser, address, site, name):
    """The files that a page asked for, and what each weighs."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    addresses = set()
    page.on("request", lambda request: addresses.add(request.url))
    page.goto(f"{address}/{name}.html")
    page.wait_for_load_state("networkidle")
    page.evaluate("Promise.all([window.MathJax?.startup?.promise, document.fonts.ready])")
    page.wait_for_load_state("networkidle")
    page.close()
    weights = {}
    for url in addresses:
        if url.startswith(address):
            path = unquote(urlsplit(url.removeprefix(address)).path).lstrip("/")
            content = (site / path).read_bytes()
            packed = content if path.endswith(PACKED) else gzip.compress(content)
            weights[path] = len(packed)
    return weights


def test_a_page_of_text_weighs_at_most_300_kb_a_chapter_950(loaded):
    formulas = any(path.endswith(MATHJAX) for path in loaded)
    heaviest = sorted(loaded.items(), key=lambda item: -item[1])[:8]
    assert sum(loaded.values()) < (950_000 if formulas else 300_000), heaviest


def test_no_icon_font_and_no_widget_manager_is_loaded(loaded):
    unwanted = ("fontawesome", "embed.js", "fa-solid", "fa-brands", "fa-regular")
    assert [path for path in loaded if any(word in path for word in unwanted)] == []


def test_the_theme_keeps_no_icons_that_no_page_shows(site):
    styles = (site / "_static/styles/pydata-sphinx-theme.css").read_text()
    assert "woff2" not in styles and ".fa-angry" not in styles
