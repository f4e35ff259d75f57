"""After plain ``pip install .``, without extras, every command does its main job."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from base64 import b64decode
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from typer.main import get_command

import appell
from appell.cli import app
from tests.docs.blocks import ROOT

OPTIONAL = ("matplotlib", "viser", "trimesh", "cvxpy", "clarabel", "pyarrow", "ruckig", "sympy")
MOVE = "--to 1,-45,60,0,30,0 --duration 0.2 --channel lockstep"

# What is typed, in this order and in one folder: later ones read what earlier ones wrote.
COMMANDS = {
    "list": "list",
    "info": "info puma560",
    "check": "check two_link --states 3",
    "new": "new two_link --task fall -o fall.toml",
    "run": "run fall.toml --animation",
    "sweep new": "sweep new fall.toml",
    "sweep run": "sweep run fall_study.toml",
    "sweep show": "sweep show fall_study-sweep",
    "tune": "tune gains.toml",
    "control laws": "control laws",
    "control move": f"control move puma560 {MOVE} --log move.mcap -o moved",
    "control follow": "control follow puma560 motion.csv --channel lockstep",
    "control teach": "control teach puma560 poses.csv --channel lockstep",
    "control replay": "control replay puma560 poses.csv --channel lockstep",
    "control show": "control show move.mcap -o shown",
    "control campaign": "control campaign --faults 1",
    "export": "export two_link mass_matrix",
    "identify excite": "identify excite two_link --harmonics 2 --duration 4 --starts 1",
    "identify fit": "identify fit two_link measured.csv",
    "reproduce": "reproduce abedloo2014",
    "view": "view fall-run/run.npz --no-browser",
}
# Longer than a test may take, or of real time. They do what the others do, in a row.
LONG = {"identify demo", "control soak"}


def core() -> list[metadata.Distribution]:
    """The installed packages that ``pip install .`` brings, and what these require."""
    text = re.search(
        r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S
    )
    asked, found = re.findall(r'"(.+)"', text[1]), dict[str, metadata.Distribution]()
    while asked:
        need = Requirement(asked.pop())
        if need.name in found or (need.marker and not need.marker.evaluate({"extra": ""})):
            continue
        found[need.name] = metadata.distribution(need.name)
        asked += found[need.name].requires or []
    return list(found.values())


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Runs ``appell ...`` of an environment that has the project, installed by pip, and what it
    requires. These packages are links to those of this environment: what pip would bring, without
    fetching 300 MB."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(subprocess.check_output([python, "-c", where], text=True).strip())
    for package in core():
        tops = {Path(file).parts[0] for file in package.files or ()} - {"..", "__pycache__"}
        for top in tops:
            if not (packages / top).exists():
                (packages / top).symlink_to(package.locate_file(top))
    install = ["install", "--quiet", "--no-deps", str(ROOT)]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    work = folder / "work"
    work.mkdir()
    _write_motions(work)
    environment = {k: x for k, x in os.environ.items() if k != "PYTHONPATH"}

    def ran(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python.with_name("appell"), *line.split()], cwd=work, env=environment, timeout=120,
            input="mark\n1 +5\nmark\nend\n", capture_output=True, text=True, check=False,
        )  # fmt: skip

    ran.python, ran.work = python, work
    return ran


def _write_motions(folder: Path) -> None:
    """What the user has: a motion to follow, and data that were measured."""
    t, q = np.linspace(0, 1, 51), np.radians([0, -45, 60, 0, 30, 0])
    rows = np.column_stack([t, appell.control.quintic(q, q + 0.1, 1.0)(t)[0]])
    _save(folder / "motion.csv", rows, "t,q1,q2,q3,q4,q5,q6")
    robot, t = appell.load("two_link"), np.arange(0, 6, 0.005)[:, None]
    w = np.array([2.0, 3.1])
    q, v, a = np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)
    noise = 0.05 * np.random.default_rng(0).normal(size=q.shape)
    tau = robot.inverse_dynamics(q, v, a) + noise
    (folder / "gains.toml").write_text(GAINS)
    _save(folder / "measured.csv", np.hstack([t, q, tau]), "t,q1,q2,tau1,tau2")


GAINS = """
[scenario]
robot = "two_link"
task = {kind = "hold", at = [0.2, 0.1], until = 0.1}
law = {kp = 100.0, kd = 30.0}
[tune]
minimise = "rms_error"
iterations = 2
parameters = {"law.kd" = {between = [1, 40]}}
"""


def _save(path: Path, rows: np.ndarray, header: str) -> None:
    np.savetxt(path, rows, delimiter=",", header=header, comments="")


def _all_commands(command, path=""):
    if not hasattr(command, "commands"):
        return {path}
    inner = command.commands.items()
    return set().union(*(_all_commands(x, f"{path} {name}".strip()) for name, x in inner))


def test_every_command_is_tried():
    assert _all_commands(get_command(app)) == {*COMMANDS, *LONG}


def test_no_extra_is_installed(bare):
    program = (
        "from importlib.util import find_spec; import appell; print(appell.__file__); "
        f"print([x for x in {OPTIONAL} if find_spec(x)])"
    )
    told = subprocess.check_output([bare.python, "-I", "-c", program], text=True).splitlines()
    assert "site-packages" in told[0]
    assert told[1] == "[]"


def test_every_command_does_its_main_job(bare):
    for line in COMMANDS.values():
        done = bare(line)
        assert done.returncode == 0, f"appell {line}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_without_the_viewer_a_robot_is_a_moving_picture(bare):
    for robot in ("puma560", "five_bar", "agile_wrist", "free_chain"):
        done = bare(f"view {robot} --no-browser")
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == f"{robot}.html"
        assert "pip install 'appell[view]'" in done.stderr
        page = (bare.work / f"{robot}.html").read_text()
        (film,) = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", page)
        assert b"<animate " in b64decode(film), robot
        assert not re.search(r"https?://(?!www\.w3\.org)", page)  # it needs no network


def test_what_needs_an_extra_says_how_to_get_it(bare):
    program = "import appell; appell.load('two_link').view(browser=False)"
    done = subprocess.run(
        [bare.python, "-I", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "pip install 'appell[view]'" in done.stderr
