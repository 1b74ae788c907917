"""Pictures of chapters/chain-rule: a nudge stretched twice, a gradient walking back."""

from typing import NamedTuple

import numpy as np

from ...check.differences import numerical_gradient
from ...mistakes.calculus import outer_rate_at_x
from ..picture import Picture
from ..style import BACKWARD, FORWARD, INK, MUTED, ROLES, WRONG, axes, styled

SLOPE, SHIFT = 3.0, 1.0
# Around the place where g(x) is x, and the place where g(x) is 0.
PLACES = [-2, -1.5, -1.25, -1, -0.75, -0.5, -1 / 3, -0.25, 0, 0.25, 0.5, 0.75]
PLACES += [1, 1.25, 1.5, 1.75, 2]


def inner(x):
    return SLOPE * x + SHIFT


def outer(u):
    return u * u


@styled
def stretched(x=1.0, nudge=0.05):
    """What each stage makes of a small interval: where it is, and where x stands."""
    offsets = np.linspace(-nudge, nudge, 11)
    u = inner(x + offsets) - inner(x)
    panels = [
        _stretch(offsets, u, x, inner(x), FORWARD, "Where it arrives: × 3, then × 8"),
        _stretch(offsets, u, x, x, WRONG, "Where it set out: × 3, then × 2"),
    ]
    width, middle = 2 * nudge, np.ptp(u)
    ends = [np.ptp(outer(place + u)) for place in (inner(x), x)]
    words = (
        f"An interval of {width:.1f} around x = {x:g} becomes {middle:.1f} wide around "
        f"u = {inner(x):g}. Squared, it is {ends[0]:.1f} wide around {inner(x)**2:g}. "
        f"Around u = {x:g} the same {middle:.1f} would have become {ends[1]:.1f}."
    )
    return Picture(*panels, alt=words, caption=words)


def _stretch(offsets, u, x, place, color, title):
    """Three number lines of one scale, each around its own value; the last is u²."""
    panel = axes(title, xlim=(-1.45, 1.45), ylim=(-0.45, 2.6))
    y = outer(place + u) - outer(place)
    for offset, at_u, at_y in zip(offsets, u, y, strict=True):
        panel.plot([offset, at_u], [2, 1], color=FORWARD, linewidth=0.9)
        panel.plot([at_u, at_y], [1, 0], color=color, linewidth=0.9)
    lines = [
        (2, f"x = {x:g}", offsets, FORWARD),
        (1, f"u = {inner(x):g}", u, FORWARD),
        (0, f"u² = {outer(place):g}", y, color),
    ]
    for height, name, ends, look in lines:
        panel.axhline(height, **ROLES["reference"])
        panel.plot(ends[[0, -1]], [height] * 2, "|-", color=look, linewidth=3, ms=11)
        panel.plot([0], [height], "o", color=look, ms=5)
        panel.text(-1.42, height + (0.1 if height else -0.27), name, fontsize=10)
    return _bare(panel)


def _bare(panel):
    """Without axes, and with the room that those would have taken."""
    panel.set_axis_off()
    panel.set_position([0.03, 0.02, 0.94, 0.85])
    return panel


@styled
def standing(x):
    """The outer rate at g(x) and at x, and the two products beside the measured slope."""
    right, wrong = rates(x)
    measured = float(numerical_gradient(lambda x: outer(inner(x)), np.array(x * 1.0)))
    at = f"x = {_plain(x)}, g(x) = {_plain(inner(x))}."
    if np.isclose(right, wrong):
        said = (
            f"x and g(x) are one place, and either reading gives 3 × {_plain(2 * x)} = "
            f"{_plain(wrong)}. No test that looks here can tell them apart."
        )
        titles = "g(x) is x: one tangent", f"Both say {_plain(right)}"
    else:
        said = (
            f"At g(x) the outer rate is {_plain(2 * inner(x))}, and 3 × "
            f"{_plain(2 * inner(x))} = {_plain(right)}. The difference quotient "
            f"measures {measured:.3f}. Read at x the rate is {_plain(2 * x)} and the "
            f"product {_plain(wrong)}, off by {_plain(abs(right - wrong))}."
        )
        titles = (
            f"Slope {_plain(2 * inner(x))} at g(x), {_plain(2 * x)} at x",
            f"Right {_plain(right)}, wrong {_plain(wrong)}",
        )
    words = f"{at} {said}"
    return Picture(
        _tangents(x, titles[0]), _products(x, measured, titles[1]), alt=words,
        caption=words,
    )


def rates(x):
    """dy/dx of (3x + 1)², and what comes out when the outer rate is read at x."""
    cache = (np.float64(x), SLOPE, SHIFT)
    return SLOPE * 2 * inner(x), float(outer_rate_at_x.backward(1.0, cache))


def _plain(value):
    return f"{value:.4g}".replace("-", "−")


def _tangents(x, title):
    panel = axes(title, xlabel="u", ylabel="u²", xlim=(-6, 8), ylim=(-20, 60))
    u = np.linspace(-6, 8, 60)
    panel.plot(u, outer(u), color=FORWARD, label="u²")
    for place, role, label in ((inner(x), "backward", "at g(x)"), (x, "wrong", "at x")):
        near = place + np.array([-1.8, 1.8])
        panel.plot(near, outer(place) + 2 * place * (near - place), **ROLES[role])
        color = ROLES[role]["color"]
        marker = "o" if role == "backward" else "X"
        panel.plot([place], [outer(place)], marker, color=color, ms=8, label=label)
    panel.legend(loc="upper center", ncols=3, handletextpad=0.2, columnspacing=0.9)
    return panel


def _products(x, measured, title):
    panel = axes(title, xlabel="x", ylabel="slope", xlim=(-2.15, 2.15), ylim=(-36, 48))
    line = np.linspace(-2.1, 2.1, 9)
    right, wrong = np.transpose([rates(each) for each in line])
    panel.plot(line, right, label="3 · 2g(x)", **ROLES["backward"])
    panel.plot(line, wrong, label="3 · 2x", **ROLES["wrong"])
    panel.vlines(x, *sorted(rates(x)), color=MUTED, linewidth=1.2)
    panel.plot([x], [rates(x)[1]], "X", color=WRONG, ms=8)
    panel.plot([x], [measured], "o", color=INK, ms=7, label="measured")
    panel.legend(loc="upper left")
    return panel


class Line(NamedTuple):
    """A line of the program, and what it sets."""

    code: str
    name: str
    value: float
    said: str


X = 2.0
NODES = {"x": (0.0, 1.0), "a": (1.5, 1.9), "b": (1.5, 0.1), "y": (3.0, 1.0)}
EDGES = [("x", "a", "3"), ("x", "b", "2x"), ("a", "y", "b"), ("b", "y", "a")]
FORWARD_LINES = 4
WAYS = ["dx +=", "dx ="]


def program(way=WAYS[0]):
    """y = 3x · x² forward and backward, a line at a time, with what each computes."""
    x = X
    a, b = 3 * x, x * x
    y, dy = a * b, 1.0
    da, db = dy * b, dy * a
    first = da * 3
    second = db * 2 * x
    total = first + second if way == WAYS[0] else second
    ends = (
        f"The second is {second:g}, and added to the first it makes {total:g}, which is "
        "9x²."
        if way == WAYS[0]
        else f"The second is {second:g}, and it is written over the first: {total:g}, "
        f"where 9x² is {first + second:g}."
    )
    return [
        Line("x = 2", "x", x, "Forward. x is 2, and both ways start here."),
        Line("a = 3 * x", "a", a, f"The first way: a is {a:g}."),
        Line("b = x * x", "b", b, f"The second way: b is {b:g}."),
        Line("y = a * b", "y", y, f"They meet: y is {y:g}."),
        Line("dy = 1", "y", dy, "Backward. y changes by 1 for each 1 that y changes."),
        Line("da = dy * b", "a", da, f"a is multiplied by b, so da is {da:g}."),
        Line("db = dy * a", "b", db, f"b is multiplied by a, so db is {db:g}."),
        Line(f"{way} da * 3", "x", first, f"The first contribution to dx is {first:g}."),
        Line(f"{way} db * 2*x", "x", total, ends),
    ]


STEPS = range(1, 10)


@styled
def walk(step, way):
    """The graph and the program after so many of its lines."""
    lines = program(way)
    last = lines[step - 1]
    kept = (
        "dx adds up what arrives." if way == WAYS[0] else "dx keeps what arrived last."
    )
    words = f"Line {step}: {last.code}. {last.said} {kept}"
    return Picture(_graph(step, lines), _listing(step, lines), alt=words, caption=words)


def _graph(step, lines):
    """Values in the nodes, and at each node the gradient that has arrived."""
    done = lines[:step]
    if step <= FORWARD_LINES:
        title = f"Forward: {done[-1].name} = {done[-1].value:g}"
    else:
        title = f"Backward: d{done[-1].name} = {done[-1].value:g}"
    panel = axes(title, xlim=(-0.45, 3.45), ylim=(-0.6, 2.6))
    values = {line.name: line.value for line in done[:FORWARD_LINES]}
    gradients = {line.name: line.value for line in done[FORWARD_LINES:]}
    travelled = _travelled(step)
    for start, end, rate in EDGES:
        (x0, y0), (x1, y1) = NODES[start], NODES[end]
        back = (start, end) in travelled
        arrow = {"arrowstyle": "-|>", "shrinkA": 15, "shrinkB": 15, "linewidth": 1.4}
        color = FORWARD if end in values else MUTED
        panel.annotate("", (x1, y1), (x0, y0), arrowprops=arrow | {"color": color})
        if back:
            wide = arrow | {"color": BACKWARD, "linewidth": 2.6, "linestyle": "--"}
            shift = 0.16 if y0 + y1 > 2 else -0.16
            panel.annotate(
                "", (x0, y0 + shift), (x1, y1 + shift), arrowprops=wide
            )
        side = -0.24 if y0 + y1 > 2 else 0.24
        panel.text(
            (x0 + x1) / 2, (y0 + y1) / 2 + side, f"× {rate}", ha="center", va="center",
            fontsize=9, color=INK if back else MUTED,
        )
    for name, (x, y) in NODES.items():
        known = name in values
        panel.plot([x], [y], "o", ms=25, color="#ffffff",
                   mec=FORWARD if known else MUTED, mew=1.6)
        text = f"{values[name]:g}" if known else name
        panel.text(x, y, text, ha="center", va="center", fontsize=10,
                   color=FORWARD if known else MUTED)
        off = {"x": 0.62, "a": 0.48, "b": -0.48, "y": -0.62}[name]
        if name in gradients:
            wrong = step == len(lines) and name == "x" and gradients[name] != 36
            panel.text(
                x, y + off, f"d{name} = {gradients[name]:g}", ha="center", va="center",
                fontsize=10, weight="bold", color=WRONG if wrong else BACKWARD,
            )
        elif known:
            panel.text(x, y + off, name, ha="center", va="center", fontsize=10)
    return _bare(panel)


def _travelled(step):
    """The edges that the gradient has come back along after so many lines."""
    order = [("a", "y"), ("b", "y"), ("x", "a"), ("x", "b")]
    return order[: max(0, step - FORWARD_LINES - 1)]


def _listing(step, lines):
    title = "The first is lost" if _lost(step, lines) else f"Line {step} of {len(lines)}"
    panel = axes(title, xlim=(0, 1), ylim=(len(lines) + 0.7, 0.3))
    for number, line in enumerate(lines, 1):
        run = number <= step
        color = FORWARD if number <= FORWARD_LINES else BACKWARD
        panel.text(
            0.1, number, line.code, family="monospace", fontsize=10, va="center",
            color=color if run else MUTED, weight="bold" if number == step else "normal",
        )
        if run:
            panel.text(
                0.98, number, f"{line.value:g}", fontsize=10, ha="right", va="center",
                color=color,
            )
    panel.text(0.0, step, "▸", va="center", fontsize=11)
    return _bare(panel)


def _lost(step, lines):
    return step == len(lines) and lines[-1].code.startswith(WAYS[1])
