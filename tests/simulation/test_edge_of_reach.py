"""Contacts at the edge of a point's reach: what no speed can change holds nothing, and the smallest
bounce may turn the whole motion round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from simulated_robots import G, point_mass

import appell
from appell.walls import Circle, Cylinder, Ellipse, Implicit, Plane, Sphere, Wall

INERTIA = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'


def arms(tmp_path, axis, steps, rpy="0 0 0", com="0 0 0"):
    """Two links of 1 kg on continuous joints, the second one step from the first."""
    link = f'<inertial><origin xyz="{com}"/><mass value="1"/>{INERTIA}</inertial>'
    path = tmp_path / "two.urdf"
    path.write_text(
        f"""<robot name="two"><link name="w"/>
        <link name="a">{link}</link><link name="b">{link}</link>
        <joint name="j1" type="continuous"><origin rpy="{rpy}"/><parent link="w"/><child link="a"/>
        <axis xyz="{axis}"/></joint><joint name="j2" type="continuous"><origin xyz="{steps}"/>
        <parent link="a"/><child link="b"/><axis xyz="{axis}"/></joint></robot>"""
    )
    return appell.load(path)


@pytest.mark.parametrize(("v", "torque"), [([1, 1], [0, 0]), ([2, -1], [0, 0]), ([0, 0], [1, 0])])
def test_a_hanging_arm_swings_off_a_floor_that_it_just_reaches(tmp_path, v, torque):
    arm = arms(tmp_path, "0 1 0", "0 0 -1", com="0 0 -0.5")
    floor, tip = Plane((0, 0, 1), -2), {"tip": ("b", (0, 0, -1))}
    run = appell.simulate(arm, [0, 0], v, until=0.2, torque=torque, walls=floor, points=tip)
    free = appell.simulate(arm, [0, 0], v, until=0.2, torque=torque)
    np.testing.assert_allclose(run.v[-1], free.v[-1], atol=1e-9)
    assert run.residuals["penetration"] < 1e-12


@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("side", [1, -1])
def test_an_arm_that_lies_in_a_wall_moves_along_it(tmp_path, side, mu):
    arm = arms(tmp_path, "0 0 1", "0.5 0.1 0", rpy="0.3 0.2 0.1")
    normal = side * Rotation.from_euler("xyz", [0.3, 0.2, 0.1]).apply([0, 0, 1])
    run = appell.simulate(arm, [0.2, 0.1], [5, 1], until=0.5, walls=Plane(normal), mu=mu)
    free = appell.simulate(arm, [0.2, 0.1], [5, 1], until=0.5)
    np.testing.assert_allclose(run.v[-1], free.v[-1], atol=1e-8)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("kind", ["circle", "ellipse", "sphere", "cylinder", "implicit"])
def test_a_tip_slides_along_a_wall_about_its_hinge(tmp_path, kind, inside):
    wall = {
        "circle": lambda: Circle(1.0, inside=inside),
        "ellipse": lambda: Ellipse((1.0, 1.0), inside=inside),
        "sphere": lambda: Sphere(1.0, inside=inside),
        "cylinder": lambda: Cylinder(1.0, inside=inside),
        "implicit": lambda: Implicit(lambda x, y, z: x * x + y * y - 1, inside=inside),
    }[kind]()
    arm = arms(tmp_path, "0 0 1", "0 0 0")
    tip = {"tip": ("b", (0.6, 0.8, 0))}
    run = appell.simulate(arm, [0, 0], [5, 0], until=0.3, walls=wall, points=tip)
    np.testing.assert_allclose(run.v[-1], [5, 0], atol=1e-9)
    pushed = appell.simulate(arm, [0, 0], until=0.3, torque=[1, 0], walls=wall, points=tip)
    free = appell.simulate(arm, [0, 0], until=0.3, torque=[1, 0])
    np.testing.assert_allclose(pushed.v[-1], free.v[-1], atol=1e-9)


@pytest.mark.parametrize("height", [1e-13, 3e-13, 8e-13, 2e-12, 1e-9])
def test_an_elastic_floor_at_the_lowest_point_of_a_swing_takes_no_energy(tmp_path, height):
    arm = arms(tmp_path, "0 1 0", "0 0 0", com="0 0 -0.5").model
    robot = appell.Robot(arm)
    floor = Plane((0, 0, 1), -1 + height)
    tip = {"tip": ("a", (0, 0, -1))}
    run = appell.simulate(robot, [-1.0, 1.0], until=1.2, walls=floor, points=tip)
    assert np.ptp(run.energy) < 1e-8
    assert np.abs(run.v[-1]).max() > 0.1


# Walls of one's own


@dataclass(frozen=True)
class Ramp(Wall):
    """A slope of 45 degrees whose gap is some multiple of the distance."""

    scale: float = 1.0

    def gap(self, x, y, z):
        return self.scale * (y - x)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_forces_do_not_depend_on_how_a_gap_is_scaled(scale):
    body = point_mass()
    runs = [
        appell.simulate(body, [0, 0], until=0.5, walls=wall, restitution=0.0)
        for wall in (Ramp(scale=scale, mu=0.5), Plane((-1, 1), mu=0.5))
    ]
    mine, plane = runs
    assert plane.reactions[-1, 0] == pytest.approx(2 * G / np.sqrt(2))
    np.testing.assert_allclose(mine.v[-1], plane.v[-1], rtol=1e-9)
    np.testing.assert_allclose(mine.reactions[-1], plane.reactions[-1], rtol=1e-9)
