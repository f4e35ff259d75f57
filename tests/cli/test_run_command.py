"""``appell run`` and ``appell new``: what they leave, and how they end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from appell.cli import app
from appell.robots.registry import makers
from appell.simulation import load_run
from appell.study import build, read_scenario
from appell.study.starter import TASKS, new_scenario
from tests.report_pages import examine

HOLD = """
title = "It < holds"
[robot]
model = "planar_chain"
options = {n = 2}
[start]
q = [0.1, 0.2]
[task]
kind = "hold"
at = [0.15, 0.2]
until = 0.5
[expect]
final_error = %s
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs ``appell ...`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(x) for x in arguments])


def test_run_leaves_report_motion_run_and_summary_and_says_the_verdict(command, tmp_path):
    (tmp_path / "hold.toml").write_text(HOLD % 0.01)
    result = command("run", "hold.toml")
    assert result.exit_code == 0, result.output
    assert "ok: arrived at 0.5 s" in result.stdout
    assert "Report: hold-run/report.html" in result.stdout
    folder = tmp_path / "hold-run"
    names = {"report.html", "motion.csv", "run.npz", "summary.json", "scenario.json"}
    assert {x.name for x in folder.iterdir()} == names
    page = (folder / "report.html").read_text()
    assert "It &lt; holds" in page
    assert page.index("Arrived at") < page.index("<figure")
    assert re.search(r"torque, N m", page)
    assert not re.search(r"https?:|<script[^>]*src|<link|@import", page)
    examine(folder / "report.html")
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["ok"]
    assert summary["checks"][0]["what"] == "final_error"
    again = command("run", "hold-run/scenario.json", "-o", "again", "-q")
    assert again.stdout == "again/report.html\n"
    motion = (tmp_path / "again" / "motion.csv").read_bytes()
    assert motion == (folder / "motion.csv").read_bytes()


def test_an_expectation_that_fails_is_status_1(command, tmp_path):
    (tmp_path / "hold.toml").write_text(HOLD % 1e-9)
    result = command("run", "hold.toml")
    assert result.exit_code == 1
    assert "not as expected: ended at 0.5 s, 0.00196 rad" in result.stdout
    assert "[red]" not in result.stdout
    assert re.search(
        'class="verdict bad">.*Ended', (tmp_path / "hold-run" / "report.html").read_text()
    )


def test_without_matplotlib_all_comes(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (tmp_path / "hold.toml").write_text(HOLD % 0.01)
    for arguments in (["run", "hold.toml"], ["run"]):
        result = command(*arguments)
        assert result.exit_code == 0, result.output
    page = (tmp_path / "hold-run" / "report.html").read_text()
    assert "<figure" in page
    assert "joint2" in page


LINE = """
angles = "degrees"
robot = "puma560"
task = {kind = "puma_line", samples = 11, branch = "left-up-flip"}
"""


def test_the_papers_line_leaves_what_every_run_does(command, tmp_path):
    (tmp_path / "line.toml").write_text(LINE)
    result = command("run", "line.toml", "--animation", "-q")
    assert result.exit_code == 0, result.output
    folder = tmp_path / "line-run"
    names = {"report.html", "motion.csv", "run.npz", "summary.json", "scenario.json"}
    assert {x.name for x in folder.iterdir()} == names | {"animation.html", "motions"}
    page = (folder / "report.html").read_text()
    for name in (names - {"report.html"}) | {"animation.html", "motions/left-up-flip.csv"}:
        assert f'href="{name}"' in page
    examine(folder / "report.html", charts=False)
    assert load_run(folder / "run.npz").robot.name == "puma560"
    (tmp_path / "line.toml").write_text(
        LINE + "outputs = {report = false, csv = false, npz = false}\n"
    )
    result = command("run", "line.toml", "-o", "bare")
    assert "Summary: bare/summary.json" in result.stdout
    assert {x.name for x in (tmp_path / "bare").iterdir()} == {"summary.json", "scenario.json"}


def test_the_schema_is_printed(command):
    result = command("run", "--schema")
    assert json.loads(result.stdout)["title"] == "Scenario"


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
from appell.cli import app
from appell.control.tracking.plant import Plant
before, calls = Plant.advance, 0
def counted(*arguments):
    global calls
    calls += 1
    if calls == 20:
        os.kill(os.getpid(), signal.SIGINT)
    return before(*arguments)
Plant.advance = counted
sys.argv = ["appell", "run", "hold.toml"]
app()
"""


def test_an_interrupted_run_keeps_what_was_done_and_is_status_130(tmp_path):
    (tmp_path / "hold.toml").write_text(HOLD % 1e-9 + "impacts = 1\n")
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, cwd=tmp_path,
        timeout=120, env={**os.environ},
    )  # fmt: skip
    assert result.returncode == 130, result.stderr
    assert signal.SIGINT.name not in result.stderr
    assert "interrupted: stopped early: interrupted at 0.19 s." in result.stdout
    assert "expected" not in result.stdout  # what only an end can show is not judged
    assert "what was done so far" in result.stderr
    run = load_run(tmp_path / "hold-run" / "run.npz")
    assert 0 < run.t[-1] < 0.5
    assert run.stopped.startswith("interrupted")


@pytest.mark.parametrize("robot", makers())
def test_every_robot_of_the_library_gets_a_scenario_that_can_begin(robot, tmp_path):
    file = tmp_path / "new.toml"
    file.write_text(new_scenario(robot))
    scenario = read_scenario(file)
    assert build(scenario).robot.name.startswith(robot.split("(")[0])
    assert file.read_text().startswith("#:schema ")


@pytest.mark.parametrize("task", TASKS)
def test_a_new_scenario_of_every_task_runs_as_it_stands(command, task):
    robot = "differential_drive" if task == "torque" else "puma560"
    assert command("new", robot, "--task", task, "-o", "mine.toml").exit_code == 0
    assert command("new", robot, "-o", "mine.toml").exit_code == 2  # never overwrites
    result = command("run", "mine.toml", "-q")
    assert result.exit_code == 0, result.output


def test_new_takes_urdf_files_with_loops_seen_from_where_it_writes(command, tmp_path):
    from shutil import copy

    from tests.study.test_gallery import FOLDER

    (tmp_path / "robots").mkdir()
    for name in ("four_bar.urdf", "four_bar_loops.toml"):
        copy(FOLDER / name, tmp_path / "robots")
    (tmp_path / "mine").mkdir()
    loops = ("--loops", "robots/four_bar_loops.toml")
    result = command("new", "robots/four_bar.urdf", *loops, "-o", "mine/a.toml")
    assert result.exit_code == 0, result.output
    scenario = read_scenario(tmp_path / "mine" / "a.toml")
    assert scenario.robot.model == "../robots/four_bar.urdf"
    assert command("run", "mine/a.toml", "-q").exit_code == 0


def _closed_chain(folder):
    """A closed chain whose loops' file has the name that the scenario would have."""
    from shutil import copy

    from tests.study.test_gallery import FOLDER

    copy(FOLDER / "four_bar.urdf", folder)
    copy(FOLDER / "four_bar_loops.toml", folder / "four_bar.toml")
    return "four_bar.urdf", "--loops", "four_bar.toml"


def test_new_leaves_the_file_of_loops_alone(command, tmp_path):
    robot = _closed_chain(tmp_path)
    before = (tmp_path / "four_bar.toml").read_text()
    result = command("new", *robot)
    assert result.exit_code == 0, result.output
    assert read_scenario(tmp_path / "four_bar_scenario.toml").robot.loops == "four_bar.toml"
    refused = command("new", *robot, "-o", "four_bar.toml", "--force")
    assert refused.exit_code == 2
    assert "is read here" in refused.stderr
    assert (tmp_path / "four_bar.toml").read_text() == before


def test_nothing_is_written_onto_what_is_read(command, tmp_path):
    file = tmp_path / "scenario.json"
    file.write_text('{"robot": "two_link", "task": {"kind": "hold", "until": 0.1}}')
    (tmp_path / "mine.toml").write_text(HOLD % 0.01)
    for arguments in (
        ("run", "scenario.json", "-o", ".", "--force"),
        ("sweep", "new", "mine.toml", "-o", "mine.toml", "--force"),
    ):
        refused = command(*arguments)
        assert refused.exit_code == 2
        assert "is read here" in refused.stderr
    assert "two_link" in file.read_text()
    assert (tmp_path / "mine.toml").read_text() == HOLD % 0.01


SCARA = """<robot name="scara"><link name="base"/>
<link name="a"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<link name="b"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<link name="c"><inertial><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" velocity="6" effort="80"/></joint>
<joint name="j2" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.3 0 0"/>
<axis xyz="0 0 1"/><limit lower="-2.6" upper="2.6" velocity="8" effort="40"/></joint>
<joint name="j3" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0.25 0 0"/>
<axis xyz="0 0 -1"/><limit lower="0" upper="0.2" velocity="1" effort="100"/></joint></robot>"""


@pytest.mark.parametrize("task", ["line", "circle"])
def test_new_starts_a_scara_bent_where_its_arm_is_not_singular(task, tmp_path):
    (tmp_path / "scara.urdf").write_text(SCARA)
    file = tmp_path / "a.toml"
    file.write_text(new_scenario(str(tmp_path / "scara.urdf"), task, file=file))
    assert abs(read_scenario(file).start.q["j2"]) > 20


def test_new_moves_the_frame_that_is_named(command, tmp_path):
    result = command("new", "five_bar", "--frame", "tip1", "-o", "a.toml")
    assert result.exit_code == 2  # there is none
    frame = "wrist_2_link"
    assert command("new", "ur5", "--frame", frame, "-o", "a.toml").exit_code == 0
    assert read_scenario(tmp_path / "a.toml").task.frame == frame
    refused = command("new", "ur5", "--frame", frame, "--task", "hold", "-o", "b.toml")
    assert refused.exit_code == 2
    assert "goes with" in refused.stderr


@pytest.mark.parametrize("robot", ["puma560", "stewart_gough"])
def test_torques_of_a_new_scenario_hold_the_robot_up(robot, tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(new_scenario(robot, "torque"))
    built = build(read_scenario(file))
    robot, q = built.robot, built.options["q0"]
    tau = list(read_scenario(file).task.torque.values())
    a = robot.forward_dynamics(q, [0.0] * robot.nv, tau)
    assert abs(a).max() < 1e-2


HINTED = {
    "ur5": None, "panda": "moves", "kinova": "hold", "solo12": "fall", "five_bar": "moves",
    "agile_wrist": "moves", "differential_drive": "fall", "stewart_gough": "fall",
}  # fmt: skip


@pytest.mark.parametrize("robot", HINTED)
def test_every_hint_of_a_new_scenario_works_where_it_stands(robot, tmp_path):
    lines = new_scenario(robot, HINTED[robot]).splitlines()
    hints = [k for k, line in enumerate(lines) if re.match(r"# [a-z_]+ = ", line)]
    assert {"outputs", "gravity"} <= {lines[k].split()[1] for k in hints}
    file = tmp_path / "hinted.toml"
    for k in hints:
        file.write_text("\n".join([*lines[:k], lines[k].removeprefix("# "), *lines[k + 1 :]]))
        assert build(read_scenario(file)), lines[k]
    outputs = next(k for k in hints if lines[k].startswith("# outputs"))
    lines[outputs] = lines[outputs].removeprefix("# ")
    file.write_text("\n".join(lines))
    assert read_scenario(file).outputs.animation


def test_new_offers_the_robots_own_gravity():
    assert "# gravity = [0.0, -9.81, 0.0] # m/s^2" in new_scenario("five_bar", "moves")


def test_new_says_why_a_robot_cannot_do_a_task(command):
    result = command("new", "free_chain", "--task", "line")
    assert result.exit_code == 2
    assert "free base" in result.stderr
    result = command("new", "puma560", "--task", "dance")
    assert "expected one of line, circle" in result.stderr
