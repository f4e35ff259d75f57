"""The documentation builds, strictly: pages, links, anchors, and names of the reference."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT


def test_the_site_builds_with_every_page_and_no_program(tmp_path):
    """All in one test: a build takes most of a minute where cores are shared."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # the theme's own setting
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "end of life" not in done.stdout + done.stderr
    pages = {x.relative_to(ROOT / "docs").with_suffix("") for x in (ROOT / "docs").rglob("*.md")}
    built = {x.relative_to(tmp_path).parent for x in tmp_path.rglob("index.html")}
    assert {x.parent if x.name == "index" else x for x in pages} <= built
    assert not [*tmp_path.rglob("*.py")]
    shows_a_method((tmp_path / "reference" / "robots" / "index.html").read_text())


def shows_a_method(page):
    """That a method has its arguments, returns and example, as the reference draws them."""
    found = re.search(r'id="appell\.Robot\.gravity".*?(?=id="appell\.Robot\.\w+")', page, re.DOTALL)
    text = re.sub(r"<[^>]+>", " ", found[0])
    for words in ("Parameters:", "rad or m", "Returns:", "N m or N", "Examples:"):
        assert words in text


def test_the_theme_is_pinned():
    text = (ROOT / "pyproject.toml").read_text()
    assert re.search(r'"mkdocs-material==\d+\.\d+\.\*"', text)
    assert "NO_MKDOCS_2_WARNING=1" in Path(ROOT / "Makefile").read_text()
