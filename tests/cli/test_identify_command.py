"""``appell identify``: what it prints, what it leaves, and how it fails."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import appell
from appell.cli import app
from appell.rig.log.motion_files import read_motion
from tests.report_pages import examine


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs ``appell identify ...`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as after a plain pip install
    return lambda *words: CliRunner().invoke(app, ["identify", *map(str, words)])


def test_excite_writes_a_motion_and_a_report(command, tmp_path):
    done = command(
        "excite", "two_link", "-o", "motion", "--duration", 4, "--harmonics", 3, "--starts", 1,
        "--animation",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "no limit of speed in the model; 114.6 deg/s is taken" in done.output
    assert "random motions, median" in done.output
    rows = np.genfromtxt(tmp_path / "motion" / "motion.csv", delimiter=",", names=True)
    assert rows.dtype.names == ("t", "q1", "q2")
    assert np.abs(np.diff(rows["q1"])).max() / 0.002 <= 2
    assert read_motion("motion/motion.csv", 2)[0].duration == 4  # which appell control follows
    written = {p.name for p in (tmp_path / "motion").iterdir()}
    files = {"excitation.md", "excitation.html", "excitation-1.svg", "motion.csv", "animation.html"}
    assert written == files
    examine(tmp_path / "motion" / "excitation.html", charts=False)
    assert 'href="animation.html"' in (tmp_path / "motion" / "excitation.html").read_text()


def test_limits_are_in_degrees_and_m(command, tmp_path):
    """As positions are in all commands; and so are the messages."""
    few = ("--duration", 4, "--harmonics", 2, "--starts", 1)
    limits = ("--position", 60, "--speed", "90,45", "--acceleration", 400)
    done = command("excite", "two_link", "-o", "motion", *few, *limits)
    assert done.exit_code == 0, done.output
    assert "is taken" not in done.output
    rows = np.genfromtxt(tmp_path / "motion" / "motion.csv", delimiter=",", names=True)
    q = np.column_stack([rows["q1"], rows["q2"]])
    v = np.abs(np.diff(q, axis=0)).max(axis=0) / 0.002
    assert np.radians(20) < np.abs(q).max() <= np.radians(60.001)
    assert (v <= np.radians([90.001, 45.001])).all()
    assert v.max() > np.radians(45)
    for words, message in (
        (("excite", "two_link", "--speed", -1), "--speed -1: expected a number greater than zero"),
        (("excite", "two_link", "--speed", "1,2,3"), "or 2 numbers greater than zero, one per"),
        (("excite", "two_link", "--position", "far"), "in degrees."),
        (("excite", "stanford_arm", "--speed", 60), "in degrees/s (joint3: in m/s)."),
        (("fit", "two_link", "none.csv", "--slowest", "0"), "--slowest 0: expected a number"),
    ):
        done = command(*words)
        assert done.exit_code == 2
        assert message in done.stderr, done.stderr


def record(path, robot, seed):
    """A file of what a heavier robot did."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, 10, 0.01)
    w, phase = rng.uniform(1, 4, (2, 3, 2)), rng.uniform(0, 6, (3, 2))
    turn = w[0] * t[:, None, None] + phase
    size = 0.5 + 0.5 * w[1] / 4
    q = (size * np.sin(turn)).sum(axis=1)
    v = (size * w[0] * np.cos(turn)).sum(axis=1)
    a = (-size * w[0] ** 2 * np.sin(turn)).sum(axis=1)
    tau = robot.inverse_dynamics(q, v, a) + 0.02 * rng.normal(size=q.shape)
    rows = np.column_stack([t, np.degrees(q), tau])
    np.savetxt(path, rows, "%.12g", ",", header="t,q1,q2,tau1,tau2", comments="")


def test_fit_writes_the_new_robot(command, tmp_path):
    robot = appell.load("two_link")
    true = robot.with_parameters((robot.parameters.reshape(-1, 10) * [[1.1], [0.8]]).ravel())
    record("one.csv", true, 1)
    record("two.csv", true, 2)
    given = ("--unit", "q=deg", "--cutoff", 20)
    done = command("fit", "two_link", "one.csv", "--validate", "two.csv", *given, "--method", "sdp")
    assert done.exit_code == 0, done.output
    assert "times better than nominal" in done.output
    folder = tmp_path / "identification-two_link"
    again = appell.load(folder / "robot.urdf")
    q, v, a = np.random.default_rng(0).uniform(-2, 2, (3, 50, 2))
    wanted = true.inverse_dynamics(q, v, a)
    assert np.abs(again.inverse_dynamics(q, v, a) - wanted).max() < 0.02 * np.abs(wanted).max()
    head, *rows = (folder / "parameters.csv").read_text().splitlines()
    assert head == "parameter,nominal,sdp"
    assert len(rows) == 20
    assert '<figure class="film"><svg' in (folder / "identification.html").read_text()
    examine(folder / "identification.html")


def test_what_cannot_be_fitted_is_one_message(command):
    record("data.csv", appell.load("two_link"), 1)
    for words, message in (
        (("fit", "two_link", "none.csv"), "none.csv: there is no such file"),
        (("fit", "two_link", "data.csv"), "look like degrees"),
        (("fit", "two_link", "data.csv", "--unit", "q"), "expected a signal and its unit"),
        (
            ("fit", "two_link", "none.csv", "--method", "magic"),  # before any file is read
            "--method = 'magic'; expected one of qr, svd",
        ),
        (
            ("excite", "two_link", "--kind", "saw"),
            "--kind = 'saw'; expected one of fourier, spline",
        ),
        (("excite", "two_link", "--criterion", "x"), "expected one of condition, d_optimal"),
    ):
        done = command(*words)
        assert done.exit_code == 2
        assert done.stderr.startswith("error: ")
        assert message in done.stderr


def test_a_useless_fit_is_said_to_be_one(command, tmp_path):
    """Torques of no robot: the report is there, with a warning and another exit status."""
    robot = appell.load("two_link")
    record("data.csv", robot, 1)
    rows = np.genfromtxt("data.csv", delimiter=",", names=True)
    head = ",".join(rows.dtype.names)
    table = np.column_stack([rows[name] for name in rows.dtype.names])
    half = len(table) * 3 // 4
    table[half:, 3:] = table[:-half, 3:][::-1] * -1
    np.savetxt("wrong.csv", table, "%.12g", ",", header=head, comments="")
    given = ("--unit", "q=deg", "--cutoff", 20, "--method", "qr")
    done = command("fit", "two_link", "wrong.csv", *given, "-o", "out")
    assert done.exit_code == 1, done.output
    assert "warning: qr is of no use: R2 is negative" in done.output
    assert "Do not use the files written" in done.output
    assert (tmp_path / "out" / "parameters.csv").exists()


def test_jitter_is_evened_out_if_asked(command):
    record("data.csv", appell.load("two_link"), 1)
    lines = Path("data.csv").read_text().splitlines()
    t = np.arange(0, 10, 0.01) + np.random.default_rng(0).uniform(0, 2e-3, 1000)
    rows = [f"{x:.9g},{line.partition(',')[2]}" for x, line in zip(t, lines[1:], strict=True)]
    Path("uneven.csv").write_text("\n".join([lines[0], *rows, ""]))
    given = ("fit", "two_link", "uneven.csv", "--unit", "q=deg", "--cutoff", 20, "--method", "qr")
    refused = command(*given)
    assert refused.exit_code == 2
    assert "resample=True (--resample)" in refused.output
    done = command(*given, "--resample")
    assert "Report: identification-two_link" in done.output


def test_what_fails_leaves_no_folder(command, tmp_path):
    done = command("excite", "agile_wrist")
    assert done.exit_code == 2
    assert "not a robot of joints in a tree" in done.output
    done = command("excite", "two_link", "--criterion", "none")
    assert done.exit_code == 2
    assert not [*tmp_path.iterdir()]
    (tmp_path / "afile").touch()
    done = command("excite", "two_link", "-o", "afile")
    assert done.exit_code == 2
    assert "'afile' is a file" in done.output
    assert [x.name for x in tmp_path.iterdir()] == ["afile"]
