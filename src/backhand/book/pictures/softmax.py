"""Pictures of chapters/softmax: the seesaw, saturation, exponentials out of range."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import MultipleLocator

from ... import mistakes
from ...ops import softmax
from ..picture import Picture
from ..style import BACKWARD, FORWARD, INK, MUTED, ROLES, WRONG, axes, styled

# One, two and five eighths; with these upstream values they balance at 1.
EIGHTHS = np.log([1.0, 2.0, 5.0])
UPSTREAM = (-4, 1, 2)
SECOND = [-10, -8, -6, -4, -3, -2, -1, 0, 0.5, 1, 1.5, 2, 3, 4, 4.5, 5, 5.5, 6, 7, 9]

SCORES = np.array([2.0, 1.0, 0.5, -1.0])
PULLS = np.array([-1.0, 2.0, 1.0, -2.0])  # what arrives from above, for saturation
SCALES = [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30]

TOP_SCORES = [-1000, -746, -742, -700, -104, -103, -102, -101, -100, -95, -87]
TOP_SCORES += [0, 50, 88, 89, 200, 709, 710, 1000]

CENTRED = {"ha": "center", "va": "center", "fontsize": 9}
ARROW = {"arrowstyle": "-|>", "color": BACKWARD, "linewidth": 2.2, "mutation_scale": 11}
# The size of an entry of a Jacobian; its sign is written into it.
SLOPES = LinearSegmentedColormap.from_list("slopes", ["#ffffff", BACKWARD])


def balance(z, g):
    """The probabilities, where they balance, and the push on each score."""
    p, cache = softmax.forward(np.asarray(z, float))
    g = np.asarray(g, float)
    return p, float(p @ g), softmax.backward(g, cache)


@styled
def seesaw():
    """Three seesaws: uneven weights, all at one place, all weight in one place."""
    cases = [
        ("Two are pushed, one is not", EIGHTHS, UPSTREAM),
        ("Upstream all ones: no arms", EIGHTHS, (1, 1, 1)),
        ("One score wins: no weights", 10 * EIGHTHS, UPSTREAM),
    ]
    panels = []
    for title, z, g in cases:
        panel = axes(title, width=3.1, height=2.7)
        _draw_seesaw(panel, z, g, span=(-6.2, 4.2), reach=0.45, numbers=True)
        panels.append(panel)
    pushes = [
        " ".join(f"{each:+.3f}".replace("+0.000", "0") for each in balance(z, g)[2])
        for _, z, g in cases
    ]
    return Picture(
        *panels,
        alt="Three weights stand on a beam, as heavy as their probabilities, 1/8, 2/8 and "
        "5/8, each at the place of its upstream gradient, -4, 1 and 2. The beam balances "
        f"at 1. The pushes on the scores are {pushes[0]}. With an upstream of ones all "
        f"weights stand on the balance point and the pushes are {pushes[1]}. With the "
        f"scores ten times as large one weight carries everything: {pushes[2]}.",
        caption="Blue weights: the probabilities, each standing where its upstream "
        "gradient is. The beam balances at their weighted mean. Orange: what each score "
        "gets, weight times arm.",
    )


def _draw_seesaw(panel, z, g, span, reach, numbers=False):
    """Weights p on a beam at their places g, and the push on each score below it."""
    p, mean, push = balance(z, g)
    left, right = span
    width = (right - left) / 16
    panel.plot([left, right], [0, 0], color=INK, linewidth=2.5, solid_capstyle="round")
    panel.plot([mean], [-0.09], "^", color=INK, markersize=13, mew=0)
    panel.text(mean, -0.32, f"{mean:.2f}".replace("-", "−"), **CENTRED)
    for place in dict.fromkeys(g):
        entries = [entry for entry, at in enumerate(g) if at == place]
        top = 0.02
        for entry in entries:  # at one place they stand on one another
            panel.bar(place, p[entry], width, bottom=top, color=FORWARD, ec="w", lw=0.8)
            top += p[entry]
        panel.text(place, top + 0.09, " ".join(f"p{each}" for each in entries), **CENTRED)
        pushed = [entry for entry in entries if abs(push[entry]) > 5e-3]
        for entry, aside in zip(pushed, _side_by_side(len(pushed)), strict=True):
            at = place + 0.8 * width * aside
            half = 0.21 * np.clip(push[entry] / reach, -1, 1)
            half = np.sign(half) * max(abs(half), 0.06)
            ends = {"xytext": (at, -0.79 - half), "xy": (at, -0.79 + half)}
            panel.annotate("", **ends, arrowprops=ARROW)
        if pushed and numbers:
            panel.text(
                place,
                -1.19,
                " ".join(_signed(push[entry]) for entry in pushed),
                **CENTRED | {"fontsize": 8.5},
            )
        if not pushed:
            panel.plot([place], [-0.79], "o", color=BACKWARD, markersize=4)
    panel.grid(False)
    panel.set(xlim=(left - 0.3, right + 0.3), ylim=(-1.3 if numbers else -1.1, 1.2), yticks=[])
    panel.xaxis.set_major_locator(MultipleLocator(1 if right - left < 8 else 2))
    panel.set_xlabel("upstream gradient")
    panel.spines["left"].set_visible(False)


def _side_by_side(count):
    return np.arange(count) - (count - 1) / 2


def _signed(value):
    return "0" if abs(value) < 5e-3 else f"{value:+.3g}".replace("-", "−")


@styled
def tilt(second):
    """The seesaw when the upstream gradient of the second probability moves."""
    g = (UPSTREAM[0], second, UPSTREAM[2])
    p, mean, push = balance(EIGHTHS, g)
    beam = axes(_tilt_title(push), width=4.6, height=3)
    _draw_seesaw(beam, EIGHTHS, g, span=(-10.5, 9.5), reach=1.2)

    arrows = axes(
        "They add up to nothing",
        width=2.7,
        height=3,
        xlabel="score",
        ylabel="push",
        xlim=(-0.6, 2.6),
        ylim=(-2.4, 2.4),
    )
    arrows.axhline(0, **ROLES["reference"])
    arrows.set_xticks(range(3), ["z0", "z1", "z2"])
    for entry, each in enumerate(push):
        if abs(each) > 0.02:
            arrows.annotate("", (entry, each), (entry, 0), arrowprops=ARROW)
        else:
            arrows.plot([entry], [0], "o", color=BACKWARD)
        arrows.text(entry, each + (0.25 if each >= 0 else -0.25), _signed(each), **CENTRED)

    words = (
        f"Upstream −4, {second:g}, 2: the weighted mean is {mean:.2f}, and the pushes "
        f"are {', '.join(map(_signed, push))}. {_what_happened(second, push)}"
    ).replace(" -", " −")
    return Picture(beam, arrows, alt=words, caption=words)


def _tilt_title(push):
    if abs(push[1]) < 1e-12:
        return "z1 stands on the balance point"
    if abs(push[2]) < 1e-12:
        return "z2 stands on the balance point"
    return f"z1 goes {_way(push[1])}, z2 {_way(push[2])}"


def _way(push):
    return "up" if push > 0 else "down"


def _what_happened(second, push):
    if abs(push[1]) < 1e-12:
        return "The second has an upstream gradient above zero, and is not pushed."
    if abs(push[2]) < 1e-12:
        return "The third still has its 2, and is not pushed any more."
    if push[2] < 0:
        return "The third still has its 2, and is pushed down: another one wins more."
    if push[1] > 0:
        return "The second is above the mean, so it goes up."
    return "The second is below the mean, so it goes down" + (
        ", although its own gradient is not negative." if second >= 0 else "."
    )


@styled
def saturation(scale):
    """The seesaw, the Jacobian and its size when all scores are scaled."""
    scores = scale * SCORES
    p, mean, push = balance(scores, PULLS)
    jacobian = softmax.jacobian(scores)
    size, largest = np.linalg.norm(jacobian), np.abs(push).max()

    beam = axes(_saturation_title(scale, p), width=3.6, height=3)
    _draw_seesaw(beam, scores, PULLS, span=(-3, 3), reach=0.8)

    entries = np.arange(SCORES.size)
    square = axes(
        "What backward multiplies by", height=3, xlabel="j", ylabel="i", aspect="equal"
    )
    square.pcolormesh(np.abs(jacobian), cmap=SLOPES, vmin=0, vmax=0.25)
    square.grid(False)
    square.invert_yaxis()
    square.set_xticks(entries + 0.5, entries)
    square.set_yticks(entries + 0.5, entries)
    for i, j in np.ndindex(jacobian.shape):
        shown = f"{jacobian[i, j]:.2f}".replace("-0.00", "0.00").replace("-", "−")
        ink = "#ffffff" if abs(jacobian[i, j]) > 0.17 else INK
        square.text(j + 0.5, i + 0.5, shown, color=ink, **CENTRED)

    curve = axes(
        "How much gets through",
        height=3,
        xlabel="scale of the scores",
        ylabel="Jacobian norm",
        yscale="log",
        ylim=(1e-14, 3),
    )
    curve.plot(SCALES, [_size(s * SCORES) for s in SCALES], **ROLES["backward"])
    curve.plot([scale], [max(size, 1e-14)], "o", color=BACKWARD, markersize=9)

    times = _size(SCORES) / size
    compared = (
        f"{_rounded(times)} times smaller than at scale 1"
        if times > 1.05
        else f"{_rounded(1 / times)} times that at scale 1"
        if times < 0.95
        else "what it is at scale 1"
    )
    return Picture(
        beam,
        square,
        curve,
        alt=f"Scores times {scale:g}: the probabilities are "
        f"{', '.join(f'{value:.2f}' for value in p)} and balance at {mean:.2f}; the "
        f"largest push is {largest:.1e}, the norm of the Jacobian {size:.1e}.",
        caption=f"Scores × {scale:g}: the largest probability is {_near_one(p.max())}, "
        f"the largest push {largest:.2g}. The norm of the Jacobian is {size:.1e}, "
        f"{compared}.",
    )


def _saturation_title(scale, p):
    if scale == 0:
        return "All weigh the same"
    if p.max() < 0.9:
        return f"The first weighs {p.max():.2f}"
    return "The first weighs nearly all"


def _near_one(p):
    return f"{p:.2f}" if p < 0.99 else f"1 − {1 - p:.0e}"


def _rounded(times):
    """Two digits, with separators."""
    if times > 1e6:
        return f"{times:.1e}".replace("+", "")
    digits = 1 - int(np.floor(np.log10(times)))
    return f"{round(times, digits):,.{max(digits, 0)}f}"


@styled
def overflow(top):
    """Softmax with and without the shift when the largest score is `top`."""
    scores = top - np.array([0.0, 1.0, 2.0])
    unshifted = mistakes.get("softmax", "unshifted").forward
    with np.errstate(all="ignore"):
        results = {
            "exp(z), float32": unshifted(scores.astype(np.float32))[0],
            "exp(z), float64": unshifted(scores)[0],
            "shifted, float32": softmax.forward(scores.astype(np.float32))[0],
        }
    right = results["shifted, float32"]

    line = axes(
        _where(top),
        xlabel="largest score",
        ylabel="power of ten of exp(score)",
        xlim=(-1050, 1050),
        ylim=(-460, 460),
    )
    line.plot([-1050, 1050], np.array([-1050, 1050]) / np.log(10), **ROLES["forward"])
    for dtype in (np.float32, np.float64):
        kept = np.finfo(dtype)
        for end, place, side, at in (
            (kept.max, -1020, "left", "bottom"),
            (kept.smallest_subnormal, 1020, "right", "top"),
        ):
            power = np.log10(float(end))
            line.axhline(power, **ROLES[dtype.__name__] | {"linewidth": 1})
            line.text(place, power, dtype.__name__, ha=side, va=at, fontsize=8)
    line.plot([top], [top / np.log(10)], "o", color=FORWARD, markersize=9)

    bars = axes("What comes out", ylabel="p", ylim=(0, 1.3))
    colors = [WRONG, MUTED, FORWARD]
    for shift, (name, p), color in zip((-1, 0, 1), results.items(), colors, strict=True):
        places = np.arange(3) + 0.27 * shift
        bars.bar(places, np.nan_to_num(p), 0.24, color=color, label=name)
        for place in places[np.isnan(p)]:
            bars.text(
                place, 0.02, "nan", color=color, rotation=90, ha="center", va="bottom"
            )
    bars.set_xticks(range(3), ["top", "top − 1", "top − 2"])
    bars.legend(loc="upper right")

    broken = [name for name, p in results.items() if np.isnan(p).any()]
    off = [
        f"{name} gives {_three(p)}"
        for name, p in results.items()
        if not np.isnan(p).any() and np.abs(p - right).max() > 1e-5
    ]
    said = [f"nan from {' and '.join(broken)}"] if broken else []
    said += [f"{' and '.join(off)} for {_three(right)}"] if off else []
    words = f"Largest score {top:g}: {'; '.join(said) or 'all three agree'}."
    words = words.replace("score -", "score −")
    return Picture(line, bars, alt=f"{words} Shifted: {_three(right)}.", caption=words)


def _where(top):
    for dtype in (np.float64, np.float32):
        kept = np.finfo(dtype)
        if top > np.log(float(kept.max)):
            return f"Too large for {dtype.__name__}"
        if top < np.log(float(kept.smallest_subnormal)) - np.log(2):
            return f"Too small for {dtype.__name__}"
        if top < np.log(float(kept.tiny)):
            return f"{dtype.__name__} runs out of digits"
    return "exp is within both formats"


def _three(p):
    return ", ".join(f"{value:.3f}" for value in p)


def _size(scores):
    return np.linalg.norm(softmax.jacobian(scores))
