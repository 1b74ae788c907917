"""Explorers: the same pictures with a kernel and without one."""

import ipywidgets
import pytest

from backhand.book.explorer import Explorer


class Drawn:
    """Stands for a picture: its HTML names the values it was drawn from."""

    count = 0

    def __init__(self, *values):
        Drawn.count += 1
        self.html = f"drawn from {values}"


@pytest.fixture(autouse=True)
def nothing_drawn():
    Drawn.count = 0


@pytest.fixture
def static(monkeypatch):
    monkeypatch.setenv("BACKHAND_FRAMES", "all")


@pytest.fixture
def live(monkeypatch):
    monkeypatch.delenv("BACKHAND_FRAMES", raising=False)


def test_with_a_kernel_only_the_frame_in_sight_is_drawn(live):
    explorer = Explorer(Drawn, scale=[1, 2, 3], start=(2,))
    *_, view = explorer.widget().children
    assert view.value == "drawn from (2,)"
    assert Drawn.count == 1


def test_with_a_kernel_moving_the_slider_draws_the_frame(live):
    explorer = Explorer(Drawn, scale=[1, 2, 3])
    *_, view = explorer.widget().children
    explorer.sliders[0].value = 3
    assert view.value == "drawn from (3,)"
    explorer.sliders[0].value = 1
    explorer.sliders[0].value = 3
    assert Drawn.count == 2, "a frame is drawn once"


def test_without_a_kernel_every_frame_is_there_and_linked_to_the_slider(static):
    explorer = Explorer(Drawn, scale=[1, 2, 3], start=(2,))
    slider, stack = explorer.widget().children
    assert [child.value for child in stack.children] == [
        f"drawn from ({value},)" for value in (1, 2, 3)
    ]
    assert stack.selected_index == slider.index == 1


def test_two_sliders_choose_among_nested_frames(static):
    explorer = Explorer(Drawn, rows=["a", "b"], columns=[1, 2, 3])
    *sliders, stack = explorer.widget().children
    assert [slider.description for slider in sliders] == ["rows", "columns"]
    assert stack.children[1].children[2].value == "drawn from ('b', 3)"
    assert Drawn.count == len(list(explorer.combinations)) == 6


def test_each_stack_is_linked_to_its_slider_in_the_browser(static, monkeypatch):
    linked = []
    monkeypatch.setattr(ipywidgets, "jslink", lambda *ends: linked.append(ends))
    explorer = Explorer(Drawn, rows=["a", "b"], columns=[1, 2, 3])
    *_, stack = explorer.widget().children
    rows, columns = explorer.sliders
    assert ((rows, "index"), (stack, "selected_index")) in linked
    for inner in stack.children:
        assert ((columns, "index"), (inner, "selected_index")) in linked


def test_its_plain_text_twin_names_the_range_of_each_slider(live):
    explorer = Explorer(Drawn, scale_of_scores=[0.5, 1, 2])
    text = explorer._repr_mimebundle_()["text/plain"]
    assert text == "Explorer: scale of scores from 0.5 to 2 in 3 steps"


@pytest.mark.parametrize("parameters", [{}, {"a": [1], "b": [1], "c": [1]}])
def test_more_than_two_sliders_or_none_are_refused(parameters):
    with pytest.raises(ValueError, match=f"got {len(parameters)}"):
        Explorer(Drawn, **parameters)


def test_a_start_that_the_slider_does_not_offer_is_refused():
    with pytest.raises(ValueError, match="start of scale must be one of .* got 4"):
        Explorer(Drawn, scale=[1, 2, 3], start=(4,))
