"""The reference is complete, and each of its rows points at things that exist."""

import inspect
import pkgutil
import re
from pathlib import Path

import pytest

from backhand import derive, mistakes, ops, optim, reference
from backhand.reference import CHAPTER_OF_KIND, CHAPTERS, ROWS

ROOT = Path(__file__).parents[1]
PROVED = [row for row in ROWS if row.claim]
EVERY_OP = [name for _, name, _ in pkgutil.iter_modules(ops.__path__) if name[0] != "_"]

# Every entry of the appendix of the companion texts, by the name of its row.
APPENDIX = {
    "A.1": ["sigmoid", "tanh", "relu", "leaky_relu", "silu", "gelu", "softmax"],
    "A.2": ["gelu"],
    "A.3": ["softmax", "cross_entropy"],
    "A.4": ["layer_norm", "rms_norm"],
    "A.5": ["linear", "attention"],
    "A.6": ["residual", "embedding", "transformer"],
    "A.7": ["sgd", "momentum", "adam"],
    "A.8": ["differences", "directional_difference"],
}
EQUATIONS = ["(9.3b)"] + [f"(9.{i})" for i in range(1, 15)]


def by_name(row):
    return row.name


@pytest.mark.parametrize("section", APPENDIX)
def test_every_entry_of_the_appendix_has_a_row(section):
    assert [row.name for row in ROWS if section in row.sources] == APPENDIX[section]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_every_equation_of_chapter_nine_has_a_row(equation):
    assert any(equation in row.sources for row in ROWS)


@pytest.mark.parametrize("op", EVERY_OP)
def test_every_op_has_a_row_with_a_claim_and_mistakes(op):
    row = reference.row(op)
    assert row.op is getattr(ops, op)
    assert row.claim is derive.CLAIMS[op]
    assert row.mistakes == mistakes.of(op)


def test_every_optimiser_has_a_row():
    classes = [
        value
        for value in vars(optim).values()
        if inspect.isclass(value) and value.__module__ == optim.__name__
    ]
    assert [row.op for row in ROWS if row.section == reference.OPTIMISERS] == classes


def test_every_mistake_belongs_to_a_row():
    assert sum(len(row.mistakes) for row in ROWS) == len(mistakes.CATALOGUE)


def test_names_and_anchors_are_unique():
    assert len({row.anchor for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_a_row_names_a_chapter_of_the_book(row):
    assert row.chapter in CHAPTERS


@pytest.mark.parametrize("row", PROVED, ids=by_name)
def test_the_docstring_of_an_op_names_the_same_chapter(row):
    assert row.chapter in re.findall(r"chapters/([\w-]+)", row.op.__doc__)


def test_every_written_chapter_is_one_the_reference_knows():
    written = {path.stem for path in (ROOT / "chapters").glob("*.ipynb")}
    assert written <= set(CHAPTERS)


def test_every_kind_of_mistake_leads_to_a_chapter():
    assert {m.kind for m in mistakes.CATALOGUE} <= CHAPTER_OF_KIND.keys()
    assert set(CHAPTER_OF_KIND.values()) <= set(CHAPTERS)


@pytest.mark.parametrize("row", PROVED, ids=by_name)
def test_sympy_proves_every_gradient_of_a_row(row):
    assert set(row.claim.prove().values()) == {0}


@pytest.mark.parametrize("row", PROVED, ids=by_name)
def test_a_proved_row_ends_with_the_gradients_of_its_inputs_in_forwards_order(row):
    arguments = inspect.signature(row.op.forward).parameters
    claimed = [name for name in arguments if name in row.claim.inputs]
    differentiated = [name for name in claimed if name in row.gradients_latex]
    assert list(row.gradients_latex)[-len(differentiated) :] == differentiated


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_a_row_has_either_a_proof_or_a_formula(row):
    assert (row.claim is None) == bool(row.formulas)


@pytest.mark.parametrize("row", PROVED, ids=by_name)
def test_the_equations_of_a_row_define_every_name_once(row):
    equations = [*row.forward_latex, *row.gradients_latex.values()]
    left = [equation.partition(" = ")[0] for equation in equations]
    assert len(set(left)) == len(left)


def test_the_forward_equation_of_softmax_says_what_p_is():
    (equation,) = reference.row("softmax").forward_latex
    assert equation.startswith(r"p_{i} = \frac{e^{z_{i}}}")


def test_a_row_is_found_by_the_module_too():
    assert reference.row(ops.rms_norm).title == "RMSNorm"


def test_an_unknown_row_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="rmsnorm.*rms_norm"):
        reference.row("rmsnorm")
