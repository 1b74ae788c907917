"""From the button on its page every notebook runs in the reader's browser.

`make test` runs a few of them, `make test-browser` all.
"""

from pathlib import Path

import pytest
from notebooks import notebooks
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from playwright.sync_api import expect

ROOT = Path(__file__).parents[2]
FEW = {"appendix/bring-your-own", "chapters/embedding", "chapters/softmax"}
NAMES = [file.relative_to(ROOT).with_suffix("").as_posix() for file in notebooks(ROOT)]
NOTEBOOKS = [
    pytest.param(name, marks=() if name in FEW else pytest.mark.every_notebook)
    for name in NAMES
]
MINUTES = 60_000  # milliseconds

COMPLAINTS = "[data-mime-type$='jupyter.stderr']"  # JupyterLab shows errors as that too
FINISHED = """complaints => {
  const prompts = [...document.querySelectorAll(".jp-CodeCell .jp-InputPrompt")];
  return document.querySelector(complaints)
    || prompts.every(prompt => /\\d/.test(prompt.innerText));
}"""


UNFINISHED = """() => [...document.querySelectorAll(".jp-CodeCell")]
  .map(cell => cell.querySelector(".jp-InputArea").innerText)
  .filter(text => !/\\d/.test(text.split("]")[0]))"""


def run_all(notebook):
    """Run every cell; a failure tells which did not finish, and what the page said."""
    messages = []
    notebook.on("console", lambda message: messages.append(message.text))
    notebook.get_by_role("menuitem", name="Run", exact=True).click()
    notebook.get_by_text("Run All Cells", exact=True).click()
    try:
        notebook.wait_for_function(
            FINISHED, arg=COMPLAINTS, polling=500, timeout=10 * MINUTES
        )
    except PlaywrightTimeoutError:
        asked = notebook.locator(".jp-Dialog").all_inner_texts()
        unfinished = notebook.evaluate(UNFINISHED)
        pytest.fail("\n".join(["cells did not finish:", *unfinished, *asked, *messages]))


@pytest.fixture
def opened(lite, browser, address):
    """Press Run on a page; what opens, and the addresses that it asks for."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(3 * MINUTES)
    requests = []
    context.on("request", lambda request: requests.append(request.url))

    def open_from(name):
        page = context.new_page()
        page.goto(f"{address}/{name}.html")
        with context.expect_page() as opening:
            page.get_by_role("link", name="Run this page").click()
        return opening.value, requests

    yield open_from
    context.close()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_runs_without_an_error_and_its_sliders_redraw(opened, address, name):
    notebook, requests = opened(name)
    run_all(notebook)
    assert notebook.locator(COMPLAINTS).all_inner_texts() == []

    outputs = notebook.locator(".jp-OutputArea-output")
    for explorer in outputs.filter(has=notebook.locator(".widget-slider")).all():
        picture = explorer.locator(".bh-picture")
        for slider in explorer.get_by_role("slider").all():
            now, last = map(slider.get_attribute, ["aria-valuenow", "aria-valuemax"])
            before = picture.inner_html()
            slider.press("ArrowLeft" if now == last else "ArrowRight")
            expect(picture).not_to_have_js_property("innerHTML", before, timeout=MINUTES)
    ours = (f"{address}/", "blob:", "data:")
    assert [url for url in requests if not url.startswith(ours)] == []


SCORES_WITHOUT_THE_ROOT = """
rng = np.random.default_rng(0)


def forward(q, k):
    return q @ k.T / np.sqrt(q.shape[-1])


def backward(dy, q, k):
    return dy @ k, dy.T @ q


q, k = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
check_gradients(Op.plain(forward, backward), q, k)
"""


def test_a_wrong_backward_pasted_into_bring_your_own_is_named(opened):
    notebook, _ = opened("appendix/bring-your-own")
    imports, yours = (notebook.locator(".jp-CodeCell").nth(i) for i in range(2))
    imports.locator(".cm-content").click()
    notebook.keyboard.press("Shift+Enter")
    yours.locator(".cm-content").click()
    notebook.keyboard.press("ControlOrMeta+a")
    notebook.keyboard.insert_text(SCORES_WITHOUT_THE_ROOT)
    notebook.keyboard.press("Shift+Enter")
    report = yours.locator(".backhand-report")
    expect(report).to_contain_text("disagree: wrong: q, k", timeout=3 * MINUTES)
    expect(report).to_contain_text("constant factor in q")
    expect(report).to_contain_text("the root of the length of axis 1 of q")
