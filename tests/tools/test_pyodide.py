"""Pyodide's files are taken from one place, and only if they are the right ones."""

import hashlib
import json

import pyodide
import pytest


@pytest.fixture
def release(tmp_path, monkeypatch):
    """A folder with a release of three packages, of which one needs another."""
    folder = tmp_path / "release"
    folder.mkdir()
    packages = {}
    for name, depends in {"plots": ["Small_Numbers"], "small-numbers": [], "pdf": []}.items():
        content = name.encode()
        (folder / f"{name}.whl").write_bytes(content)
        packages[name] = {
            "file_name": f"{name}.whl",
            "sha256": hashlib.sha256(content).hexdigest(),
            "depends": [dependency.lower() for dependency in depends],
        }
    (folder / pyodide.LOCK).write_text(json.dumps({"packages": packages}))
    (folder / "pyodide.js").write_text("// the interpreter")
    for file in (pyodide.LOCK, "pyodide.js"):
        sha256 = hashlib.sha256((folder / file).read_bytes()).hexdigest()
        monkeypatch.setitem(pyodide.SHA256, file, sha256)
    for file in pyodide.SHA256.keys() - {pyodide.LOCK, "pyodide.js"}:
        monkeypatch.delitem(pyodide.SHA256, file)
    return folder


def files(folder):
    return {file.name for file in folder.iterdir()}


def test_a_package_comes_with_what_it_needs_and_nothing_else(release, tmp_path):
    lock = pyodide.fetch(str(release), ["plots"], set(), tmp_path / "mine")
    assert lock["packages"].keys() == {"plots", "small-numbers"}
    assert files(tmp_path / "mine") == {
        pyodide.LOCK, pyodide.NEEDED, "pyodide.js", "plots.whl", "small-numbers.whl",
    }
    written = (tmp_path / "mine" / pyodide.NEEDED).read_text()
    assert json.loads(written) == lock


def test_what_is_not_used_is_neither_fetched_nor_asked_for(release, tmp_path):
    lock = pyodide.fetch(str(release), ["plots"], {"small-numbers"}, tmp_path / "mine")
    assert lock["packages"]["plots"]["depends"] == []
    assert "small-numbers.whl" not in files(tmp_path / "mine")


def test_what_is_here_already_is_not_fetched_again(release, tmp_path):
    pyodide.fetch(str(release), ["plots"], set(), tmp_path / "mine")
    elsewhere = str(tmp_path / "gone")
    lock = pyodide.fetch(elsewhere, ["plots"], set(), tmp_path / "mine")
    assert "plots" in lock["packages"]


@pytest.mark.parametrize("file", ["pyodide.js", pyodide.LOCK, "small-numbers.whl"])
def test_a_file_with_another_content_is_refused(release, tmp_path, file):
    (release / file).write_text("something else")
    with pytest.raises(pyodide.Unavailable, match=rf"{file} has sha256 \w+, not \w+"):
        pyodide.fetch(str(release), ["plots"], set(), tmp_path / "mine")
    assert not (tmp_path / "mine" / file).exists()


def test_a_damaged_copy_is_fetched_again(release, tmp_path):
    pyodide.fetch(str(release), ["plots"], set(), tmp_path / "mine")
    copy = tmp_path / "mine/plots.whl"
    copy.write_text("damaged")
    pyodide.fetch(str(release), ["plots"], set(), tmp_path / "mine")
    assert copy.read_text() == "plots"


def test_a_file_that_is_missing_is_named(release, tmp_path):
    (release / "plots.whl").unlink()
    with pytest.raises(pyodide.Unavailable, match="plots.whl"):
        pyodide.fetch(str(release), ["plots"], set(), tmp_path / "mine")


def test_a_host_that_does_not_answer_is_named(tmp_path):
    host = "http://127.0.0.1:9/pyodide"  # where nobody listens
    with pytest.raises(pyodide.Unavailable, match=host):
        pyodide.fetch(host, ["plots"], set(), tmp_path / "mine")
