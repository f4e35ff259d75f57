"""Configurations are drawn, moved and compared as Pinocchio's, also on a free base."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from descriptions import urdf

from appell.model.build import assemble
from appell.model.library.random import random_description, random_inertia
from appell.robots.robot import Robot

CLOSE = 1e-13  # rounding, of displacements of a few rad and m


def both(n, seed, base):
    """A robot here and there, and where our coordinates and speeds stand there."""
    links, hinges = random_description(
        n, seed, branching=0.3, prismatic=0.3, fixed=0.0, rotors=False, friction=False
    )
    links["base"] = random_inertia(np.random.default_rng(seed))
    root = (pinocchio.JointModelFreeFlyer(),) if base == "free" else ()
    other = pinocchio.buildModelFromXML(urdf(links, hinges), *root)
    robot = Robot(assemble("both", links, hinges, base=base))
    own = robot.joint_names[6:] if root else robot.joint_names
    joints = [other.joints[other.getJointId(name)].idx_v for name in own]
    speeds = [*range(6 if root else 0), *joints]
    places = [*range(7 if root else 0), *(k + len(root) for k in joints)]
    return robot, other, places, speeds


def there(x, places):
    moved = np.empty_like(x)
    moved[..., places] = x
    return moved


def up_to_sign(q, expected):
    """The same with the quaternion's sign as expected."""
    q = q.copy()
    q[..., 3:7] *= np.sign((q[..., 3:7] * expected[..., 3:7]).sum(axis=-1, keepdims=True))
    return q


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(4))
def test_every_function_is_pinocchios(seed, base):
    robot, other, places, speeds = both(1 + seed, seed, base)
    rng = np.random.default_rng(seed)
    q1, q2 = robot.random(rng, (2, 30))
    # From a small displacement, whose series is used, to more than a turn.
    dv = rng.normal(size=(30, robot.nv)) * np.logspace(-7, 1, 30)[:, None]
    s = rng.uniform(-0.5, 1.5, 30)
    p1, p2, d = there(q1, places), there(q2, places), there(dv, speeds)
    theirs = {
        "integrate": [pinocchio.integrate(other, *x) for x in zip(p1, d, strict=True)],
        "difference": [pinocchio.difference(other, *x) for x in zip(p1, p2, strict=True)],
        "interpolate": [pinocchio.interpolate(other, *x) for x in zip(p1, p2, s, strict=True)],
        "distance": [pinocchio.distance(other, *x) for x in zip(p1, p2, strict=True)],
        "neutral": pinocchio.neutral(other),
        "normalise": [pinocchio.normalize(other, 3.7 * x) for x in p1],
    }
    back = {name: np.array(x) for name, x in theirs.items()}
    for name in ("integrate", "interpolate", "neutral", "normalise"):
        back[name] = back[name][..., places]
    back["difference"] = back["difference"][..., speeds]
    ours = {
        "integrate": robot.integrate(q1, dv),
        "difference": robot.difference(q1, q2),
        "interpolate": robot.interpolate(q1, q2, s),
        "distance": robot.distance(q1, q2),
        "neutral": robot.neutral(),
        "normalise": robot.normalise(3.7 * q1),
    }
    if base == "free":
        for name in ("integrate", "interpolate", "normalise"):
            ours[name] = up_to_sign(ours[name], back[name])
        back["normalise"][:, :3], back["normalise"][:, 7:] = 3.7 * q1[:, :3], 3.7 * q1[:, 7:]
    for name, expected in back.items():
        size = max(1.0, np.abs(expected).max())
        assert np.abs(ours[name] - expected).max() < CLOSE * size, name


def test_a_free_body_moves_along_a_screw_as_its_motion_says():
    """Integrating dq/dt of the equations of motion, by many small steps, comes to the same."""
    robot, *_ = both(2, 1, "free")
    rng = np.random.default_rng(3)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    rate = robot.kernel("motion")
    y, h = q, 1e-3
    for _ in range(1000):
        k1 = rate(y, v, 0 * v)[0]
        k2 = rate(y + h / 2 * k1, v, 0 * v)[0]
        k3 = rate(y + h / 2 * k2, v, 0 * v)[0]
        k4 = rate(y + h * k3, v, 0 * v)[0]
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    np.testing.assert_allclose(robot.integrate(q, v), y, rtol=0, atol=1e-11)
