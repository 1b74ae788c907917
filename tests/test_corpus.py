"""The text that every reader has."""

import sys

import numpy as np

from backhand.corpus import encode, zen


def test_the_zen_is_read_without_being_printed(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "this", raising=False)
    assert "Beautiful is better than ugly." in zen()
    assert capsys.readouterr().out == ""


def test_tokens_spell_the_text():
    tokens, vocabulary = encode(zen())
    assert "".join(vocabulary[tokens]) == zen()


def test_words_can_be_tokens_too():
    tokens, vocabulary = encode(["now", "is", "better", "than", "now"])
    np.testing.assert_array_equal(vocabulary[tokens[[0, -1]]], ["now", "now"])
    assert len(vocabulary) == 4
