"""What each page of the built site weighs, and when it can be read and used.

The weight is all that a page loads at first sight, gzipped as hosts do, with what pages
share. Times are those of a connection of 1.6 Mbit/s with 150 ms to and fro and nothing
kept from before, the best of three: to the first paragraph that is painted, and to the
first explorer whose slider works. Layout shift is the sum until the page is at rest,
opened at its top, and by a link to its last explorer. A slider's step is timed from the
move to the next frame after its pictures are decoded, on a page that was looked at for
a while, so that explorer.js has decoded them in advance.

    python tools/measure_site.py [SITE [PAGE...]]
"""

import functools
import gzip
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median

import chromium
from playwright.sync_api import sync_playwright
from sphinx_external_toc.parsing import parse_toc_yaml

SITE = Path("_build/html")
SLOW = {
    "offline": False,
    "latency": 150,  # ms
    "downloadThroughput": 1.6e6 / 8,
    "uploadThroughput": 0.75e6 / 8,
}
PACKED = (".woff", ".woff2", ".png")  # not smaller when gzipped
LOADS = 3
A_WHILE = 5000  # ms

OBSERVE = """
window.seen = {shift: 0};
new PerformanceObserver(list => {
  for (const each of list.getEntries())
    if (!each.hadRecentInput) seen.shift += each.value;
}).observe({type: "layout-shift", buffered: true});
function look() {
  const painted = performance.getEntriesByType("paint").length;
  if (painted && document.querySelector("article p")?.offsetHeight)
    seen.text ??= performance.now();
  if (document.querySelector(".widget-subarea [role=slider]")?.offsetHeight
      || (typeof Explorer === "function" && Explorer.all.size))
    seen.explorer ??= performance.now();
  requestAnimationFrame(look);
}
look();"""

SETTLED = """Promise.all([window.MathJax?.startup?.promise, document.fonts.ready])"""

STEPS = """async slider => {
  const view = slider.closest(".bh-explorer");
  const move = (position) => {
    slider.value = position;
    slider.dispatchEvent(new Event("input"));
  };
  move(0);
  const times = [];
  for (let step = 1; step <= Number(slider.max); step++) {
    await new Promise(resume => setTimeout(resume, 50));
    const start = performance.now();
    move(step);
    await Promise.all([...view.querySelectorAll("img")].map(image => image.decode()));
    await new Promise(resume => requestAnimationFrame(() => setTimeout(resume)));
    times.push(performance.now() - start);
  }
  return times;
}"""


class Host(SimpleHTTPRequestHandler):
    """Serves files gzipped, as hosts do, and adds up what it has sent."""

    protocol_version = "HTTP/1.1"
    packed: dict[str, bytes] = {}
    sent = 0

    def do_GET(self):
        path = self.translate_path(self.path)
        if not Path(path).is_file():
            return self.send_error(404)
        if path not in self.packed:
            content = Path(path).read_bytes()
            self.packed[path] = (
                content if path.endswith(PACKED) else gzip.compress(content)
            )
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Length", str(len(self.packed[path])))
        if not path.endswith(PACKED):
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(self.packed[path])
        Host.sent += len(self.packed[path])

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A page that is closed leaves files unread."""


def load(browser, url, network=None):
    """Open a page in a browser that has seen none before, and wait until it rests."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(60_000)
    page.add_init_script(OBSERVE)
    if network:
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", network)
    page.goto(url, wait_until="load")
    page.evaluate(SETTLED)
    page.wait_for_load_state("networkidle")
    return page


def measured(browser, url):
    """The page's weight, its times on a slow connection, its shifts and its steps."""
    Host.sent = 0
    page = load(browser, url)
    weight = Host.sent / 1000
    explorers = page.locator(".bh-explorer")
    links = [f"#{each.get_attribute('id')}=0" for each in explorers.all()]
    shifts, steps = [page.evaluate("seen.shift")], []
    if links:
        explorers.first.scroll_into_view_if_needed()
        page.wait_for_timeout(A_WHILE)
        for slider in explorers.get_by_role("slider").all():
            steps += slider.evaluate(STEPS)
    page.context.close()
    times = []
    for _ in range(LOADS):
        page = load(browser, url, SLOW)
        times.append(page.evaluate("[seen.text, seen.explorer]"))
        shifts.append(page.evaluate("seen.shift"))
        page.context.close()
    for link in links[-1:]:
        page = load(browser, url + link, SLOW)
        shifts.append(page.evaluate("seen.shift"))
        page.context.close()
    text, explorer = (
        min((each for each in kind if each), default=None)
        for kind in zip(*times, strict=True)
    )
    return weight, text, explorer, max(shifts), steps


def main():
    site, *names = sys.argv[1:] or [SITE]
    handler = functools.partial(Host, directory=site)
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(
        f"{'page':30} {'KB':>5} {'text, s':>8} {'explorer':>8} {'shift':>6}"
        "  step, ms: median, slowest"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.find(), args=["--no-sandbox"]
        )
        for name in names or parse_toc_yaml("_toc.yml"):
            url = f"http://127.0.0.1:{server.server_port}/{name}.html"
            weight, text, explorer, shift, steps = measured(browser, url)
            print(
                f"{name:30} {weight:5.0f} {text / 1000:8.1f} "
                f"{explorer / 1000 if explorer else float('nan'):8.1f} {shift:6.3f}"
                + (f"  {median(steps):.0f}, {max(steps):.0f}" if steps else ""),
                flush=True,
            )
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
