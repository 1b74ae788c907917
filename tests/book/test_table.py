"""Tables and sources read the same in every form."""

from backhand import mistakes
from backhand.book import Source, Table, catalogue
from backhand.ops import cross_entropy, embedding, linear, rms_norm


def test_a_table_is_text_and_html_with_the_same_cells():
    bundle = Table(["op", "error"], [["a<b", "1e-9"]], "All agree")._repr_mimebundle_()
    for cell in ("All agree", "op", "error", "1e-9"):
        assert cell in bundle["text/plain"] and cell in bundle["text/html"]
    assert "a&lt;b" in bundle["text/html"]


def test_a_table_too_wide_for_a_phone_stacks_its_cells_under_their_columns_names():
    wide = Table(["op", "what <you> see"], [["a", "x" * 40], ["b", "y"]], "")
    html = wide._repr_mimebundle_()["text/html"]
    assert "bh-stacks" in html
    assert html.count('<td data-label="op"') == 2
    assert html.count('<td data-label="what &lt;you&gt; see"') == 2
    narrow = Table(["op", "error"], [["a", "1e-9"]], "")._repr_mimebundle_()
    assert "bh-stacks" not in narrow["text/html"]


def test_a_source_is_the_package_s_own_code_without_the_long_docstring():
    code = Source(rms_norm.backward)._repr_mimebundle_()["text/markdown"]
    assert code.startswith("```python\ndef backward(dy, cache):")
    assert "return" in code and "Parameters" not in code


def without_docstring(x):
    y = max(
        x,
        0,
    )
    return y


def test_a_function_without_a_docstring_is_shown_whole():
    code = Source(without_docstring)._repr_mimebundle_()["text/markdown"]
    assert "        x,\n        0,\n    )\n    return y" in code


def test_checks_of_arguments_are_cut_to_a_comment():
    code = Source(rms_norm.forward)._repr_mimebundle_()["text/markdown"]
    assert (
        '    """Scale each row of x to unit root mean square, then by gain."""\n'
        "    # x, gain, eps: checked\n"
        "    rms = np.sqrt("
    ) in code


def test_what_is_no_check_of_an_argument_stays():
    for op, kept in [
        (embedding, "return table[tokens], Cache(tokens, table)"),
        (linear, 'y += float_array("b", b'),
        (cross_entropy, "# logits: checked\n    *leading, n = logits.shape\n    # targets"),
    ]:
        assert kept in Source(op.forward)._repr_mimebundle_()["text/markdown"]


def test_the_catalogue_lists_every_mistake_of_an_op():
    names = [name for name, *_ in catalogue("softmax").rows]
    assert names == [each.name.replace("-", " ") for each in mistakes.of("softmax")]
