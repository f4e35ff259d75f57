"""Files that are written whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

from appell.whole_file import DiskError, remove_leftovers, write_whole


def test_a_file_that_cannot_be_written_keeps_the_one_before(tmp_path, monkeypatch):
    target = tmp_path / "a.html"
    write_whole(target, "before")

    def full(path, *_, **__):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DiskError, match=r"cannot write '.*a\.html': the disk is full"):
        write_whole(target, "after")
    assert [x.name for x in tmp_path.iterdir()] == ["a.html"]
    assert target.read_text() == "before"


def test_a_link_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    file, link = tmp_path / "there" / "a.txt", tmp_path / "link.txt"
    link.symlink_to(file)
    for text in ("first", "second"):
        write_whole(link, text)
        assert link.is_symlink()
        assert file.read_text() == text
    assert [x.name for x in file.parent.iterdir()] == ["a.txt"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "all of it")
    reader.join()
    assert heard == ["all of it"]
    assert pipe.is_fifo()


def test_only_unfinished_files_are_removed(tmp_path):
    names = (".study.json.4711.appell-part", ".hidden", "notes.2024", ".part-1.parquet", ".notes.1")
    for name in names:
        (tmp_path / name).write_text(name)
    remove_leftovers(tmp_path)
    assert {x.name for x in tmp_path.iterdir()} == {*names[1:]}


def test_permissions_are_kept_and_a_link_in_the_way_is_not_followed(tmp_path):
    target, precious = tmp_path / "a.toml", tmp_path / "precious"
    precious.write_text("precious")
    target.write_text("before")
    target.chmod(0o464)  # more than usual for some, and not to be written to
    (tmp_path / f".a.toml.{os.getpid()}.appell-part").symlink_to(precious)
    write_whole(target, "after")
    assert target.read_text() == "after"
    assert target.stat().st_mode & 0o777 == 0o464
    assert not target.is_symlink()
    assert precious.read_text() == "precious"
