"""An explorer on the page: its address, Back, Reset, Play, and without JavaScript."""

import pytest
from playwright.sync_api import expect

CHAPTER = "chapters/softmax"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


@pytest.fixture
def opened(browser, address):
    """Open the chapter at what the address says after #."""
    contexts = []

    def open_at(fragment="", **device):
        contexts.append(browser.new_context(**device))
        page = contexts[-1].new_page()
        page.goto(f"{address}/{CHAPTER}.html{fragment}")
        if device.get("java_script_enabled", True):
            page.evaluate("window.MathJax?.startup?.promise")
        return page

    yield open_at
    for context in contexts:
        context.close()


def slider(page, name="saturation"):
    return page.locator(f"#{name} input")


def at(page, name="saturation"):
    return int(slider(page, name).input_value())


def moved(page, key, name="saturation"):
    """Press a key on a slider and wait until the address says where it stands."""
    before = page.url
    slider(page, name).press(key)
    page.wait_for_function("before => location.href !== before", arg=before)


def test_where_a_slider_stands_is_in_the_address_and_back_undoes_a_change(opened):
    page = opened()
    start = at(page)
    moved(page, "End")
    assert page.url.endswith("#saturation=16")
    moved(page, "Home")
    page.go_back()
    assert at(page) == 16
    page.go_back()
    assert at(page) == start
    page.go_forward()
    assert at(page) == 16


def test_what_is_passed_over_on_the_way_is_not_a_step_back(opened):
    page = opened()
    entries = page.evaluate("history.length")
    for _ in range(5):
        slider(page).press("ArrowRight")
    page.wait_for_function("location.hash !== ''")
    assert page.evaluate("history.length") == entries + 1


def test_a_link_opens_there_and_scrolls_to_it(opened):
    page = opened("#saturation=12")
    assert at(page) == 12
    expect(page.locator("#saturation")).to_be_in_viewport()
    wanted = page.evaluate("Explorer.all.get('saturation').frames[12].caption")
    expect(page.locator("#saturation figcaption")).to_have_text(wanted)


def test_two_explorers_share_the_address(opened):
    page = opened()
    moved(page, "End")
    moved(page, "Home", "overflow")
    assert page.url.endswith("#overflow=0&saturation=16")
    again = opened("#overflow=0&saturation=16")
    assert (at(again), at(again, "overflow")) == (16, 0)
    page.go_back()
    assert at(page) == 16 and at(page, "overflow") != 0


@pytest.mark.parametrize(
    "fragment",
    ["17", "-1", "1.5", "1,2", "", "x", "9999", "<img src=x onerror=alert(1)>"],
)
def test_what_is_no_position_is_not_read(opened, fragment):
    start = at(opened())
    assert at(opened(f"#saturation={fragment}")) == start


def test_an_ordinary_link_leaves_the_sliders_alone(opened):
    page = opened()
    moved(page, "End")
    page.evaluate("location.hash = '#in-numpy'")
    page.wait_for_timeout(100)
    assert at(page) == 16


def test_reset_goes_back_to_the_start_and_the_address_forgets(opened):
    page = opened()
    start = at(page)
    moved(page, "End")
    page.locator("#saturation .bh-reset").click()
    assert at(page) == start
    page.wait_for_function("location.hash === ''")


def test_what_is_seen_is_announced_once_the_slider_rests(opened):
    page = opened()
    expect(page.locator("#saturation .bh-still")).to_be_hidden()
    announced = page.locator("#saturation [aria-live=polite]")
    slider(page).press("ArrowRight")
    assert announced.text_content() == ""
    caption = page.locator("#saturation figcaption").text_content()
    expect(announced).to_have_text(caption)


def test_play_goes_on_by_itself_and_stops_at_a_touch(opened):
    page = opened()
    page.evaluate("""() => {
      const play = document.createElement("button");
      play.className = "bh-play";
      const explorer = Explorer.all.get("saturation");
      explorer.playButton = play;
      explorer.play();
    }""")
    start = at(page)
    page.wait_for_function(
        "start => document.querySelector('#saturation input').value > start", arg=start
    )
    page.mouse.wheel(0, 1)
    page.wait_for_function("!Explorer.all.get('saturation').playing")


def test_without_javascript_there_is_a_picture_its_words_and_a_word_of_it(opened):
    page = opened(java_script_enabled=False)
    explorer = page.locator("#saturation")
    expect(explorer.locator("img").first).to_be_visible()
    expect(explorer.locator("figcaption")).to_be_visible()
    expect(explorer.locator(".bh-controls")).to_be_hidden()
    expect(explorer.get_by_text("Without JavaScript")).to_be_visible()


def test_on_a_phone_the_slider_stays_at_the_thumb_while_the_panels_scroll(opened):
    page = opened(**PHONE)
    page.locator("#saturation").evaluate("e => e.scrollIntoView()")
    for _ in range(2):
        box = slider(page).bounding_box()
        assert 844 * 0.8 < box["y"] < 844 - box["height"] + 1
        assert box["width"] > 200 and box["height"] >= 24
        page.mouse.wheel(0, 100)
        page.wait_for_timeout(200)


@pytest.mark.parametrize("width", [320, 390])
def test_nothing_shifts_when_an_explorer_is_linked_to(browser, address, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.add_init_script("""
      window.shift = 0;
      new PerformanceObserver(list => {
        for (const each of list.getEntries()) if (!each.hadRecentInput)
          window.shift += each.value;
      }).observe({type: "layout-shift", buffered: true});""")
    page.goto(f"{address}/{CHAPTER}.html#saturation=12")
    page.evaluate("window.MathJax?.startup?.promise")
    page.wait_for_timeout(500)
    shift = page.evaluate("window.shift")
    expect(page.locator("#saturation")).to_be_in_viewport()
    page.close()
    assert shift < 0.1
