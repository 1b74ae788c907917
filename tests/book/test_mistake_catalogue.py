"""The page of mistakes shows all of them, and what was measured of each."""

import pytest

from backhand import mistakes
from backhand.book import mistake_catalogue
from backhand.book.mistake_catalogue import Section, checks, facts, markdown
from backhand.reference import ROWS


def test_the_sections_hold_every_mistake_once():
    headings = dict.fromkeys(row.section for row in ROWS)
    shown = [m for h in headings for row in Section(h).rows for m in row.mistakes]
    assert len(shown) == len(set(shown)) and set(shown) == set(mistakes.CATALOGUE)


def test_each_check_is_counted_over_what_it_can_check():
    (_, *backhand), *others = checks().rows
    noticed, passed = map(int, backhand)
    checked = [m for m in mistakes.CATALOGUE if hasattr(m, "check")]
    assert noticed + passed == len(checked)
    assert all(int(n) + int(p) <= len(checked) for _, n, p in others)


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
