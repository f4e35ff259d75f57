"""A copy of Appell's source, to be edited."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import appell


@pytest.fixture
def copied(tmp_path):
    """The copy that fresh processes import."""
    copy = tmp_path / "appell"
    package = Path(appell.__file__).parent
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy
