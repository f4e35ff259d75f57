"""Who waits at a terminal is told what for; a pipe is not."""

from __future__ import annotations

import io
import sys
from threading import active_count
from time import sleep

import pytest

import appell
from appell.compile import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def at_terminal(monkeypatch):
    """What is written to a terminal from now on; not a fixture, whose stderr pytest puts back."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def test_what_takes_long_is_told_and_wiped_away(monkeypatch):
    terminal = at_terminal(monkeypatch)
    threads = active_count()
    with progress.told("compiling it"):
        for _ in range(1000):
            if "compiling it" in terminal.getvalue():
                break
            sleep(0.01)
    assert "compiling it" in terminal.getvalue()
    line = "compiling it ..."
    assert terminal.getvalue() == f"\r{line}\r{' ' * len(line)}\r"
    assert active_count() == threads


def test_nothing_is_told_of_what_is_quick(monkeypatch):
    terminal = at_terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with progress.told("compiling it"):
        pass
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("where", ["pipe", "CI", "closed"])
def test_nothing_is_told_where_no_one_looks(monkeypatch, where):
    at_terminal(monkeypatch)
    if where == "pipe":
        monkeypatch.setattr(sys, "stderr", io.StringIO())
    elif where == "closed":
        monkeypatch.setattr(sys, "stderr", None)
    else:
        monkeypatch.setenv("CI", "true")
    with progress.told("compiling it"):
        sleep(0.1)
    assert not sys.stderr or sys.stderr.getvalue() == ""


def test_an_error_passes_through(monkeypatch):
    at_terminal(monkeypatch)
    with pytest.raises(ZeroDivisionError), progress.told("compiling it"):
        print(1 / 0)


def test_a_robots_compile_is_named(monkeypatch):
    """Told while it lasts; the first wait is none here, so any compile takes long enough."""
    terminal = at_terminal(monkeypatch)
    monkeypatch.setenv("APPELL_CACHE", "off")
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    appell.load("random_tree", n=9, seed=5).kernel("forward_dynamics")
    assert "compiling forward_dynamics of random_tree(9, 5)" in terminal.getvalue()
