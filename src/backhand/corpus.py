"""A real text that every reader has: the Zen of Python, from the standard library."""

import codecs
import io
from contextlib import redirect_stdout

import numpy as np


def zen():
    """The text that ``import this`` prints, without printing it."""
    with redirect_stdout(io.StringIO()):
        from this import s
    return codecs.decode(s, "rot13")


def encode(symbols):
    """Number the symbols of a text.

    Parameters
    ----------
    symbols : str, or sequence of str
        Characters or words.

    Returns
    -------
    tokens : (T,) array of integers
        For each symbol its place in the vocabulary.
    vocabulary : (V,) array of str
        The symbols that occur, sorted.

    Examples
    --------
    >>> tokens, vocabulary = encode("banana")
    >>> tokens
    array([1, 0, 2, 0, 2, 0])
    >>> "".join(vocabulary)
    'abn'
    """
    vocabulary, tokens = np.unique(list(symbols), return_inverse=True)
    return tokens, vocabulary
