"""Explorers: the same pictures with a kernel and without one."""

import json
from itertools import product

import pytest
from bs4 import BeautifulSoup

from backhand.book.explorer import Explorer
from backhand.book.picture import Drawing


class Drawn:
    """Stands for a picture: it names the values it was drawn from."""

    count = 0

    def __init__(self, *values):
        Drawn.count += 1
        words = " and ".join(map(str, values))
        self.caption = f"said of {words} <b>"
        self.html = f"drawn from {words}"
        svg = f"<svg><g/><text>{words}</text></svg>"
        self.drawings = [Drawing(svg, f"words of {words}", 300, 200)]


@pytest.fixture(autouse=True)
def nothing_drawn():
    Drawn.count = 0


@pytest.fixture
def static(monkeypatch):
    monkeypatch.setenv("BACKHAND_FRAMES", "all")


@pytest.fixture
def live(monkeypatch):
    monkeypatch.delenv("BACKHAND_FRAMES", raising=False)


def explorer(**settings):
    return Explorer(Drawn, **{"name": "how-far", "title": "How far?"} | settings)


def markup(explorer):
    return BeautifulSoup(explorer._repr_mimebundle_()["text/html"], "html.parser")


def frames(explorer):
    """(drawing, alt, caption) of each frame, as explorer.js puts them together."""
    data = json.loads(markup(explorer).script.string)
    for frame in data["frames"]:
        for image in frame["images"]:
            drawing = ">".join(data["pieces"][number] for number in image["svg"])
            yield drawing, image["alt"], frame["caption"]


def the_widgets(explorer):
    title, *labelled, reset, view = explorer.widget().children
    return labelled[::2], labelled[1::2], reset, view


def test_with_a_kernel_only_the_frame_in_sight_is_drawn(live):
    *_, view = the_widgets(explorer(scale=[1, 2, 3], start=(2,)))
    assert view.value == "drawn from 2"
    assert Drawn.count == 1


def test_with_a_kernel_moving_the_slider_draws_the_frame_once(live):
    _, [slider], reset, view = the_widgets(explorer(scale=[1, 2, 3], start=(2,)))
    slider.value = 3
    assert view.value == "drawn from 3"
    reset.click()
    assert view.value == "drawn from 2"
    slider.value = 3
    assert Drawn.count == 2


def test_with_a_kernel_the_label_stands_above_its_slider(live):
    labels, sliders, *_ = the_widgets(explorer(row_of_it=["a"], column=[1, 2]))
    assert [label.value for label in labels] == ["row of it", "column"]
    assert [slider.value for slider in sliders] == ["a", 1]
    assert "text/html" not in explorer(scale=[1])._repr_mimebundle_()


def test_without_a_kernel_it_is_html_alone(static):
    bundle = explorer(scale=[1, 2, 3])._repr_mimebundle_()
    assert bundle.keys() == {"text/html", "text/plain"}


def test_the_first_picture_and_its_words_are_there_before_any_script(static):
    page = markup(explorer(scale=[1, 2, 3], start=(2,)))
    figure = page.find("figure", id="how-far")
    assert figure["aria-label"] == "How far?"
    assert figure.img["alt"] == "words of 2"
    assert (figure.img["width"], figure.img["height"]) == ("300", "200")
    assert figure.figcaption.text == "said of 2 <b>"
    assert "at scale 2" in page.select_one(".bh-still").text


def test_a_slider_has_a_label_and_says_the_value_not_its_place(static):
    page = markup(explorer(scale_of_it=[10, 20, 30], start=(20,)))
    slider = page.input
    assert page.find("label", attrs={"for": slider["id"]}).text == "scale of it"
    assert (slider["min"], slider["max"], slider["value"]) == ("0", "2", "1")
    assert slider["aria-valuetext"] == "20"


def test_every_frame_is_in_the_data_whole(static):
    expected = [
        (f"<svg><g/><text>{n}</text></svg>", f"words of {n}", f"said of {n} <b>")
        for n in (1, 2, 3)
    ]
    assert list(frames(explorer(scale=[1, 2, 3]))) == expected


def test_two_sliders_choose_among_frames_the_last_varies_fastest(static):
    both = explorer(rows=["a", "b"], columns=[1, 2, 3])
    alts = [alt for _, alt, _ in frames(both)]
    assert alts == [f"words of {r} and {c}" for r, c in product("ab", (1, 2, 3))]
    assert Drawn.count == len(list(both.combinations)) == 6


def test_words_cannot_end_the_script_that_holds_them(static):
    page = markup(explorer(scale=["</script><!--"]))
    assert page.figure.script.string and len(page.find_all("script")) == 1
    [(_, alt, _)] = frames(explorer(scale=["</script><!--"]))
    assert alt == "words of </script><!--"


def test_what_frames_share_is_stored_once(static):
    data = json.loads(markup(explorer(scale=range(100))).script.string)
    assert data["pieces"].count("<g/") == 1


def test_the_longest_caption_keeps_the_place_of_all(static):
    page = markup(explorer(scale=[1, 200, 3]))
    assert page.figcaption["data-longest"] == "said of 200 <b>"


def test_play_is_offered_where_it_is_asked_for(static):
    assert not markup(explorer(scale=[1, 2])).select(".bh-play")
    assert markup(explorer(scale=[1, 2], play=True)).select(".bh-play")


def test_its_plain_text_twin_names_the_range_of_each_slider(live):
    text = explorer(scale_of_scores=[0.5, 1, 2])._repr_mimebundle_()["text/plain"]
    assert text == "Explorer: scale of scores from 0.5 to 2 in 3 steps"


@pytest.mark.parametrize("parameters", [{}, {"a": [1], "b": [1], "c": [1]}])
def test_more_than_two_sliders_or_none_are_refused(parameters):
    with pytest.raises(ValueError, match=f"got {len(parameters)}"):
        explorer(**parameters)


def test_a_start_that_the_slider_does_not_offer_is_refused():
    with pytest.raises(ValueError, match="start of scale must be one of .* got 4"):
        explorer(scale=[1, 2, 3], start=(4,))


@pytest.mark.parametrize("name", ["", "Two words", "a=1", "1st", "a--b", 3])
def test_a_name_that_is_no_id_is_refused(name):
    with pytest.raises(ValueError, match="name must be lowercase words"):
        explorer(name=name, scale=[1])


def test_an_empty_title_is_refused():
    with pytest.raises(ValueError, match="title must say"):
        explorer(title=" ", scale=[1])
