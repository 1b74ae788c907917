"""Build what runs a notebook in the reader's browser: `make book` calls it.

python tools/lite.py    the wheel of backhand into _build/wheel, and JupyterLite with
                        the book's notebooks and all they import into _build/lite/site

The environment says what to do. LITE: `no` leaves the browser part out, `yes` fails
where it cannot be built, and `auto` then leaves it out and says so. PYODIDE: the folder
with Pyodide's files, or their address; Pyodide's own release where it is empty.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat

import pyodide
import wheels
from notebooks import fingerprint, notebooks

BUILD = Path("_build/lite")
SITE = BUILD / "site"
LEFT_OUT = BUILD / "left-out.txt"  # why there is no SITE
LEFT_OUT_TEXT = f"""
NO RUN BUTTONS: what runs a notebook in the reader's browser could not be built.
  {{}}
It takes the files of Pyodide {pyodide.VERSION}. A folder that has them can be named:
make book PYODIDE=folder. Or do without, and without this message: make book LITE=no.
"""
WHEEL = Path("_build/wheel")

# What JupyterLite does without. Its service worker lets Python see the files that the
# page keeps, at the price of a request for every import; the book has no such files.
# The other offers pages that are not there.
DISABLED = [
    "@jupyterlite/application-extension:service-worker-manager",
    "@jupyter-notebook/application-extension:pages",
]

# How its settings differ from what it comes with.
HEADINGS = "notebook:move-cursor-heading-"
OVERRIDES = {
    "@jupyterlab/apputils-extension:themes": {"adaptive-theme": True},
    # All cells are on the page, for the browser to search and to print.
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    # The arrow keys move a slider, not from heading to heading.
    "@jupyterlab/shortcuts-extension:shortcuts": {
        "shortcuts": [
            {
                "command": f"{HEADINGS}{command}",
                "keys": [key],
                "selector": ".jp-Notebook.jp-mod-commandMode:not(.jp-mod-readWrite) :focus",
                "disabled": True,
            }
            for command, key in [
                ("above-or-collapse", "ArrowLeft"),
                ("below-or-expand", "ArrowRight"),
            ]
        ]
    },
}

TO_THE_BOOK = """<!DOCTYPE html>
<title>Backprop by Hand</title>
<meta http-equiv="refresh" content="0; url=../../index.html" />
"""

# Until the notebook is there and has its kernel, Run would run an empty notebook, or ask
# to choose a kernel: a modal dialog keeps the reader from pressing it.
LOADING = """<dialog id="loading" role="status" style="font: 1rem system-ui">
      Loading the notebook …
    </dialog>
    <script>
      const loading = document.getElementById("loading");
      loading.addEventListener("cancel", event => event.preventDefault());
      loading.showModal();
      const timer = setInterval(() => {
        const kernel = document.querySelector(".jp-Toolbar-kernelName")?.textContent;
        const state = document.querySelector(".jp-Notebook-ExecutionIndicator");
        const starting =
          !kernel || kernel == "No Kernel" || state?.dataset.status == "initializing";
        if (starting && performance.now() < 60_000) return; // read it can be without one
        clearInterval(timer);
        loading.remove();
        document.querySelector(".jp-Notebook")?.focus();
      }, 50);
    </script>
  </body>"""

INTERPRETER = f"pyodide-{pyodide.VERSION}"


def main():
    wheel = backhand_wheel()
    choice = os.environ.get("LITE") or "auto"
    if choice not in {"auto", "yes", "no"}:
        sys.exit(f"LITE is {choice!r}; it can be auto, yes or no")
    LEFT_OUT.unlink(missing_ok=True)
    if choice == "no":
        shutil.rmtree(SITE, ignore_errors=True)
        return
    try:
        build(os.environ.get("PYODIDE") or pyodide.RELEASE, wheel)
    except pyodide.Unavailable as reason:
        shutil.rmtree(SITE, ignore_errors=True)
        if choice == "yes":
            sys.exit(f"The notebooks cannot be made to run in the browser. {reason}")
        LEFT_OUT.parent.mkdir(parents=True, exist_ok=True)
        LEFT_OUT.write_text(LEFT_OUT_TEXT.format(reason), encoding="utf-8")


def backhand_wheel():
    """The package as a wheel, made anew when its sources changed."""
    sources = ["pyproject.toml", "README.md", "LICENSE", "src"]
    folder = WHEEL / fingerprint(*sources[:-1], "src/**/*.py")[:12]
    if not folder.exists():
        shutil.rmtree(WHEEL, ignore_errors=True)
        # In a copy: setuptools keeps in the source tree what it built there before.
        with tempfile.TemporaryDirectory() as copy:
            for source in sources:
                function = shutil.copytree if Path(source).is_dir() else shutil.copy
                function(source, Path(copy, source))
            pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
            subprocess.run(
                [*pip, "--no-build-isolation", "--wheel-dir", folder.resolve(), copy],
                check=True,
                env=os.environ | {"SOURCE_DATE_EPOCH": "315532800"},
            )
    (wheel,) = folder.glob("*.whl")
    return wheel


def build(source, wheel):
    """JupyterLite, the notebooks without outputs, and the packages they import."""
    interpreter = BUILD / INTERPRETER
    packages = wheels.collect(source, interpreter, wheel)
    packed = wheels.pack(packages, interpreter, BUILD / "wheels")
    lock = json.dumps(wheels.lock(packages, packed, interpreter))
    contents = {file: blank(file) for file in notebooks()}
    release = hashlib.sha256("".join([lock, *contents.values()]).encode()).hexdigest()[:12]
    stamp = BUILD / ".site-inputs"
    now = release + fingerprint("tools/lite.py", "requirements.txt")
    if SITE.exists() and stamp.exists() and stamp.read_text() == now:
        return

    shutil.rmtree(SITE, ignore_errors=True)
    jupyterlite(contents, release)
    for file in pyodide.SHA256.keys() - {pyodide.LOCK}:
        place(interpreter / file, SITE / INTERPRETER / file)
    for packed_wheel in packed.values():
        place(packed_wheel, SITE / wheels.address(packed_wheel))
    (SITE / f"wheels/{release}.json").write_text(lock, encoding="utf-8")
    finish_pages()
    stamp.write_text(now)


def blank(file):
    """The notebook as a reader gets it: not run yet, for the kernel there is."""
    notebook = nbformat.read(file, 4)
    notebook.metadata.kernelspec.name = "python"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return nbformat.writes(notebook)


def place(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def jupyterlite(contents, release):
    folder = BUILD / "jupyterlite"
    shutil.rmtree(folder, ignore_errors=True)
    for file, text in contents.items():
        target = folder / "contents" / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    settings = {
        "jupyter-lite.json": {
            "jupyter-lite-schema-version": 0,
            "jupyter-config-data": configuration(release),
        },
        "jupyter_lite_config.json": {
            "LiteBuildConfig": {
                "apps": ["notebooks"],
                "contents": ["contents"],
                "no_sourcemaps": True,
                "no_unused_shared_packages": True,
                "output_dir": str(SITE.resolve()),
            }
        },
        "overrides.json": OVERRIDES,
    }
    for name, setting in settings.items():
        (folder / name).write_text(json.dumps(setting, indent=1), encoding="utf-8")
    command = [sys.executable, "-m", "jupyterlite_core", "build"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def finish_pages():
    """Load the kernel's files early, say so, and lead back to the book where no page is.

    The notebook's page asks for them while JupyterLite itself is still starting; each
    is in the browser's cache when the kernel wants it. JupyterLite's logo and menus
    lead to its other applications, which are not part of the site.
    """
    page = SITE / "notebooks/index.html"
    files = [*SITE.glob(f"{INTERPRETER}/*"), *SITE.glob("wheels/*.*"), *SITE.glob("wheels/*/*")]
    links = [
        f'<link rel="prefetch" href="../{file.relative_to(SITE).as_posix()}" />'
        for file in files
    ]
    head = "\n    ".join(["<head>", '<link rel="icon" href="favicon.ico" />', *links])
    html = page.read_text(encoding="utf-8").replace("<head>", head, 1)
    html = html.replace("</body>", LOADING, 1)
    page.write_text(html, encoding="utf-8")
    for application in ("consoles", "edit", "lab", "tree"):
        (SITE / application).mkdir()
        (SITE / application / "index.html").write_text(TO_THE_BOOK, encoding="utf-8")


def configuration(release):
    """What the page and its kernel are told. Addresses are relative to the site."""
    return {
        "appName": "Backprop by Hand",
        "appUrl": "./tree",
        "disabledExtensions": DISABLED,
        # Where the browser keeps what a reader saved: that of another release is not
        # shown in place of this one's notebooks.
        "contentsStorageName": f"Backprop by Hand {release}",
        "litePluginSettings": {
            "@jupyterlite/pyodide-kernel-extension:kernel": {
                "pyodideUrl": f"./{INTERPRETER}/pyodide.js",
                "disablePyPIFallback": True,
                "loadPyodideOptions": {
                    "lockFileURL": f"./wheels/{release}.json",
                    "packages": wheels.PRELOADED,
                },
            }
        },
    }


if __name__ == "__main__":
    main()
