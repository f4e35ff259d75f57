"""Every number in the text of a page is held by something: claims.py says what."""

from __future__ import annotations

import re

import pytest

from tests.docs.claims import CLAIMS, NAMES, NUMBER, pages, prose

PAIRS = [(page, text) for page, claims in CLAIMS.items() for text in claims]


@pytest.mark.parametrize("page", pages())
def test_every_number_in_the_text_is_claimed(page):
    text = prose(page)
    for claim in CLAIMS.get(page, {}):
        text = text.replace(claim, "")
    text = NAMES.sub("", re.sub(r"`[^`]*`", "", text))
    found = [text[max(0, x.start() - 60) : x.end() + 30] for x in NUMBER.finditer(text)]
    assert not found, "say in tests/docs/claims.py what holds these, or leave the digits out"


@pytest.mark.parametrize(("page", "text"), PAIRS)
def test_a_claim_is_on_its_page_and_true(page, text):
    assert text in prose(page)
    assert CLAIMS[page][text]()


def test_a_number_that_nothing_holds_is_found():
    text = "it took 0.97 mrad, 5 %, 1e-9, 3 ms, 12,000 steps, 4 kB, 5 MB and 2 GiB"
    found = [x[0] for x in NUMBER.finditer(text)]
    assert found == ["0.97", "5 %", "1e-9", "3 ms", "12,000", "4 kB", "5 MB", "2 GiB"]
    assert NAMES.sub("", "Python 3.10, section 4.1") == ", "
