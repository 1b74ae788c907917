"""What can be said of the pages without a browser."""

import functools
import gzip
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


def frames(markup):
    """The markup inside the widgets: every frame of every explorer."""
    for script in markup.find_all("script", type=re.compile(r"widget-state\+json")):
        for model in json.loads(script.string)["state"].values():
            value = model["state"].get("value")
            if isinstance(value, str) and "<" in value:
                yield BeautifulSoup(value, "html.parser")


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
    pictures = [
        picture
        for part in (markup.body, *frames(markup))
        for picture in part.find_all("img")
    ]
    for picture in pictures:
        words = picture.get("alt", "")
        assert len(words.split()) >= 2, f"no words for {str(picture)[:200]}"
        assert not re.search(r"\.(png|svg|jpe?g|webp|gif)\b", words), words


def test_the_page_weighs_less_than_a_megabyte(path, markup, site):
    shared = site / "_static"
    files = {path} | {
        (path.parent / unquote(parts.path)).resolve()
        for _, parts in addresses(markup, {"img": "src"})
        if not parts.netloc
    }
    weight = sum(
        len(gzip.compress(file.read_bytes()))
        for file in files
        if shared not in Path(file).parents
    )
    assert weight < 1_000_000
