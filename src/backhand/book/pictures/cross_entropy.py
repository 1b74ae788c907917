"""Pictures of chapters/cross-entropy: the divisor, the push, the road through 1/p."""

from contextlib import nullcontext

import numpy as np

from ... import mistakes
from ...ops import cross_entropy
from ...ops.softmax import probabilities
from ...optim import SGD, Adam
from .. import bigram
from ..picture import Picture
from ..style import BACKWARD, FORWARD, MUTED, ROLES, WRONG, axes, styled

POSITIONS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256]
SGD_RATE, ADAM_RATE = 0.3, 0.03

# The three ways to divide, and how each is drawn.
DIVISORS = {
    "divided once": (None, ROLES["forward"]),
    "not divided": ("no-divisor", ROLES["wrong"]),
    "divided twice": (
        "divisor-twice",
        {"color": MUTED, "linestyle": "-.", "linewidth": 2},
    ),
}

WORDS = ["mat", "hat", "dog", "sky", "of"]
LEADS = [-20, -12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12, 20]


@styled
def missing_divisor(positions):
    """The gradient and the training run when the mean's divisor goes missing."""
    rows = np.array(POSITIONS)
    ratio = axes(
        _ratio_title(positions),
        xlabel="positions",
        ylabel="wrong / right gradient",
        xscale="log",
        yscale="log",
        ylim=(1e-3, 1e3),
    )
    ratio.plot(rows, rows, **DIVISORS["not divided"][1])
    ratio.plot(rows, 1 / rows, **DIVISORS["divided twice"][1])
    ratio.axhline(1, **DIVISORS["divided once"][1])
    for name in ("not divided", "divided twice"):
        measured = _ratios(name, positions)
        color = DIVISORS[name][1]["color"]
        ratio.plot(np.full_like(measured, positions), measured, "o", color=color, ms=8)
    ratio.text(1.3, 60, "not divided", color=WRONG, fontsize=9)
    ratio.text(1.3, 1 / 130, "divided twice", fontsize=9)

    final = {}
    panels = [ratio]
    for optimizer, rate in ((SGD, SGD_RATE), (Adam, ADAM_RATE)):
        runs = {name: _run(name, optimizer(rate), positions) for name in DIVISORS}
        final[optimizer.__name__] = {name: run[-1] for name, run in runs.items()}
        panel = axes(
            _run_title(optimizer.__name__, positions, final[optimizer.__name__]),
            xlabel="step",
            ylabel="loss",
            ylim=(0.7, 2.8),
        )
        panel.axhline(bigram.BEST_LOSS, **ROLES["reference"])
        for name, run in runs.items():
            panel.plot(run, label=name, **DIVISORS[name][1])
        panel.text(0, bigram.BEST_LOSS - 0.02, "best possible", fontsize=9, va="top")
        panel.legend(loc="upper right")
        panels.append(panel)

    losses = "; ".join(
        f"{optimizer} {', '.join(f'{loss:.3g} {name}' for name, loss in after.items())}"
        for optimizer, after in final.items()
    )
    times = f"{positions} times" if positions > 1 else "once"
    return Picture(
        *panels,
        alt=f"With {positions} positions every entry of the gradient is {times} the "
        f"right one if it is not divided. Loss after 60 steps: {losses}.",
        caption=f"Positions: {positions}. Not dividing makes SGD's learning rate of "
        f"{SGD_RATE:g} one of {SGD_RATE * positions:.3g}; dividing twice makes it "
        f"{SGD_RATE / positions:.2g}. Loss after 60 steps: {losses}.",
    )


@styled
def push(lead):
    """What the loss does to five words when the right one leads by so much."""
    logits = np.array([lead / 2, -lead / 2, 0, 0, 0])
    loss, p, dz = _loss_and_push(logits)
    places = np.arange(len(WORDS))

    bars = axes(_belief(lead), ylabel="p", ylim=(0, 1.12))
    bars.bar(places, p, color=FORWARD)
    pushes = axes(_push_title(lead), ylabel="p - y", ylim=(-1.25, 1.25))
    pushes.bar(places, dz, color=BACKWARD)
    pushes.axhline(0, **ROLES["reference"])
    for panel, values in ((bars, p), (pushes, dz)):
        panel.set_xticks(places, WORDS)
        panel.get_xticklabels()[0].set_fontweight("bold")
        for place, value in zip(places, values, strict=True):
            up = value >= 0
            panel.text(
                place,
                value + (0.03 if up else -0.05),
                f"{value:.2f}".replace("-0.00", "0.00"),
                ha="center",
                va="bottom" if up else "top",
                fontsize=9,
            )

    curve = axes(
        "The loss grows, the push does not",
        xlabel="lead of the right word",
        ylabel="size",
        yscale="log",
        ylim=(1e-5, 1e2),
        xlim=(-21, 21),
    )
    leads = np.linspace(-20, 20, 161)
    along = [_loss_and_push(np.array([x / 2, -x / 2, 0, 0, 0])) for x in leads]
    sizes = [np.linalg.norm(dz) for _, _, dz in along]
    curve.plot(leads, [loss for loss, _, _ in along], **ROLES["forward"], label="loss")
    curve.plot(leads, sizes, **ROLES["backward"], label="norm of p - y")
    size = np.linalg.norm(dz)
    curve.plot([lead], [loss], "o", color=FORWARD, markersize=8)
    curve.plot([lead], [size], "s", color=BACKWARD, markersize=8)
    curve.legend(loc="lower left")

    return Picture(
        bars,
        pushes,
        curve,
        alt=f"The right word, mat, leads by {lead}: its probability is {p[0]:.2g}, that "
        f"of hat {p[1]:.2g}. The push is {dz[0]:.2g} on mat and {dz[1]:.2g} on hat; its "
        f"norm is {size:.2g}, the loss {loss:.2g}.",
        caption=f"The right word leads by {lead}: loss {loss:.2g}, norm of the push "
        f"{size:.2g}. A step goes against p - y: where the bar points down, the word "
        "rises.",
    )


def in_two_steps(logits, target, guard=0.0):
    """The gradient by way of the probabilities: first -y / p, then softmax's."""
    p = probabilities(logits.copy())
    y = np.eye(p.size, dtype=p.dtype)[target]
    dp = -y / (p + p.dtype.type(guard))
    return p * (dp - np.sum(p * dp))


@styled
def apart(dtype=np.float32, guard=1e-9):
    """Which push the right answer gets when softmax and logarithm are kept apart."""
    leads = np.arange(-120, 121).astype(dtype)
    pair = [np.array([lead, 0], dtype) for lead in leads]
    with np.errstate(all="ignore"):
        collapsed = [
            cross_entropy.backward(1.0, cross_entropy.forward(z, 0)[1])[0] for z in pair
        ]
        plain = np.array([in_two_steps(z, 0)[0] for z in pair])
        guarded = np.array([in_two_steps(z, 0, guard)[0] for z in pair])

    curve = axes(
        "Dead, infinite or not a number",
        width=6.6,
        xlabel="lead of the right answer",
        ylabel="its push",
        ylim=(-1.15, 0.32),
        xlim=(-125, 125),
    )
    curve.plot(leads, collapsed, **ROLES["backward"], label="p - y")
    curve.plot(leads, plain, **ROLES["wrong"], label="in two steps")
    curve.plot(
        leads, guarded, color=MUTED, ls="-.", label=f"in two steps, p + {guard:g}"
    )
    ends = {}
    for name, bad in (("inf", np.isinf(plain)), ("nan", np.isnan(plain))):
        for side in (leads < 0, leads > 0):
            there = leads[bad & side]
            if there.size:
                curve.axvspan(there[0], there[-1], color=WRONG, alpha=0.15, lw=0)
                curve.text(there.mean(), 0.1, name, ha="center", color=WRONG)
                ends[name, bool(there[0] > 0)] = np.abs(there).min()
    curve.legend(loc="lower right", bbox_to_anchor=(0.9, 0.1))

    half = leads[np.argmin(np.abs(guarded + 0.5))]
    name = np.dtype(dtype).name
    return Picture(
        curve,
        alt=f"In {name} the push through 1/p is inf from {ends['inf', False]:.0f} "
        f"behind and nan from {ends['nan', False]:.0f} behind and "
        f"{ends['nan', True]:.0f} ahead; with the guard it has fallen to a half at "
        f"{-half:.0f} behind. The collapsed push is -1 all the way.",
        caption=f"One rival, {name}. The guard removes inf and nan, and the push with "
        f"them: {-half:.0f} behind it is down to a half.",
    )


def _ratio_title(positions):
    if positions == 1:
        return "One position hides everything"
    return f"Every entry is {positions} times off"


def _ratios(name, positions):
    """Wrong over right gradient of both tables, wherever the right one is not zero."""
    params = bigram.init()
    _, caches = bigram.forward(
        params, *bigram.window(positions, np.random.default_rng(1))
    )
    right = _flat(bigram.backward(caches))
    with _mistake(name):
        wrong = _flat(bigram.backward(caches))
    return wrong[right != 0] / right[right != 0]


def _run(name, optimizer, positions):
    with _mistake(name):
        losses, _ = bigram.train(optimizer, positions)
    return losses


def _mistake(name):
    wrong, _ = DIVISORS[name]
    return mistakes.get("cross_entropy", wrong).injected() if wrong else nullcontext()


def _flat(gradients):
    return np.concatenate([each.ravel() for each in gradients.values()])


def _run_title(optimizer, positions, final):
    if positions == 1:
        return f"{optimizer}: three runs, one curve"
    if np.ptp(list(final.values())) < 1e-3:
        return f"{optimizer} notices neither"
    if not final["not divided"] < 2.5:
        return f"{optimizer}: off the chart, or stuck"
    return f"{optimizer}: restless, or slow"


def _loss_and_push(logits):
    loss, cache = cross_entropy.forward(logits, 0)
    return loss, cache.p, cross_entropy.backward(1.0, cache)


def _belief(lead):
    if abs(lead) <= 2:
        return "Unsure"
    return f"Sure, and {'right' if lead > 0 else 'wrong'}"


def _push_title(lead):
    if lead < -2:
        return "mat is pulled up, hat pushed down"
    if lead <= 2:
        return "mat is pulled up at all their cost"
    return "Hardly any push is left"
