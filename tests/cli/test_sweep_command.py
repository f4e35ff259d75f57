"""``appell sweep`` as a user calls it."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from appell.cli import app
from appell.show.viewer.view import view_file
from appell.study import read_study
from appell.study.sweeps.storage.dataset import parts

SCENARIO = """
robot = {model = "planar_chain", options = {n = 2}}
start = {q = [0.2, -0.4]}
task = {kind = "moves", moves = [{to = [0.7, 0.3], duration = 0.2}]}
law = {name = "computed-torque", kp = 100.0, believes = {payload = {mass = 0.0}}}
"""
SEGMENT = """<link name="{1}"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
  <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="{1} joint" type="continuous"><parent link="{0}"/><child link="{1}"/>
  <origin xyz="{2} 0 0"/><axis xyz="0 0 1"/></joint>"""
SEGMENTS = SEGMENT.format("base", "upper", 0) + SEGMENT.format("upper", "lower", 1)
URDF = f'<robot name="arm"><link name="base"/>{SEGMENTS}</robot>'
STUDY = """
scenario = "move.toml"
points = 12
[vary]
"robot.payload.mass" = {uniform = [-0.2, 2.0]}
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs ``appell sweep ...`` beside a scenario and a study of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "move.toml").write_text(SCENARIO)
    (tmp_path / "study.toml").write_text(STUDY)

    def run(*arguments):
        return CliRunner().invoke(app, ["sweep", *map(str, arguments)])

    return run


def parsed(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_study_leaves_a_table_a_dataset_and_a_report(command, tmp_path):
    result = command("study.toml")
    assert result.exit_code == 0, result.output
    assert "12 points, 2 failed" in result.stdout
    assert "worst_error" in result.stdout
    assert "worst point" in result.stdout
    assert "Rollouts and exact runs of" in result.stdout
    assert (tmp_path / "study-sweep" / "report.html").is_file()
    assert len(parts(tmp_path / "study-sweep")) == 1
    shown = command("show", "study-sweep")
    assert "12 points, 2 failed" in shown.stdout
    told = parsed(command("show", "study-sweep", "--json"))
    assert told["points"] == 12
    assert told["failed"] == 2


def test_one_point_runs_alone_with_a_report(command, tmp_path):
    command("study.toml")
    told = parsed(command("study.toml", "--point", 3, "--json"))
    assert told["point"] == 3
    assert abs(told["measures"]["worst_error"] - told["exact"]["worst_error"]) < 1e-6
    assert (tmp_path / "study-point-3" / "report.html").is_file()
    assert (tmp_path / "study-point-3" / "run.npz").is_file()
    again = CliRunner().invoke(app, ["run", "study-point-3/scenario.json", "--json"])
    assert again.exit_code in (0, 1), again.output


def test_the_commands_in_the_report_of_a_folder_replay_its_points(command, tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    text = SCENARIO.replace('{model = "planar_chain", options = {n = 2}}', '{model = "arm.urdf"}')
    (tmp_path / "move.toml").write_text(text)
    assert command("study.toml", "-q").exit_code == 0
    page = (tmp_path / "study-sweep" / "report.html").read_text()
    assert "points/s" in page
    for name in ("study.toml", "move.toml", "arm.urdf"):  # the folder is all that is left
        (tmp_path / name).unlink()
    told = parsed(command("show", "study-sweep", "--json"))
    page = html.unescape((tmp_path / "study-sweep" / "report.html").read_text())
    replays = re.findall(r"<code>appell (sweep .*?--point (\d+))</code>", page)
    worst = told["worst"]["worst_error"][0]
    [replay, *_] = [words for words, point in replays if int(point) == worst["point"]]
    result = parsed(CliRunner().invoke(app, [*shlex.split(replay), "--json"]))
    assert result["measures"]["worst_error"] == pytest.approx(worst["value"], rel=1e-12)
    scenario, *_ = re.findall(r"<code>appell view (.*?)</code>", page)
    there = re.sub(r"point-\d+", f"point-{worst['point']}", shlex.split(scenario)[0])
    assert there == f"study-sweep-point-{worst['point']}"
    assert view_file(Path(there), None).robot.name == "arm"
    # The folder is a study that goes on: nothing of it is left to do.
    assert parsed(command("study-sweep", "--json"))["points"] == 12
    assert "points/s" not in (tmp_path / "study-sweep" / "report.html").read_text()


def test_a_folder_that_is_no_sweep_is_refused(command, tmp_path):
    (tmp_path / "empty").mkdir()
    result = command("empty", "--point", 0)
    assert result.exit_code == 2
    assert "no folder of a sweep" in result.output


def test_a_failed_point_says_why_and_ends_with_one(command):
    import numpy as np

    from appell.study.sweeps.design import Design

    masses = Design(read_study("study.toml")).values(0, 12)["robot.payload.mass"]
    result = command("study.toml", "--point", int(np.argmin(masses)))
    assert result.exit_code == 1
    assert "robot.payload.mass" in result.output
    result = command("study.toml", "--point", 12)
    assert result.exit_code == 2
    assert "points 0 to 11" in result.output


def test_a_new_study_runs_as_it_stands(command, tmp_path):
    result = command("new", "move.toml", "-o", "other.toml")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "other.toml").read_text().replace("points = 256", "points = 8")
    (tmp_path / "other.toml").write_text(text)
    assert command("other.toml", "-q").exit_code == 0
    assert '"vary"' in (tmp_path / "study.schema.json").read_text()
    assert command("new", "move.toml", "-o", "other.toml").exit_code == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (STUDY.replace("points", "pionts"), "study.toml:3: pionts: no such entry; did you mean"),
        (STUDY.replace("mass", "mas"), "robot.payload.mas"),
        (STUDY.replace("move.toml", "nothing.toml"), "nothing.toml"),
        ("scenario = [", "not TOML"),
    ],
)
def test_what_is_wrong_in_a_study_is_told_with_its_place(command, tmp_path, text, told):
    (tmp_path / "study.toml").write_text(text)
    result = command("study.toml")
    assert result.exit_code == 2
    assert told in result.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("move.toml",), "move.toml is a scenario, not a study: appell run runs it, and appell"),
        (("show", "study.toml"), "it is a file. Expected a folder that appell sweep wrote"),
        (("hundred.toml",), "hundred.toml: points = 100: sampling = 'saltelli' takes a power of "
         "two, such as 64 or 128."),
    ],
)  # fmt: skip
def test_what_is_mistaken_for_something_else_is_refused_with_the_cure(
    command, tmp_path, arguments, told
):
    text = STUDY.replace("points = 12", 'points = 100\nsampling = "saltelli"')
    (tmp_path / "hundred.toml").write_text(text)
    result = command(*arguments)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


def test_tls_files_that_are_not_there_are_refused(command):
    result = command("study.toml", "--scheduler", "tls://127.0.0.1:1", "--tls-ca", "no.pem")
    assert result.exit_code == 2
    assert "no.pem" in result.output


def test_an_interrupted_sweep_says_how_to_go_on(command, tmp_path):
    slow = STUDY.replace("12", "2000") + "[rollout]\ncompare = 0\n"
    (tmp_path / "slow.toml").write_text('method = "runs"\nblock = 2\n' + slow)
    process = subprocess.Popen(
        [sys.executable, "-m", "appell", "sweep", "slow.toml"], stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as in the foreground
    )  # fmt: skip
    end = time.monotonic() + 120
    while not parts(tmp_path / "slow-sweep") and time.monotonic() < end:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "slow-sweep; the same command goes on from there" in told


def test_points_on_the_command_line_are_as_if_the_file_said_them(command, tmp_path):
    assert parsed(command("study.toml", "--points", 5, "-o", "five", "--json"))["points"] == 5
    (tmp_path / "same.toml").write_text(STUDY.replace("points = 12", "points = 5"))
    assert parsed(command("same.toml", "-o", "same", "--json"))["points"] == 5
    heads = [json.loads((tmp_path / x / "study.json").read_text()) for x in ("five", "same")]
    assert heads[0]["hash"] == heads[1]["hash"]
    assert heads[0]["study"] == heads[1]["study"]
    assert parsed(command("five", "--points", 7, "--json"))["points"] == 7  # two more


@pytest.mark.parametrize(
    ("sampling", "told"),
    [("saltelli", "takes a power of two"), ("grid", "has as many points as its values")],
)
def test_points_that_the_file_could_not_have_are_refused(command, tmp_path, sampling, told):
    text = f'scenario = "move.toml"\nsampling = "{sampling}"\n[vary]\n'
    text = text if sampling == "grid" else f"points = 8\n{text}"
    (tmp_path / "other.toml").write_text(text + '"law.kp" = {linear = [50, 100, 3]}\n')
    result = command("other.toml", "--points", 100)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


FUNCTIONS = """
import asyncio

def talks(x):
    print("talking")
    if x == 2:
        raise asyncio.CancelledError("tired")
    if x == 3:
        raise ValueError("unstable")
    return {"y": x, **({"z": 1.0} if x == 0 else {})}
"""


def test_the_commands_in_a_new_report_replay_its_points(command, tmp_path):
    for output in ([], ["-o", "else where"]):
        result = parsed(command("study.toml", *output, "--json"))
        page = html.unescape(Path(result["report"]).read_text())
        [*replays] = re.findall(r"<code>appell (sweep .*?--point \d+)</code>", page)
        assert replays
        assert parsed(CliRunner().invoke(app, [*shlex.split(replays[0]), "--json"]))["measures"]


def test_a_function_may_print_and_raise_what_it_likes(command, tmp_path):
    (tmp_path / "talking.py").write_text(FUNCTIONS)
    vary = "x = {linear = [0, 4, 5]}"
    text = f'function = "talking:talks"\nsampling = "grid"\n[vary]\n{vary}\n'
    (tmp_path / "talks.toml").write_text(text)
    told = parsed(command("talks.toml", "--json"))  # JSON, and nothing else
    assert (told["points"], told["failed"]) == (5, 2)
    assert set(told["reasons"]) == {"CancelledError: tired", "ValueError: unstable"}
    printed = command("talks.toml").output
    assert "z: 2 of the 3 that did not fail have no number" in printed
    alone = command("talks.toml", "--point", 3)
    assert alone.exit_code == 1
    assert 'raise ValueError("unstable")' in alone.output  # the line of the user's file
    assert "points.py" not in alone.output
    assert "value" in command("talks.toml", "--point", 1).output


def test_points_that_failed_are_named_and_nothing_but_failures_is_a_failure(command, tmp_path):
    text = "def f(x):\n    if x > 2:\n        raise ValueError('far: \\ud800')\n    return x\n"
    (tmp_path / "some.py").write_text(text)
    study = 'function = "some:f"\nsampling = "grid"\n[vary]\nx = {linear = [%s, 9, 10]}\n'
    (tmp_path / "some.toml").write_text(study % "0")
    result = command("some.toml")
    assert result.exit_code == 0, result.output
    assert "7 failed (points 3, 4, 5, 6, 7, ...): ValueError: far: ?" in result.output
    assert "(points 3, 4, 5, 6, 7, 8, 9)" in command("some.toml", "-v").output
    (tmp_path / "none.toml").write_text(study % "3")
    for options in ([], ["--json"]):
        assert command("none.toml", *options).exit_code == 1


def test_sobol_indices_and_a_sweep_that_is_not_complete_are_told(command, tmp_path):
    (tmp_path / "some.py").write_text("def f(x, y):\n    return 3 * x + y\n")
    (tmp_path / "some.toml").write_text(
        'function = "some:f"\nsampling = "saltelli"\npoints = 64\nblock = 64\n[vary]\n'
        "x = {uniform = [0, 1]}\ny = {uniform = [0, 1]}\n"
    )
    told = command("some.toml").output
    assert re.search(r"share of f +first order +total order", told)
    assert re.search(r"x +0\.\d\d \(0\.\d\d to [01]\.\d\d\) +0\.\d\d \(", told)
    assert "bounds at 95 %, of 64 samples" in told
    parts(tmp_path / "some-sweep")[3].unlink()
    told = command("show", "some-sweep").output
    assert "192 of 256 points, 0 failed" in told
    assert "warning: The sweep is not complete" in told


def test_a_load_that_the_law_knows_is_told(command, tmp_path):
    (tmp_path / "move.toml").write_text(
        SCENARIO.replace(", believes = {payload = {mass = 0.0}}", "")
    )
    told = command("study.toml", "--points", 2).output
    assert "one by one (the law knows 'robot.payload.mass', so that each point needs" in told
    assert "the law knows robot.payload.mass; give law.believes" in told


def test_a_new_study_of_joints_that_turn_and_slide_keeps_measures_by_joint(command, tmp_path):
    urdf = URDF.replace('"lower joint" type="continuous"', '"lower joint" type="prismatic"')
    limit = '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="100" velocity="9"/>'
    (tmp_path / "arm.urdf").write_text(urdf.replace('<axis xyz="0 0 1"/>', limit))
    (tmp_path / "move.toml").write_text(
        'robot = "arm.urdf"\n'
        'task = {kind = "moves", moves = [{to = {"upper joint" = 0.2}, duration = 0.2}]}\n'
        'law = {name = "computed-torque"}\n'
    )
    assert command("new", "move.toml", "-o", "by_joint.toml").exit_code == 0
    kept = read_study("by_joint.toml").measures
    assert kept[:2] == ("worst_error.upper joint", "worst_error.lower joint")
    assert "settling_time" in kept
    told = parsed(command("by_joint.toml", "--points", 4, "--json"))
    assert told["measures"]["peak_torque.lower joint"]["unit"] == "N"


COSTS = """
def speed(t, q, v, tau):
    return v[0]

def error(t, q, v, tau, qd, vd):
    return abs(qd[0] - q[0])
"""


def test_a_cost_without_a_law_is_its_integral_and_one_of_other_arguments_is_refused(
    command, tmp_path
):
    (tmp_path / "costs.py").write_text(COSTS)
    fall = SCENARIO.partition("task")[0] + 'task = {kind = "fall", until = 0.5}\n'
    (tmp_path / "fall.toml").write_text(fall)
    study = (
        'scenario = "%s.toml"\ncost = "costs:%s"\nmeasures = ["cost"%s]\nsampling = "grid"\n'
        '[vary]\n"start.v.joint1" = {values = [0, 1]}\n'
    )
    (tmp_path / "way.toml").write_text(study % ("fall", "speed", ', "q.joint1"'))
    for method in ("", 'method = "runs"\n'):  # the integral of the speed is the way
        (tmp_path / "way.toml").write_text(method + study % ("fall", "speed", ', "q.joint1"'))
        result = command("way.toml", "--point", 1, "--json")
        told = parsed(result)
        way = told["exact"]["q.joint1"] - 0.2
        assert told["exact"]["cost"] == pytest.approx(way, rel=1e-5)
        assert told["measures"]["cost"] == pytest.approx(way, rel=1e-2)
    for scenario, cost, wanted in (("move", "speed", "qd, vd"), ("fall", "error", "tau) where")):
        (tmp_path / "bad.toml").write_text(study % (scenario, cost, ""))
        result = command("bad.toml")
        assert result.exit_code == 2
        assert "bad.toml:2: cost" in result.output
        assert wanted in result.output


def test_units_do_not_depend_on_which_points_fail(command, tmp_path):
    (tmp_path / "first.toml").write_text(
        STUDY.replace("points = 12", 'sampling = "list"').replace(
            "{uniform = [-0.2, 2.0]}", "{values = [-0.2, 0.5, 1.0]}"
        )
    )
    found = parsed(command("first.toml", "--json"))
    assert (found["failed"], found["measures"]["worst_error"]["unit"]) == (1, "rad")
