"""The command line: what it prints, what it leaves, and how it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import appell
from appell.cli import app
from appell.cli.tables import summary
from appell.model.library import ROBOTS
from appell.robots.selfcheck import Check


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs ``appell ...`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(x) for x in arguments])


def refused(result, *words):
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.output
    assert all(word in result.stderr for word in words)
    return True


def test_version(command):
    result = command("--version")
    assert (result.exit_code, result.stdout) == (0, f"appell {appell.__version__}\n")


def test_list_names_every_robot(command):
    result = command("list")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in ROBOTS)
    assert "Valera" in result.stdout


def test_run_prints_a_summary_and_leaves_a_report(command, tmp_path):
    result = command("run")
    assert result.exit_code == 0
    assert "left-up-noflip" in result.stdout
    assert "Report: appell-run/report.html" in result.stdout
    assert (tmp_path / "appell-run" / "report.html").stat().st_size > 10_000


def test_run_never_overwrites(command, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report.html").write_text("precious")
    result = command("run", "--quiet", "--output", "mine")
    assert (result.exit_code, result.stdout) == (0, "mine-2/report.html\n")
    assert (tmp_path / "mine" / "report.html").read_text() == "precious"


def test_run_reads_a_scenario(command, tmp_path):
    line = {"kind": "puma_line", "branch": "right-up-flip", "samples": 50}
    task = {"robot": "puma560", "task": line, "outputs": {"folder": "here"}}
    (tmp_path / "task.json").write_text(json.dumps(task))
    result = command("run", "task.json")
    assert "50 samples" in result.stdout
    assert "left-up" not in result.stdout
    assert (tmp_path / "here" / "motions" / "right-up-flip.csv").exists()


def test_run_of_its_own_scenario_gives_the_same_motions(command, tmp_path):
    command("run", "--output", "one")
    command("run", "one/scenario.json", "--output", "two")
    names = [path.name for path in (tmp_path / "one" / "motions").iterdir()]
    assert len(names) == 8
    for name in names:
        one, two = ((tmp_path / run / "motions" / name).read_bytes() for run in ("one", "two"))
        assert one == two


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"task": {"kind": "puma_line", "end": [2, 0, 0]}}, ("does not reach", "m out of reach")),
        ({"task": {"kind": "puma_line", "spead": 1}}, ("task.json:1", "did you mean 'speed'?")),
        ({"robot": "puma"}, ("no robot 'puma'", "puma560", "task.json:1: robot")),
        ({"robot": "two_link"}, ("not built like the PUMA",)),
    ],
)
def test_what_cannot_be_run_is_one_message(command, tmp_path, task, words):
    whole = {"robot": "puma560", "task": {"kind": "puma_line"}} | task
    (tmp_path / "task.json").write_text(json.dumps(whole))
    assert refused(command("run", "task.json"), *words)
    assert not (tmp_path / "appell-run").exists()


def test_files_that_are_not_there(command):
    assert refused(command("run", "none.json"), "none.json", "No such file")
    assert refused(command("check", "none"), "no robot 'none'")


def test_a_folder_that_cannot_be_made(command, tmp_path):
    (tmp_path / "file").touch()
    result = command("run", "--output", "file/run")
    assert refused(result, "cannot write 'file/run'", "Not a directory", "--output")


@pytest.mark.parametrize("name", [".", "..", "/", ""])
def test_a_folder_without_a_name(command, name):
    assert refused(command("run", "--output", name), "names no folder to make")


def test_check_prints_each_law_and_its_error(command):
    result = command("check", "two_link", "--states", 5)
    assert result.exit_code == 0
    assert "Q = M a + C v + g" in result.stdout


def test_check_fails_where_a_law_does(command, monkeypatch):
    broken = [Check("M is symmetric", 0.5, 0.0)]
    monkeypatch.setattr("appell.robots.robot.Robot.selfcheck", lambda *_: broken)
    result = command("check", "two_link")
    assert result.exit_code == 1
    assert "no" in result.stdout


def test_starting_imports_nothing_heavy():
    code = "import sys, appell.cli; print({'numpy', 'casadi', 'pydantic'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout == "set()\n", result.stderr


def into_a_closed_pipe(*arguments, cwd):
    """A command whose output nobody reads, as behind ``| head -0``."""
    reads, writes = os.pipe()
    os.close(reads)
    try:
        return subprocess.run(
            [sys.executable, "-m", "appell", *arguments],
            stdout=writes, stderr=subprocess.PIPE, text=True, cwd=cwd,
        )  # fmt: skip
    finally:
        os.close(writes)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["list"],
        ["check", "two_link", "--states", "3"],
        ["control", "move", "--help"],
        [
            "control",
            "move",
            "--to",
            "0,-44,61,0,31,0",
            "--duration",
            "0.1",
            "--channel",
            "lockstep",
        ],
        ["export", "two_link"],
    ],
)
def test_output_that_nobody_reads_ends_a_command_quietly(arguments, tmp_path):
    done = into_a_closed_pipe(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == ""


def test_a_report_is_written_though_nobody_reads_the_output(tmp_path):
    done = into_a_closed_pipe("run", "--output", "report", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert list((tmp_path / "report").rglob("*.html"))


def test_a_full_disk_is_told_by_help_too():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "appell", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr == "error: [Errno 28] No space left on device\n"


def test_a_warning_is_one_line(command):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = command(
            "control", "move", "--to", "0,-44,61,0,31,0", "--duration", "0.1", "--channel",
            "lockstep", "--law", "computed-torque", "--gain", "kd=0",
        )  # fmt: skip
    assert result.stderr.startswith("warning: ComputedTorque: kd does not damp errors of joint1")
    assert ".py" not in result.stderr


@pytest.mark.parametrize("robot", ["two_link", "five_bar", "agile_wrist"])
def test_more_states_than_there_is_time_for_are_refused(command, robot):
    result = command("check", robot, "--states", 99999999999)
    assert refused(result, "states=99999999999", "1 to 1000000")


@pytest.mark.parametrize(
    "arguments",
    [
        "control campaign --seed -1",
        "control move --to 0,-45,60,0,30,0 --fault hot@9,joint=" + "9" * 5000,
        "control campaign --faults 99999999999999999999",
        "identify excite two_link --harmonics 99999999999",
        "identify excite two_link --starts 99999999999",
        "identify excite two_link --duration 1e300",
        "identify excite two_link --duration 1e8 --rate 1e5",
    ],
    ids=lambda text: text[:50],
)
def test_numbers_beyond_all_measure_are_refused(command, tmp_path, arguments):
    result = command(*arguments.split())
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert not list(tmp_path.iterdir())


def test_a_lack_of_memory_is_told(command, monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr("appell.robots.robot.Robot.selfcheck", full)
    assert refused(command("check", "two_link"), "not enough memory", "ask for less")


def test_names_that_are_not_utf_8_are_printed_with_escapes(tmp_path):
    """As bytes: what a terminal or a pipe in strict UTF-8 is given."""
    name = os.fsdecode(b"caf\xe9")
    environment = {**os.environ, "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}
    for arguments, status in (
        (["export", "two_link", "gravity", "--output", name], 0),
        (["check", f"{name}.urdf"], 2),
        (["run", f"{name}.toml"], 2),
    ):
        result = subprocess.run(
            [sys.executable, "-m", "appell", *arguments],
            capture_output=True, cwd=tmp_path, env=environment, check=False,
        )  # fmt: skip
        assert result.returncode == status, result.stderr
        assert rb"caf\udce9" in result.stdout + result.stderr
        assert b"Traceback" not in result.stderr


def test_a_summary_is_the_first_sentence():
    def described():
        """An arm (Valera et al. 2003, table 5). It has
        six joints.

        More.
        """

    assert summary(described) == "An arm (Valera et al. 2003, table 5)."
    assert summary(test_a_summary_is_the_first_sentence) == ""
