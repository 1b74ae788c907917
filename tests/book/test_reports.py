"""Findings lead to chapters that exist, and to no others."""

import pytest

from backhand.book.reports import links
from backhand.reference import CHAPTER_OF_KIND


@pytest.fixture
def book(tmp_path, monkeypatch):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "softmax.ipynb").touch()
    monkeypatch.chdir(tmp_path / "chapters")


def test_a_running_notebook_leads_to_notebooks(book, monkeypatch):
    monkeypatch.delenv("BACKHAND_FRAMES", raising=False)
    assert links()["nonfinite"] == "../chapters/softmax.ipynb"


def test_the_site_leads_to_its_pages(book, monkeypatch):
    monkeypatch.setenv("BACKHAND_FRAMES", "all")
    assert links()["nonfinite"] == "../chapters/softmax.html"


def test_a_kind_whose_chapter_is_missing_has_no_link(book):
    assert CHAPTER_OF_KIND["kink"] == "relu"
    assert "kink" not in links()
