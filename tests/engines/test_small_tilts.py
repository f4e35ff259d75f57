"""Axes that are almost along another one, as drawing programs write them, keep their tilt.

Pinocchio is given the links and hinges themselves, joint by joint: no text, no angles.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pinocchio
import pytest
from batches import evaluate
from descriptions import about_com
from pinocchio_robot import answers
from scipy.spatial.transform import Rotation

import appell
from appell.model.axes import frame_along
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING
from appell.model.library.random import random_inertia
from appell.model.model import Joint
from appell.model.regroup import regrouped
from appell.robots.robot import Robot

TILTS = [0.0, *(float(f"{m}e{k}") for k in range(-16, -2) for m in (1, 1.4, 4, 9))]
QUANTITIES = (
    "mass_matrix", "gravity", "bias", "inverse_dynamics", "forward_kinematics", "jacobian",
    "potential_energy",
)  # fmt: skip

OF_WEIGHT = ("gravity", "bias", "inverse_dynamics", "potential_energy")

# In parts of the largest entry, and of torques and energies at least of the whole weight at 1 m, a
# link's length: what is less is a difference of such terms. Direction cosines up to 4e-15 are taken
# for zero (appell.maths.scalar.SNAP), which is 18 last digits, for each of five joints and frames.
CLOSE = 128 * np.finfo(float).eps

CUBE = [
    R
    for order in permutations(range(3))
    for signs in product((1.0, -1.0), repeat=3)
    if np.linalg.det(R := np.diag(signs) @ np.eye(3)[list(order)]) > 0
]


def tilted_arm(tilt: float, seed: int, joints: int = 5):
    """Links and hinges at right angles, but for a tilt of every axis and every frame."""
    draw = np.random.default_rng(seed)
    links, hinges = {"base": NOTHING}, []
    for k in range(1, joints + 1):
        links[f"link{k}"] = random_inertia(draw)
        off = Rotation.from_rotvec(tilt * draw.normal(size=3)).as_matrix()
        axis = draw.choice([-1.0, 1.0]) * np.eye(3)[draw.integers(3)]
        kind = "prismatic" if draw.random() < 0.2 else "revolute"
        hinges.append(
            Hinge(
                f"joint{k}", list(links)[k - 1], f"link{k}", Joint(f"joint{k}", kind),
                draw.choice(CUBE) @ (off if draw.random() < 0.5 else np.eye(3)),
                draw.choice([0.0, 0.3, -1.0], 3), axis + tilt * draw.normal(size=3),
            )
        )  # fmt: skip
    return links, hinges


def pinocchio_arm(links, hinges) -> pinocchio.Model:
    robot = pinocchio.Model()
    for k, h in enumerate(hinges):
        axis = np.asarray(h.axis, dtype=np.longdouble)
        axis = np.asarray(axis / np.sqrt(axis @ axis), dtype=float)
        kinds = pinocchio.JointModelRevoluteUnaligned, pinocchio.JointModelPrismaticUnaligned
        joint = kinds[h.joint.kind == "prismatic"](axis)
        placed = robot.addJoint(k, joint, pinocchio.SE3(h.rotation, h.position), h.name)
        inertia = pinocchio.Inertia(*about_com(links[h.child]))
        robot.appendBodyToJoint(placed, inertia, pinocchio.SE3.Identity())
        robot.addBodyFrame(h.child, placed, pinocchio.SE3.Identity(), 0)
    return robot


@pytest.mark.parametrize("tilt", TILTS)
def test_robots_tilted_a_little_move_as_pinocchio_says(tilt):
    for seed in range(4):
        links, hinges = tilted_arm(tilt, seed)
        model = assemble("tilted", links, hinges)
        states = np.random.default_rng(seed).normal(size=(4, 3, 5))
        names = [h.name for h in hinges]
        expected = answers(pinocchio_arm(links, hinges), names, "link5", *states)
        for quantity in QUANTITIES:
            asked = appell.equations.quantities.QUANTITIES[quantity]
            given = states[: len(asked.inputs)]
            for of in (model, regrouped(model) if asked.regroup else model):
                frame = "link5" if asked.frame else None
                ours = evaluate(of, quantity, *given, frame=frame)
                weight = 9.81 * sum(x.mass for x in links.values())
                least = weight if quantity in OF_WEIGHT else 0.0
                size = max(np.abs(expected[quantity]).max(), least)
                error = np.abs(ours - expected[quantity]).max() / size
                assert error < CLOSE, (quantity, seed, error)


@pytest.mark.parametrize("axis", [(1.4e-7, 0, 1), (0, -1.4e-7, 1), (3e-8, 7e-9, -1), (1, 1e-7, 0)])
def test_a_kernel_of_an_axis_that_is_almost_a_coordinate_axis_keeps_the_tilt(axis, tmp_path):
    """Gravity along the tilted axis' own plane: a torque of the tilt's size, to its last digits."""
    x, y, z = axis
    (tmp_path / "tilted.urdf").write_text(
        f"""<robot name="tilted"><link name="base"/><link name="bar"><inertial>
        <origin xyz="0.3 0.2 0.1"/><mass value="2"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="continuous"><parent link="base"/><child link="bar"/>
        <axis xyz="{x} {y} {z}"/></joint></robot>"""
    )
    robot = appell.load(str(tmp_path / "tilted.urdf"))
    unit = np.array(axis, dtype=np.longdouble)
    unit /= np.sqrt(unit @ unit)
    com, weight = np.array([0.3, 0.2, 0.1]), np.array([0, 0, -9.81 * 2])
    expected = float(-unit @ np.cross(com, weight))
    assert robot.gravity([0.0])[0] == pytest.approx(expected, rel=1e-7)  # 1e-7 of it is 1e-14
    across = com @ com - float(unit @ com) ** 2
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(0.1 + 2 * across, rel=1e-14)
    np.testing.assert_allclose(robot.forward_kinematics([0.0]), np.eye(4), atol=1e-15)


def test_frames_are_rotations_whatever_the_axis():
    draw = np.random.default_rng(0)
    for scale in (1e-300, 1e-160, 1e-9, 1.0, 1e200):
        for tilt in (*TILTS, 0.3):
            for k, sign in product(range(3), (1, -1)):
                axis = sign * np.eye(3)[k] + tilt * draw.normal(size=3)
                R = frame_along(scale * axis, "j")
                np.testing.assert_allclose(R.T @ R, np.eye(3), rtol=0, atol=1e-15)
                assert np.linalg.det(R) > 0
                off = np.cross(R[:, 2], axis / np.linalg.norm(axis))
                assert np.abs(off).max() <= 5e-15
                assert R[:, 2] @ axis > 0


def test_a_hinge_whose_rotation_is_given_with_ten_digits_is_that_of_the_nearest_rotation():
    """Up to 1e-9 off is accepted; a matrix that is not orthogonal would make every mass matrix and
    pose wrong by as much."""
    links, hinges = tilted_arm(0.3, 1)
    rough = [Hinge(**{**vars(h), "rotation": np.round(h.rotation, 10)}) for h in hinges]
    robot = Robot(assemble("rough", links, rough))
    T = robot.forward_kinematics(np.random.default_rng(0).normal(size=(5, 5)))
    R = T[:, :3, :3]
    unit = np.broadcast_to(np.eye(3), R.shape)
    np.testing.assert_allclose(R @ R.swapaxes(1, 2), unit, rtol=0, atol=5e-15)
