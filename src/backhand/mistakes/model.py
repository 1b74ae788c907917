"""Mistakes that only a whole transformer can have: a table used twice."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .. import transformer
from ..check import check_loss
from .design import Design
from .mistake import Mistake, hyphenated, swapped


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WrongModel(Mistake):
    """A wrong backward pass of the transformer. A design builds tokens and targets.

    Parameters
    ----------
    backward : callable
        ``backward(cache)`` returns a dict of gradients, some of them wrong.
    """

    backward: Callable

    checked_by = "check_loss"

    @property
    def wrong_code(self):
        return self.backward

    def check(self):
        """Report of `check_loss` on the example, with parameters of float64."""
        config, params = settings(self.shown_by)
        batch = self.example()

        def loss(params):
            return transformer.forward(params, *batch, config)[0]

        def grads(params):
            return self.backward(transformer.forward(params, *batch, config)[1])

        return check_loss(loss, grads, params)

    def is_caught(self):
        """Whether `check_loss` finds that some gradient is wrong."""
        return self.check().verdict == "disagree"

    def injected(self):
        """A context in which the transformer has this mistake."""
        return swapped(transformer, "backward", self.backward)

    def right_results(self, design):
        return results(transformer.backward, design)

    def wrong_results(self, design):
        return results(self.backward, design)


def settings(design):
    """The design's Config, and parameters for it."""
    config = design.options["config"]
    return config, transformer.init(config, seed=0, dtype=np.float64)


def results(backward, design):
    """The gradients of all parameters, in the order of their names."""
    config, params = settings(design)
    _, cache = transformer.forward(params, *design.inputs(), config)
    gradients = backward(cache)
    return tuple(gradients[name] for name in sorted(params))


def wrong_model(kind, **what):
    """Decorate a wrong ``backward(cache)`` of the transformer."""

    def declare(backward):
        name = hyphenated(backward.__name__)
        return WrongModel(
            name=name, op=transformer, kind=kind, backward=backward, **what
        )

    return declare


def window(rng):
    """Tokens and the tokens that follow them."""
    text = rng.integers(7, size=6)
    return text[:-1], text[1:]


SMALL = transformer.Config(vocab=7, context=8, width=4, layers=1, heads=2, hidden=5)
TIED = Design("a tied table", window, options={"config": SMALL})
UNTIED = Design(
    "a table of its own for the readout",
    window,
    options={"config": replace(SMALL, tied=False)},
)


def uses_apart(cache):
    """The gradients with those of the table's two uses kept apart."""
    return transformer.backward(
        cache._replace(config=replace(cache.config, tied=False))
    )


@wrong_model(
    "not_accumulated",
    symptom="The table learns as a readout and not as an input.",
    shown_by=TIED,
    hidden_by=[UNTIED],
    obscured=True,
)
def table_as_readout_only(cache):
    grads = uses_apart(cache)
    if cache.config.tied:
        grads["embedding"] = grads.pop("unembedding")  # +=
    return grads


@wrong_model(
    "not_accumulated",
    symptom="The table learns as an input and not as a readout; rows of tokens that "
    "are absent from the window never learn that they are.",
    shown_by=TIED,
    hidden_by=[UNTIED],
    obscured=True,
)
def table_as_input_only(cache):
    grads = uses_apart(cache)
    if cache.config.tied:
        del grads["unembedding"]  # grads["embedding"] += ...
    return grads


@wrong_model(
    "double_count",
    symptom="The rows of the window's own tokens are pushed about twice as hard as the "
    "others.",
    shown_by=TIED,
    hidden_by=[UNTIED],
    obscured=True,
)
def input_counted_twice(cache):
    grads = transformer.backward(cache)
    if cache.config.tied:
        grads["embedding"] += uses_apart(cache)["embedding"]  # it is in there already
    return grads


@wrong_model(
    "dropped_path",
    symptom="The position table stays as it was drawn; word order is learnt late or "
    "never.",
    shown_by=Design(
        "learned positions",
        window,
        options={"config": replace(SMALL, positions="learned")},
    ),
    hidden_by=[TIED],
)
def positions_forgotten(cache):
    grads = transformer.backward(cache)
    if cache.config.positions == "learned":
        grads["positions"] = np.zeros_like(grads["positions"])  # x = row + position
    return grads
