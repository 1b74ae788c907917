"""The catalogue keeps its word: each mistake is caught, and hidden where it says."""

import pkgutil
from functools import cache

import numpy as np
import pytest

from backhand import check_gradients, mistakes, ops, transformer
from backhand.mistakes.mistake import WrongPass, hyphenated
from backhand.mistakes.model import WrongModel
from backhand.mistakes.optimizers import LR, WrongStep, taken_steps
from backhand.optim import SGD, Adam, Momentum

BY_TYPE = {
    kind: [mistake for mistake in mistakes.CATALOGUE if isinstance(mistake, kind)]
    for kind in (WrongPass, WrongModel, WrongStep)
}
BACKWARD = [m for m in BY_TYPE[WrongPass] if m.checked_by == "check_gradients"]
FORWARD = [m for m in BY_TYPE[WrongPass] if m.checked_by == "right values"]
HIDING = [(m, design) for m in mistakes.CATALOGUE for design in m.hidden_by]
EVERY_OP = [
    name for _, name, _ in pkgutil.iter_modules(ops.__path__) if name[0] != "_"
] + ["transformer", "sgd", "momentum", "adam"]


def label(value):
    if isinstance(value, mistakes.Mistake):
        return f"{value.op_name}:{value.name}"
    return hyphenated(value.name).replace(" ", "-")


each = pytest.mark.parametrize


@cache
def report_on(mistake):
    return mistake.check()


def found(mistake):
    return {finding.kind for finding in report_on(mistake).findings}


def test_the_catalogue_has_at_least_sixty_mistakes():
    assert len(mistakes.CATALOGUE) >= 60


def test_names_are_unique_within_an_op():
    names = [(m.op_name, m.name) for m in mistakes.CATALOGUE]
    assert len(set(names)) == len(names)


@each("op", EVERY_OP)
def test_every_op_has_mistakes(op):
    assert len(mistakes.of(op)) >= 2


@each("mistake", BACKWARD + BY_TYPE[WrongModel], ids=label)
def test_a_gradient_check_catches_every_wrong_backward_pass(mistake):
    assert report_on(mistake).verdict == "disagree"


CHECKED = BY_TYPE[WrongPass] + BY_TYPE[WrongModel]


@each("mistake", [m for m in CHECKED if m.tellable], ids=label)
def test_a_kind_that_can_be_told_is_named(mistake):
    assert mistake.kind in found(mistake)


@each("mistake", [m for m in CHECKED if m.obscured], ids=label)
def test_an_obscured_kind_is_one_that_is_not_named(mistake):
    assert mistake.kind not in found(mistake)


def test_most_kinds_can_be_told():
    assert sum(m.tellable for m in CHECKED) > 0.6 * len(CHECKED)


@each("mistake", FORWARD, ids=label)
def test_a_wrong_forward_pass_gives_other_values(mistake):
    assert mistake.is_caught()


@each("mistake", BY_TYPE[WrongStep], ids=label)
def test_a_wrong_optimiser_leaves_the_closed_form(mistake):
    assert mistake.is_caught()


def test_a_look_at_memory_catches_the_matrix_that_no_other_check_sees():
    mistake = mistakes.get("tiled_attention", "whole-matrix-held")
    assert mistake.is_caught()
    assert report_on(mistake).verdict == "agree"


@each("mistake, design", HIDING, ids=label)
def test_a_mistake_is_hidden_by_what_it_says(mistake, design):
    assert mistake.hides_behind(design)


@each("mistake", BY_TYPE[WrongPass], ids=label)
def test_the_right_op_passes_on_the_same_inputs(mistake):
    for design in (mistake.shown_by, *mistake.hidden_by):
        report = check_gradients(mistake.right, *design.inputs(), **design.options)
        assert report.verdict == "agree", report


@each("optimizer", [SGD, Momentum, Adam])
def test_the_right_optimiser_takes_the_steps_of_the_closed_form(optimizer):
    for mistake in mistakes.of(optimizer):
        for design in (mistake.shown_by, *mistake.hidden_by):
            taken = taken_steps(optimizer(**LR | design.options), design.inputs())
            expected = mistake.right_results(design)
            np.testing.assert_allclose(taken, expected, rtol=1e-9, atol=1e-12)


def test_few_mistakes_are_hidden_by_nothing():
    """A mistake that nothing hides is no lesson, unless it is a very common one."""
    unhidden = [label(m) for m in mistakes.CATALOGUE if not m.hidden_by]
    assert unhidden == ["adam:counted-from-zero"]


@each("mistake", mistakes.CATALOGUE, ids=label)
def test_the_source_of_a_mistake_is_its_wrong_code_alone(mistake):
    first, *rest = mistake.source.splitlines()
    assert first.startswith(("def ", "class "))
    assert not any(line.startswith(("@", "def ", "class ")) for line in rest)


@each("mistake", mistakes.CATALOGUE, ids=label)
def test_a_symptom_is_one_sentence(mistake):
    assert mistake.symptom.endswith(".")
    assert ". " not in mistake.symptom


def test_examples_are_fresh_arrays_on_every_call():
    mistake = mistakes.get("softmax", "diagonal-only")
    (first,), (second,) = mistake.example(), mistake.example()
    np.testing.assert_array_equal(first, second)
    assert not np.shares_memory(first, second)


def test_an_injected_mistake_is_in_the_transformer_until_the_context_ends():
    config, tokens = transformer.Config(7, 8, 4, 1, 2, 5), np.arange(5)
    params = transformer.init(config, seed=0, dtype=np.float64)
    _, cache = transformer.forward(params, tokens, tokens + 1, config)
    right = transformer.backward(cache)
    with mistakes.get("cross_entropy", "no-divisor").injected():
        wrong = transformer.backward(cache)
    again = transformer.backward(cache)
    for name in params:
        np.testing.assert_allclose(wrong[name], 5 * right[name], rtol=1e-12)
        np.testing.assert_array_equal(again[name], right[name])


def test_an_injected_mistake_may_call_the_right_pass():
    mistake = mistakes.get("rms_norm", "gain-keeps-the-batch")
    _, cache = mistake.op.forward(*mistake.example())
    with mistake.injected():
        _, dgain = mistake.op.backward(np.ones((3, 6)), cache)
    assert dgain.shape == (3, 6)


def test_a_mistake_in_a_composition_cannot_be_injected():
    with pytest.raises(ValueError, match="position-table-forgotten"):
        mistakes.get("embedding", "position-table-forgotten").injected()


def test_an_op_is_found_by_its_name_its_module_or_its_class():
    assert mistakes.of("softmax") == mistakes.of(ops.softmax)
    assert mistakes.of("adam") == mistakes.of(Adam)
    assert mistakes.of("rms-norm") == mistakes.of("rms_norm")


def test_an_unknown_op_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="softmaxx.*softmax"):
        mistakes.of("softmaxx")


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="diagonal.*diagonal-only"):
        mistakes.get("softmax", "diagonal")
