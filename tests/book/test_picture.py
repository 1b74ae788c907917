"""Pictures: words for those who cannot see, one file for both themes."""

import re
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from backhand.book.picture import Picture
from backhand.book.style import axes, styled


@styled
def picture(title="It rises", **words):
    first = axes(title, yscale="log")
    first.plot([1, 2, 3], [1e-6, 1e-3, 1])
    second = axes("It falls")
    second.plot([1, 2], [2, 1])
    return Picture(first, second, **{"alt": "Two lines"} | words)


def drawings(html):
    addresses = re.findall(r'src="data:image/svg\+xml,([^"]*)"', html)
    return [unquote(address) for address in addresses]


def test_each_panel_is_an_image_of_its_own_so_that_panels_stack_on_a_phone():
    assert len(drawings(picture().html)) == 2


def test_the_drawings_are_well_formed():
    for drawing in drawings(picture("<a & 'b' \"c\">").html):
        assert ElementTree.fromstring(drawing).tag.endswith("svg")


def test_every_image_has_words_the_first_the_whole_the_others_their_title():
    alts = re.findall(r'alt="([^"]*)"', picture(alt='Say "two" lines').html)
    assert alts == ["Say &quot;two&quot; lines", "It falls"]


def test_a_picture_without_words_is_refused():
    with pytest.raises(ValueError, match="alt must say what the picture shows"):
        picture(alt="  ")


def test_the_same_drawing_gives_the_same_bytes():
    assert picture().html == picture().html


def test_the_caption_is_text_and_not_markup():
    assert "a &lt; b" in picture(caption="a < b").html


def test_the_drawing_is_transparent_so_that_it_can_lie_on_either_theme():
    for drawing in drawings(picture().html):
        root = ElementTree.fromstring(drawing)
        background = root.find(".//*[@id='patch_1']")[0]
        assert "fill: none" in background.get("style")


def test_its_plain_text_twin_says_the_same():
    bundle = picture(caption="Both move")._repr_mimebundle_()
    assert bundle["text/plain"] == "Figure: Two lines\nBoth move"
