"""The field above the mistakes leaves those that have all of its words."""

import re

from playwright.sync_api import expect


def test_a_mistake_is_found_by_its_words_and_the_headings_without_any_go(
    browser, address
):
    page = browser.new_page()
    page.goto(f"{address}/appendix/mistakes.html")
    mistakes = page.locator(".bh-mistake")
    every = mistakes.count()
    count = page.locator(".bh-find output")
    expect(count).to_have_text(f"{every} of {every}")

    field = page.get_by_label("Find a mistake")
    field.fill("softmax  Ones")
    shown = page.locator(".bh-mistake:visible")
    expect(count).to_have_text(re.compile(rf"^[1-9]\d? of {every}$"))
    for text in shown.all_text_contents():
        assert "ones" in text.lower()
    expect(page.locator("#softmax-factor-p-left-out")).to_be_visible()
    expect(page.locator("#softmax-diagonal-only")).to_be_hidden()
    expect(page.get_by_role("heading", name="Optimisers")).to_be_hidden()

    field.fill("nothing of the kind")
    expect(count).to_have_text(f"0 of {every}")
    expect(page.get_by_role("heading", name="Mistakes")).to_be_visible()
    field.fill("")
    assert shown.count() == every
    page.close()
