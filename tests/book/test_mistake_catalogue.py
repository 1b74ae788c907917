"""The page of mistakes shows all of them, and what was measured of each."""

from dataclasses import replace

import numpy as np
import pytest

from backhand import mistakes
from backhand.book import mistake_catalogue
from backhand.book.mistake_catalogue import (
    SAID,
    Section,
    checks,
    facts,
    markdown,
    measured,
    reason,
    remainders,
    said,
)
from backhand.reference import ROWS


def test_the_sections_hold_every_mistake_once():
    headings = dict.fromkeys(row.section for row in ROWS)
    shown = [m for h in headings for row in Section(h).rows for m in row.mistakes]
    assert len(shown) == len(set(shown)) and set(shown) == set(mistakes.CATALOGUE)


def test_every_row_of_the_checks_adds_up_to_the_catalogue():
    for _, *counts, together in checks().rows:
        assert sum(map(int, counts)) == int(together) == len(mistakes.CATALOGUE)


def test_what_the_rows_leave_is_explained():
    explained = {}
    for check, what, count, _, _ in remainders().rows:
        explained[check, what] = explained.get((check, what), 0) + int(count)
    left = {check: map(int, counts) for check, _, *counts, _ in checks().rows}
    passed, unchecked = left["backhand"]
    assert explained["backhand", "let through"] == passed
    assert explained["any check of gradients", "nothing to check"] == unchecked
    _, ones_unchecked = left["dy of ones"]
    assert explained["dy of ones", "nothing to check"] == ones_unchecked - unchecked


LET_THROUGH = [m for m in mistakes.CATALOGUE if measured(m)["backhand"] is False]


@pytest.mark.parametrize("mistake", LET_THROUGH, ids=repr)
def test_the_reason_why_one_is_let_through_is_true(mistake):
    assert mistake.check().agrees
    right_in_64 = mistake.hides_behind(mistake.shown_by)
    double = replace(mistake.shown_by, dtype=np.float64)
    why = reason(mistake)
    if "wrong forward" in why:
        assert not mistake.hides_behind(double)
    elif "float32" in why:
        assert mistake.hides_behind(double)
        assert not mistake.hides_behind(replace(double, dtype=np.float32))
    else:
        assert "memory" in why and right_in_64


SOUGHT = {
    "loss is nan": "nonfinite",
    "trains slower": "constant_factor",
    "shapes don't match": "transpose",
    "loss goes up": "sign_flip",
    "doesn't learn": "dropped_path",
    "out of memory": "quadratic_memory",
}


@pytest.mark.parametrize("words", SOUGHT)
def test_a_mistake_is_found_by_the_readers_words_and_the_rest_is_not(words):
    found = [m for m in mistakes.CATALOGUE if all(w in said(m) for w in words.split())]
    assert SOUGHT[words] in {m.kind for m in found}
    assert len(found) < len(mistakes.CATALOGUE) / 3


def test_each_of_the_readers_words_leads_somewhere():
    for words in SAID:
        assert any(words in said(mistake) for mistake in mistakes.CATALOGUE), words


def test_a_mistake_that_a_weak_check_lets_through_says_so():
    known = facts(mistakes.get("softmax", "factor-p-left-out"))
    assert known["let through by"] == "dy of ones"
    assert known["the report says"] == "missing factor" and "noticed by" not in known


def test_a_mistake_with_a_right_gradient_says_what_notices_it():
    known = facts(mistakes.get("attention", "mask-one-too-far"))
    assert known["noticed by"] == "a comparison with the right output"
    assert "the report says" not in known


def test_what_is_shown_is_measured(monkeypatch):
    mistake = mistakes.get("attention", "mask-one-too-far")
    seeing = dict.fromkeys(mistakes.CHECKERS, True)
    monkeypatch.setattr(mistake_catalogue, "measured", lambda mistake: seeing)
    assert "let through by" not in facts(mistake)
    assert facts(mistake)["the report says"] == "that it is wrong"


@pytest.mark.parametrize("mistake", mistakes.CATALOGUE, ids=repr)
def test_the_code_of_a_mistake_is_shown_and_can_be_linked_to(mistake):
    page = markdown(mistake)
    assert f"-{mistake.name}\"" in page and mistake.source.strip() in page
