"""Pictures of chapters/checking: how exact a difference is, and what that hides."""

from functools import cache

import numpy as np

from ... import mistakes
from ...check import directional_derivative, numerical_gradient
from ...check.differences import SCHEMES
from ...mistakes.mistake import WrongPass
from ...ops import layer_norm
from .. import model_check
from ..picture import Picture
from ..style import (
    BACKWARD,
    FORWARD,
    INK,
    MUTED,
    ROLES,
    WRONG,
    axes,
    styled,
)

DTYPES = (np.float64, np.float32)

# Powers of two, and points that are multiples of 1/64: x + h is exact.
HALVINGS = {np.float64: np.arange(1, 46), np.float32: np.arange(1, 18)}
POINTS = np.arange(65) / 64


def expected_error(scheme, h, eps):
    """Truncation and round-off of exp's difference quotient, relative to exp.

    exp is its own derivative, of every order, so that nothing is left but h and ε.
    """
    if scheme == "central":
        return h**2 / 6 + eps / h
    return h / 2 + 2 * eps / h


def best_step(scheme, eps):
    """Where `expected_error` is smallest."""
    return (3 * eps) ** (1 / 3) if scheme == "central" else 2 * eps**0.5


def measured_error(scheme, h, dtype):
    """The largest relative error of exp's difference quotient at POINTS."""
    x = POINTS.astype(dtype)
    slopes = np.array(
        [numerical_gradient(np.exp, each, step=h, scheme=scheme) for each in x]
    )
    exact = np.exp(POINTS)
    return np.max(np.abs(slopes - exact) / exact)


@styled
def valley():
    """Measured errors of exp's difference quotients over the derived ones."""
    panels, words = [], []
    for dtype in DTYPES:
        eps = float(np.finfo(dtype).eps)
        lowest = {
            scheme: expected_error(scheme, best_step(scheme, eps), eps)
            for scheme in SCHEMES
        }
        panel = axes(
            f"{dtype.__name__}: central {lowest['forward'] / lowest['central']:.0f} "
            "times better",
            xlabel="step h",
            ylabel="largest relative error",
            xscale="log",
            yscale="log",
            ylim=(1e-12, 10),
        )
        steps = 0.5 ** HALVINGS[dtype]
        for scheme, color, marker in (
            ("forward", MUTED, "o"),
            ("central", FORWARD, "s"),
        ):
            found = [measured_error(scheme, h, dtype) for h in steps]
            panel.plot(
                steps, found, marker, color=color, ms=3.5, label=f"{scheme}, measured"
            )
            panel.plot(steps, expected_error(scheme, steps, eps), color=color, lw=1.2)
            best = best_step(scheme, eps)
            panel.axvline(best, color=color, linestyle=":", linewidth=1.2)
            words.append(
                f"{dtype.__name__} {scheme} {best:.1e}, error {lowest[scheme]:.1e}"
            )
        panel.legend(loc="lower right" if dtype is np.float32 else "upper center")
        panels.append(panel)
    said = f"Best steps and their errors: {'; '.join(words)}."
    return Picture(
        *panels,
        alt="Errors of forward and central differences of exp against the step, "
        f"measured as points and derived as lines, which the points follow. {said}",
        caption="Points are measured, lines derived; the dotted lines are the best "
        f"steps. {said}",
    )


BUGS = [1e-7, 1e-5, 1e-4, 1e-2, 0.5]
TOLERANCES = [1e-12, 1e-9, 1e-6, 3e-5, 1e-3]
ROWS = (4, 8)


@cache
def layer_norm_problem():
    """Inputs of a LayerNorm, dy, the right dx, and the mean term of it."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=ROWS), rng.normal(size=ROWS[1]), rng.normal(size=ROWS[1])
    dy = rng.normal(size=ROWS)
    _, kept = layer_norm.forward(*inputs)
    right, *_ = layer_norm.backward(dy, kept)
    dropped = mistakes.get("layer_norm", "mean-term-dropped").backward(dy, kept)[0]
    return inputs, dy, right, dropped - right


def with_bug(size):
    """dx with its mean term weighted so that the worst entry is off by `size`."""
    *_, right, term = layer_norm_problem()
    return right + size * np.abs(right).max() * term / np.abs(term).max()


@cache
def differences_in(dtype):
    """The numeric dx in a precision, at the usual step."""
    (x, *others), dy, *_ = layer_norm_problem()
    others = [each.astype(dtype) for each in others]
    return numerical_gradient(
        lambda x: layer_norm.forward(x, *others)[0], x.astype(dtype), dy.astype(dtype)
    ).astype(np.float64)


def gaps(size, dtype):
    """How far each entry is from its difference, relative to the largest entry."""
    *_, right, _ = layer_norm_problem()
    off = np.abs(with_bug(size) - differences_in(dtype)) / np.abs(right).max()
    return off.ravel()


def verdict(size, tolerance, dtype):
    """What a check in this precision and with this tolerance is worth."""
    if gaps(0, dtype).max() > tolerance:
        return "accuses the right one"
    return "catches the bug" if gaps(size, dtype).max() > tolerance else "lets it pass"


@styled
def tolerance(bug, allowed):
    """Each entry's error with and without a bug, and who is accused."""
    entries = axes(
        _title(bug, allowed),
        ylabel="error / largest entry",
        yscale="log",
        ylim=(1e-13, 1e4),
        xlim=(-0.1, 2.3),
    )
    for place, dtype in enumerate(DTYPES):
        across = place * 1.2 + np.linspace(0, 1, np.prod(ROWS))
        for size, color, marker, name in (
            (bug, WRONG, "x", "with the bug"),
            (0, BACKWARD, "o", "right"),
        ):
            each = np.maximum(np.sort(gaps(size, dtype)), 1e-13)
            entries.plot(
                across, each, marker, color=color, ms=4, label=None if place else name
            )
    entries.axhline(allowed, color=INK, linewidth=1.5, label="tolerance")
    entries.set_xticks([0.5, 1.7], [dtype.__name__ for dtype in DTYPES])
    entries.grid(False, axis="x")
    entries.legend(loc="upper left", ncols=2, handletextpad=0.4)

    said = "; ".join(f"{d.__name__} {verdict(bug, allowed, d)}" for d in DTYPES)
    noise = ", ".join(f"{gaps(0, d).max():.0e} in {d.__name__}" for d in DTYPES)
    words = f"Bug of {bug:g}, tolerance {allowed:g}: {said}."
    return Picture(
        entries,
        _map(bug, allowed),
        alt=f"{words} Without a bug the errors reach {noise}.",
        caption=words,
    )


TITLES = {
    ("catches the bug", "catches the bug"): "Both catch it",
    ("catches the bug", "accuses the right one"): "float32 cannot be this strict",
    ("lets it pass", "lets it pass"): "Both let it pass",
    ("lets it pass", "accuses the right one"): "One passes all, one fails all",
    ("accuses the right one", "accuses the right one"): "Both accuse the right one",
}


def _title(bug, allowed):
    return TITLES[tuple(verdict(bug, allowed, dtype) for dtype in DTYPES)]


WEDGES = {
    np.float64: {"color": FORWARD, "alpha": 0.35},
    np.float32: {"facecolor": "none", "edgecolor": MUTED, "hatch": "////"},
}
# Behind a word that stands on a hatch.
BLANK = {"facecolor": "#ffffff", "edgecolor": "none", "pad": 1}


def _map(bug, allowed):
    """Where a bug and a tolerance leave the check worth something."""
    sizes = np.logspace(-9, 0, 37)
    panel = axes(
        "Believe it only inside the wedge",
        xlabel="size of the bug",
        ylabel="tolerance",
        xscale="log",
        yscale="log",
        xlim=(1e-9, 3),
        ylim=(1e-15, 1),
    )
    for dtype, look in WEDGES.items():
        noise = gaps(0, dtype).max()
        seen = np.array([gaps(size, dtype).max() for size in sizes])
        panel.fill_between(sizes, noise, np.maximum(seen, noise), linewidth=0, **look)
    panel.plot([bug], [allowed], "o", color=WRONG, ms=9, zorder=5)
    panel.text(2e-9, 3e-5, "passes", fontsize=9)
    panel.text(2e-9, 2e-15, "accuses the right one", fontsize=9)
    panel.text(2e-4, 5e-11, "float64", fontsize=9)
    panel.text(4e-3, 2.5e-5, "float32", fontsize=9, bbox=BLANK)
    return panel


@cache
def sizes_of_mistakes():
    """How far off each wrong backward pass of an operation is where it shows.

    Relative to the largest entry of the array that is off most; infinite where a shape
    is wrong or what comes back is no number. A pass that is wrong only in what it
    overwrites has the size 0.
    """
    return {
        mistake: _size(mistake)
        for mistake in mistakes.CATALOGUE
        if isinstance(mistake, WrongPass)
        and mistake.side == "backward"
        and not isinstance(mistake.op, str)
    }


def _size(mistake):
    with np.errstate(all="ignore"):
        *wrong, _ = mistake.wrong_results(mistake.shown_by)
        *right, _ = mistake.right_results(mistake.shown_by)
    size = 0.0
    for ours, theirs in zip(wrong, right, strict=True):
        if ours.shape != theirs.shape or not np.isfinite(ours).all():
            return np.inf
        if np.any(ours != theirs):
            size = max(size, np.abs(ours - theirs).max() / np.abs(theirs).max())
    return size


COUNTS = 4 ** np.arange(9)
DRAWS = 24


def seen_along(n, seed):
    """What one direction sees of one entry of n that is wrong altogether.

    The gradient of tanh with one entry set to zero, an entry of typical size: the
    difference between the two slopes, relative to the true one's usual size.
    """
    rng = np.random.default_rng(seed)
    x, dy, direction = rng.normal(size=(3, n))
    gradient = dy * (1 - np.tanh(x) ** 2)
    gradient[0] = typical = np.sqrt(np.mean(gradient**2))
    dy[0] = typical / (1 - np.tanh(x[0]) ** 2)
    slope = directional_derivative(np.tanh, x, direction, dy)
    claimed = np.sum(gradient[1:] * direction[1:])
    return abs(slope - claimed) / np.linalg.norm(gradient)


@styled
def one_direction():
    """How faintly one direction sees one wrong entry of n."""
    seen = np.array([[seen_along(n, seed) for seed in range(DRAWS)] for n in COUNTS])
    low, high = np.percentile(seen, [10, 90], axis=1)
    typical = np.sqrt(np.mean(seen**2, axis=1))
    panel = axes(
        "One wrong entry fades as 1/√n",
        width=3.6,
        height=2.8,
        xlabel="entries n, one of them wrong",
        ylabel="relative error seen",
        xscale="log",
        yscale="log",
    )
    panel.axhline(1, **ROLES["backward"])
    panel.text(COUNTS[-1], 1.25, "entry by entry", ha="right", fontsize=9)
    panel.plot(COUNTS, COUNTS**-0.5, **ROLES["reference"])
    panel.text(COUNTS[-1], 7e-3, "1/√n", ha="right", fontsize=9)
    panel.fill_between(COUNTS, low, high, color=WRONG, alpha=0.2, linewidth=0)
    panel.plot(COUNTS, typical, "o", color=WRONG, ms=6)
    panel.axhline(1e-3, color=INK, linewidth=1.2)
    panel.text(1, 1.25e-3, "tolerance of 1e-3", fontsize=9)
    panel.set(xlim=(0.6, 4e5), ylim=(2e-4, 3))
    words = (
        f"One of n entries is wrong by its own size. Entry by entry its relative error "
        f"is 1. Along a random direction it is {typical[0]:.1g} at n = 1, "
        f"{typical[4]:.1g} at n = {COUNTS[4]} and {typical[-1]:.1g} at "
        f"n = {COUNTS[-1]:,} (root mean square of {DRAWS} directions; the band holds "
        "four in five of them)."
    )
    return Picture(panel, alt=words, caption=words)


@cache
def block_errors():
    """Of the same transformer in float32, and in float64."""
    return {
        np.float32: model_check.errors(np.float32, steps=(1e-3, 1e-2)),
        np.float64: model_check.errors(np.float64, steps=(1e-5,)),
    }


@styled
def blocks():
    """Errors of differences over the size of the gradient, a point for each block."""
    panel = axes(
        "The smallest gradient is noisiest",
        width=3.6,
        height=3,
        xlabel="rms of the block's gradient",
        ylabel="relative error",
        xscale="log",
        yscale="log",
        ylim=(1e-10, 3),
    )
    single, double = block_errors().values()
    for errors, way, look in (
        (single, "entry", {"marker": "o", "color": WRONG}),
        (single, "direction", {"marker": "D", "color": BACKWARD}),
        (double, "entry", {"marker": "s", "color": INK, "mfc": "none"}),
    ):
        name = "float32" if errors is single else "float64"
        panel.plot(
            [each.size for each in errors.values()],
            [getattr(each, way) for each in errors.values()],
            linestyle="none",
            ms=6,
            label=f"{name}, {'one entry' if way == 'entry' else 'direction'}",
            **look,
        )
    block = single["blocks.0.attention.w_k"]
    panel.annotate(
        "w_q and w_k",
        (block.size, block.entry),
        xytext=(7, 4),
        textcoords="offset points",
        fontsize=9,
    )
    panel.legend(loc="center right", bbox_to_anchor=(1.03, 0.45), handletextpad=0.1)

    def span(errors, way):
        values = [getattr(each, way) for each in errors.values()]
        return f"{min(values):.0e} to {max(values):.0e}"

    words = (
        f"{len(single)} blocks of a transformer. In float32 a difference along one "
        f"entry is off by {span(single, 'entry')} of the block's gradient, along a "
        f"direction by {span(single, 'direction')}; in float64, along one entry, by "
        f"{span(double, 'entry')}."
    )
    return Picture(panel, alt=words, caption=words)
