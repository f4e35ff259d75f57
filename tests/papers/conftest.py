"""Papers that are reproduced once for all tests."""

from __future__ import annotations

import os
import pickle
from copy import copy
from dataclasses import replace
from functools import cache, partial

import pytest

from appell import papers


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory):
    """``reproduced(name)``: the document of a paper, from whichever worker computed it first."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    @cache
    def document(name):
        kept = folder / f"{name}.pickle"
        if not kept.exists():
            found = papers.reproduce(name)
            pictures = [replace(x, draw=partial(copy, x.draw())) for x in found.pictures]
            found = replace(found, pictures=pictures)  # functions that draw cannot be written
            new = kept.with_suffix(f".{os.getpid()}")
            new.write_bytes(pickle.dumps(found))
            new.replace(kept)  # whole, or not there
        return pickle.loads(kept.read_bytes())

    return document
