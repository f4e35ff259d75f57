"""The command line, for tests of ``appell control``."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from appell.cli import app


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs ``appell control ...`` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, **options):
        return CliRunner().invoke(app, ["control", *(str(x) for x in arguments)], **options)

    return invoke
