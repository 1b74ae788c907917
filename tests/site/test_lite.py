"""What the site serves to run notebooks: complete, whole, and nothing that is not used."""

import hashlib
import json
import re
from pathlib import Path

import nbformat
import pyodide
import pytest
from notebooks import notebooks

ROOT = Path(__file__).parents[2]
NOTEBOOKS = [file.relative_to(ROOT) for file in notebooks(ROOT)]


@pytest.fixture(scope="module")
def configuration(lite):
    return json.loads((lite / "jupyter-lite.json").read_text())["jupyter-config-data"]


@pytest.fixture(scope="module")
def kernel(configuration):
    (settings,) = configuration["litePluginSettings"].values()
    return settings


@pytest.fixture(scope="module")
def packages(lite, kernel):
    """The packages of the lock, by name."""
    lock = (lite / kernel["loadPyodideOptions"]["lockFileURL"]).read_text()
    return json.loads(lock)["packages"]


def test_the_kernel_asks_no_other_host(kernel):
    assert kernel["disablePyPIFallback"]
    addresses = json.dumps(kernel)
    assert re.findall("https?:|//[a-z]", addresses) == []


def test_the_interpreter_is_pyodides_own(lite, kernel):
    folder = (lite / kernel["pyodideUrl"]).parent
    for file in pyodide.SHA256.keys() - {pyodide.LOCK}:
        sha256 = hashlib.sha256((folder / file).read_bytes()).hexdigest()
        assert sha256 == pyodide.SHA256[file], file


def test_every_package_is_there_with_all_that_it_needs(lite, kernel, packages):
    folder = (lite / kernel["pyodideUrl"]).parent
    for name, package in packages.items():
        wheel = (folder / package["file_name"]).read_bytes()
        assert hashlib.sha256(wheel).hexdigest() == package["sha256"], name
        assert set(package["depends"]) <= packages.keys(), name
    asked_for = kernel["loadPyodideOptions"]["packages"]
    assert {name.replace("_", "-") for name in asked_for} <= packages.keys()


def test_every_module_that_a_notebook_imports_is_in_a_package(packages):
    known = {name for package in packages.values() for name in package["imports"]}
    standard = {"dataclasses", "itertools", "math", "this", "codecs", "time"}
    for file in NOTEBOOKS:
        for cell in nbformat.read(ROOT / file, 4).cells:
            if cell.cell_type == "code":
                imported = re.findall(r"^(?:from|import) (\w+)", cell.source, re.MULTILINE)
                assert set(imported) <= known | standard, file


def test_each_notebook_is_there_without_outputs_for_the_kernel_there_is(lite):
    for file in NOTEBOOKS:
        original = nbformat.read(ROOT / file, 4)
        notebook = nbformat.read(lite / "files" / file, 4)
        assert [c.source for c in notebook.cells] == [c.source for c in original.cells]
        assert notebook.metadata.kernelspec.name == "python"
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert all(cell.outputs == [] and not cell.execution_count for cell in code)


def test_what_a_reader_saved_belongs_to_the_notebooks_of_this_release(
    lite, configuration, kernel
):
    # Another text anywhere gives another name, and a browser then shows that text.
    parts = [(lite / kernel["loadPyodideOptions"]["lockFileURL"]).read_text()]
    parts += [(lite / "files" / file).read_text() for file in NOTEBOOKS]
    release = hashlib.sha256("".join(parts).encode()).hexdigest()[:12]
    assert configuration["contentsStorageName"] == f"Backprop by Hand {release}"


def test_what_the_book_does_not_use_is_not_in_the_site(lite):
    assert list(lite.rglob("*.map")) == []
    # The other applications' pages lead back to the book.
    for application in ("consoles", "edit", "lab", "tree"):
        assert {file.name for file in (lite / application).iterdir()} == {"index.html"}


def test_the_pages_say_what_it_weighs(site, lite, packages):
    page = (site / "appendix/bring-your-own.html").read_text()
    said = int(re.search(r"it loads (\d+) MB", page).group(1))
    measured = sum(file.stat().st_size for file in lite.glob("*/*/*.whl")) / 1e6
    assert said > measured
