"""A picture or an explorer that has a name is a figure: numbered, to be referred to.

MyST-NB wraps what a cell displays in a figure where the cell's metadata say
``{"mystnb": {"figure": {"name": "fig-…"}}}``, but knows no caption that the display
itself brings, and without one Sphinx counts no figure. It is taken from the HTML: a
picture's caption, an explorer's title.
"""

import re
from html import unescape

from docutils import nodes
from sphinx.transforms import SphinxTransform

TITLE = re.compile(r'<p class="bh-explorer-title">(.*?)</p>')
CAPTION = re.compile(r"<figcaption>(.*?)</figcaption>")


class Captions(SphinxTransform):
    default_priority = 840  # Sphinx collects what can be referred to at 850

    def apply(self):
        for figure in self.document.findall(nodes.figure):
            raw = next(figure.findall(nodes.raw), None)
            if raw is None or any(isinstance(c, nodes.caption) for c in figure):
                continue
            html = raw.astext()
            explorer = TITLE.search(html)
            found = explorer or CAPTION.search(html)
            if not found:
                continue
            html = html.replace(found[0], "", 1)
            if not explorer:  # one figure, not one in another
                html = html.replace("<figure ", "<div ").replace("</figure>", "</div>")
            raw.replace_self(nodes.raw("", html, format="html"))
            caption = nodes.caption("", unescape(found[1]))
            figure.insert(0 if explorer else len(figure), caption)


def setup(app):
    app.add_transform(Captions)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
