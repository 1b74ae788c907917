"""Explorers: a slider that changes a picture, with a kernel or without one.

Built for the static site, an explorer is plain HTML: a native slider, the first
picture, and every other one as data that `_static/explorer.js` draws from. A page
without widgets loads no widget manager (0.46 MB, and a font), shows its first picture
before any script runs, and does not shift when the sliders come alive. With a live
kernel the explorer is made of ipywidgets and draws the picture the reader asks for,
so that it starts at once in a slow browser kernel. The build says which by setting
``BACKHAND_FRAMES=all``; what the notebook writes is the same.
"""

import json
import os
import re
from html import escape
from itertools import product

import ipywidgets as widgets

from .picture import images

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Explorer:
    """A picture that depends on one or two parameters, each with a slider.

    Parameters
    ----------
    draw : callable
        ``draw(*values) -> Picture``.
    name : str
        Its id on the page, and its key in the page's address: lowercase words
        joined by hyphens, once on a page.
    title : str
        A short phrase over it: what the reader is to find out.
    start : tuple, optional
        Where the sliders stand at first: one value each. Default: the first ones.
    label : callable
        How a value reads beside its slider.
    play : bool, optional
        Whether the page offers Play, for a picture whose motion teaches.
    **parameters : iterable of float or str
        For each argument of `draw` the values its slider offers, in order. The
        name is the slider's label: ``scale_of_the_scores=[...]``.
    """

    def __init__(
        self,
        draw,
        *,
        name,
        title,
        start=None,
        label="{:g}".format,
        play=False,
        **parameters,
    ):
        self.draw = draw
        self.parameters = {key: list(values) for key, values in parameters.items()}
        if not 1 <= len(self.parameters) <= 2:
            raise ValueError(
                f"an explorer has one or two parameters, got {len(self.parameters)}"
            )
        if not (isinstance(name, str) and NAME.fullmatch(name)):
            raise ValueError(
                f"name must be lowercase words joined by hyphens, got {name!r}"
            )
        if not title.strip():
            raise ValueError("title must say what there is to find out, got none")
        self.name, self.title, self.play = name, title, play
        start = start or [values[0] for values in self.parameters.values()]
        self.sliders = [
            _Slider(key.replace("_", " "), values, value, label)
            for (key, values), value in zip(
                self.parameters.items(), start, strict=True
            )
        ]
        self._frames = {}

    def frame(self, *values):
        """The picture at this setting; drawn once."""
        if values not in self._frames:
            self._frames[values] = self.draw(*values)
        return self._frames[values]

    @property
    def combinations(self):
        """Every setting of the sliders."""
        return product(*self.parameters.values())

    @property
    def html(self):
        """The whole explorer, for a page without a kernel."""
        start = self.frame(*(slider.value for slider in self.sliders))
        frames = [self.frame(*values) for values in self.combinations]
        longest = max((frame.caption or "" for frame in frames), key=len)
        sliders = "".join(
            slider.html(f"{self.name}-{i}") for i, slider in enumerate(self.sliders)
        )
        play = '<button type="button" class="bh-play">Play</button>'
        where = ", ".join(f"{each.label} {each.reading}" for each in self.sliders)
        return (
            f'<figure class="bh-explorer" id="{self.name}" '
            f'aria-label="{escape(self.title)}">'
            f'<p class="bh-explorer-title">{escape(self.title)}</p>'
            f'<div class="bh-controls">{sliders}<div class="bh-buttons">'
            f"{play if self.play else ''}"
            '<button type="button" class="bh-reset">Reset</button></div></div>'
            f"{images(start.drawings)}"
            f'<figcaption data-longest="{escape(longest)}">'
            f"<span>{escape(start.caption or '')}</span></figcaption>"
            '<p class="bh-announced" role="status" aria-live="polite"></p>'
            '<p class="bh-still">Without JavaScript there is this one picture, at '
            f"{escape(where)}.</p>"
            f'<script type="application/json">{_data(frames, self.sliders)}</script>'
            "</figure>"
        )

    def widget(self):
        """The same of widgets, for a live kernel: drawn on demand."""
        view = widgets.HTML()
        sliders = [slider.widget() for slider in self.sliders]
        reset = widgets.Button(description="Reset")

        def show(_=None):
            view.value = self.frame(*(slider.value for slider in sliders)).html

        def to_start(_):
            for slider, each in zip(sliders, self.sliders, strict=True):
                slider.value = each.value

        reset.on_click(to_start)
        for slider in sliders:
            slider.observe(show, "value")
        show()
        labelled = [
            part
            for each, slider in zip(self.sliders, sliders, strict=True)
            for part in (widgets.Label(each.label), slider)
        ]
        title = widgets.HTML(f"<strong>{escape(self.title)}</strong>")
        return widgets.VBox([title, *labelled, reset, view])

    def __repr__(self):
        ranges = "; ".join(
            f"{slider.label} from {slider.readings[0]} to {slider.readings[-1]} "
            f"in {len(slider.values)} steps"
            for slider in self.sliders
        )
        return f"Explorer: {ranges}"

    def _repr_mimebundle_(self, include=None, exclude=None):
        if os.environ.get("BACKHAND_FRAMES") == "all":
            bundle = {"text/html": self.html}
        else:
            bundle = self.widget()._repr_mimebundle_()
        return bundle | {"text/plain": repr(self)}


class _Slider:
    """One parameter: its values, how each reads, and where it starts."""

    def __init__(self, label, values, value, reading):
        if value not in values:
            raise ValueError(
                f"start of {label} must be one of {values}, got {value!r}"
            )
        self.label, self.values, self.value = label, values, value
        self.readings = [
            each if isinstance(each, str) else reading(each) for each in values
        ]
        self.index = values.index(value)
        self.reading = self.readings[self.index]

    def html(self, name):
        longest = max(map(len, self.readings))
        return (
            f'<div class="bh-control"><label for="{name}">{escape(self.label)}</label>'
            f'<span class="bh-reading" aria-hidden="true" style="min-width:{longest}ch">'
            f"{escape(self.reading)}</span>"
            f'<input type="range" id="{name}" min="0" max="{len(self.values) - 1}" '
            f'value="{self.index}" autocomplete="off" '
            f'aria-valuetext="{escape(self.reading)}"></div>'
        )

    def widget(self):
        return widgets.SelectionSlider(
            options=list(zip(self.readings, self.values, strict=True)),
            value=self.value,
            tooltip=self.label,
            layout={"width": "100%"},
        )


def _data(frames, sliders):
    """Every frame as JSON, its drawings in pieces that most of them share.

    Two frames differ in a few lines; letters and axes, which are most of a drawing,
    are in all of them, but farther apart than gzip looks back. With each piece stored
    once and referred to by number, a page's frames weigh a tenth.
    """
    pieces = {}

    def numbers(svg):
        return [pieces.setdefault(each, len(pieces)) for each in svg.split(">")]

    data = {
        "readings": [slider.readings for slider in sliders],
        "frames": [
            {
                "caption": frame.caption or "",
                # The start's size serves all: a pixel's difference moves the page.
                "images": [
                    {"svg": numbers(svg), "alt": alt} for svg, alt, *_ in frame.drawings
                ],
            }
            for frame in frames
        ],
        "pieces": list(pieces),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("</", "<\\/").replace("<!", "\\u003c!")
