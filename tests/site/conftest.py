"""The built site, served below a sub-path, and one Chromium for all its pages."""

import functools
import http.server
import threading
from pathlib import Path

import chromium
import pytest
from playwright.sync_api import sync_playwright
from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build/html"
ONLY_THIS_MACHINE = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
PAGES = [*parse_toc_yaml(ROOT / "_toc.yml"), "search"]


@pytest.fixture(scope="session")
def site():
    """The folder of the site that `make book` built."""
    if not (SITE / "index.html").exists():
        pytest.fail("there is no site to test: run `make book` first")
    return SITE


@pytest.fixture(scope="session")
def lite(site):
    """The part of the site that runs notebooks."""
    left_out = ROOT / "_build/lite/left-out.txt"
    if left_out.exists():
        pytest.skip(left_out.read_text().strip())
    if not (site / "lite").exists():
        pytest.skip("the site was built with LITE=no")
    return site / "lite"


@pytest.fixture(scope="session", params=PAGES)
def name(request):
    """Each page of the book, as it is called in the table of contents."""
    return request.param


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def address(site, tmp_path_factory):
    """The site's address: not at the root of its host, as on most hosts."""
    root = tmp_path_factory.mktemp("host")
    (root / "some").mkdir()
    (root / "some/where").symlink_to(site, target_is_directory=True)
    handler = functools.partial(QuietHandler, directory=root)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/some/where"
        server.shutdown()


@pytest.fixture(scope="session")
def browser():
    """A Chromium that finds no host but this machine."""
    path = chromium.find()
    if not path:
        pytest.skip("no Chromium on this machine: install one, or run `make test`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", f"--host-resolver-rules={ONLY_THIS_MACHINE}"],
        )
        yield browser
        browser.close()
