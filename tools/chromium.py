"""Find a Chromium for the browser tests; as a script, install one if there is none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

COMMANDS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]


def find():
    """The path of a Chromium: the machine's, else Playwright's own, else None."""
    for command in COMMANDS:
        if path := shutil.which(command):
            return path
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


def install():
    """Debian's package where that is allowed, else what Playwright downloads."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        _run("apt-get", "update", "-qq")
        _run("apt-get", "install", "-qq", "--no-install-recommends", "chromium")
    if not find():
        _run(sys.executable, "-m", "playwright", "install", "chromium")


def _run(*command):
    print(*command, flush=True)
    subprocess.run(command, timeout=600, check=False)


if __name__ == "__main__":
    if not find():
        install()
    print(find() or "No Chromium could be installed: the browser tests will be skipped.")
