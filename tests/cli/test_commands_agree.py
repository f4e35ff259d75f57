"""Commands agree with each other: options, examples, output, JSON, and the page that lists them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import appell
from appell.cli import app, choices
from appell.control import quintic
from appell.rig.log.motion_files import read_motion

DOCS = Path(__file__).parents[2] / "docs"
_spec = importlib.util.spec_from_file_location("commands_page", DOCS / "commands.py")
page = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(page)

COMMANDS = page.commands(get_command(app))
# Examples that take longer than a test may: they are read, not run.
LONG = {"control soak", "control campaign", "identify fit", "identify excite", "identify demo"}
LONG |= {"reproduce", "run", "view"}


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs ``appell ...`` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, **options):
        return CliRunner().invoke(app, [str(x) for x in arguments], **options)

    return run


def parsed(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("path", COMMANDS)
def test_every_help_ends_with_an_example_that_is_understood(path):
    lines = page.examples(COMMANDS[path])
    assert all(line.startswith(f"appell {path}") for line in lines)
    for line in lines:
        COMMANDS[path].make_context(path, line.split()[1 + len(path.split()) :])


@pytest.mark.parametrize("path", [path for path in COMMANDS if path not in LONG])
def test_examples_run(path, command, tmp_path):
    t, q = np.linspace(0, 1, 51), np.radians([0, -45, 60, 0, 30, 0])
    rows = np.column_stack([t, quintic(q, q + 0.1, 1.0)(t)[0]])
    for name in ("motion.csv", "poses.csv"):
        if path in ("control follow", "control replay"):
            np.savetxt(name, rows, delimiter=",", header="t,q1,q2,q3,q4,q5,q6", comments="")
    if path == "control show":
        move = ["control", "move", "--to", "1,-45,60,0,30,0", "--duration", "0.2"]
        assert command(*move, "--channel", "lockstep", "--log", "move.mcap").exit_code == 0
    said = "mark\n1 +5\nmark\nend\n" if path == "control teach" else None
    for line in page.examples(COMMANDS[path]):
        result = command(*line.split()[1:], input=said)
        assert result.exit_code == 0, (line, result.output)


def test_options_have_one_spelling():
    for path in COMMANDS:
        options = {x: p for p in COMMANDS[path].params for x in p.opts + p.secondary_opts}
        assert ("--output" in options) == ("-o" in options), path
        assert ("--quiet" in options) == ("-q" in options), path
        assert ("--verbose" in options) == ("-v" in options), path
        arguments = [p.name for p in COMMANDS[path].params if p.param_type_name == "argument"]
        if any("robot" in name for name in arguments):
            assert "robot" in arguments[0], path
    tables = ("list", "check", "info", "reproduce", "control move", "control follow")
    for path in (*tables, "control show", "control laws", "identify fit", "identify excite"):
        assert "--json" in {x for p in COMMANDS[path].params for x in p.opts}, path


def test_help_and_completion(command):
    for words in (["-h"], ["control", "-h"], ["control", "move", "-h"]):
        result = command(*words)
        assert result.exit_code == 0
        assert "Usage" in result.stdout
    assert "--install-completion" in command("-h").stdout


def test_help_lists_the_names_that_are_known():
    from appell.equations.quantities import QUANTITIES
    from appell.identify.estimate.fitting import METHODS
    from appell.papers import PAPERS

    assert choices.PAPERS == PAPERS
    assert choices.METHODS == METHODS
    assert set(choices.QUANTITIES) == set(QUANTITIES) - {"motion", "flow"}
    assert set(choices.FORMULATIONS) == {x for q in QUANTITIES.values() for x in q.formulations}


def test_the_page_of_commands_is_made_from_the_commands():
    assert page.PAGE.read_text() == page.page(), "run: python docs/commands.py"


# Former spellings


def test_former_spellings_are_taken_with_a_note(command):
    move = ["control", "move", "--robot", "puma560", "--to", "1,-45,60,0,30,0", "--duration", "0.2"]
    law = ["--law", "computed-torque", "--gain", "kv=20"]
    result = command(*move, "--channel", "lockstep", *law)
    assert result.exit_code == 0, result.output
    assert "note: --robot: the robot is now the first argument." in result.stderr
    assert "note: computed-torque: the gain kv is now called kd." in result.stderr
    exported = command("export", "two_link", "--law", "computed-torque", "--kv", "20")
    assert exported.exit_code == 0, exported.output
    assert "the gain kv is now called kd" in exported.stderr


# What is printed


def test_tables_are_printed_as_json(command):
    robots = parsed(command("list", "--json"))
    assert {"puma560", "five_bar", "panda"} <= {x["robot"] for x in robots}
    laws = parsed(command("control", "laws", "--json"))
    assert {"law": "computed-torque", "gains": ["kp", "kd"]}.items() <= next(
        x for x in laws if x["law"] == "computed-torque"
    ).items()
    checks = parsed(command("check", "two_link", "--states", "3", "--json"))
    assert all(x["passed"] and x["error"] <= x["bound"] for x in checks)


def test_a_move_tells_first_whether_it_arrived_and_times_only_when_asked(command, tmp_path):
    move = ["control", "move", "puma560", "--to", "1,-45,60,0,30,0", "--duration", "0.2"]
    result = command(*move, "--channel", "lockstep", "--log", "a.mcap")
    assert result.stdout.startswith("arrived, ")
    assert "late by" not in result.stdout
    told = parsed(command(*move, "--channel", "lockstep", "--log", "a.mcap", "--json"))
    assert told["ok"]
    assert np.abs(told["final_error"]).max() < 0.01
    assert told["log"] == "a-2.mcap"  # a number is added, nothing is overwritten
    assert (tmp_path / "a-2.mcap").exists()
    shown = parsed(command("control", "show", "a.mcap", "--json"))
    assert shown["complete"]
    assert shown["state"] == "STOP"
    fault = command(*move, "--channel", "lockstep", "--fault", "hot@900,joint=4")
    assert fault.stdout.startswith("FAULT: over-temperature: joint 4")


def test_what_is_too_far_is_told_in_the_units_of_the_option(command):
    move = ["control", "move", "--to", "2000,-45,60,0,30,0", "--channel", "lockstep"]
    assert "to 34.91 rad (0 to 2000 deg)" in command(*move).stderr


def test_exports_are_numbered_unless_forced(command):
    export = ["export", "two_link", "gravity", "-o", "code"]
    for more, folder in (([], "code/"), ([], "code-2/"), (["--force"], "code/")):
        result = command(*export, *more)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith(folder)


# What a robot is


@pytest.mark.parametrize("name", ["panda", "five_bar", "agile_wrist", "talos"])
def test_info_tells_what_a_robot_is(command, name):
    robot = appell.load(name)
    facts = parsed(command("info", name, "--json"))
    assert facts["degrees_of_freedom"] == robot.nv
    assert facts["actuators"] == list(robot.actuated)
    assert facts["frames"] == list(robot.link_names)
    assert len(facts["loops"]) == len(getattr(robot, "constraints", ()))
    assert "inverse_dynamics" in facts["answers"]
    text = command("info", name).stdout
    assert robot.name in text
    assert all(frame in text for frame in robot.link_names)
    if name == "panda":
        joint = facts["joints"][0]
        own = robot.model.joints[0]
        assert [joint[x] for x in ("lower", "upper", "speed", "effort")] == [
            own.lower, own.upper, own.speed, own.effort
        ]  # fmt: skip
        assert joint["units"] == {"position": "rad", "speed": "rad/s", "effort": "N m"}


# Files


def test_what_run_writes_is_followed(tmp_path):
    """Named columns t, q1, ..., v1, ..., a1, ..., tau1, ...: the motion is that of t and q."""
    t = np.linspace(0, 1, 11)
    motion = quintic([0.1, 0.2], [0.5, -0.3], 1.0)
    q, v, a = motion(t)
    columns = np.column_stack([t, q, v, a, 0 * q])
    names = ["t", *(f"{x}{j}" for x in ("q", "v", "a", "tau") for j in (1, 2))]
    whole, plain = tmp_path / "whole.csv", tmp_path / "plain.csv"
    np.savetxt(whole, columns, delimiter=",", header=",".join(names), comments="")
    np.savetxt(plain, columns[:, :3], delimiter=",", header="t,q1,q2", comments="")
    times = np.linspace(0, 1, 101)
    for x, y in zip(read_motion(whole, 2)[0](times), read_motion(plain, 2)[0](times), strict=True):
        np.testing.assert_array_equal(x, y)
    np.savetxt(whole, columns[:, :4], delimiter=",", header="t,q1,q2,q3", comments="")
    with pytest.raises(appell.InputError, match="column 'q3'"):
        read_motion(whole, 2)
