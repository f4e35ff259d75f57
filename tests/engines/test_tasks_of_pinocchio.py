"""What tasks miss is what Pinocchio's frames miss, and the Jacobian is its derivative."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from appell.control.kinematics.task_equations import Part, equation, rotation_vector
from appell.maths.vector import Tensor, Vector
from benchmarks.both import Both

STEP = 1e-6  # central differences then err by 1e-10 (rounding over the step) and less (its square)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-7, 1e-3, 1.0, 3.0, np.pi - 1e-9, np.pi])
def test_rotation_vectors_are_right_from_no_turn_to_half_a_turn(angle):
    axes = [*np.eye(3), *-np.eye(3), *np.random.default_rng(0).normal(size=(20, 3))]
    for axis in axes:
        wanted = angle * axis / np.linalg.norm(axis)
        R = Rotation.from_rotvec(wanted).as_matrix()
        turn = rotation_vector(Tensor(*(Vector(*row) for row in R.tolist())))
        found = np.array(turn.vector)
        if angle > 3.1 and found @ wanted < 0:
            found = found - 2 * np.pi * found / np.linalg.norm(found)  # the same turn, rounded
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-14)


def evaluated(robot, part, q, target):
    e, J = equation(robot.system, part, q.tolist(), target.tolist())
    return np.array(e, dtype=float), np.array(J, dtype=float)


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(8))
def test_errors_are_pinocchios_and_shrink_by_their_jacobian(seed, base):
    both = Both.tree(seed, base)
    robot, q, draw = both.robot, both.q, np.random.default_rng(seed)
    names = list(both.links)
    frame, other = names[-1], names[0]
    pin.framesForwardKinematics(both.other, both.data, both.there()[0])
    at, on = (both.data.oMf[both.links[x]] for x in (frame, other))
    wanted = pin.SE3.Random()
    pose, point = wanted.homogeneous[:3].ravel(), draw.normal(size=3)
    turn = pin.log3(wanted.rotation @ at.rotation.T)
    way = wanted.translation - at.translation
    seen = on.actInv(at)
    com = pin.centerOfMass(both.other, both.data, both.there()[0])
    cases = {
        Part("pose", frame): (pose, np.append(way, turn)),
        Part("pose", frame, axes="local"): (
            pose, np.append(at.rotation.T @ way, pin.log3(at.rotation.T @ wanted.rotation)),
        ),
        Part("pose", frame, other): (
            pose,
            np.append(
                wanted.translation - seen.translation, pin.log3(wanted.rotation @ seen.rotation.T)
            ),
        ),
        Part("position", frame): (point, point - at.translation),
        Part("position", frame, axes="local"): (point, at.actInv(point)),
        Part("centre_of_mass"): (point, point - com),
    }  # fmt: skip
    for part, (target, expected) in cases.items():
        e, J = evaluated(robot, part, q, target)
        np.testing.assert_allclose(e, expected, rtol=0, atol=1e-10, err_msg=str(part))
        for k, d in enumerate(STEP * np.eye(robot.nv)):
            further, back = (
                evaluated(robot, part, robot.integrate(q, x), target)[0] for x in (d, -d)
            )
            slope = (back - further) / (2 * STEP)
            np.testing.assert_allclose(J[:, k], slope, rtol=1e-6, atol=1e-8, err_msg=str(part))


@pytest.mark.parametrize("seed", range(4))
def test_a_gaze_misses_the_chord_to_its_point(seed):
    both = Both.tree(seed, "free")
    robot, q, draw = both.robot, both.q, np.random.default_rng(seed)
    frame, point = [*both.links][-1], draw.normal(size=3) * 5
    across = np.linalg.qr(draw.normal(size=(3, 3)))[0]
    across *= np.linalg.det(across)
    part = Part("gaze", frame, across=tuple(map(tuple, across.tolist())))
    pin.framesForwardKinematics(both.other, both.data, both.there()[0])
    direction = both.data.oMf[both.links[frame]].actInv(point)
    direction /= np.linalg.norm(direction)
    e, J = evaluated(robot, part, q, point)
    assert np.linalg.norm(e) == pytest.approx(np.linalg.norm(direction - across[2]), abs=1e-12)
    for k, d in enumerate(STEP * np.eye(robot.nv)):
        further, back = (evaluated(robot, part, robot.integrate(q, x), point)[0] for x in (d, -d))
        np.testing.assert_allclose(J[:, k], (back - further) / (2 * STEP), rtol=1e-6, atol=1e-8)
