"""The pages as a reader meets them, in Chromium."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

ROOT = Path(__file__).parents[2]
AXE = ROOT / "node_modules/axe-core/axe.min.js"
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
AXE_COLOURS = ["color-contrast", "link-in-text-block"]

SETTLED = """async () => {
  await window.MathJax?.startup.promise;
  await document.fonts.ready;
  await Promise.all([...document.images].map(image => image.decode().catch(() => 0)));
}"""

# The text outside code and outside formulas that MathJax has set.
PLAIN_TEXT = """() => {
  const apart = "code, pre, script, style, kbd, mjx-container, textarea";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let text = "";
  while (walker.nextNode())
    if (!walker.currentNode.parentElement.closest(apart))
      text += walker.currentNode.data;
  return text;
}"""
LATEX = re.compile(r"\\[a-zA-Z]{2,}|\\[()\[\]]|\$[^$\n]+\$")
MYST = re.compile(r"\{[a-z:-]+\}`|^:::|^```", re.MULTILINE)


def visit(browser, url, **device):
    """Open a page and keep what it asks for and what it complains about."""
    context = browser.new_context(**device)
    page = context.new_page()
    page.set_default_timeout(20_000)
    requests, complaints = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.on(
        "console",
        lambda message: message.type == "error" and complaints.append(message.text),
    )
    page.goto(url)
    page.evaluate(SETTLED)
    return SimpleNamespace(
        page=page, requests=requests, complaints=complaints, close=context.close
    )


@pytest.fixture(scope="module")
def reader(browser, address, name):
    """A reader of one page."""
    reader = visit(browser, f"{address}/{name}.html")
    yield reader
    reader.close()


@pytest.fixture(scope="module", params=["light", "dark"])
def theme(request):
    return request.param


@pytest.fixture(scope="module", params=[1280, 390, 320], ids=["wide", "phone", "narrow"])
def width(request):
    return request.param


@pytest.fixture
def page(reader, theme, width):
    """The page in one of the themes, at one of the widths."""
    reader.page.emulate_media(color_scheme=theme)
    reader.page.set_viewport_size({"width": width, "height": 900})
    reader.page.wait_for_timeout(400)  # the theme answers a change of size after 300 ms
    return reader.page


def test_the_page_takes_the_readers_theme(page, theme):
    expect(page.locator("html")).to_have_attribute("data-theme", theme)


def test_nothing_makes_the_page_scroll_sideways(page, width):
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_axe_finds_nothing(page, theme):
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    # The other theme differs in its colours only.
    found = page.evaluate(
        "runOnly => axe.run({runOnly, resultTypes: ['violations']})",
        AXE_TAGS if theme == "light" else AXE_COLOURS,
    )
    violations = [
        f"{violation['id']}: {node['html'][:300]}\n{node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
    assert violations == []


def test_formulas_are_set_and_no_markup_is_left(reader):
    text = reader.page.evaluate(PLAIN_TEXT)
    assert LATEX.findall(text) + MYST.findall(text) == []
    errors = reader.page.locator("mjx-merror, [data-mjx-error]")
    assert errors.all_inner_texts() == []


def test_every_picture_is_drawn(reader):
    broken = reader.page.evaluate(
        "[...document.images].filter(i => !i.naturalWidth).map(i => i.outerHTML)"
    )
    assert broken == []


def explorer_of(slider):
    return slider.locator("xpath=ancestor::*[@class='bh-explorer']")


def shown(explorer):
    """What an explorer shows: its pictures and what it says of them."""
    pictures = explorer.locator("img").evaluate_all("all => all.map(i => i.src)")
    return pictures, explorer.locator("figcaption").inner_text()


def painted(explorer):
    """Wait until the picture is that of where the sliders stand."""
    handle = explorer.element_handle()
    explorer.page.wait_for_function(
        "figure => { const e = Explorer.all.get(figure.id); return e.ready.has(e.frame); }",
        arg=handle,
    )
    return shown(explorer)


def test_each_step_of_a_slider_changes_what_is_seen_and_what_is_said(reader):
    for slider in reader.page.get_by_role("slider").all():
        explorer = explorer_of(slider)
        label = reader.page.locator(f"[for={slider.get_attribute('id')}]").inner_text()
        slider.press("Home")
        first, start = painted(explorer), explorer.locator(".bh-panels").screenshot()
        for _ in range(int(slider.get_attribute("max"))):
            before, value = shown(explorer), slider.get_attribute("aria-valuetext")
            slider.press("ArrowRight")
            pictures, words = painted(explorer)
            assert pictures != before[0], f"{label}: nothing changes after {value}"
            assert words != before[1], f"{label}: nothing new is said after {value}"
            assert slider.get_attribute("aria-valuetext") != value
        end = explorer.locator(".bh-panels").screenshot()
        assert end != start, f"{label}: the two ends look alike"
        slider.press("Home")
        assert painted(explorer) == first
        explorer.get_by_role("button", name="Reset").click()


def test_pictures_are_decoded_before_a_slider_asks_for_them(reader):
    for explorer in reader.page.locator(".bh-explorer").all():
        explorer.scroll_into_view_if_needed()
        reader.page.wait_for_function(
            "figure => Explorer.all.get(figure.id).ready.size"
            " === Explorer.all.get(figure.id).frames.length",
            arg=explorer.element_handle(),
        )


def test_a_step_moves_nothing_else_on_the_page(reader):
    for slider in reader.page.get_by_role("slider").all():
        explorer = explorer_of(slider)
        slider.press("Home")
        heights = set()
        for _ in range(int(slider.get_attribute("max"))):
            painted(explorer)
            heights.add(explorer.evaluate("figure => figure.offsetHeight"))
            slider.press("ArrowRight")
        assert len(heights) == 1
        explorer.get_by_role("button", name="Reset").click()


def towards_the_far_end(slider):
    """A point on a slider's track, near the end that the handle is farther from."""
    track = slider.bounding_box()
    now, end = float(slider.input_value()), float(slider.get_attribute("max"))
    share = 0.9 if now < end / 2 else 0.1
    return track["x"] + share * track["width"], track["y"] + track["height"] / 2


def test_a_slider_follows_the_mouse(reader):
    for slider in reader.page.get_by_role("slider").all()[:1]:
        slider.press("Home")
        before, track = painted(explorer_of(slider)), slider.bounding_box()
        mouse = reader.page.mouse
        mouse.move(track["x"] + 13, track["y"] + track["height"] / 2)
        mouse.down()
        mouse.move(*towards_the_far_end(slider), steps=3)
        mouse.up()
        assert painted(explorer_of(slider)) != before
        explorer_of(slider).get_by_role("button", name="Reset").click()


def test_paper_shows_the_text_alone_and_in_light_colours(reader):
    page = reader.page
    theme = expect(page.locator("html"))
    page.emulate_media(color_scheme="dark", media="print")
    theme.to_have_attribute("data-theme", "dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    for part in page.locator(".bd-sidebar, .bd-header-article, .bh-controls").all():
        expect(part).to_be_hidden()
    theme.to_have_attribute("data-theme", "light")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    theme.to_have_attribute("data-theme", "dark")
    page.emulate_media(media="screen")


def test_the_page_asks_no_other_host(reader, address):
    foreign = [url for url in reader.requests if not url.startswith((address, "data:"))]
    assert foreign == []


def test_the_page_complains_of_nothing(reader):
    assert reader.complaints == []


def test_the_page_works_from_disk_under_a_finger(browser, site, name):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    reader = visit(browser, (site / f"{name}.html").as_uri(), **phone)
    for slider in reader.page.get_by_role("slider").all()[:1]:
        slider.scroll_into_view_if_needed()
        before = shown(explorer_of(slider))
        reader.page.touchscreen.tap(*towards_the_far_end(slider))
        assert painted(explorer_of(slider)) != before
    reader.close()
    foreign = [url for url in reader.requests if not url.startswith(("file:", "data:"))]
    assert foreign == []
    assert reader.complaints == []


def test_the_search_finds_a_page(browser, address):
    reader = visit(browser, f"{address}/search.html?q=transformer")
    expect(reader.page.locator("#search-results li").first).to_be_visible()
    reader.close()
