"""What a notebook's page offers, with and without the part that runs it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat.v4 as nb
import pytest

ROOT = Path(__file__).parents[2]
CONFIGURATION = f"""
import sys
sys.path.insert(0, {str(ROOT / "_ext")!r})
extensions = ["myst_nb", "run_button"]
nb_execution_mode = "off"
html_theme = "sphinx_book_theme"
html_sourcelink_suffix = ""
"""
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
PAGE_MEGABYTES = 12  # JupyterLite itself, as run_button.py has it
RUN = "../lite/notebooks/index.html?path=chapters/one.ipynb"


@pytest.fixture
def book(tmp_path):
    """A book of a page of text and a notebook, with a wheel to download."""
    (tmp_path / "conf.py").write_text(CONFIGURATION)
    (tmp_path / "index.md").write_text("# A book\n\n```{toctree}\nchapters/one\n```\n")
    (tmp_path / "chapters").mkdir()
    cells = [nb.new_markdown_cell("# One"), nb.new_code_cell("1 + 1")]
    notebook = nb.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    (tmp_path / "chapters/one.ipynb").write_text(nb.writes(notebook))
    wheel = tmp_path / "_build/wheel/0123/some-1.0-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    wheel.write_text("a wheel")
    return tmp_path


def add_lite(book):
    """Stands for what tools/lite.py builds."""
    lite = book / "_build/lite/site"
    for file in ["notebooks/index.html", "wheels/ab/some.whl", "pyodide-1/pyodide.js"]:
        (lite / file).parent.mkdir(parents=True)
        (lite / file).write_bytes(b"")
    (lite / "wheels/ab/some.whl").write_bytes(bytes(30_000_000))


def build(book, repository=""):
    """Build it; the page of text and the notebook's page."""
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", "html", ".", "_build/html"],
        cwd=book,
        env=os.environ | {"REPOSITORY": repository},
        check=True,
    )
    site = book / "_build/html"
    return (site / "index.html").read_text(), (site / "chapters/one.html").read_text()


def test_a_notebook_says_how_to_run_it_and_how_much_that_loads(book):
    add_lite(book)
    text, notebook = build(book)
    assert notebook.count(f'href="{RUN}"') == 2  # below the title and at the top
    assert f"it loads {30 + PAGE_MEGABYTES} MB" in notebook
    assert (book / "_build/html/lite/notebooks/index.html").exists()
    assert "lite/" not in text


def test_without_lite_and_repository_a_page_offers_downloads_and_no_dead_link(book):
    text, notebook = build(book)
    for file in ["_sources/chapters/one.ipynb", "downloads/some-1.0-py3-none-any.whl"]:
        assert f'href="../{file}" download' in notebook
        assert (book / "_build/html" / file).exists()
    for address in ("lite/", "mybinder.org", "colab.research.google.com", "github.com"):
        assert address not in text + notebook


def test_when_lite_goes_the_links_to_it_go_too(book):
    add_lite(book)
    build(book)
    shutil.rmtree(book / "_build/lite")
    assert "lite/" not in "".join(build(book))
    assert not (book / "_build/html/lite").exists()


def test_with_a_repository_binder_and_colab_open_this_notebook(book):
    _, notebook = build(book, repository="somebody/some-book")
    assert (
        "https://mybinder.org/v2/gh/somebody/some-book/main"
        "?urlpath=lab/tree/chapters/one.ipynb"
    ) in notebook
    assert (
        "https://colab.research.google.com/github/somebody/some-book"
        "/blob/main/chapters/one.ipynb"
    ) in notebook
    assert "git+https://github.com/somebody/some-book" in notebook
