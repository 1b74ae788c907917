"""What can be said of the pages without a browser."""

import functools
import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

LOADED = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "img": "src",
    "link": "href",
    "script": "src",
    "source": "src",
    "video": "src",
}


@functools.cache
def parse(path):
    return BeautifulSoup(path.read_bytes(), "html.parser")


@pytest.fixture
def path(site, name):
    return site / f"{name}.html"


@pytest.fixture
def markup(path):
    return parse(path)


def addresses(markup, tags):
    """(address, parts) of all that the page links to or loads."""
    for tag, attribute in tags.items():
        for element in markup.find_all(tag, {attribute: True}):
            address = element[attribute]
            if not address.startswith("data:"):
                yield address, urlsplit(address)


def alternatives(markup):
    """The words of every picture, of every frame of every explorer too."""
    for picture in markup.find_all("img"):
        yield picture.get("alt", "")
    for script in markup.select(".bh-explorer script"):
        for frame in json.loads(script.string)["frames"]:
            yield from (image["alt"] for image in frame["images"])


def test_nothing_is_loaded_from_another_host(markup):
    foreign = [address for address, parts in addresses(markup, LOADED) if parts.netloc]
    assert foreign == []


def test_links_lead_to_a_page_and_a_place_in_it(path, markup):
    dead = []
    for address, parts in addresses(markup, LOADED | {"a": "href"}):
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_file():
            dead.append(address)
        elif parts.fragment and target.suffix == ".html":
            place = unquote(parts.fragment)
            if not parse(target).find(id=place) and not parse(target).find(
                attrs={"name": place}
            ):
                dead.append(address)
    assert dead == []


def test_pictures_have_words_that_say_what_they_show(markup):
    for words in alternatives(markup):
        assert len(words.split()) >= 2, f"no words: {words!r}"
        assert not re.search(r"\.(png|svg|jpe?g|webp|gif)\b", words), words


def test_no_widget_manager_is_needed(markup):
    assert markup.find_all("script", type=re.compile("jupyter.widget")) == []
