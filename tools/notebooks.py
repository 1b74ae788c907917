"""Execute the book's notebooks; keep what is committed of them in one form.

python tools/notebooks.py execute    fill the cache that the site is built from
python tools/notebooks.py save       also write the outputs into the notebooks
"""

import contextlib
import hashlib
import json
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

import imports

BUILD = Path("_build")
CACHE = BUILD / ".jupyter_cache"
DOCTREES = BUILD / ".doctrees"
SITE = [BUILD / "html", DOCTREES]

# What every page shows depends on these, beside its own source. Sphinx looks at that
# and at its own settings only.
EXECUTION_INPUTS = ["requirements.txt"]
SITE_INPUTS = ["_ext/*.py", "_static/*", "_templates/**/*.html", "_config.yml", "_toc.yml", "package-lock.json"]
# For each notebook a hash of the modules it imports; jupyter-cache looks at its code.
IMPORTED = BUILD / ".imported.json"

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


def drop_stale(cache):
    """Remove what was built from other sources than the present ones."""
    BUILD.mkdir(exist_ok=True)
    for name, inputs, outputs in [
        ("execution", EXECUTION_INPUTS, [IMPORTED, *SITE]),
        ("site", SITE_INPUTS, SITE),
    ]:
        stamp = BUILD / f".{name}-inputs"
        now = fingerprint(*inputs)
        if not stamp.exists() or stamp.read_text() != now:
            for path in outputs:
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            stamp.write_text(now)

    before = json.loads(IMPORTED.read_text()) if IMPORTED.exists() else {}
    now = fingerprints_of_imports()
    for name in (name for name, imported in now.items() if before.get(name) != imported):
        with contextlib.suppress(KeyError):  # it is not in the cache
            notebook = nbformat.read(name, as_version=4)
            cache.remove_cache(cache.match_cache_notebook(notebook).pk)
        # Sphinx reads a page again whose doctree is missing.
        (DOCTREES / name).with_suffix(".doctree").unlink(missing_ok=True)
    IMPORTED.write_text(json.dumps(now))


def fingerprints_of_imports():
    """A hash for each notebook, of the modules that running it runs."""
    graph = imports.graph()
    prints = {}
    for file in notebooks():
        modules = (name.replace(".", "/") for name in imports.of_notebook(file, graph))
        sources = (f"src/{path}{end}" for path in modules for end in (".py", "/__init__.py"))
        prints[file.as_posix()] = fingerprint(*sources)
    return prints


def execute():
    """Run each notebook whose result is not in the cache; return the cache."""
    cache = get_cache(CACHE.resolve())
    drop_stale(cache)
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
