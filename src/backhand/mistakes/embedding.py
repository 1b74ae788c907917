"""Mistakes in the embedding: a scatter that must add."""

import numpy as np

from ..check import Op
from ..ops import embedding
from ..ops._arguments import sum_leading
from .design import Design
from .mistake import wrong_backward


def lookups(tokens, vocabulary=6, width=3):
    """Return a `Design.build` of tokens and a table."""
    return lambda rng: (np.array(tokens), rng.normal(size=(vocabulary, width)))


REPEATS = Design("tokens that repeat", lookups([2, 0, 2, 5, 2, 0, 1]))
DISTINCT = Design("all tokens distinct", lookups([2, 0, 5, 1]))


@wrong_backward(
    embedding,
    "not_accumulated",
    symptom="A token that stands k times in the window gets one of k contributions; "
    "frequent tokens learn slowest.",
    shown_by=REPEATS,
    hidden_by=[DISTINCT],
)
def assigned(dy, cache):
    tokens, table = cache
    dtable = np.zeros_like(table)
    for index in np.ndindex(tokens.shape):
        dtable[tokens[index]] = dy[index]  # +=
    return dtable


@wrong_backward(
    embedding,
    "not_accumulated",
    symptom="Looks like accumulation, is assignment: NumPy reads the rows once, adds, "
    "and writes a repeated row back more than once.",
    shown_by=REPEATS,
    hidden_by=[DISTINCT],
)
def added_by_fancy_index(dy, cache):
    tokens, table = cache
    dtable = np.zeros_like(table)
    dtable[tokens] += dy  # np.add.at(dtable, tokens, dy)
    return dtable


@wrong_backward(
    embedding,
    "constant_factor",
    symptom="Rows learn the slower the longer the window, as the loss has averaged "
    "over it already.",
    shown_by=REPEATS,
    hidden_by=[Design("one token", lookups([2]))],
)
def averaged_over_the_window(dy, cache):
    tokens, table = cache
    dtable = np.zeros_like(table)
    np.add.at(dtable, tokens, dy / tokens.size)
    return dtable


@wrong_backward(
    embedding,
    "missing_mask",
    symptom="Rows of tokens that never appeared move too.",
    shown_by=REPEATS,
    hidden_by=[
        Design("a vocabulary of one", lookups([0, 0, 0], vocabulary=1)),
    ],
)
def every_row_receives(dy, cache):
    _, table = cache
    dtable = np.zeros_like(table)
    dtable += sum_leading(dy)  # dtable[token] += ...
    return dtable


@wrong_backward(
    embedding,
    "wrong_operand",
    symptom="The gradients are shifted against the tokens, as inputs are against "
    "targets: each row learns for its neighbour.",
    shown_by=REPEATS,
    hidden_by=[Design("one token over and over", lookups([2, 2, 2, 2]))],
)
def scattered_by_the_next_token(dy, cache):
    tokens, table = cache
    dtable = np.zeros_like(table)
    np.add.at(dtable, np.roll(tokens, -1, axis=-1), dy)  # targets for tokens
    return dtable


@wrong_backward(
    embedding,
    "wrong_shape",
    symptom="An error about shapes, unless the window is as long as the vocabulary: "
    "the gradient of the rows that were read is not that of the table.",
    shown_by=REPEATS,
    hidden_by=[Design("every token once and in order", lookups([0, 1, 2, 3, 4, 5]))],
)
def rows_for_the_table(dy, cache):
    return dy.copy()  # scatter them: np.add.at(dtable, tokens, dy)


def with_positions_forward(tokens, table, positions):
    """y_t = table[token_t] + positions[t]."""
    y, cache = embedding.forward(tokens, table)
    return y + positions, cache


def with_positions_backward(dy, cache):
    return embedding.backward(dy, cache), dy.copy()


WITH_POSITIONS = Op(with_positions_forward, with_positions_backward)


def tokens_and_positions(rng):
    return np.array([2, 0, 2, 5]), rng.normal(size=(6, 3)), rng.normal(size=(4, 3))


@wrong_backward(
    embedding,
    "dropped_path",
    right=WITH_POSITIONS,
    symptom="The position table stays as it was drawn; word order is learnt late or "
    "never.",
    shown_by=Design("tokens and positions", tokens_and_positions),
    hidden_by=[
        Design("a look at the token table only", tokens_and_positions, looks_at=(0,))
    ],
)
def position_table_forgotten(dy, cache):
    dtable = embedding.backward(dy, cache)
    return dtable, np.zeros_like(dy)  # y = table[token] + positions: dy goes to both
