"""The folder that runs share with all users of the system: another one lays traps there.

As root the traps are laid by another user; otherwise by this one, who has more power over the
folders of a run than any other has.
"""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from appell.rig.loop import run_folder as memory

ELSE = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
NAME = "appell-" + "0123456789abcdef" * 2


@pytest.fixture
def shared(monkeypatch):
    """A folder such as /dev/shm, where all users may write."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o1777)
        monkeypatch.setattr(memory, "_SHARED", folder)
        yield Path(folder)


@pytest.fixture
def victim(tmp_path):
    """A folder that nobody but its owner should be able to change."""
    folder = tmp_path / "victim"
    folder.mkdir(mode=0o700)
    for name in ("owner", "precious.txt"):
        (folder / name).write_text("mine")
        os.utime(folder / name, (1e9, 1e9))
    return folder


def intruder(shared, script):
    subprocess.run(["sh", "-e", "-c", script], cwd=shared, check=True, timeout=60, **ELSE)


def left_by_a_killed_run(shared):
    """A folder of this user whose process is gone."""
    folder = shared / NAME
    folder.mkdir(mode=0o700)
    for name in ("board", "controller.json", "owner", "precious.txt"):
        (folder / name).write_text("")
    os.utime(folder / "owner", (1e9, 1e9))
    return folder


def test_folders_are_private_and_have_names_that_nobody_guesses(shared):
    with memory.private_folder() as one, memory.private_folder() as other:
        for folder in (one, other):
            assert folder.parent == shared
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert memory._NAME.fullmatch(folder.name)
        assert one.name != other.name
        memory.sweep()
        assert one.exists()
    assert not list(shared.iterdir())


def test_what_a_killed_run_left_is_removed_and_what_is_in_use_stays(shared, monkeypatch):
    left_by_a_killed_run(shared)
    with memory.private_folder() as used:
        assert list(shared.iterdir()) == [used]
        monkeypatch.setattr(memory, "_STALE", -1.0)
        memory.sweep()
        assert (used / "owner").exists()


@pytest.mark.parametrize(
    "trap",
    [
        "mkdir -m 700 {name}; mkfifo {name}/owner",
        "mkdir -m 777 {name}; mkfifo -m 666 {name}/owner",
        "mkfifo -m 666 {name}",
        "mkdir -m 777 {name}; echo x >{name}/data; touch -t 200101010000 {name}/owner",
        "ln -s {victim} {name}",
        "mkdir -m 700 {name}; ln -s {victim}/owner {name}/owner",
        "mkdir -m 700 {name}; mkdir {name}/owner",
        "touch {name}",
    ],
)
def test_traps_of_another_user_neither_hold_a_run_nor_lead_it_elsewhere(shared, victim, trap):
    """A pipe has no writer here: whoever opens it as a file waits for ever."""
    intruder(shared, trap.format(name=NAME, victim=victim))
    with memory.private_folder() as folder:
        assert sorted(f.name for f in shared.iterdir()) == sorted([NAME, folder.name])
    assert [f.name for f in shared.iterdir()] == [NAME]
    assert sorted(f.read_text() for f in victim.iterdir()) == ["mine", "mine"]
    intruder(shared, f"rm -r {NAME}")


@pytest.mark.parametrize("name", ["appell-notes", "appell-0123abcd", "appell-" + "X" * 32])
def test_folders_with_other_names_are_let_be(shared, name):
    left_by_a_killed_run(shared).rename(shared / name)
    memory.sweep()
    assert len(list((shared / name).iterdir())) == 4


def test_a_folder_exchanged_for_a_link_while_it_is_emptied_leads_nowhere(
    shared, victim, monkeypatch
):
    """The worst moment: names are known, and files are about to be removed one after another."""
    folder, unlink = left_by_a_killed_run(shared), os.unlink

    def exchanged(*arguments, **options):
        if not folder.is_symlink():
            folder.rename(shared / "aside")
            folder.symlink_to(victim)
        unlink(*arguments, **options)

    monkeypatch.setattr(os, "unlink", exchanged)
    memory.sweep()
    monkeypatch.undo()
    assert sorted(f.name for f in victim.iterdir()) == ["owner", "precious.txt"]


def test_a_shared_folder_whose_files_anyone_can_rename_is_not_used(shared):
    shared.chmod(0o777)
    with memory.private_folder() as folder:
        assert folder.parent == Path(tempfile.gettempdir())
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
