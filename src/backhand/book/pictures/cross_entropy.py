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
RATES = {SGD: 0.3, Adam: 0.03}

# What happens to the divisor: the mistake of the catalogue, and how it is drawn.
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
    ratio = _ratio_panel(positions)
    panels, losses = zip(*(_training_panel(each, positions) for each in RATES))

    rate = RATES[SGD]
    rates = (
        f"{positions} positions: not divided, SGD at {rate:g} is SGD at "
        f"{rate * positions:.3g}; divided twice, at {rate / positions:.2g}."
        if positions > 1
        else "One position: the divisor is 1, and nothing can go wrong with it."
    )
    words = (
        f"{rates} Loss after 60 steps, {' / '.join(DIVISORS)}: SGD "
        f"{' / '.join(losses[0])}, Adam {' / '.join(losses[1])}."
    )
    return Picture(
        ratio, *panels, alt=f"{ratio.get_title('left')}. {words}", caption=words
    )


def _ratio_panel(positions):
    panel = axes(
        f"Every entry is {positions} times off"
        if positions > 1
        else "One position hides everything",
        xlabel="positions",
        ylabel="wrong / right gradient",
        xscale="log",
        yscale="log",
        ylim=(1e-3, 1e3),
    )
    panel.axhline(1, **ROLES["reference"])
    panel.text(1.3, 60, "not divided", color=WRONG, fontsize=9)
    panel.text(1.3, 1 / 130, "divided twice", fontsize=9)
    for name, power in (("not divided", 1), ("divided twice", -1)):
        look = DIVISORS[name][1]
        panel.plot(POSITIONS, np.power(POSITIONS, float(power)), **look)
        ratios = gradient_ratios(name, positions)
        ends = [ratios.min(), ratios.max()]
        panel.plot([positions] * 2, ends, "o", color=look["color"], markersize=8)
    return panel


def _training_panel(optimizer, positions):
    """Three training runs, and the loss after each as text."""
    runs = {
        name: training_run(name, optimizer(RATES[optimizer]), positions)
        for name in DIVISORS
    }
    panel = axes(
        f"{optimizer.__name__} {_verdict(runs)}",
        xlabel="step",
        ylabel="loss",
        ylim=(0.6, 2.8),
    )
    panel.axhline(bigram.BEST_LOSS, **ROLES["reference"])
    panel.text(0, bigram.BEST_LOSS - 0.02, "best possible", fontsize=9, va="top")
    for name, run in runs.items():
        panel.plot(run, label=name, **DIVISORS[name][1])
    panel.legend(loc="upper right")
    return panel, [f"{run[-1]:.3g}" for run in runs.values()]


def _verdict(runs):
    once, undivided, _ = runs.values()
    if np.ptp(list(runs.values()), axis=0).max() < 1e-3:
        return "sees no difference"
    if not undivided[-1] < once[0]:  # worse than before training
        return "blows up, or crawls"
    return "jitters, or slows down"


def gradient_ratios(name, positions):
    """Wrong over right gradient, entry by entry, where the right one is not zero."""
    window = bigram.window(positions, np.random.default_rng(1))
    _, caches = bigram.forward(bigram.init(), *window)
    right = _flat(bigram.backward(caches))
    with _mistake(name):
        wrong = _flat(bigram.backward(caches))
    return wrong[right != 0] / right[right != 0]


def training_run(name, optimizer, positions):
    """The losses of a run that treats the divisor as one of `DIVISORS` does."""
    with _mistake(name):
        losses, _ = bigram.train(optimizer, positions)
    return losses


def _mistake(name):
    wrong, _ = DIVISORS[name]
    return mistakes.get("cross_entropy", wrong).injected() if wrong else nullcontext()


def _flat(gradients):
    return np.concatenate([each.ravel() for each in gradients.values()])


@styled
def push(lead):
    """What the loss does to five words when the right one leads by so much."""
    loss, p, dz = _loss_and_push(lead)
    size = np.linalg.norm(dz)
    places = np.arange(len(WORDS))

    bars = axes(_push_title(lead), ylabel="probability and push", ylim=(-1.25, 1.25))
    bars.bar(places - 0.2, p, 0.36, color=FORWARD, label="p")
    bars.bar(places + 0.2, dz, 0.36, color=BACKWARD, label="p - y", hatch="///", ec="w")
    bars.axhline(0, **ROLES["reference"])
    bars.set_xticks(places, WORDS)
    bars.get_xticklabels()[0].set_fontweight("bold")
    bars.legend(loc="lower right")

    curve = axes(
        "Loss grows, the push levels off",
        xlabel="lead of the right word",
        ylabel="size",
        yscale="log",
        ylim=(1e-5, 1e2),
    )
    leads = np.linspace(-20, 20, 81)
    losses, _, pushes = zip(*map(_loss_and_push, leads))
    sizes = np.linalg.norm(pushes, axis=1)
    curve.plot(leads, losses, **ROLES["forward"], label="loss")
    curve.plot(leads, sizes, **ROLES["backward"], label="norm of p - y")
    curve.plot([lead], [loss], "o", color=FORWARD, markersize=8)
    curve.plot([lead], [size], "s", color=BACKWARD, markersize=8)
    curve.legend(loc="lower left")

    return Picture(
        bars,
        curve,
        alt=f"The right word, mat, leads by {lead}: its probability is {p[0]:.2g}, that "
        f"of hat {p[1]:.2g}. The push is {dz[0]:.2g} on mat and {dz[1]:.2g} on hat; its "
        f"norm is {size:.2g}, the loss {loss:.2g}.",
        caption=f"The right word leads by {lead}: loss {loss:.2g}, norm of the push "
        f"{size:.2g}. A step goes against p - y: where the orange bar points down, the "
        "word rises.",
    )


def _loss_and_push(lead):
    logits = np.array([lead / 2, -lead / 2, 0, 0, 0])
    loss, cache = cross_entropy.forward(logits, 0)
    return loss, cache.p, cross_entropy.backward(1.0, cache)


def _push_title(lead):
    if lead < -2:
        return "Wrong, sure: one up, one down"
    if lead <= 2:
        return "Unsure: one up, all others down"
    return "Right, sure: hardly a push"


def in_two_steps(logits, target, guard=0.0):
    """The gradient by way of p: -y / p, then softmax's backward pass."""
    p = probabilities(logits.copy())
    y = np.eye(p.size, dtype=p.dtype)[target]
    dp = -y / (p + p.dtype.type(guard))
    return p * (dp - np.sum(p * dp))


@styled
def apart(guard=1e-9):
    """The push on the right of two answers when softmax and logarithm stay apart."""
    single, behind, ahead, half = _apart_panel(np.float32, 120, guard)
    half_precision, behind16, ahead16, _ = _apart_panel(np.float16, 30, guard)
    single.set_title("float32: nan, or no push at all")
    half_precision.set_title("float16: the guard rounds to 0")
    return Picture(
        single,
        half_precision,
        alt=f"Through 1/p the push is not a number where the right answer lies more "
        f"than {behind:.1f} behind or {ahead:.1f} ahead in float32, {behind16:.1f} and "
        f"{ahead16:.1f} in float16. A guard of {guard:g} keeps it finite in float32, but "
        f"at {half:.1f} behind it has fallen to a half, and then to nothing. p - y "
        "stays at -1.",
        caption=f"Through 1/p float32 loses the push at {behind:.1f} behind, float16 at "
        f"{behind16:.1f}. With p + {guard:g} float32 has no nan, but at {half:.1f} "
        "behind half of the push is gone, and soon all of it.",
    )


def _apart_panel(dtype, reach, guard):
    """The panel; how far behind and ahead 1/p works; where the guard halves it."""
    leads = np.linspace(-reach, reach, 961, dtype=dtype)
    pairs = [np.array([lead, 0], dtype) for lead in leads]
    collapsed = [probabilities(pair.copy())[0] - 1 for pair in pairs]
    with np.errstate(all="ignore"):
        plain = np.array([in_two_steps(pair, 0)[0] for pair in pairs])
        guarded = np.array([in_two_steps(pair, 0, guard)[0] for pair in pairs])

    panel = axes(
        "",
        xlabel="lead of the right answer",
        ylabel="its push",
        xlim=(-reach, reach),
        ylim=(-1.2, 0.25),
    )
    panel.plot(leads, collapsed, **ROLES["backward"], label="p - y")
    panel.plot(leads, plain, **ROLES["wrong"], label="through 1/p")
    panel.plot(leads, guarded, color=MUTED, linestyle="-.", label="guarded")
    behind, ahead = leads[np.isfinite(plain)][[0, -1]]
    for start, end in ((-reach, behind), (ahead, reach)):
        panel.axvspan(start, end, color=WRONG, alpha=0.15, linewidth=0)
        panel.text((start + end) / 2, 0.08, "nan", ha="center", color=WRONG)
    panel.legend(loc="center right", bbox_to_anchor=(1, 0.4))
    return panel, -behind, ahead, -leads[np.argmax(guarded < -0.5)]
