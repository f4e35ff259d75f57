"""Control-C ends a command, with a shell's status for it and nothing that claims to be a result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import appell
from appell.errors import whole
from appell.identify import excite

# The signal comes from within, so that it always comes while the same thing is under way.
COMMAND = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
from importlib import import_module
from appell.cli import app
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
        (["reproduce", "valera2003"], SEARCHING, 3),
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
