"""Pictures of chapters/normalization: how much coupling is kept, and what hides it."""

import numpy as np
from matplotlib.patches import Circle

from ... import mistakes
from ...ops import rms_norm
from ..norm_training import EVERY, FREQUENCIES, WIDTH, degrees, partly, training
from ..picture import Picture
from ..style import BACKWARD, FORWARD, ROLES, WRONG, axes, styled

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


def _arrow(panel, start, by, color, linestyle):
    panel.annotate(
        "",
        xy=start + by,
        xytext=start,
        arrowprops={
            "arrowstyle": "-|>",
            "color": color,
            "linewidth": 2.4,
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
