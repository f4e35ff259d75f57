"""A browser, and pages in it."""

from __future__ import annotations

import pytest

from tests.browser import headless
from tests.viewer_pages import PATIENCE, SIZE


@pytest.fixture(scope="module")
def browser():
    with headless() as one:
        yield one


@pytest.fixture
def opened(browser):
    """A page at an address; errors on its console are errors."""
    pages, errors = [], []

    def opens(url, **options):
        page = browser.new_context(**{"viewport": SIZE, **options}).new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda problem: errors.append(str(problem)))
        page.goto(url)
        pages.append(page)
        return page

    yield opens
    for page in pages:
        page.context.close()
    assert not errors
