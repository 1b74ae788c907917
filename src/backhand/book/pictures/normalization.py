"""Pictures of chapters/normalization: two projections, a large entry, a coupling kept."""

import numpy as np
from matplotlib.patches import Circle

from ... import mistakes
from ...check import numerical_gradient
from ...ops import layer_norm, rms_norm
from ..agreement import STEPS, agreement, relative_error
from ..norm_training import EVERY, FREQUENCIES, WIDTH, degrees, partly, training
from ..picture import Picture
from ..style import BACKWARD, FORWARD, INK, MUTED, ROLES, WRONG, axes, styled

# LayerNorm of a row of three entries, and what is left of an upstream gradient.
ROW = np.array([1.0, 4.0, 7.0])
X_HAT = (ROW - ROW.mean()) / ROW.std()
PUSH = 6.0
# How far the upstream gradient is turned, from the last output to the middle one.
TURNS = [*range(0, 30, 10), 26.6, *range(30, 90, 15), *range(90, 210, 30), 206.6]
TURNS += [210, 240, 270, 300, 315, 330, 345]

# The directions of a row's space: along the row, the one that is left, the row of ones.
_BASIS = np.array([[-1, 0, 1] / np.sqrt(2), [1, -2, 1] / np.sqrt(6), np.ones(3) / 3**0.5])


def upstream(turn):
    """A gradient of that many degrees, from the last output to the middle one."""
    return PUSH * np.array([0, np.sin(np.radians(turn)), np.cos(np.radians(turn))])


def projected(g):
    """What is left without the mean, and then without the part along x̂."""
    without_mean = g - g.mean()
    return without_mean, without_mean - X_HAT * np.mean(without_mean * X_HAT)


@styled
def two_projections():
    """An upstream gradient, its mean taken out, and its part along the row."""
    g = upstream(0)
    without_mean, left = projected(g)
    above = _space("First its mean is taken out")
    _ringed(above)
    _moved(above, [g, without_mean], map(_listed, (g, without_mean)))
    beside = _space("Then its part along the row", tilt=90)
    _ringed(beside)
    _moved(beside, [without_mean, left], map(_listed, (without_mean, left)))
    words = (
        f"The row {_listed(ROW)}, normalised, is the blue point x̂; rows with its mean and "
        f"its size are the circle. The gradient {_listed(g)} arrives. Without its mean it "
        f"is {_listed(without_mean)} and lies in the circle's plane, which on the right is "
        f"seen from above. Without its part along the row it is {_listed(left)} and runs "
        "along the circle: the one direction in which three numbers can move and keep "
        "their mean and their size."
    )
    return Picture(above, beside, alt=words, caption=words)


@styled
def turned(turn):
    """What is left of an upstream gradient as it turns."""
    g = upstream(turn)
    without_mean, left = projected(g)
    part = np.linalg.norm(left) / np.linalg.norm(g)
    times = left[0]
    if part < 0.01:
        found, moves = "All of it is taken out", "Nothing arrives"
    else:
        found = f"{part:.0%} of it is left"
        moves = "Ends down, middle up" if times < 0 else "Ends up, middle down"
    space = _space(found)
    _ringed(space)
    _moved(space, [g, without_mean, left], ("g", None, "left"))
    words = (
        f"Upstream {_listed(g)}. Its mean, {_number(g.mean())}, is taken out of every "
        f"entry, then {_number(without_mean[2] - left[2])} times (−1, 0, 1), its part "
        "along the row. "
    )
    words += (
        "Nothing is left: it pointed along what the output cannot see."
        if part < 0.01
        else f"What is left is {_number(times)} times (1, −2, 1)."
    )
    return Picture(
        space, _entries([g, without_mean, left], moves), alt=words, caption=words
    )


def _number(value, digits=2):
    return f"{value:.{digits}g}".replace("-", "−") if abs(value) > 1e-12 else "0"


def _listed(values):
    return f"({', '.join(map(_number, values))})"


def _space(title, tilt=24, turned=-38):
    """Three numbers as a place in space, seen from somewhat above the plane of mean 0."""
    panel = axes(title, xlim=(-1.9, 4.9), ylim=(-2, 2.6), aspect="equal")
    panel.set_axis_off()
    panel.figure.subplots_adjust(left=0.02, bottom=0.02)
    turned, tilt = np.radians([turned if tilt < 90 else 0, tilt])

    def place(values):
        along, beside, above = _BASIS @ np.asarray(values)
        right = np.cos(turned) * along - np.sin(turned) * beside
        away = np.sin(turned) * along + np.cos(turned) * beside
        return np.array([right, np.cos(tilt) * above + np.sin(tilt) * away])

    panel.place = place
    return panel


def _ringed(panel):
    """The rows that have this one's mean and size: a circle, in a plane."""
    round_it = np.linspace(0, 2 * np.pi, 73)
    circle = np.sqrt(3) * np.outer(np.cos(round_it), _BASIS[0])
    circle += np.sqrt(3) * np.outer(np.sin(round_it), _BASIS[1])
    ring = np.transpose([panel.place(each) for each in circle])
    panel.fill(*ring, color=FORWARD, alpha=0.08, linewidth=0)
    panel.plot(*ring, color=FORWARD)
    tip = panel.place(X_HAT)
    panel.plot(*np.transpose([[0, 0], tip]), color=FORWARD, linewidth=1)
    panel.plot(*tip, "o", color=FORWARD, ms=8, zorder=4)
    panel.text(*(0.5 * tip + [0, 0.1]), "x̂", color=FORWARD, fontsize=11)


def _moved(panel, stages, names, scale=0.36):
    """A gradient and what is left of it, from the row's own place; how it got there."""
    start = panel.place(X_HAT)
    ends = [panel.place(X_HAT + scale * each) for each in stages]
    panel.plot(*np.transpose(ends), color=MUTED, linestyle=":", linewidth=1.6)
    for end, name in zip(ends, names, strict=True):
        by = end - start
        if name is None:
            continue
        if np.linalg.norm(by) < 0.03:
            panel.plot(*start, "o", color=BACKWARD, ms=4, zorder=5)
            continue
        _arrow(panel, start, by, BACKWARD, "-", 3 if end is ends[-1] else 1.5)
        right, up = by / np.linalg.norm(by)
        panel.text(
            *(end + 0.12 * np.array([right, up])),
            name,
            color=BACKWARD,
            fontsize=9,
            ha="left" if right > -0.3 else "right",
            va="bottom" if up > 0.3 else "top" if up < -0.3 else "center",
        )


def _entries(stages, title):
    """Each entry of the gradient as it comes, and after each of the projections."""
    panel = axes(
        title,
        xlabel="entry of the row",
        ylabel="gradient",
        xlim=(-0.5, 2.5),
        ylim=(-8.8, 6.6),
    )
    panel.axhline(0, **ROLES["reference"])
    looks = [
        ("comes", {"color": "none", "edgecolor": BACKWARD, "linewidth": 1.2}),
        ("mean out", {"color": BACKWARD, "alpha": 0.35}),
        ("row out", {"color": BACKWARD}),
    ]
    places = np.arange(3)
    for at, (values, (label, look)) in enumerate(zip(stages, looks, strict=True)):
        panel.bar(places + 0.27 * (at - 1), values, width=0.25, label=label, **look)
    panel.set_xticks(places, places)
    panel.legend(loc="lower left", ncols=3, columnspacing=0.8, handlelength=1)
    return panel


# One entry that outgrows the others of its row.
OTHERS = np.array([0.8, -0.5, 1.2, -1.3, 0.4])
LARGE = [0, 0.5, 1, 2, 4, 8, 16, 40, 100, 300, 1000]
PUSHED = {"the large one": 0, "an ordinary one": 3}


def arriving(large, pushed):
    """What each entry of the row receives of a push of one at a single output."""
    row = np.array([large, *OTHERS])
    _, seen = rms_norm.forward(row, np.ones(row.size))
    dy = np.eye(row.size)[pushed]
    return rms_norm.backward(dy, seen)[0], seen.rms.item()


@styled
def large_entry(large, output):
    """Who receives what when one entry of the row is large."""
    pushed = PUSHED[output]
    dx, rms = arriving(large, pushed)
    plain, _ = arriving(1, pushed)
    own = dx[pushed]
    most = np.abs(np.delete(dx, pushed)).max()
    words = (
        f"Large entry {large:g}, root mean square {rms:.3g}. Of a push of 1 at "
        f"{'its own output' if pushed == 0 else 'an ordinary output'} the entry behind it "
        f"receives {own:.2g}"
        + (f" ({_against(own, plain[pushed])})" if large != 1 else "")
        + f"; the other entries {most:.1g} at most."
    )
    if pushed and large:
        words += f" The large one receives {_number(dx[0])}."
    return Picture(_flow(large, pushed, dx), _powers(large, pushed), alt=words, caption=words)


def _against(now, at_one):
    """What arrives, in parts of what did when the large entry had size 1."""
    ratio = now / at_one
    if 0.95 < ratio < 1.05:
        return "as at size 1"
    if ratio > 0.1:
        return f"{ratio:.1f} times as much as at size 1"
    if ratio > 1e-5:
        return f"1/{float(f'{1 / ratio:.2g}'):,.0f} of what it gets at size 1"
    return f"{ratio:.0e} of what it gets at size 1"


def _flow(large, pushed, dx):
    """Arrows from the output that is pushed to each entry, as strong as what arrives."""
    own = np.abs(dx[pushed])
    coupled = np.delete(np.abs(dx), pushed).max()
    if own < coupled:
        title = "Others get more than its own"
    elif own < 0.01:
        title = f"Its own entry gets {own:.0e}"
    else:
        title = f"Its own entry gets {own:.2f}"
    panel = axes(title, xlim=(-0.9, 5.7), ylim=(-0.75, 1.5))
    panel.set_axis_off()
    panel.figure.subplots_adjust(left=0.02, bottom=0.02)
    for j, received in enumerate(dx):
        strength = np.abs(received)
        if strength > 0:
            panel.annotate(
                "",
                xy=(j, 0.16),
                xytext=(pushed, 0.98),
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": BACKWARD,
                    "alpha": float(np.clip(0.35 + strength, 0, 1)),
                    "linewidth": float(np.clip(7 * strength, 0.4, 7)),
                    "linestyle": "-" if received > 0 else (0, (3, 2)),
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
            )
        panel.plot(j, 1.05, "s", color=BACKWARD if j == pushed else MUTED, ms=9)
        size = 9 + 5 * np.log10(1 + large) if j == 0 else 9
        panel.plot(j, 0, "s", color=FORWARD, ms=size)
        panel.text(j, -0.4, _number(received, 1), ha="center", fontsize=8, color=BACKWARD)
    panel.text(2.5, 1.28, "a push of 1 at one output", ha="center", fontsize=9)
    panel.text(2.5, -0.68, "what each entry receives (dashed: negative)", ha="center", fontsize=9)
    return panel


def _powers(large, pushed):
    """How what arrives falls with the size of the large entry."""
    sizes = np.logspace(-0.7, 3, 38)
    panel = axes(
        "Three powers of its size" if large >= 8 else "Not yet large",
        xlabel="the large entry",
        ylabel="size of what arrives",
        xscale="log",
        yscale="log",
        ylim=(1e-9, 10),
    )
    kinds = [
        ("ordinary to ordinary", 3, 3, "-"),
        ("between it and the others", 3, 0, "--"),
        ("to the large one itself", 0, 0, ":"),
    ]
    for label, output, entry, linestyle in kinds:
        values = [abs(arriving(each, output)[0][entry]) for each in sizes]
        panel.plot(sizes, values, color=BACKWARD, linestyle=linestyle, label=label)
        if large >= sizes[0]:
            shown = abs(arriving(large, output)[0][entry])
            filled = {"mfc": BACKWARD if output == pushed else "none"}
            panel.plot([large], [shown], "o", color=BACKWARD, ms=7, **filled)
    panel.legend(loc="lower left")
    return panel


# The valley of the agreement plot, for rows of different sizes.
ROW_SIZES = {0.01: ("-.", MUTED), 1: ("-", INK), 100: ("--", INK)}


def valley(row_size, rows, gain, bias, dy):
    """The relative error of a central difference of LayerNorm's rows, step by step."""
    rows = row_size * rows
    _, seen = layer_norm.forward(rows, gain, bias)
    right = [layer_norm.backward(dy, seen)[0]]

    def forward(x):
        return layer_norm.forward(x, gain, bias)[0]

    return [
        relative_error([numerical_gradient(forward, rows, dy, step=step)], right)
        for step in STEPS
    ]


@styled
def moved_valley(rows, gain, bias, dy):
    """Whether LayerNorm agrees, and the error over the step for rows of three sizes."""
    compared = agreement(layer_norm, rows, gain, bias, dy=dy)
    diagonal, _ = compared._panels
    panel = axes(
        "The valley moves with the rows",
        width=5.2,
        height=3.4,
        xlabel="step h",
        ylabel="largest relative error of dx",
        xscale="log",
        yscale="log",
        ylim=(1e-12, 1e4),
    )
    theory = np.finfo(np.float64).eps ** (1 / 3)
    panel.axvline(theory, **ROLES["reference"])
    panel.text(theory, 1e-12, " ε^⅓", fontsize=9, va="bottom")
    for row_size, (linestyle, color) in ROW_SIZES.items():
        panel.plot(
            STEPS,
            np.clip(valley(row_size, rows, gain, bias, dy), 1e-17, 1e3),
            linestyle=linestyle,
            color=color,
            label=f"rows of size {row_size:g}",
        )
    panel.legend(loc="upper left")
    agree, _ = compared.caption.split(". ", 1)
    words = (
        f"{agree}. On the right is the error of a central difference through LayerNorm, "
        "for rows of three sizes: the same valley each time, moved by the size of the "
        "rows. The upright line is the step theory picks for numbers of size 1. It stands "
        "at the bottom of the middle valley only, too long for the small rows and too "
        "short for the large ones."
    )
    return Picture(diagonal, panel, alt=words, caption=words)


SHOWN = [0, 25, 50, 75]

KEPT = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.99, 1]
DROPPED = mistakes.get("rms_norm", "rms-held-constant")


@styled
def coupling(kept):
    """The gradient of one row, and a training run, when so much coupling is kept."""
    right, run = training(), training("rms", DROPPED.name, kept)
    circle, off = _on_the_circle(kept)
    words = _in_words(kept, off, run, right)
    return Picture(
        circle,
        _angles(run),
        _losses(run, right),
        _lengths(run, right),
        alt=words,
        caption=words,
    )


def _in_words(kept, off, run, right):
    if kept == 1:
        return (
            "All of the coupling kept: the gradient of the row follows the circle, the "
            f"loss ends at {run.loss:.2f}, and rows reach a size of "
            f"{run.lengths.max():.1f}."
        )
    return (
        f"{kept:.0%} of the coupling kept: the gradient of the row leaves the circle by "
        f"{off:.0f}°. In training it is {run.angles[0]:.0f}° off at first and "
        f"{run.angle:.0f}° in the second half; the loss ends at {run.loss:.2f}, the right "
        f"one at {right.loss:.2f}; rows that should have a size of at most "
        f"{right.lengths.max():.1f} reach {run.lengths.max():.1f}."
    )


def _on_the_circle(kept):
    """A row of two entries and its gradients; by how much one leaves the circle."""
    outwards, along = _turned(20), _turned(110)
    x, dy = np.sqrt(2) * outwards, 1.6 * _turned(55)
    _, seen = rms_norm.forward(x, np.ones(2))
    true, _ = rms_norm.backward(dy, seen)
    used, _ = partly(rms_norm, DROPPED.backward, kept)(dy, seen)
    off = degrees(used, true)

    panel = axes(
        f"It leaves the circle by {off:.0f}°" if kept < 1 else "It follows the circle",
        xlim=(-1.6, 3.4),
        ylim=(-1.6, 2),
        aspect="equal",
    )
    panel.add_patch(Circle((0, 0), np.sqrt(2), fill=False, color=FORWARD, linewidth=2))
    panel.plot(*np.transpose([0 * x, 2.3 * x]), **ROLES["reference"])
    panel.plot(*np.transpose([x - along, x + 1.6 * along]), **ROLES["reference"])
    _arrow(panel, x, true, BACKWARD, "-")
    _arrow(panel, x, used, WRONG, ":")
    panel.plot(*x, "o", color=FORWARD, markersize=8)
    beside = x - 0.35 * outwards - 0.1 * along
    panel.text(*beside, "x", color=FORWARD, ha="center", fontsize=12)
    panel.text(1.9, -0.75, "true gradient", color=BACKWARD, fontsize=9)
    panel.text(1.9, -1.15, "this much kept", color=WRONG, fontsize=9)
    panel.set_axis_off()
    return panel, off


def _turned(degrees):
    """The unit vector at an angle to the first axis."""
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


def _arrow(panel, start, by, color, linestyle, linewidth=2.4):
    panel.annotate(
        "",
        xy=start + by,
        xytext=start,
        arrowprops={
            "arrowstyle": "-|>",
            "color": color,
            "linewidth": linewidth,
            "linestyle": linestyle,
            "shrinkA": 0,
            "shrinkB": 0,
        },
    )


def _angles(run):
    title = f"{run.angles[0]:.0f}° off at first, then {run.angle:.0f}°"
    panel = axes(
        "The true gradient" if run.angles.max() < 0.5 else title,
        xlabel="step",
        ylabel="angle to the true gradient",
        ylim=(-8, 180),
    )
    panel.axhline(90, **ROLES["reference"])
    panel.plot(_steps(run.angles), run.angles, **ROLES["wrong"])
    panel.set_xticks(SHOWN)
    panel.set_yticks([0, 45, 90, 135, 180], ["0°", "45°", "90°", "135°", "180°"])
    return panel


def _losses(run, right):
    agree = np.array_equal(run.losses, right.losses)
    panel = axes(
        "The curves agree" if agree else f"Loss {run.loss:.2f}, not {right.loss:.2f}",
        xlabel="step",
        ylabel="loss",
        ylim=(2, 4.2),
    )
    _two(panel, run.losses, right.losses)
    panel.axhline(FREQUENCIES, **ROLES["reference"], label="letter frequencies")
    panel.legend(loc="upper right")
    return panel


def _lengths(run, right):
    times = run.lengths.max() / right.lengths.max()
    panel = axes(
        f"Rows swell {times:.2g}-fold" if times > 1.05 else "Rows keep their size",
        xlabel="step",
        ylabel="size of the last norm's rows",
        yscale="log",
        ylim=(0.01, 200),
    )
    _two(panel, run.lengths, right.lengths)
    return panel


def _two(panel, ours, right):
    panel.plot(_steps(right), right, **ROLES["forward"], label="right")
    panel.plot(_steps(ours), ours, **ROLES["wrong"], label="this much kept")
    panel.set_xticks(SHOWN)


def _steps(values):
    return np.arange(len(values)) * EVERY


# Mistakes that a wide row hides, with the line each is drawn with.
HIDDEN_BY_WIDTH = {
    "RMSNorm, coupling dropped": (DROPPED, ROLES["wrong"]),
    "LayerNorm, mean dropped": (
        mistakes.get("layer_norm", "mean-term-dropped"),
        ROLES["backward"],
    ),
    "LayerNorm, n - 1": (
        mistakes.get("layer_norm", "variance-by-n-minus-one"),
        ROLES["baseline"],
    ),
}
WIDTHS = 4 ** np.arange(1, 7)
EPS_OUTSIDE = mistakes.get("layer_norm", "eps-outside-the-root")
SIZES = np.logspace(-5, 1, 13)


def error(mistake, rows, **options):
    """Relative error of dx for seeded rows, with gains of one and a random dy."""
    width = rows.shape[-1]
    weights = [np.ones(width), np.zeros(width)][: 1 if mistake.op is rms_norm else 2]
    dy = np.random.default_rng(1).normal(size=rows.shape)
    wrong, right = (
        op.backward(dy, op.forward(rows, *weights, **options)[1])[0]
        for op in (mistake, mistake.op)
    )
    return np.linalg.norm(wrong - right) / np.linalg.norm(right)


@styled
def hiding():
    """What a wide row hides from a test, and what rows of ordinary size hide."""
    rng = np.random.default_rng(0)
    wide = axes(
        "A wide row hides all three",
        xlabel="width of the row",
        ylabel="relative error of dx",
        xscale="log",
        yscale="log",
        ylim=(1e-7, 3),
    )
    ends = {}
    for name, (mistake, look) in HIDDEN_BY_WIDTH.items():
        errors = [error(mistake, rng.normal(size=(100, n))) for n in WIDTHS]
        ends[name] = f"{name} {errors[1]:.1%}, {errors[-1]:.2%}"
        wide.plot(WIDTHS, errors, label=name, **look)
    wide.set_xticks(WIDTHS, WIDTHS)
    wide.legend(loc="lower left")

    small = axes(
        "Small rows betray the eps",
        xlabel="deviation of the row",
        ylabel="relative error of dx",
        xscale="log",
        yscale="log",
        ylim=(1e-13, 1e4),
    )
    rows = rng.normal(size=(32, WIDTH))
    for eps, look in ((1e-5, ROLES["wrong"]), (1e-12, ROLES["baseline"])):
        errors = [error(EPS_OUTSIDE, size * rows, eps=eps) for size in SIZES]
        small.plot(SIZES, errors, label=f"eps = {eps:g}", **look)
    small.legend(loc="upper right")
    largest = error(EPS_OUTSIDE, 1e-3 * rows)
    words = (
        f"Errors at widths {WIDTHS[1]} and {WIDTHS[-1]}: {'; '.join(ends.values())}. "
        f"eps outside the root: {largest:.0%} where rows deviate by 0.001, "
        f"{error(EPS_OUTSIDE, rows):.0e} where by 1."
    )
    return Picture(wide, small, alt=words, caption=words)
