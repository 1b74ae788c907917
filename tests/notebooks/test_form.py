"""What is committed of a notebook: its words, its code, its numbers; one form."""

import ast
from pathlib import Path

import nbformat
import notebooks
import pytest
from jupyter_cache import get_cache

ROOT = Path(__file__).parents[2]
FILES = notebooks.notebooks(ROOT)


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def file(request):
    return request.param


@pytest.fixture
def notebook(file):
    return nbformat.read(file, as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_the_table_of_contents_has_every_notebook():
    written = {*ROOT.glob("chapters/*.ipynb"), *ROOT.glob("appendix/*.ipynb")}
    assert written - set(FILES) == set()


def test_it_is_committed_as_make_notebooks_writes_it(file, notebook):
    assert file.read_text(encoding="utf-8") == notebooks.serialise(
        notebooks.normalise(notebook)
    )


def test_its_stored_outputs_are_what_its_cells_show(notebook):
    """nbval accepts any output where none is stored; this does not."""
    cache = get_cache(ROOT / notebooks.CACHE)
    try:
        _, executed = cache.merge_match_into_notebook(notebook)
    except KeyError:
        pytest.fail("this notebook was not executed: run `make book` first")
    shown = code(notebooks.normalise(executed))
    for cell, fresh in zip(code(notebook), shown, strict=True):
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            assert bool(cell.outputs) == bool(fresh.outputs), cell.source
        else:
            assert cell.outputs == fresh.outputs, cell.source


def test_its_cells_fit_a_page(notebook):
    for cell in code(notebook):
        lines = cell.source.splitlines()
        assert len(lines) <= 15, cell.source
        assert max(map(len, lines), default=0) <= 72, cell.source


def test_no_semicolon_hides_an_output(notebook):
    for cell in code(notebook):
        assert not cell.source.rstrip().endswith(";"), cell.source


def test_every_cell_parses_and_says_something(notebook):
    for cell in code(notebook):
        assert ast.parse(cell.source).body, "an empty cell"
