"""What each page of the built site weighs, and how long a slider's step takes.

The weight is that of the page alone, gzipped, without what all pages share. A step is
timed from the key to the next frame after its pictures are decoded, on a page that was
looked at for a while, so that book.js has decoded them in advance.
"""

import gzip
from pathlib import Path
from statistics import median

import chromium
from playwright.sync_api import sync_playwright
from sphinx_external_toc.parsing import parse_toc_yaml

SITE = Path("_build/html").resolve()
A_WHILE = 5000  # ms

STEPS = """async handle => {
  const view = handle.closest(".widget-subarea");
  const key = (key) =>
    handle.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
  key("Home");
  const times = [];
  for (let step = 0; step < Number(handle.ariaValueMax); step++) {
    await new Promise(resume => setTimeout(resume, 50));
    const start = performance.now();
    key("ArrowRight");
    await Promise.all([...view.querySelectorAll("img")].map(image => image.decode()));
    await new Promise(resume => requestAnimationFrame(() => setTimeout(resume)));
    times.push(performance.now() - start);
  }
  return times;
}"""


def main():
    print(f"{'page':36} {'KB':>5}  slider step, ms: median, slowest")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.find(), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for name in parse_toc_yaml("_toc.yml"):
            file = SITE / f"{name}.html"
            weight = len(gzip.compress(file.read_bytes())) / 1000
            page.goto(file.as_uri())
            times = []
            if page.locator("script[type$='widget-view+json']").count():
                page.wait_for_selector("[role=slider]")
                page.get_by_role("slider").first.scroll_into_view_if_needed()
                page.wait_for_timeout(A_WHILE)
                for slider in page.get_by_role("slider").all():
                    times += slider.evaluate(STEPS)
            steps = f"{median(times):.0f}, {max(times):.0f}" if times else ""
            print(f"{name:36} {weight:5.0f}  {steps}")
        browser.close()


if __name__ == "__main__":
    main()
