"""The worked example: the identified PUMA foretells and tracks better than the nominal one."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import appell
from appell.cli import app
from appell.study import identify_puma as example
from tests.report_pages import examine

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def done():
    stages = []
    made = example.identify_puma(quick=True, told=stages.append)
    assert len(stages) >= 7
    return made


def test_every_method_gives_an_estimate(done):
    assert not done.refused
    assert tuple(done.fits) == example.METHODS
    assert done.fits["sdp"].physical
    assert done.fits["log_cholesky"].physical


def test_estimates_foretell_torques_better_than_the_nominal_model(done):
    for method, found in done.validations.items():
        assert np.median(found.better) > 2, method
    chosen = done.validations[done.chosen]
    assert (chosen.better[:5] > 2).all()
    assert (chosen.errors.r2[:5] > 0.8).all()


def test_the_truth_is_within_the_bounds_of_the_weighted_estimate(done):
    """Base parameters by standard deviations: noise is not quite white after the filter."""
    machine = done.machine
    true = np.concatenate([done.true.parameters, machine.viscous, machine.coulomb])
    found = done.fits["wls"]
    z = (found.base - found.basis.matrix @ true) / found.std
    assert np.sqrt(np.mean(z**2)) < 2.5


def test_the_identified_model_tracks_better(done):
    errors = {name: np.linalg.norm(done.tracking(name)) for name in done.runs}
    assert errors["identified model and friction"] < errors["nominal model"] / 3
    friction = errors["nominal model, identified friction"]
    assert errors["identified model and friction"] < friction / 2  # it is not friction alone


def test_errors_are_as_the_page_on_identification_says(done):
    """Its table, with room for the motions that other processors find."""
    errors = {name: np.sqrt(np.mean(done.tracking(name) ** 2)) for name in done.runs}
    part = {name: x / errors["nominal model"] for name, x in errors.items()}
    assert 0.8 < part["identified model"] < 1.25  # about the same
    assert 1 / 3 < part["nominal model, identified friction"] < 0.9  # a third to nine tenths
    assert part["identified model and friction"] < 1 / 5  # less than a fifth
    page = (ROOT / "docs" / "identification.md").read_text()
    for words in ("about the same", "a third to nine tenths", "less than a fifth"):
        assert f" | {words} |" in page


def test_the_excitation_keeps_the_hand_above_the_floor(done):
    q, v, _ = done.excitation(np.linspace(0, done.excitation.duration, 5000))
    pose = done.nominal.forward_kinematics(q, "link6")
    assert (pose[:, 2, 3] + 0.1 * pose[:, 2, 2]).min() >= example.FLOOR
    assert (np.abs(v).max(axis=0) <= 0.6 * done.machine.speed).all()


def test_the_command_writes_the_report_and_the_robot(done, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(example, "identify_puma", lambda **x: (asked.append(x), done)[1])
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, "identify demo --quick -o demo")
    assert result.exit_code == 0, result.output
    assert (asked[0]["quick"], asked[0]["seed"]) == (True, 0)  # what has been computed
    assert "identified model and friction" in result.output
    written = {p.name for p in (tmp_path / "demo").iterdir()}
    assert written >= {"identification.html", "identification.md", "parameters.csv", "robot.urdf"}
    report = tmp_path / "demo" / "identification.html"
    assert '<figure class="film"><svg' in report.read_text()
    examine(report, charts=False)
    again = appell.load(tmp_path / "demo" / "robot.urdf")
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 20, 6))
    wanted = done.identified.inverse_dynamics(q, v, a, friction=True)
    np.testing.assert_allclose(
        again.inverse_dynamics(q, v, a, friction=True), wanted, rtol=1e-9, atol=1e-9
    )


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "identify_puma.py"))
    printed = capsys.readouterr().out
    nominal, identified = (
        float(re.search(rf"{name}: rms tracking error ([\d.]+)", printed)[1])
        for name in ("nominal", "identified")
    )
    assert identified < 0.8 * nominal
    assert appell.load("identified_puma.urdf").nv == 6
