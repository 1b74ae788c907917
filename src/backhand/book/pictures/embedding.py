"""Pictures of chapters/embedding: tokens that repeat, and a table with two uses."""

import re
from contextlib import nullcontext
from functools import cache

import numpy as np
from matplotlib.ticker import PercentFormatter

from ... import mistakes
from ...corpus import encode, zen
from ...optim import SGD, Adam
from .. import bigram, tied
from ..picture import Picture
from ..style import BACKWARD, MUTED, ROLES, WRONG, axes, styled

TOKENS, SYMBOLS = encode(zen())
TEXT = bigram.Pairs.of(TOKENS)
WORDS, _ = encode(re.findall(r"[a-z']+", zen().lower()))

# How often e stands in the opening of the text, up to as often as in all of it.
TIMES = [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 90]
STEPS, EVERY = 200, 10
RATES = {SGD: 1.0, Adam: 0.01}

ASSIGNED = mistakes.get("embedding", "assigned")
UNTRAINED = mistakes.get("unembedding", "nothing-passed-on")
RUNS = {
    "accumulated": (nullcontext, ROLES["forward"]),
    "assigned": (ASSIGNED.injected, ROLES["wrong"]),
    "left as drawn": (UNTRAINED.injected, ROLES["baseline"]),
}


def opening(times):
    """The text from its start, for as long as it holds so many times the letter e."""
    places = np.flatnonzero(SYMBOLS[TOKENS] == "e")
    end = places[times] if times < places.size else None
    return bigram.Pairs(TEXT.tokens[:end], TEXT.targets[:end])


def gradients(pairs):
    """The gradient of an untrained table: accumulated, and assigned instead."""
    _, caches = bigram.forward(bigram.init(vocab=TEXT.vocab), *pairs)
    right = bigram.backward(caches)
    with ASSIGNED.injected():
        wrong = bigram.backward(caches)
    return right["embedding"], wrong["embedding"]


def gain(wrong, right):
    """What a small step gains by a wrong gradient, in parts of what it should gain."""
    return np.sum(wrong * right) / np.sum(right * right)


def losses(positions, rule=SGD, seed=0):
    """The loss on all of the text, in each of RUNS, with so many positions a step."""
    return {run: _losses(run, positions, rule, seed) for run in RUNS}


@cache
def _losses(run, positions, rule, seed):
    mistake, _ = RUNS[run]
    with mistake():
        return bigram.train(rule(RATES[rule]), positions, STEPS, TEXT, EVERY, seed)[0]


def missed(runs):
    """What assignment gives away, in parts of what training the table brings."""
    right, wrong, untrained = (runs[run][-1] for run in RUNS)
    return (wrong - right) / (untrained - right)


@styled
def repeats(times):
    """Rows, what is left of the gradient, and training, when e stands so many times."""
    pairs = opening(times)
    positions, distinct = pairs.tokens.size, np.unique(pairs.tokens).size
    right, wrong = gradients(pairs)
    runs = losses(positions)

    lost = f"{positions - distinct} of {positions} contributions are"
    if positions == distinct:
        lost = "no contribution is"
    words = (
        f"The first {positions} characters hold e "
        f"{'once' if times == 1 else f'{times} times'}. If rows are assigned, {lost} "
        f"lost, and a small step gains {gain(wrong, right):.1%} of what it should. "
        f"Loss after {STEPS} steps of {positions} characters: "
        + ", ".join(f"{curve[-1]:.2f} {run}" for run, curve in runs.items())
        + "."
    )
    if positions == distinct:
        words += " Training draws its characters anywhere, and there some repeat."
    return Picture(
        _rows(pairs, right, wrong),
        _what_is_left(times),
        _training(runs),
        alt=words,
        caption=words,
    )


def _rows(pairs, right, wrong, shown=8):
    """The length of the gradient of the most frequent symbols' rows, both ways."""
    counts = np.bincount(pairs.tokens, minlength=TEXT.vocab)
    frequent = np.argsort(-np.bincount(TEXT.tokens), kind="stable")[:shown]
    places = np.flatnonzero(counts[frequent])
    seen = frequent[places]
    true, assigned = (np.linalg.norm(each[seen], axis=1) for each in (right, wrong))

    panel = axes(
        f"Rows shrink to {np.median(assigned / true):.0%}",
        xlabel="character, and how often it stands",
        ylabel="length of its row's gradient",
        yscale="log",
        ylim=(1.5e-4, 2),
        xlim=(-0.6, shown - 0.4),
    )
    if counts.max() == 1:
        panel.set_title("Every row is right")
    panel.vlines(places, assigned, true, color=MUTED, linewidth=1)
    panel.plot(places, true, "o", color=BACKWARD, ms=10, label="accumulated")
    panel.plot(places, assigned, "X", color=WRONG, ms=7, label="assigned")
    for place, top, token in zip(places, true, seen, strict=True):
        panel.text(place, 1.7 * top, counts[token], ha="center", fontsize=9)
    panel.set_xticks(
        range(shown), [SYMBOLS[token].replace(" ", "␣") for token in frequent]
    )
    panel.legend(loc="lower left", ncols=2, handletextpad=0.2)
    return panel


def _what_is_left(times):
    """How much of the whole gradient arrives, over how often e stands."""
    panel = axes(
        "What is left of the gradient",
        xlabel="times e stands",
        ylabel="share",
        xscale="log",
        ylim=(0, 1.08),
    )
    for share, style, label in (
        (_contributions_left, ROLES["reference"], "contributions"),
        (_gain_left, ROLES["wrong"], "gain of a step"),
    ):
        panel.plot(TIMES, [share(each) for each in TIMES], label=label, **style)
        panel.plot([times], [share(times)], "o", color=style["color"], ms=8)
    panel.set_xticks([1, 3, 10, 30, 90], [1, 3, 10, 30, 90])
    panel.yaxis.set_major_formatter(PercentFormatter(1))
    panel.legend()
    return panel


@cache
def _contributions_left(times):
    tokens = opening(times).tokens
    return np.unique(tokens).size / tokens.size


@cache
def _gain_left(times):
    right, wrong = gradients(opening(times))
    return gain(wrong, right)


def _training(runs):
    """The loss curves, and how much of what training the table brings is missed."""
    lost = missed(runs)
    panel = axes(
        f"{lost:.0%} of the learning is lost" if lost > 0.02 else "The curves hardly differ",
        xlabel="step",
        ylabel="loss",
        ylim=(1.7, 4.7),
    )
    panel.axhline(TEXT.best_loss, **ROLES["reference"])
    panel.text(0, TEXT.best_loss - 0.03, "best possible", fontsize=9, va="top")
    for run, curve in runs.items():
        panel.plot(np.arange(len(curve)) * EVERY, curve, label=run, **RUNS[run][1])
    panel.legend(loc="upper right")
    return panel


@cache
def runs_by_use():
    """The losses and cosines of training by both contributions, and by one."""
    return {uses: tied.train(TEXT, uses) for uses in tied.USES}


@styled
def two_uses():
    """Training a table by both of its contributions, and by one of them."""
    loss = axes(
        "Either half alone gets stuck", xlabel="step", ylabel="loss", ylim=(1.7, 4.7)
    )
    angle = axes(
        "Half a gradient loses its way",
        xlabel="step",
        ylabel="cosine with the gradient",
        ylim=(-0.4, 1.1),
    )
    runs = runs_by_use()
    for (uses, (curve, cosines)), style in zip(
        runs.items(), ("forward", "wrong", "baseline"), strict=True
    ):
        loss.plot(curve, label=uses, **ROLES[style])
        angle.plot(cosines, **ROLES[style])
    loss.axhline(TEXT.best_loss, **ROLES["reference"])
    loss.text(0, TEXT.best_loss - 0.03, "best possible", fontsize=9, va="top")
    loss.legend(loc="upper right")

    at_the_end = ", ".join(
        f"{uses} {curve[-1]:.1f}" for uses, (curve, _) in runs.items()
    )
    on_the_way = "; ".join(
        f"{uses} {cosines[0]:.1f} at first, {np.abs(cosines[200:]).mean():.1f} on average, "
        "signs aside, from step 200 on"
        for uses, (_, cosines) in list(runs.items())[1:]
    )
    words = (
        f"Loss after 600 steps: {at_the_end}; that of the input had been at "
        f"{runs['input'][0].min():.1f}. Cosine with the whole gradient: {on_the_way}."
    )
    return Picture(loss, angle, alt=words, caption=words)
