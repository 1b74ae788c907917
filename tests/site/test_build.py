"""`make book`: a failing cell fails it, and it executes what it must, no more."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat.v4 as nb
import pytest

ROOT = Path(__file__).parents[2]
BOOK = ["Makefile", "_config.yml", "_ext", "_static", "_templates", "references.bib"]
BOOK += ["requirements.txt", "package-lock.json", "tools", "pyproject.toml"]
BOOK += ["README.md", "LICENSE"]


def write_notebook(book, *cells, text="# A chapter"):
    cells = [nb.new_markdown_cell(text), *map(nb.new_code_cell, cells)]
    (book / "chapter.ipynb").write_text(nb.writes(nb.new_notebook(cells=cells)))


@pytest.fixture
def book(tmp_path):
    """A book of two pages, built as the real one is."""
    for name in BOOK:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    (tmp_path / "src/backhand").mkdir(parents=True)
    (tmp_path / "src/backhand/__init__.py").touch()
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nchapters: [{file: chapter}]\n"
    )
    (tmp_path / "index.md").write_text("# A book\n")
    return tmp_path


def make(book):
    """Run `make book` there, with the environment and the assets of the tests."""
    old = [f"{sys.prefix}/.installed", "node_modules/.package-lock.json"]
    command = ["make", "book", f"VENV={sys.prefix}", "LITE=no"]
    return run(book, *command, *(f"--old-file={file}" for file in old))


def execute(book):
    """The part of `make book` that executes."""
    return run(book, sys.executable, "tools/notebooks.py", "execute")


def run(book, *command):
    return subprocess.run(
        command,
        cwd=book,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )


def test_a_failing_cell_fails_the_build(book):
    write_notebook(book, "x = 0", "1 / x")
    failed = make(book)
    assert failed.returncode != 0
    assert "ZeroDivisionError" in failed.stdout
    assert "chapter.ipynb" in failed.stdout
    assert not (book / "_build/html/index.html").exists()

    write_notebook(book, "x = 1", "1 / x")
    mended = make(book)
    assert mended.returncode == 0, mended.stdout
    assert (book / "_build/html/chapter.html").exists()


def test_a_dead_link_and_a_warning_in_a_cell_fail_the_build(book):
    write_notebook(book, "import warnings", "warnings.warn('careful')")
    (book / "index.md").write_text("# A book\n\n[A link](nowhere.md)\n")
    failed = make(book)
    assert failed.returncode != 0
    assert "nowhere.md" in failed.stdout
    assert "stderr was found in the cell outputs" in failed.stdout


def test_a_notebook_is_executed_when_its_code_or_what_it_imports_changes(book):
    # The kernel has the real package, which lacks that module.
    cell = "if False: import backhand.steps\nopen('log', 'a').write('x')"
    log, doctree = book / "log", book / "_build/.doctrees/chapter.doctree"
    package = book / "src/backhand"
    (package / "steps.py").write_text("from .constants import STEP")
    (package / "constants.py").write_text("STEP = 1e-5")
    (package / "unused.py").touch()

    write_notebook(book, cell)
    assert execute(book).returncode == 0
    assert log.read_text() == "x"

    write_notebook(book, cell, text="# Another title")
    (package / "unused.py").write_text("STEP = 1e-6")
    assert execute(book).returncode == 0
    assert log.read_text() == "x"

    doctree.parent.mkdir()
    doctree.touch()
    (package / "constants.py").write_text("STEP = 1e-4")
    assert execute(book).returncode == 0
    assert log.read_text() == "xx"
    assert not doctree.exists(), "Sphinx would not read this page again"

    (package / "__init__.py").write_text("NAME = 'backhand'")
    assert execute(book).returncode == 0
    assert log.read_text() == "xxx"
