"""The site serves everything a page loads: MathJax and the widget manager too."""

from pathlib import Path
from shutil import copy2, copytree

from sphinx.errors import ExtensionError

# From the npm packages of package.json to below _static in the site. They are not
# put in the source's _static, where Jupyter Book loads every script into every page.
WIDGETS = "@jupyter-widgets/html-manager"
VENDORED = {
    f"{WIDGETS}/dist/*.woff2": "widgets",
    f"{WIDGETS}/dist/embed.js": "widgets",
    f"{WIDGETS}/dist/embed.js.LICENSE.txt": "widgets",
    "mathjax/es5/tex-chtml-full.js": "mathjax",
    "mathjax/es5/output/chtml/fonts/woff-v2": "mathjax/output/chtml/fonts/woff-v2",
    "mathjax/LICENSE": "mathjax",
}

# The theme's Font Awesome replaces every <i> by an <svg>, also those a widget is still
# using. Inside the <i>, and only in what the page came with, it does no harm.
FONT_AWESOME = "FontAwesomeConfig = {autoReplaceSvg: 'nest', observeMutations: false};"


def vendor(app):
    """Copy what VENDORED names into the site."""
    packages = Path(app.srcdir, "node_modules")
    for pattern, folder in VENDORED.items():
        target = Path(app.outdir, "_static/vendor", folder)
        sources = list(packages.glob(pattern))
        if not sources:
            raise ExtensionError(f"{packages / pattern} is missing: run `make assets`")
        for source in sources:
            if source.is_dir():
                copytree(source, target, dirs_exist_ok=True)
            else:
                target.mkdir(parents=True, exist_ok=True)
                copy2(source, target)


def drop_thebe(app, config):
    """Undo the sphinx_thebe that Jupyter Book always loads.

    It offers a kernel that the site does not have, from a host that is not the site's,
    and declares a constant twice: an error on every page.
    """
    for listeners in app.events.listeners.values():
        listeners[:] = [
            listener
            for listener in listeners
            if not listener.handler.__module__.startswith("sphinx_thebe")
        ]
    app.registry.css_files[:] = [
        file for file in app.registry.css_files if file[0] != "sphinx-thebe.css"
    ]


def setup(app):
    app.connect("config-inited", drop_thebe, priority=1)
    app.connect("builder-inited", vendor)
    app.add_js_file(None, body=FONT_AWESOME, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
