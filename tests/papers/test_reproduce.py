"""The command and the function that reproduce the papers."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import appell
from appell import cli, papers
from appell.show.document import Document, Row, Table
from appell.show.rules import Differs, Known


@pytest.mark.parametrize("name", papers.PAPERS)
def test_every_value_that_must_come_out_does(name):
    document = appell.papers.reproduce(name)
    assert not document.failures
    compared = [row for table in document.tables if table.compared for row in table.rows]
    assert compared
    for row in compared:
        known = any(isinstance(rule, Differs | Known) for rule in row.rules)
        assert row.why or not known, f"{row.what} differs without a reason"


def test_an_unknown_paper_is_answered_with_the_known_ones():
    with pytest.raises(appell.InputError, match="no paper 'newton1687'; there are valera2003"):
        appell.papers.reproduce("newton1687")


def test_the_command_writes_tables_and_figures(tmp_path):
    done = CliRunner().invoke(cli.app, ["reproduce", "lee1982", "--output", str(tmp_path / "r")])
    assert done.exit_code == 0, done.output
    assert "119n" in done.output
    written = {p.name for p in (tmp_path / "r").iterdir()}
    assert written == {"lee1982.md", "lee1982.html", "lee1982-1.svg", "lee1982-2.svg"}


def test_a_value_that_does_not_come_out_ends_with_status_1(tmp_path, monkeypatch):
    wrong = Document("w", "Wrong", "", [Table("T", ["x"], [Row("row", [1], [2])])])
    monkeypatch.setattr(papers, "reproduce", lambda name: wrong)
    done = CliRunner().invoke(cli.app, ["reproduce", "lee1982", "--output", str(tmp_path / "r")])
    assert done.exit_code == 1
    assert "row: FAILS (equal)" in done.output + done.stderr
