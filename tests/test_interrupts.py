"""Control-C ends a command, with a shell's status for it and nothing that claims to be a result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import appell
from appell.cli import app, main
from appell.errors import whole
from appell.identify import excite

# The signal comes from within, so that it always comes while the same thing is under way.
COMMAND = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
from importlib import import_module
from appell.cli import app, main
module, name, method = {where!r}
owner = getattr(import_module(module), name)
before, calls = getattr(owner, method), 0
def counted(*arguments, **options):
    global calls
    calls += 1
    if calls == {call}:
        os.kill(os.getpid(), signal.SIGINT)
    return before(*arguments, **options)
setattr(owner, method, counted)
sys.argv = ["appell", *{arguments!r}]
app()
"""
SEARCHING = ("appell.identify.excitation.problem", "_Steps", "eval")
TRACKING = ("appell.control.tracking.plant", "Plant", "advance")
FLYING = ("appell.simulation.flight", "Flight", "fly")
ON_THE_RIG = ("appell.rig.loop.control_loop", "ControlLoop", "step")


def interrupted_command(arguments, where, call, folder):
    code = COMMAND.format(where=where, call=call, arguments=arguments)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, timeout=600
    )


@pytest.mark.parametrize(
    ("arguments", "where", "call"),
    [
        (["identify", "demo", "--quick"], SEARCHING, 3),
        (["identify", "demo", "--quick"], ON_THE_RIG, 700),
        (["reproduce", "lee1982"], TRACKING, 50),
        (["reproduce", "shafei2018"], FLYING, 1),
    ],
    ids=lambda x: x[-1] if isinstance(x, tuple) else None,
)
def test_an_interrupted_command_ends_with_status_130_and_no_report(
    arguments, where, call, tmp_path
):
    result = interrupted_command(arguments, where, call, tmp_path)
    assert result.returncode == 130, result.stderr
    assert "Traceback" not in result.stderr
    assert "Report" not in result.stdout
    assert "optimised" not in result.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("where", "call"), [(("appell.rig.campaign", "Sound", "twin"), 3), (ON_THE_RIG, 10)]
)
def test_an_interrupted_campaign_tells_what_was_done(where, call, tmp_path):
    result = interrupted_command(["control", "campaign", "--faults", "9"], where, call, tmp_path)
    assert result.returncode == 130, result.stderr
    assert "Interrupted: this is what was done so far." in result.stdout
    done = 2 if call == 3 else 0
    assert f"{done} of {done} as they must be" in result.stdout
    assert f"{9 - done} not tried." in result.stdout


KERNEL = ("appell.robots.kernels", "Kernels", "kernel")


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["check", "two_link"], KERNEL),
        (["new", "two_link"], KERNEL),
        (["export", "two_link", "gravity"], ("appell.export.body", "FunctionBody", "__init__")),
        (["info", "two_link"], ("appell.robots.robot", "Robot", "__init__")),
    ],
    ids=lambda x: x[0] if isinstance(x, list) else None,
)
def test_every_command_says_that_it_was_interrupted(arguments, where, tmp_path):
    result = interrupted_command(arguments, where, 1, tmp_path)
    assert result.returncode == 130, result.stderr
    assert "Interrupted: what was under way is not kept." in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_what_an_interrupted_export_has_written_is_said_to_be_kept(tmp_path):
    timing = ("appell.export", "code", "seconds_per_step")
    result = interrupted_command(["export", "two_link", "gravity", "-o", "a"], timing, 1, tmp_path)
    assert result.returncode == 130, result.stderr
    assert result.stderr == "Interrupted: the files are written; they were not timed.\n"
    assert [*(tmp_path / "a").glob("*.c")]


@pytest.mark.parametrize("module", ["typer", "appell.cli.control"])
def test_control_c_while_commands_are_imported_is_status_130(module):
    code = f"""
import builtins, sys
before = builtins.__import__
def interrupted(name, *arguments, **options):
    if name == {module!r}:
        raise KeyboardInterrupt
    return before(name, *arguments, **options)
from appell.__main__ import main
builtins.__import__ = interrupted
sys.argv = ["appell", "list"]
main()
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (130, "Interrupted.\n")


def test_control_c_before_a_command_begins_is_status_130(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("appell.cli.app", interrupted)
    with pytest.raises(SystemExit) as end:
        main()
    assert (end.value.code, capsys.readouterr().err) == (130, "Interrupted.\n")


def test_an_interrupted_run_is_in_its_report_and_said_so(tmp_path):
    scenario = tmp_path / "hold.toml"
    scenario.write_text('robot = "two_link"\ntask = {kind = "hold", until = 5.0}\n')
    result = interrupted_command(["run", "hold.toml"], TRACKING, 50, tmp_path)
    assert result.returncode == 130, result.stderr
    assert "Interrupted: what was done so far is in the report." in result.stderr
    assert "interrupted at 0.49 s" in (tmp_path / "hold-run" / "report.html").read_text()


def test_papers_that_were_done_before_an_interrupt_are_written(tmp_path, monkeypatch):
    from appell import papers
    from appell.show.document import Document

    def reproduced(name):
        if name == papers.PAPERS[2]:
            raise KeyboardInterrupt
        return Document(name, "Title", "Source")

    monkeypatch.setattr(papers, "reproduce", reproduced)
    result = CliRunner().invoke(app, ["reproduce", "-o", str(tmp_path / "r")])
    assert result.exit_code == 130
    assert f"Interrupted: not done are {papers.PAPERS[2]}" in result.stderr
    assert {x.stem for x in (tmp_path / "r").iterdir()} == set(papers.PAPERS[:2])


def test_an_interrupted_search_still_keeps_its_best_and_says_so(tmp_path):
    arguments = ["identify", "excite", "two_link", "--harmonics", "3", "--duration", "4"]
    result = interrupted_command(arguments, SEARCHING, 3, tmp_path)
    assert result.returncode == 130, result.stderr
    assert "Interrupted: this is the best so far." in result.stdout


def interrupt(*_) -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def default_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_handler")
def test_libraries_keep_what_they_have_and_say_so_but_for_those_who_need_the_whole():
    robot = appell.load("two_link")
    start = np.zeros(2)

    def torque(t, q, v):
        if t > 0.1:
            interrupt()
        return np.zeros(2)

    def simulated():
        return appell.simulate(robot, start, start, until=1.0, torque=torque).stopped

    def searched():
        limits = {"position": 1.0, "speed": 2.0, "starts": 1, "iterations": 5, "random": 2}
        found = excite(robot, duration=4.0, harmonics=3, **limits, progress=interrupt)
        return "interrupted" if found.interrupted else None

    for ask in (simulated, searched):
        assert ask().startswith("interrupted")
        with whole(), pytest.raises(KeyboardInterrupt):
            ask()
        assert ask().startswith("interrupted")
