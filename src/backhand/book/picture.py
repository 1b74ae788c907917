"""A picture: panels drawn by Matplotlib, words for those who cannot see them."""

import io
import re
from html import escape
from typing import NamedTuple
from urllib.parse import quote

import matplotlib

from .style import RC

_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


class Picture:
    """Panels side by side, which stack where the page is narrow.

    Parameters
    ----------
    *panels : matplotlib.axes.Axes
        One axes for each panel; its whole figure is shown.
    alt : str
        What the picture shows, for a reader who does not see it. With numbers.
    caption : str, optional
        What to look for, set under the picture. HTML is not interpreted.
    """

    def __init__(self, *panels, alt, caption=None):
        if not alt.strip():
            raise ValueError("alt must say what the picture shows, got an empty text")
        self.alt = " ".join(alt.split())
        self.caption = caption and " ".join(caption.split())
        self._panels = panels

    @property
    def drawings(self):
        """Each panel as SVG, with its words and its size in pixels."""
        first, *others = self._panels
        titles = (panel.get_title(loc="left") for panel in others)
        return [
            Drawing(_svg(panel.figure), words, *_pixels(panel.figure))
            for panel, words in zip(self._panels, [self.alt, *titles], strict=True)
        ]

    @property
    def html(self):
        caption = self.caption and f"<figcaption>{escape(self.caption)}</figcaption>"
        return (
            '<figure class="bh-picture" style="margin:0.5rem 0">'
            f"{images(self.drawings)}{caption or ''}</figure>"
        )

    def __repr__(self):
        words = f"Figure: {self.alt}"
        return f"{words}\n{self.caption}" if self.caption else words

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self.html, "text/plain": repr(self)}


class Drawing(NamedTuple):
    svg: str
    alt: str
    width: int
    height: int


def images(drawings):
    """The drawings side by side, each in an <img>: no clash of SVG ids."""
    return (
        '<div class="bh-panels" style="display:flex;flex-wrap:wrap;gap:0.75rem;'
        f'justify-content:center">{"".join(map(_image, drawings))}</div>'
    )


def _image(drawing):
    svg, alt, width, height = drawing
    # The ratio is stated, or an explorer's frames take their own, a pixel apart.
    style = (
        f"flex:1 1 18rem;min-width:0;max-width:min(100%,{width}px);"
        f"height:auto;aspect-ratio:{width}/{height}"
    )
    return (
        f'<img class="bh-figure bh-invert" alt="{escape(alt)}" width="{width}" '
        f'height="{height}" style="{style}" '
        f'src="data:image/svg+xml,{quote(svg, _UNQUOTED)}">'
    )


def _pixels(figure):
    return (round(96 * inches) for inches in figure.get_size_inches())


# What a double-quoted attribute and a data address both leave alone.
_UNQUOTED = " /:=;,'()+!*@$?[]{}|^`~\n"


def _svg(figure):
    with matplotlib.rc_context(RC):
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata=_METADATA)
    drawing = text.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", drawing, flags=re.DOTALL)
    # Hundredths of a point will do, except in the glyphs' scale(0.015625).
    drawing = re.sub(r"(?<![(\d.])(-?\d+\.\d{2})\d+", r"\1", drawing)
    return re.sub(r">\s+<", "><", drawing).replace('"', "'")
