"""The picture of a tracked run: desired, actual, error and force with its limits."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import appell
from appell.control import ComputedTorque, quintic, track
from appell.simulation import load_run

URDF = """<robot name="gantry">
  <link name="base"/>
  <link name="car"><inertial><mass value="2"/><origin xyz="0 0 0"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="rail" type="prismatic"><parent link="base"/><child link="car"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="35" velocity="2"/></joint>
  <joint name="elbow" type="revolute"><parent link="car"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="500" velocity="9"/></joint>
</robot>"""


@pytest.fixture(scope="module")
def run():
    robot = appell.Robot.from_urdf(URDF)
    plan = quintic([0, 0], [0.2, 1.0], 0.5)
    return track(robot, ComputedTorque(robot), plan, q0=[0.01, 0.05], period=0.01, until=0.6)


def test_desired_actual_error_and_force_each_in_its_unit(run):
    panels = {panel.y: panel for panel in run.chart().panels}
    assert list(panels) == [
        "position, m", "position, rad", "speed, m/s", "speed, rad/s", "error, m", "error, rad",
        "force, N", "torque, N m", "energy, J",
    ]  # fmt: skip
    actual, desired = panels["position, m"].lines
    assert (actual.name, desired.name) == ("rail", "desired")
    np.testing.assert_array_equal(desired.y, run.desired[:, 0])
    assert len(actual.x) > 4 * len(run.t)  # between the samples, too
    np.testing.assert_array_equal(panels["error, rad"].lines[0].y, run.error[:, 1])


def test_forces_are_held_between_samples_and_limits_are_shown_where_they_are_near(run):
    rail, elbow = (panel for panel in run.chart().panels if panel.y[:3] in ("for", "tor"))
    (line,) = rail.lines
    np.testing.assert_array_equal(line.y[::2], run.tau[:, 0])
    np.testing.assert_array_equal(line.y[1::2], run.tau[:-1, 0])
    assert [level.y for level in rail.levels] == [-35, 35]
    assert rail.levels[0].name == "limit of rail"
    low, high = rail.visible_range()
    assert low <= np.abs(line.y).min()
    assert high >= 35  # gravity alone takes 29 N
    assert elbow.visible_range()[1] < 100  # 500 N m would flatten it


def test_the_figure_has_a_legend_by_names(run, tmp_path):
    figure = run.plot()
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names[:3] == ["rail", "desired", "elbow"]
    again = load_run(run.save(tmp_path / "run.npz"))
    assert [x.name for x in again.chart().legend] == names


def test_without_matplotlib_the_error_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(appell.AppellError, match=r"run.plot needs Matplotlib: pip install 'appell"):
        run.plot()
