"""A headless Chromium for tests and pictures: one found on the machine, or fetched.

``python tests/browser.py`` makes sure that there is one, and fails with the command to run if it
cannot: Playwright's own is downloaded, or, as root on Debian, its package is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CURE = (
    "no Chromium: run `python -m playwright install chromium`, or on Debian as root "
    "`apt-get install -y chromium`."
)
# Pictures are computed without a graphics card; a sandbox within a container is none.
OPTIONS = [
    "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
    *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
]  # fmt: skip


def executable(playwright: Any) -> str:
    """The path of a Chromium or Chrome; refused with the cure if there is none."""
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    own = playwright.chromium.executable_path
    if not Path(own).exists():
        raise RuntimeError(CURE)
    return str(own)


@contextmanager
def headless() -> Iterator[Any]:
    """A headless browser of Playwright's."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(playwright), args=OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


def ensure() -> None:
    """Get a browser if there is none."""
    from playwright.sync_api import sync_playwright

    ways = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        ways.append(["sh", "-c", "apt-get update && apt-get install -y chromium"])
    for way in (None, *ways):
        if way is not None:
            subprocess.run(way, check=False)
        with sync_playwright() as playwright:
            try:
                print(executable(playwright))
                return
            except RuntimeError:
                continue
    sys.exit(CURE)


if __name__ == "__main__":
    ensure()
