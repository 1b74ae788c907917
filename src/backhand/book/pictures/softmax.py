"""Pictures of chapters/softmax: saturation, and exponentials that overflow."""

import numpy as np

from ...ops import softmax
from ..picture import Picture
from ..style import BACKWARD, FORWARD, MUTED, ROLES, SIGNED, axes, styled

SCORES = np.array([2.0, 1.0, 0.5, -1.0])
SCALES = [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30]


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
        square.text(j + 0.5, i + 0.5, shown, ha="center", va="center", fontsize=9)

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


def _size(scores):
    return np.linalg.norm(softmax.jacobian(scores))
