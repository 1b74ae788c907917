"""Say on every notebook's page how to run it, and what that takes.

In the reader's browser where tools/lite.py could build that part; on Binder and Colab
where the environment names the REPOSITORY (owner/name, at GitHub); at home always.
"""

import os
import shutil
from pathlib import Path

from sphinx.errors import ExtensionError

LITE = "_build/lite/site"
WHEEL = "_build/wheel"

# What JupyterLite's own page loads, beside the interpreter and the packages.
PAGE_MEGABYTES = 12

BOX = """</h1>
<div class="bh-run">
{% if megabytes %}
<a class="bh-run-button" href="{{ run }}" target="_blank">Run this page</a>
{% endif %}
<p>
{% if megabytes %}
It runs in your browser: nothing to install, and nothing leaves your machine. The first
time it loads {{ megabytes }} MB; the first result takes 10 to 30 seconds. Or download
{% else %}
To run this page, download
{% endif %}
<a href="{{ notebook }}" download>the notebook</a> and
<a href="{{ wheel }}" download>the package</a> it imports.
{% if repository %}
The rocket above opens it on Binder or Colab; Colab's first cell must be
<code>%pip install "backhand[notebook] @ git+https://github.com/{{ repository }}"</code>.
{% endif %}
</p>
</div>"""


def configure(app, config):
    lite = Path(app.srcdir, LITE)
    if lite.exists():
        files = [*lite.glob("pyodide-*/*"), *lite.glob("wheels/*/*")]
        loaded = sum(file.stat().st_size for file in files) / 1e6
        config.run_megabytes = round(loaded + PAGE_MEGABYTES)
    config.run_repository = repository = os.environ.get("REPOSITORY", "")
    if repository:
        config.html_theme_options |= {
            "repository_url": f"https://github.com/{repository}",
            "repository_branch": "main",
            "use_repository_button": True,
            "launch_buttons": {
                "binderhub_url": "https://mybinder.org",
                "colab_url": "https://colab.research.google.com",
                "notebook_interface": "jupyterlab",
            },
        }


def add_buttons(app, page, template, context, doctree):
    """A button beside the theme's, and a box below the title that explains it."""
    if "kernelspec" not in app.env.metadata.get(page, {}):
        return
    to = context["pathto"]
    values = {
        "run": f"{to('lite/notebooks/index.html', resource=True)}?path={page}.ipynb",
        "megabytes": app.config.run_megabytes,
        "notebook": to(f"_sources/{page}.ipynb", resource=True),
        "wheel": to(f"downloads/{wheel(app).name}", resource=True),
        "repository": app.config.run_repository,
    }
    box = app.builder.templates.render_string(BOX, values)
    context["body"] = context["body"].replace("</h1>", box, 1)
    if values["megabytes"]:
        context["header_buttons"].append({
            "type": "link",
            "text": "Run",
            "tooltip": "Run this page in your browser",
            "icon": "fas fa-play",
            "url": values["run"],
            "label": "run",
        })


def wheel(app):
    wheels = list(Path(app.srcdir, WHEEL).glob("*/*.whl"))
    if not wheels:
        raise ExtensionError(f"{WHEEL} has no wheel: run `python tools/lite.py`")
    return wheels[0]


def copy(app, exception):
    """Put beside the pages what they link to."""
    if exception:
        return
    site = Path(app.outdir)
    (site / "downloads").mkdir(exist_ok=True)
    shutil.copy(wheel(app), site / "downloads")
    shutil.rmtree(site / "lite", ignore_errors=True)
    if app.config.run_megabytes:
        shutil.copytree(Path(app.srcdir, LITE), site / "lite")


def setup(app):
    # Where one of these changes, every page is written anew.
    app.add_config_value("run_megabytes", 0, "html")
    app.add_config_value("run_repository", "", "html")
    app.connect("config-inited", configure)
    app.connect("html-page-context", add_buttons, priority=502)  # after the theme's
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
