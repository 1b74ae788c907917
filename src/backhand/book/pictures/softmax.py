"""Pictures of chapters/softmax: saturation, and exponentials that overflow."""

import numpy as np

from ... import mistakes
from ...ops import softmax
from ..picture import Picture
from ..style import (
    BACKWARD,
    FORWARD,
    INK,
    MUTED,
    ROLES,
    SIGNED,
    WRONG,
    axes,
    styled,
)

SCORES = np.array([2.0, 1.0, 0.5, -1.0])
TOP_SCORES = [0, 20, 50, 80, 88, 89, 100, 200, 400, 600, 709, 710, 800, 1000]
SCALES = [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30]

CENTRED = {"ha": "center", "va": "center", "fontsize": 9}


@styled
def saturation(scale, scores=SCORES):
    """p, its Jacobian and the size of the Jacobian when the scores are scaled."""
    p, _ = softmax.forward(scale * scores)
    jacobian = softmax.jacobian(scale * scores)
    size = np.linalg.norm(jacobian)
    entries = np.arange(scores.size)

    bars = axes("What forward says", ylabel="p", xlabel="entry", ylim=(0, 1.08))
    bars.bar(entries, p, color=FORWARD)
    bars.set_xticks(entries)
    for entry, value in zip(entries, p, strict=True):
        bars.text(entry, value + 0.02, f"{value:.2f}", ha="center", fontsize=9)

    square = axes("What backward multiplies by", xlabel="j", ylabel="i", aspect="equal")
    square.pcolormesh(jacobian, cmap=SIGNED, vmin=-0.25, vmax=0.25)
    square.grid(False)
    square.invert_yaxis()
    square.set_xticks(entries + 0.5, entries)
    square.set_yticks(entries + 0.5, entries)
    for i, j in np.ndindex(jacobian.shape):
        shown = f"{jacobian[i, j]:.2f}".replace("-0.00", "0.00")
        ink = "#ffffff" if abs(jacobian[i, j]) > 0.17 else INK
        square.text(j + 0.5, i + 0.5, shown, color=ink, **CENTRED)

    curve = axes(
        "How much gets through",
        xlabel="scale of the scores",
        ylabel="Jacobian norm",
        yscale="log",
        ylim=(1e-14, 3),
    )
    curve.plot(SCALES, [_size(s * scores) for s in SCALES], **ROLES["backward"])
    curve.plot([scale], [max(size, 1e-14)], "o", color=BACKWARD, markersize=9)

    return Picture(
        bars,
        square,
        curve,
        alt=f"Scores times {scale:g}: the probabilities are "
        f"{', '.join(f'{value:.2f}' for value in p)}; the largest entry of the "
        f"Jacobian is {np.abs(jacobian).max():.1e} and its norm {size:.1e}.",
        caption=f"Scores × {scale:g}: largest probability {p.max():.6f}, norm of the "
        f"Jacobian {size:.1e}.",
    )


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

    line = axes(
        "exp leaves the format",
        xlabel="largest score",
        ylabel="decimal digits of exp(score)",
    )
    line.plot([0, 1000], [0, 1000 / np.log(10)], **ROLES["forward"])
    for dtype, place, side in ((np.float32, 1000, "right"), (np.float64, 0, "left")):
        limit = np.log10(np.finfo(dtype).max)
        line.axhline(limit, **ROLES["reference"])
        line.text(place, limit + 8, f"{dtype.__name__} ends", ha=side, fontsize=9)
    line.plot([top], [top / np.log(10)], "o", color=FORWARD, markersize=9)

    bars = axes("What comes out", ylabel="p", ylim=(0, 1))
    colors = [WRONG, MUTED, FORWARD]
    for shift, (name, p), color in zip((-1, 0, 1), results.items(), colors, strict=True):
        places = np.arange(3) + 0.27 * shift
        bars.bar(places, np.nan_to_num(p), 0.24, color=color, label=name)
        for place in places[np.isnan(p)]:
            bars.text(
                place, 0.02, "nan", color=color, rotation=90, ha="center", va="bottom"
            )
    bars.set_xticks(range(3), ["top", "top - 1", "top - 2"])
    bars.legend(loc="upper right")

    broken = [name for name, p in results.items() if np.isnan(p).any()]
    verdict = f"nan from {' and '.join(broken)}" if broken else "all three agree"
    return Picture(
        line,
        bars,
        alt=f"Largest score {top:g}: {verdict}; the shifted probabilities are "
        f"{', '.join(f'{value:.3f}' for value in results['shifted, float32'])}.",
        caption=f"Largest score {top:g}: {verdict}.",
    )


def _size(scores):
    return np.linalg.norm(softmax.jacobian(scores))
