"""The field above the mistakes leaves those that have all of its words, unfolded."""

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
    field.fill("loss is nan")
    expect(page.locator("#softmax-unshifted")).to_be_visible()
    field.fill("shapes don’t match")
    expect(page.locator("#linear-w-for-its-transpose")).to_be_visible()
    field.fill("")
    expect(count).to_have_text(f"{every} of {every}")
    expect(shown).to_have_count(0)  # folded again
    page.close()


def test_a_link_to_a_mistake_unfolds_its_operation(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/appendix/mistakes.html#softmax-unshifted")
    expect(page.locator("#softmax-unshifted")).to_be_in_viewport()
    expect(page.locator(".bh-op[open]")).to_have_count(1)
    page.close()
