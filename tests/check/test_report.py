"""The report: as data, for a terminal, for a page."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from backhand.check import Finding, Op, Report, Row, check_gradients, check_loss

X = np.random.default_rng(0).normal(size=(3, 4))


def report_of(backward, *inputs, f=lambda x, w: x * w):
    return check_gradients(Op.plain(f, backward), *(inputs or (X, X + 1)))


RIGHT = report_of(lambda dy, x, w: (dy * w, dy * x))
WRONG = report_of(lambda dy, x, w: (3 * dy * w, dy * x))
SHAPE = report_of(lambda dy, b: dy, np.ones(4), f=lambda b: X + b)
REPORTS = pytest.mark.parametrize("report", [RIGHT, WRONG, SHAPE])


def test_the_worst_verdict_of_a_row_is_that_of_the_report():
    assert [RIGHT.verdict, WRONG.verdict, SHAPE.verdict] == ["agree"] + 2 * ["disagree"]
    assert RIGHT.agrees and not WRONG.agrees


def test_a_row_is_found_by_its_name():
    assert WRONG.row("w").verdict == "agree"
    with pytest.raises(KeyError, match="no input 'v'; the report has x, w"):
        WRONG.row("v")


def test_a_row_that_agrees_has_nothing_to_note():
    assert {row.note for row in RIGHT.rows} == {""}


def test_a_row_can_be_unpacked():
    name, verdict, error, index, analytic, numeric, ratio, note = WRONG.rows[0]
    assert (name, verdict, note) == ("x", "disagree", "12 of 12 entries off")
    assert ratio == pytest.approx(analytic / numeric) == pytest.approx(3)
    assert error == pytest.approx(2 / 3) and len(index) == 2


def test_the_text_says_what_is_wrong_first():
    assert str(WRONG).splitlines()[0] == "disagree: wrong: x; right: w"
    assert str(RIGHT).splitlines()[0] == "agree: right: x, w"


def test_the_text_gives_the_evidence_in_numbers_and_something_to_try():
    text = " ".join(str(WRONG).split())
    assert (
        "1. constant_factor in x analytic = 3.000 × numeric in all 12 entries" in text
    )
    assert "3 is the length of axis 0 of x" in text
    assert "-> Look for a scale" in text


def test_numbers_stand_to_the_right_and_words_to_the_left():
    rows = [
        Row("x", "disagree", 0.5, (1, 20), -12.5, 25.0, -0.5, "1 of 40 entries off"),
        Row("gain", "agree", 1e-10, (3,), 1.0, 1.0, 1.0),
    ]
    finding = Finding("sign_flip", "x", "one thing", "another")
    assert str(Report(rows, [finding], "disagree")) == (
        "disagree: wrong: x; right: gain\n"
        "\n"
        "input  verdict     error  at       analytic  numeric  ratio\n"
        "x      disagree  5.0e-01  (1, 20)     -12.5       25   -0.5\n"
        "  1 of 40 entries off\n"
        "gain   agree     1.0e-10  (3,)            1        1      1\n"
        "\n"
        "1. sign_flip in x\n"
        "   one thing\n"
        "   -> another"
    )


def test_a_table_that_is_too_wide_puts_names_and_places_on_lines_of_their_own():
    rows = [
        Row("blocks.0.attention_norm.gain", "agree", 1e-10, (3,), 1.5, 1.5, 1.0),
        Row("b", "inconclusive", 0.5, None, -1.23456e-100, 1e-5, 123.0, "along a line"),
    ]
    assert str(Report(rows, [], "inconclusive")).splitlines()[2:] == [
        "  verdict         error       analytic  numeric  ratio",
        "blocks.0.attention_norm.gain  (3,)",
        "  agree         1.0e-10            1.5      1.5      1",
        "b",
        "  inconclusive  5.0e-01  -1.23456e-100    1e-05    123",
        "  along a line",
    ]


@REPORTS
def test_the_text_fits_72_columns(report):
    assert max(map(len, str(report).splitlines())) <= 72


def test_long_names_fit_as_well():
    params = {
        f"blocks.{i}.attention_norm.gain": np.full((3, 4, 2), 1.5) for i in (0, 11)
    }
    report = check_loss(
        lambda p: sum(np.sum(v**3) for v in p.values()),
        lambda p: {n: v for n, v in p.items()},
        params,
    )
    text = str(report)
    assert max(map(len, text.splitlines())) <= 72
    assert all(f"\n{name}  (" in text for name in params)


def test_a_broken_rule_is_named_where_every_number_is_right():
    def backward(dy, x, w):
        dx, dw = dy * w, dy * x
        dy *= 0
        return dx, dw

    first = str(report_of(backward)).splitlines()[0]
    assert first == "disagree: right: x, w; but inplace_mutation in dy"


def test_its_repr_is_one_line():
    assert repr(WRONG) == "<Report: disagree, constant_factor in x>"


def test_nothing_to_compare_is_said():
    assert "nothing could be compared" in str(Report([], [], "inconclusive"))


# ---------------------------------------------------------------------------- HTML


class Outline(HTMLParser):
    """Tags with their attributes, checked to be closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@REPORTS
def test_the_html_is_well_formed_and_asks_for_nothing_from_elsewhere(report):
    outline = Outline(report.to_html())
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in outline.tags}
    assert "url(" not in report.to_html() and "http" not in report.to_html()


@REPORTS
def test_the_table_can_be_read_by_ear(report):
    outline = Outline(report.to_html())
    assert len(outline.of("caption")) == 1
    assert [th["scope"] for th in outline.of("th")] == ["col"] * 7 + ["row"] * len(
        report.rows
    )
    group = next(a for a in outline.of("div") if a.get("role") == "group")
    assert group["tabindex"] == "0" and group["aria-label"]


@REPORTS
def test_the_html_says_all_that_the_text_says(report):
    words = " ".join(" ".join(Outline(report.to_html()).words).split())
    for finding in report.findings:
        assert finding.evidence in words and finding.advice in words
    for row in report.rows:
        assert row.name in words and row.verdict in words and row.note in words


def test_its_colours_are_the_pages():
    style = re.search("<style>(.*?)</style>", RIGHT.to_html(), re.S).group(1)
    assert "currentColor" in style
    for colour in re.findall(r"#[0-9a-f]+", style):  # only as a fallback of a variable
        assert f", {colour})" in style
    assert "background" not in style


def test_the_verdict_does_not_hang_on_colour():
    assert "✗" in WRONG.to_html() and "✓" in RIGHT.to_html()


def test_what_comes_from_the_caller_is_escaped():
    row = Row("<x>", "agree", 0.0, None, 1.0, 1.0, 1.0)
    html = Report([row], [Finding("kink", "<x>", "a < b", "b & c")], "agree").to_html()
    assert "<x>" not in html and "&lt;x&gt;" in html and "a &lt; b" in html


def test_a_kind_can_be_a_link():
    html = WRONG.to_html(links={"constant_factor": "chapters/cross-entropy.html"})
    assert '<a href="chapters/cross-entropy.html">constant factor</a>' in html
    assert "<a" not in WRONG.to_html()


def test_a_notebook_shows_the_html():
    assert WRONG._repr_html_() == WRONG.to_html()
