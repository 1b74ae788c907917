"""The site serves everything a page loads: MathJax too."""

import re
from pathlib import Path
from shutil import copy2, copytree, rmtree

from sphinx.errors import ExtensionError

# From the npm packages of package.json to below _static in the site. They are not
# put in the source's _static, where Jupyter Book loads every script into every page.
VENDORED = {
    "mathjax/es5/tex-chtml-full.js": "mathjax",
    "mathjax/es5/output/chtml/fonts/woff-v2": "mathjax/output/chtml/fonts/woff-v2",
    "mathjax/LICENSE": "mathjax",
}

# Of the theme's stylesheet, what belongs to Font Awesome: its fonts, and a rule for each
# of its 2,000 icons. The pages' few are drawn in _static/icons.css.
ICONS = r"\.fa-[a-z0-9-]+:before(,\.fa-[a-z0-9-]+:before)*\{[^}]*\}"
FONT_AWESOME = re.compile(r"@font-face\{[^}]*Font Awesome[^}]*\}|" + ICONS)
FONT_AWESOME_FILES = ["_static/scripts/fontawesome.*", "_static/vendor/fontawesome"]


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


def drop_font_awesome(app, exception):
    """Leave out of the site what no page of it uses."""
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    styles = site / "_static/styles/pydata-sphinx-theme.css"
    styles.write_text(FONT_AWESOME.sub("", styles.read_text()))
    for pattern in FONT_AWESOME_FILES:
        for found in site.glob(pattern):
            rmtree(found) if found.is_dir() else found.unlink()


def setup(app):
    app.connect("config-inited", drop_thebe, priority=1)
    app.connect("builder-inited", vendor)
    app.connect("build-finished", drop_font_awesome)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
