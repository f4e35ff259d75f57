"""The studies of docs/studies.md: each runs as the page has it, and physics says what comes out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import appell
from appell.simulation import load_run
from tests.browser import headless
from tests.docs.blocks import ROOT, blocks, run
from tests.docs.test_docs import STUDIES


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Runs the blocks below a heading in an empty folder, and gives the names they leave."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return lambda heading: run(STUDIES, blocks(STUDIES, heading))


def summary(folder):
    return json.loads(Path(folder, "summary.json").read_text())


def draws(browser, path):
    """That a page, opened from its file, draws a picture without an error or a request."""
    page = browser.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda r: troubles.append(r.url) if r.url.startswith("http") else None)
    page.goto(Path(path).resolve().as_uri())
    # A motion's page has the scene in a frame, beside its charts.
    scene = page.frame_locator("iframe.scene") if page.query_selector("iframe.scene") else page
    scene.locator("canvas").first.wait_for(timeout=120_000)  # drawn by the processor, maybe shared
    assert not troubles


def test_every_study_is_tested():
    text = Path(__file__).read_text()
    headings = [x[3:] for x in (ROOT / STUDIES).read_text().splitlines() if x.startswith("## ")]
    assert len(headings) == 8
    assert all(f'study("{heading}")' in text for heading in headings)


def test_a_falling_arm_keeps_its_energy(study):
    names = study("A UR5 falls")
    told = summary("fall-run")
    assert told["ok"]
    assert told["end"] == 1.0
    ran = load_run("fall-run/run.npz")
    assert ran.kinetic.max() > 10  # J: it does fall
    # the integrator's relative tolerance, 1e-8, over the tens of steps of a second
    assert np.ptp(ran.energy) < 1e-6 * ran.kinetic.max()
    assert names["run"].kinetic.max() > 10
    assert Path("fall-run/report.html").stat().st_size > 10_000


def test_a_load_that_the_controller_does_not_know_shows_in_the_error(study):
    study("A circle, and a load that the controller does not know")
    wrong, right = load_run("with-error/run.npz"), load_run("without-error/run.npz")
    assert summary("with-error")["ok"]
    assert summary("without-error")["ok"]
    ur5 = appell.load("ur5")
    # At rest kp M e is the weight that the model lacks: errors are of its size.
    unknown = ur5.with_payload(2.0, com=(0, 0, 0.05), link="tool0").gravity(wrong.q[0])
    still = np.linalg.solve(400 * ur5.mass_matrix(wrong.q[0]), unknown - ur5.gravity(wrong.q[0]))
    worst = np.abs(wrong.error).max()
    assert 0.5 * np.abs(still).max() < worst < 2 * np.abs(still).max()
    assert np.abs(right.error).max() < 0.1 * worst


def test_the_loop_of_a_five_bar_stays_closed_and_its_tool_draws_a_line(study):
    study("A five-bar linkage from a URDF file")
    assert summary("line-run")["ok"]
    ran = load_run("line-run/run.npz")
    robot = appell.load("fivebar.urdf", loops="fivebar_loop.toml")
    assert robot.nv == 2
    assert np.abs(robot.closure(ran.q)).max() < 1e-9  # put back on the loop after every step
    tool = robot.forward_kinematics(ran.q, "tool")[:, :3, 3]
    assert tool[-1] - tool[0] == pytest.approx([0.05, 0, -0.04], abs=2e-3)  # the error of 0.01 rad
    across = np.cross(tool - tool[0], [0.05, 0, -0.04]) / np.hypot(0.05, 0.04)
    assert np.abs(across).max() < 2e-3
    with headless() as browser:
        draws(browser, "fivebar.html")


def test_a_free_robot_comes_to_rest_on_the_floor(study):
    names = study("A free robot is dropped on a floor")
    ran, tripod = names["run"], names["tripod"]
    assert ran.residuals["penetration"] < 1e-6  # m
    times = [impact.time for impact in ran.impacts]
    assert times[0] == pytest.approx(np.sqrt(2 * 0.1 / 9.81), abs=1e-6)  # 10 cm of free fall
    lost = sum(impact.energy_change for impact in ran.impacts)
    assert lost < 0
    assert ran.energy[-1] < ran.energy[0] + 1e-6
    feet = [tripod.forward_kinematics(ran.q, foot)[:, 2, 3] for foot in names["feet"]]
    assert np.min(feet) > -1e-6
    with headless() as browser:
        draws(browser, "tripod.html")


def test_a_panda_is_identified_with_its_load(study):
    names = study("A Panda identified from a CSV file")
    arm, real = names["arm"], names["real"]
    found = appell.load("identified/robot.urdf")
    q, v, a = appell.identify.random_states(arm, 200, 5)
    tau = real.inverse_dynamics(q, v, a)

    def error(robot):
        return np.sqrt(np.mean((robot.inverse_dynamics(q, v, a) - tau) ** 2, axis=0))

    # Other states than those of the data, and no noise: what is left is the parameters' error.
    assert (error(found)[:4] < 0.2 * error(arm)[:4]).all()
    basis = appell.identify.base_parameters(arm)
    true, nominal, estimate = (basis.matrix @ x.parameters for x in (real, arm, found))
    assert np.linalg.norm(estimate - true) < 0.3 * np.linalg.norm(nominal - true)


def test_a_controller_of_ones_own_becomes_c_that_passes_its_test(study):
    names = study("A controller of your own, as C")
    assert names["run"].final_error < 0.01
    header = Path("controller/control_step.h").read_text()
    assert "control_step" in header
    assert Path("controller/control_step.c").exists()


def test_a_robot_is_looked_at_in_a_page(study):
    study("Look at a robot")
    with headless() as browser:
        draws(browser, "ur5.html")


def test_a_scenario_of_ones_own_robot_keeps_what_it_expects(study):
    study("A scenario for your own robot")
    told = summary("my_arm-run")
    assert told["ok"]
    assert told["robot"] == "my_arm"
    asked = json.loads(Path("my_arm-run/scenario.json").read_text())
    assert asked["law"]["kp"] == 900.0
    ran = load_run("my_arm-run/run.npz")
    assert ran.t[-1] == pytest.approx(0.5)
    assert np.abs(ran.error).max() < np.radians(1.0)
