"""Pictures of chapters/slopes: a secant that closes in, and the step that is best."""

from functools import cache
from typing import NamedTuple

import numpy as np

from ..picture import Picture
from ..style import FORWARD, INK, ROLES, WRONG, axes, styled

POINT, SLOPE = 2.0, 4.0

# Where the curve bends, where it is straight, and where its digits run out.
GAPS = [2, 1, 0.5, 0.2, 0.1, 0.03, 0.01, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13]
GAPS += [1e-14, 3e-15, 1e-15, 5e-16, 2e-16, 1e-16]


def quotient(h):
    """The slope of the secant of x² from 2 to 2 + h, as the processor finds it."""
    moved = POINT + h
    return (moved * moved - POINT * POINT) / h


@styled
def secant(h):
    """The secant of x² at 2 beside its tangent, and the curve magnified by 1/h."""
    slope = quotient(h)
    error = abs(slope - SLOPE)
    words = (
        f"h = {h:g}: the secant's slope is {slope:.8g}, the tangent's is 4. "
        f"Off by {error:.1g}. {_what_happens(h, slope)}"
    )
    return Picture(_from_afar(h, slope), _close_up(h), alt=words, caption=words)


def _what_happens(h, slope):
    if slope == 0:
        return "2 + h is rounded to 2: no step was taken, and nothing rose."
    if h < 5e-15:
        return (
            "Magnified this far the curve is a staircase, for between its steps there "
            "are no floating-point numbers."
        )
    if abs(slope - SLOPE) > 2 * h:
        return "More than h: the digits of the difference are running out."
    if h < 0.05:
        return "Magnified by 1/h, the curve can hardly be told from its tangent."
    return "That is h: the curve bends away from its tangent."


def _from_afar(h, slope):
    panel = axes(
        f"A secant of slope {slope:.4g}",
        xlabel="x",
        ylabel="x²",
        xlim=(0, 4.3),
        ylim=(-4.5, 18),
    )
    x = np.linspace(0, 4.3, 60)
    panel.plot(x, x * x, color=FORWARD, label="x²")
    panel.plot(x, 4 + SLOPE * (x - 2), **ROLES["backward"], label="tangent")
    panel.plot(x, 4 + slope * (x - 2), color=INK, linewidth=1.2, label="secant")
    ends = np.array([POINT, POINT + h])
    panel.plot(ends, ends**2, "o", color=INK, ms=6)
    panel.legend(loc="upper left")
    return panel


def _close_up(h, chord=True):
    """The curve from 2 - h/2 to 2 + 2h, drawn by the numbers the processor gives."""
    t = np.linspace(-0.5, 2, 301 if h < 1e-13 else 41)
    x = POINT + t * h
    rise = (x * x - POINT * POINT) / h
    if quotient(h) == 0:
        title = "No step is taken"
    elif h < 5e-15:
        title = "The curve is a staircase"
    elif h < 0.05:
        title = "Close up, the curve is straight"
    else:
        title = "Close up, the curve still bends"
    panel = axes(
        title,
        xlabel="(x − 2) / h",
        ylabel="(x² − 4) / h",
        xlim=(-0.55, 2.05),
        ylim=(-3, 17),
    )
    panel.plot(t, rise, color=FORWARD)
    panel.plot(t, SLOPE * t, **ROLES["backward"])
    if chord:
        panel.plot([0, 1], [0, quotient(h)], "o-", color=INK, linewidth=1.2, ms=6)
    return panel


class Function(NamedTuple):
    """A function, the point it is differentiated at, and the slope there."""

    f: callable
    x: float
    slope: float


FUNCTIONS = {
    "eˣ": Function(np.exp, 1.0, np.e),
    "(3x + 1)²": Function(lambda x: (3 * x + 1) * (3 * x + 1), 1.0, 24.0),
    "sin 20x": Function(lambda x: np.sin(20 * x), 1.0, 20 * np.cos(20.0)),
    "3x + 1": Function(lambda x: 3 * x + 1, 1.0, 3.0),
}
STEPS = [10.0**-k for k in (0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 16)]
CURVE = np.logspace(-16, 0, 33)
LINES = {
    "forward": {"color": INK, "linestyle": "-.", "linewidth": 1.6},
    "central": {"color": INK, "linestyle": "-", "linewidth": 2},
}
POWERS = {"forward": (1 / 2, "ε^½", "right"), "central": (1 / 3, "ε^⅓", "left")}


def difference(function, h, kind, dtype=np.float64):
    """The slope by a forward or central difference, all of it in `dtype`."""
    f, x, _ = function
    x, h = np.array([x], dtype), np.array([h], dtype)
    if kind == "forward":
        quotient = (f(x + h) - f(x)) / h
    else:
        quotient = (f(x + h) - f(x - h)) / (2 * h)
    return float(quotient[0])


def error(function, h, kind, dtype=np.float64):
    """How far the difference is off, in parts of the slope."""
    return abs(difference(function, h, kind, dtype) / function.slope - 1)


@cache
def _errors(name, kind, dtype):
    return [error(FUNCTIONS[name], h, kind, dtype) for h in CURVE]


@styled
def valley(h, name):
    """Error over the step, forward and central, in float64 and in float32."""
    found = {
        dtype: {kind: error(FUNCTIONS[name], h, kind, dtype) for kind in LINES}
        for dtype in (np.float64, np.float32)
    }
    words = f"{name} at x = 1, h = {h:g}. " + " ".join(
        _said(dtype, h, **found[dtype]) for dtype in found
    )
    panels = [_valley(h, name, dtype, found[dtype]) for dtype in found]
    return Picture(*panels, alt=words, caption=words)


def stands_still(h, dtype):
    """Whether 1 + h is rounded to 1."""
    return dtype(1) + dtype(h) == dtype(1)


def _said(dtype, h, forward, central):
    name = dtype.__name__
    if stands_still(h, dtype):
        both = dtype(1) - dtype(h) == dtype(1)
        behind = "and so is 1 − h" if both else "though 1 − h is not"
        return (
            f"In {name} 1 + h is 1, {behind}: "
            f"the forward difference is 0, the central one off by {central:.0%}."
        )
    return (
        f"In {name} the forward difference is off by {_part(forward)} of the slope, "
        f"the central one by {_part(central)}."
    )


def _part(error):
    return "nothing" if error == 0 else f"{error:.0e}"


def _valley(h, name, dtype, found):
    forward, central = found["forward"], found["central"]
    if stands_still(h, dtype):
        finding = "1 + h is 1"
    elif forward == central == 0:
        finding = "both are exact"
    elif central < forward / 2:
        finding = "central is closer"
    elif forward < central / 2:
        finding = "forward wins by luck"
    else:
        finding = "neither is closer"
    panel = axes(
        f"{dtype.__name__}: {finding}",
        xlabel="step h",
        ylabel="relative error",
        xscale="log",
        yscale="log",
        xlim=(3e-17, 3),
        ylim=(1e-17, 1e3),
    )
    epsilon = np.finfo(dtype).eps
    for kind, style in LINES.items():
        power, label, side = POWERS[kind]
        panel.axvline(epsilon**power, **ROLES["reference"])
        panel.text(epsilon**power, 60, f" {label} ", fontsize=8, ha=side)
        shown = np.clip(_errors(name, kind, dtype), 1e-17, 1e3)
        panel.plot(CURVE, shown, label=kind, **style)
        at = np.clip(found[kind], 1e-17, 1e3)
        panel.plot([h], [at], "o" if kind == "central" else "s", color=WRONG, ms=7)
    panel.legend(loc="lower left")
    return panel


@styled
def magnified():
    """The parabola at 2 through three glasses: a curve, a line, a staircase."""
    findings = {
        1: "As it is: a curve",
        1e-3: "A thousand times closer: a line",
        1e-15: "1e15 times closer: a staircase",
    }
    panels = []
    for h, finding in findings.items():
        panel = _close_up(h, chord=False)
        times = "" if h == 1 else f" × 1e{round(np.log10(1 / h))}"
        panel.set(xlabel=f"(x − 2){times}", ylabel=f"(x² − 4){times}")
        panel.set_title(finding)
        panels.append(panel)
    return Picture(
        *panels,
        alt="x² around 2, in blue, over its tangent of slope 4. As it is, the curve "
        "bends away. A thousand times closer the two are one line. 1e15 times closer "
        "the curve is a staircase of a few wide steps, as float64 has no numbers "
        "between them.",
        caption="Come closer, and the curve turns into its tangent (orange, dashed). "
        "Come too close, and it turns into the numbers that float64 has.",
    )
