"""The command and the function that reproduce the papers."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import appell
from appell import cli, papers
from appell.show.document import Document, Row, Table
from appell.show.report_folder import write_documents
from appell.show.rules import Differs, Known
from tests.report_pages import examine

_SCRIPT = Path(__file__).parents[2] / "docs" / "papers.py"
_spec = importlib.util.spec_from_file_location("papers_pages", _SCRIPT)
pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pages)


@pytest.mark.parametrize("name", papers.PAPERS)
def test_every_value_that_must_come_out_does_and_is_on_the_papers_page(name, tmp_path, reproduced):
    document = reproduced(name)
    assert not document.failures
    assert pages.differences(name, document) == [], f"run: python docs/papers.py {name}"
    compared = [row for table in document.tables if table.compared for row in table.rows]
    assert compared
    for row in compared:
        known = any(isinstance(rule, Differs | Known) for rule in row.rules)
        assert row.why or not known, f"{row.what} differs without a reason"
    if name != "lee1982":  # which the next test but one examines
        report = write_documents([document], tmp_path / "r")[0]
        assert moves(report)
        examine(report, charts=False)


def moves(report):
    """Whether a report has a film that can be stopped."""
    film = re.search(r'<figure class="film"><svg.*?</svg><button', report.read_text(), re.S)
    return film is not None and "<animate" in film[0] and len(film[0]) < 500_000


def test_an_unknown_paper_is_answered_with_the_known_ones():
    with pytest.raises(appell.InputError, match="no paper 'newton1687'; there are valera2003"):
        appell.papers.reproduce("newton1687")


def test_the_command_writes_tables_and_figures(tmp_path, monkeypatch, reproduced):
    monkeypatch.setattr(papers, "reproduce", reproduced)
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as after a plain pip install
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.app, "reproduce lee1982 -o lee")
    assert done.exit_code == 0, done.output
    assert "119n" in done.output
    written = {p.name for p in (tmp_path / "lee").iterdir()}
    assert written == {"lee1982.md", "lee1982.html", *(f"lee1982-{k}.svg" for k in (1, 2, 3))}
    assert "52 of 52 rows agree" in done.output
    assert moves(tmp_path / "lee" / "lee1982.html")
    examine(tmp_path / "lee" / "lee1982.html")
    assert "Report: lee/lee1982.html" in done.output


def test_folders_are_named_after_what_is_in_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(papers, "reproduce", lambda name: Document(name, "Title", "Source"))
    for words in ([], ["lee1982"], ["lee1982"]):
        assert CliRunner().invoke(cli.app, ["reproduce", *words]).exit_code == 0
    written = {p.name for p in tmp_path.iterdir()}
    assert written == {"reproduction", "reproduction-lee1982", "reproduction-lee1982-2"}


def test_a_value_that_does_not_come_out_ends_with_status_1(tmp_path, monkeypatch):
    wrong = Document("w", "Wrong", "", [Table("T", ["x"], [Row("row", [1], [2])])])
    monkeypatch.setattr(papers, "reproduce", lambda name: wrong)
    done = CliRunner().invoke(cli.app, ["reproduce", "lee1982", "--output", str(tmp_path / "r")])
    assert done.exit_code == 1
    assert "row: FAILS (equal)" in done.output + done.stderr
