"""Execute the book's notebooks; keep what is committed of them in one form.

python tools/notebooks.py execute    fill the cache that the site is built from
python tools/notebooks.py save       also write the outputs into the notebooks
"""

import hashlib
import os
import shutil
import sys
from pathlib import Path

import nbformat
import yaml
from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from sphinx_external_toc.parsing import parse_toc_yaml

BUILD = Path("_build")
CACHE = BUILD / ".jupyter_cache"
SITE = [BUILD / "html", BUILD / ".doctrees"]

# What a page shows comes from the notebook and from these. jupyter-cache looks at the
# notebook's code only, Sphinx at the page's source and its own settings only.
EXECUTION_INPUTS = ["src/**/*.py", "requirements.txt"]
SITE_INPUTS = ["_ext/*.py", "_static/*", "_templates/*", "_config.yml", "_toc.yml", "package-lock.json"]

METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
CELL_METADATA = {"tags", "mystnb"}
# HTML, Markdown, pictures and widgets are made again by every build; each has a twin
# in plain text that carries the same numbers.
KEPT = {"text/plain", "text/latex"}


def notebooks(book=Path()):
    """The notebooks of the table of contents, in its order."""
    files = (book / f"{name}.ipynb" for name in parse_toc_yaml(book / "_toc.yml"))
    return [file for file in files if file.exists()]


def fingerprint(*patterns):
    """A hash of the contents of every file that matches."""
    digest = hashlib.sha256(sys.version.encode())
    for file in sorted(file for pattern in patterns for file in Path().glob(pattern)):
        digest.update(f"{file}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def drop_stale():
    """Remove what was built from other sources than the present ones."""
    for name, inputs, outputs in [
        ("execution", EXECUTION_INPUTS, [CACHE, *SITE]),
        ("site", SITE_INPUTS, SITE),
    ]:
        stamp = BUILD / f".{name}-inputs"
        now = fingerprint(*inputs)
        if not stamp.exists() or stamp.read_text() != now:
            for folder in outputs:
                shutil.rmtree(folder, ignore_errors=True)
            BUILD.mkdir(exist_ok=True)
            stamp.write_text(now)


def execute():
    """Run each notebook whose result is not in the cache; return the cache."""
    drop_stale()
    cache = get_cache(CACHE.resolve())
    uris = [str(notebook.resolve()) for notebook in notebooks()]
    for uri in uris:
        cache.add_nb_to_project(uri)
    timeout = yaml.safe_load(Path("_config.yml").read_text())["execute"]["timeout"]
    run = load_executor("local-parallel", cache).run_and_cache(
        filter_uris=uris, timeout=timeout
    )
    for uri in run.succeeded:
        seconds = cache.get_cached_project_nb(uri).data["execution_seconds"]
        print(f"{seconds:6.1f} s  {Path(uri).relative_to(Path.cwd())}")
    failed = run.excepted + run.errored
    for uri in failed:
        print(f"{uri} failed:\n{cache.get_project_record(uri).traceback}")
    if failed:
        sys.exit(f"{len(failed)} of {len(uris)} notebooks failed")
    return cache


def normalise(notebook):
    """The notebook as it is committed: its text, its numbers, no pictures."""
    notebook = nbformat.from_dict(notebook)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(METADATA)
    count = 0
    for cell in notebook.cells:
        for key in cell.metadata.keys() - CELL_METADATA:
            del cell.metadata[key]
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            # What is printed comes in pieces, in which ones is up to the clock.
            CoalesceStreamsPreprocessor().preprocess_cell(cell, {}, count)
            cell.outputs = [
                output for output in cell.outputs if _reduce(output, count)
            ]
    return notebook


def _reduce(output, count):
    """Cut an output to what is kept; whether anything is left."""
    if output.output_type not in {"execute_result", "display_data"}:
        return True
    output.metadata = {}
    output.data = {kind: data for kind, data in output.data.items() if kind in KEPT}
    if output.output_type == "execute_result":
        output.execution_count = count
    return bool(output.data)


def save():
    """Execute all notebooks and write them as they are committed."""
    for file in notebooks():
        write(file, nbformat.read(file, as_version=4))
    cache = execute()
    for file in notebooks():
        _, executed = cache.merge_match_into_notebook(nbformat.read(file, as_version=4))
        write(file, executed)


def write(file, notebook):
    """Write the notebook in its normal form, if that is not what the file has."""
    text = serialise(normalise(notebook))
    if text != file.read_text(encoding="utf-8"):
        file.write_text(text, encoding="utf-8")
        print(f"wrote {file}")


def serialise(notebook):
    return nbformat.writes(notebook) + "\n"


if __name__ == "__main__":
    os.environ["BACKHAND_FRAMES"] = "all"  # explorers without a kernel
    {"execute": execute, "save": save}[sys.argv[1]]()
