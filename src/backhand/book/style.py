"""One look for every figure: blue is forward, orange is backward.

The figures are transparent and drawn for a light page. On a dark page the site
inverts them and turns the hues back, which maps each colour here to the colour of
the same name in `_static/palette.css`; white, the zero of `GRADIENTS`, becomes the
dark background. The two accents differ in hue for every common kind of colour
blindness but hardly in lightness, so line style or a marker always says it too.
"""

from functools import wraps

import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

FORWARD = "#0072b2"  # values: what forward computes
BACKWARD = "#c24e00"  # gradients: what backward computes
WRONG = "#aa3377"  # a gradient with a mistake in it
INK = "#22272e"
MUTED = "#68707a"
GRID = "#d9dde2"

# Signed quantities: orange below zero, blue above, the page's background at zero.
SIGNED = LinearSegmentedColormap.from_list("signed", [BACKWARD, "#ffffff", FORWARD])
# Sizes: the page's background at zero, then forward's colour.
SIZES = LinearSegmentedColormap.from_list("sizes", ["#ffffff", FORWARD])

# How a line of each role is drawn, so that no figure relies on colour alone.
ROLES = {
    "forward": {"color": FORWARD, "linestyle": "-", "linewidth": 2},
    "backward": {"color": BACKWARD, "linestyle": "--", "linewidth": 2},
    "wrong": {"color": WRONG, "linestyle": ":", "linewidth": 2.4},
    "baseline": {"color": MUTED, "linestyle": "-.", "linewidth": 2},
    "reference": {"color": MUTED, "linestyle": "-", "linewidth": 1},
    "float64": {"color": INK, "linestyle": "-", "linewidth": 2},
    "float32": {"color": MUTED, "linestyle": "-.", "linewidth": 2},
}

RC = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.titlecolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": matplotlib.cycler(color=[FORWARD, BACKWARD, WRONG, MUTED]),
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "lines.markersize": 5,
    # Room for the labels. Constrained layout would find it too, at twice the time.
    "figure.subplot.left": 0.2,
    "figure.subplot.right": 0.98,
    "figure.subplot.bottom": 0.19,
    "figure.subplot.top": 0.89,
    "svg.hashsalt": "backhand",  # the same drawing gives the same file
}


def styled(draw):
    """Decorate a function that draws, so that all it makes has the book's look."""

    @wraps(draw)
    def wrapper(*args, **kwargs):
        with matplotlib.rc_context(RC):
            return draw(*args, **kwargs)

    return wrapper


def axes(title, width=3.4, height=2.6, **settings):
    """One panel: a figure of its own, so that panels can stack on a phone.

    Parameters
    ----------
    title : str
        The finding, not the contents, in at most 34 characters.
    width, height : float
        Inches. Two panels of 3.4 fit side by side, and one is readable at 390 px.
    **settings
        For `Axes.set`: xlabel, ylabel, xscale, xlim and the like.
    """
    ax = Figure(figsize=(width, height)).add_subplot()
    ax.set_title(title)
    ax.set_anchor("W")  # where a square panel, left in its room, has its title too
    ax.set(**settings)
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":  # 1e-6, since 10⁻⁶ as a formula is slow to set
            axis.set_major_locator(LogLocator(numticks=6))
            axis.set_major_formatter(lambda x, _: f"1e{round(np.log10(x))}")
            axis.set_minor_locator(NullLocator())
    return ax
