"""Explorers: a slider that changes a picture, with a kernel or without one.

Built for the static site, an explorer holds every frame and the browser switches
between them. With a live kernel it draws the frame the reader asks for, so that it
starts at once in a slow browser kernel. The build says which by setting
``BACKHAND_FRAMES=all``; what the notebook writes is the same.
"""

import os
from itertools import product

import ipywidgets as widgets


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
    play : bool, optional
        Whether it offers Play, for a picture whose motion teaches.
    **parameters : iterable of float or str
        For each argument of `draw` the values its slider offers, in order. The
        name is the slider's label: ``scale_of_the_scores=[...]``.
    start : tuple, optional
        Where the sliders stand at first: one value each. Default: the first ones.
    label : callable
        How a value reads beside its slider.
    """

    def __init__(
        self,
        draw,
        *,
        name=None,
        title=None,
        start=None,
        label="{:g}".format,
        play=False,
        **parameters,
    ):
        self.draw = draw
        self.name, self.title, self.play = name, title, play
        self.parameters = {name: list(values) for name, values in parameters.items()}
        if not 1 <= len(self.parameters) <= 2:
            raise ValueError(
                f"an explorer has one or two parameters, got {len(self.parameters)}"
            )
        start = start or [values[0] for values in self.parameters.values()]
        self.sliders = [
            _slider(name, values, value, label)
            for (name, values), value in zip(
                self.parameters.items(), start, strict=True
            )
        ]
        self._frames = {}

    def frame(self, *values):
        """The HTML of one frame; drawn once."""
        if values not in self._frames:
            self._frames[values] = self.draw(*values).html
        return self._frames[values]

    @property
    def combinations(self):
        """Every setting of the sliders."""
        return product(*self.parameters.values())

    def widget(self):
        """The sliders over the picture."""
        every_frame = os.environ.get("BACKHAND_FRAMES") == "all"
        view = self._switched() if every_frame else self._drawn_on_demand()
        return widgets.VBox([*self.sliders, view])

    def _drawn_on_demand(self):
        view = widgets.HTML()

        def show(_=None):
            view.value = self.frame(*(slider.value for slider in self.sliders))

        for slider in self.sliders:
            slider.observe(show, "value")
        show()
        return view

    def _switched(self):
        """Nested stacks of frames; the browser links them to the sliders."""

        def stack(values, sliders):
            if not sliders:
                return widgets.HTML(self.frame(*values))
            slider, *inner = sliders
            view = widgets.Stack(
                [stack((*values, value), inner) for _, value in slider.options],
                selected_index=slider.index,
            )
            widgets.jslink((slider, "index"), (view, "selected_index"))
            return view

        return stack((), self.sliders)

    def __repr__(self):
        ranges = "; ".join(
            f"{name.replace('_', ' ')} from {slider.options[0][0]} "
            f"to {slider.options[-1][0]} in {len(slider.options)} steps"
            for name, slider in zip(self.parameters, self.sliders, strict=True)
        )
        return f"Explorer: {ranges}"

    def _repr_mimebundle_(self, include=None, exclude=None):
        bundle = self.widget()._repr_mimebundle_()
        return bundle | {"text/plain": repr(self)}


def _slider(name, values, value, label):
    if value not in values:
        raise ValueError(f"start of {name} must be one of {values}, got {value!r}")
    return widgets.SelectionSlider(
        options=[
            (each if isinstance(each, str) else label(each), each) for each in values
        ],
        value=value,
        description=name.replace("_", " "),
        style={"description_width": "initial"},
        layout={"width": "min(100%, 40rem)"},
    )
