"""What `make notebooks` keeps and what it drops."""

import nbformat.v4 as nb
import pytest
from notebooks import METADATA, normalise, serialise


def notebook(*outputs, **cell):
    cell = nb.new_code_cell("1 + 1", outputs=list(outputs), execution_count=7, **cell)
    return nb.new_notebook(cells=[nb.new_markdown_cell("# Title"), cell])


def shown(**data):
    return nb.new_output("display_data", {k.replace("_", "/"): v for k, v in data.items()})


def test_text_and_latex_are_kept():
    before = notebook(
        nb.new_output("stream", name="stdout", text="printed\n"),
        shown(text_plain="x**2", text_latex="$x^2$"),
    )
    assert normalise(before).cells[1].outputs == before.cells[1].outputs


def test_what_is_printed_is_one_output_in_however_many_pieces_it_came():
    pieces = [nb.new_output("stream", name="stdout", text=t) for t in ("one\n", "two\n")]
    (printed,) = normalise(notebook(*pieces)).cells[1].outputs
    assert printed.text == "one\ntwo\n"


@pytest.mark.parametrize("kind", ["image/png", "image/svg+xml", "text/html"])
def test_pictures_are_dropped_and_their_words_kept(kind):
    output = nb.new_output("display_data", {kind: "drawing", "text/plain": "words"})
    (kept,) = normalise(notebook(output)).cells[1].outputs
    assert kept.data == {"text/plain": "words"}


def test_an_output_with_nothing_to_keep_is_dropped():
    output = nb.new_output("display_data", {"image/png": "drawing"})
    assert normalise(notebook(output)).cells[1].outputs == []


def test_widget_state_and_the_editors_metadata_are_dropped():
    before = notebook(metadata={"tags": ["hide-input"], "collapsed": True})
    before.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {}}
    after = normalise(before)
    assert after.metadata == METADATA
    assert after.cells[1].metadata == {"tags": ["hide-input"]}


def test_execution_counts_are_in_order():
    result = nb.new_output("execute_result", {"text/plain": "2"}, execution_count=7)
    cell = normalise(notebook(result)).cells[1]
    assert cell.execution_count == cell.outputs[0].execution_count == 1


def test_normalising_twice_changes_nothing():
    output = nb.new_output("display_data", {"image/png": "drawing", "text/plain": "x"})
    once = serialise(normalise(notebook(output)))
    assert serialise(normalise(nb.reads(once))) == once
