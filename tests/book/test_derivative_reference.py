"""A mark on the reference page is earned, and lost by what is wrong."""

import re
from dataclasses import replace

import pytest

from backhand import derive, ops, optim
from backhand.book.derivative_reference import Section, earned, markdown
from backhand.reference import ROWS, row

ALL = ["SymPy", "finite differences", "autodiff"]


def test_a_right_row_earns_every_mark():
    assert earned(row("sigmoid")) == ALL


def test_wrong_code_keeps_only_the_proof_of_its_formula(monkeypatch):
    right = ops.sigmoid.backward
    monkeypatch.setattr(ops.sigmoid, "backward", lambda dy, cache: 2 * right(dy, cache))
    assert earned(row("sigmoid")) == ["SymPy"]


def test_a_wrong_formula_loses_the_proof(monkeypatch):
    claim = derive.CLAIMS["sigmoid"]
    gradients = {name: 2 * claimed for name, claimed in claim.gradients.items()}
    wrong = replace(claim, gradients=gradients)
    monkeypatch.setitem(derive.CLAIMS, "sigmoid", wrong)
    assert earned(row("sigmoid")) == ALL[1:]


def test_a_wrong_optimiser_loses_its_closed_form(monkeypatch):
    assert earned(row("sgd")) == ["closed form"]
    monkeypatch.setattr(optim.SGD, "step", lambda self, params, grads: None)
    assert earned(row("sgd")) == []


@pytest.mark.parametrize("each", ROWS, ids=lambda each: each.name)
def test_each_row_has_its_anchor_and_its_formulas(each):
    text = re.sub(r" &(=|\\leftarrow|\\approx)", r" \1", markdown(each, []))  # unaligned
    assert f'id="{each.anchor}"' in text
    claimed = each.gradients_latex.values() if each.claim else each.formulas
    for latex in claimed:
        assert latex in text


def test_an_unknown_heading_is_refused():
    with pytest.raises(ValueError, match="section is 'Nroms'; it needs one of"):
        Section("Nroms")
