"""Spherical parallel robots drawn at random, and the same as open trees in Pinocchio."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio
from scipy.spatial.transform import Rotation

from appell.robots.spherical import SphericalRobot

# Links of each limb, driven joints (limb, joint), and what else there is to say.
SHAPES = {
    "three limbs": ((2, 2, 2), "11 21 31", {}),
    "three limbs, described by the second": ((2, 2, 2), "11 21 31", {"carrier": "limb2"}),
    "two limbs, driven within": ((2, 2), "11 12 21", {}),
    "two limbs, driven on the platform": ((2, 2), "13 11 21", {}),
    "four limbs, more drives than freedoms": ((2, 2, 2, 2), "11 21 31 41", {}),
    "one limb": ((2,), "11 12 13", {}),
    "one limb, described by itself": ((2,), "11 12 13", {"carrier": "limb1"}),
    "one limb of one joint": ((0,), "11", {}),
    "one limb of five joints": ((4,), "11 12 13 14 15", {}),
    "five-bar linkage": ((1, 2), "11 21", {}),
    "five-bar linkage, the other way round": ((2, 1), "21 11", {}),
    "four-bar linkage": ((0, 2), "11", {}),
    "four-bar linkage, driven by its rocker": ((0, 2), "21", {}),
    "limb with a joint more": ((2, 3, 2), "11 21 22 31", {}),
    "limb with a joint more, fewer drives than freedoms": ((2, 3, 2), "11 21 31", {}),
    "two limbs with a joint more": ((3, 3), "11 12 21 22 23", {}),
    "two limbs with a joint more, described by one": (
        (3, 3), "11 12 13 14 21", {"carrier": "limb1"},
    ),
    "limbs of one to three links": ((1, 2, 3), "11 21 31", {}),
    "more drives than freedoms, one on the platform": ((1, 2, 3), "11 12 21 23 31", {}),
}  # fmt: skip


def drawn(shape: str, seed: int = 0) -> SphericalRobot:
    """A robot of a shape, with bodies of no symmetry."""
    counts, driven, options = SHAPES[shape]
    draw = np.random.default_rng([seed, *map(ord, shape)])
    n = len(counts)
    closing = n - (min(counts) < 2 or "carrier" in options)
    mass, com, inertia = body(draw)
    return SphericalRobot.from_arcs(
        name=shape,
        alpha=[draw.uniform(1.1, 1.7, k) for k in counts],
        lam=2 * np.pi / n * np.arange(n) + draw.uniform(-0.3, 0.3, n),
        gamma=draw.uniform(0.6, 1.3, n),
        eta=2 * np.pi / n * np.arange(n) + draw.uniform(-0.3, 0.3, n),
        beta=draw.uniform(0.5, 1.1, n),
        links=[[body(draw) for _ in range(k)] for k in counts],
        platform_mass=mass,
        platform_com=com,
        platform_inertia=inertia,
        actuated=[f"limb{x[0]}.joint{x[1]}" for x in driven.split()],
        gravity=draw.normal(size=3) * 5,
        branch="".join(draw.choice(["+", "-"], closing)),
        **options,
    )


def body(draw):
    """Mass, centre of mass and inertia about the origin, of some points."""
    points, weights = draw.normal(size=(6, 3)) * 0.1, draw.uniform(0.1, 0.4, 6)
    second = np.einsum("n,ni,nj->ij", weights, points, points)
    mass = float(weights.sum())
    return mass, weights @ points / mass, np.trace(second) * np.eye(3) - second


def states(robot: SphericalRobot, count: int = 7):
    """Random coordinates within reach, speeds and accelerations."""
    draw = np.random.default_rng(3)
    return robot.regular_states(count, draw), *draw.normal(size=(2, count, robot.nv))


# As a tree


def euler(axes: str, *angles: float) -> np.ndarray:
    return Rotation.from_euler(axes, angles).as_matrix()


def tree(robot: SphericalRobot) -> pinocchio.Model:
    """All limbs as chains, of which the first ends in the platform, and the others in a frame that
    has to be where the platform is."""
    model = pinocchio.Model()
    model.gravity.linear = np.array(robot.model.gravity, dtype=float)
    for i, limb in enumerate(robot.model.limbs):
        before, R = 0, euler("ZX", limb.lam, limb.gamma - np.pi)
        for j in range(limb.joints):
            placed = pinocchio.SE3(R, np.zeros(3))
            before = model.addJoint(before, pinocchio.JointModelRZ(), placed, f"{i}.{j}")
            if j < len(limb.links):
                R = euler("X", limb.links[j].alpha)
                add(model, before, limb.links[j].inertia, np.eye(3))
        onto = euler("ZX", limb.eta, -limb.beta).T
        end = pinocchio.SE3(onto, np.zeros(3))
        model.addFrame(pinocchio.Frame(f"end{i}", before, end, pinocchio.OP_FRAME))
        if i == 0:
            add(model, before, robot.model.platform, onto)
    return model


def add(model, joint, inertia, R):
    """A body on a joint, with axes R."""
    m, c = float(inertia.mass), np.array(inertia.com, dtype=float)
    I = np.array(inertia.central.tensor, dtype=float)
    body = pinocchio.Inertia(m, c, I)
    model.appendBodyToJoint(joint, body, pinocchio.SE3(R, np.zeros(3)))


class Tree(NamedTuple):
    """The tree's joints, their speeds and accelerations, by a state of the robot; and how the
    speeds change with the robot's."""

    s: np.ndarray
    ds: np.ndarray
    dds: np.ndarray
    slope: np.ndarray


def opened(robot: SphericalRobot, model: pinocchio.Model, q, v, a) -> Tree:
    """A state of the robot as one of the tree: from how its bodies are turned, and turn; the
    accelerations from the platform's, by the tree's own Jacobians."""
    rows = []
    for i, limb in enumerate(robot.model.limbs):
        names = [x for x, (k, _) in robot.model.links.items() if k == i]
        before, R = "base", euler("ZX", limb.lam, limb.gamma - np.pi)
        for j, name in enumerate([*names, "platform"]):
            onto = euler("ZX", limb.eta, -limb.beta) if name == "platform" else np.eye(3)
            base = robot.forward_kinematics(q, before)[:3, :3] @ R
            turn = base.T @ robot.forward_kinematics(q, name)[:3, :3] @ onto
            np.testing.assert_allclose(turn[:, 2], [0, 0, 1], atol=1e-12)
            J = (robot.jacobian(q, name) - robot.jacobian(q, before))[3:]
            slope = base[:, 2] @ J
            np.testing.assert_allclose(J, np.outer(base[:, 2], slope), atol=1e-9)
            rows.append((np.arctan2(turn[1, 0], turn[0, 0]), slope))
            before, R = name, euler("X", limb.links[j].alpha) if j < len(names) else None
    s, slope = (np.array(x) for x in zip(*rows, strict=True))
    return Tree(s, slope @ v, accelerations(robot, model, s, slope @ v, q, v, a), slope)


def jacobian(model, data, frame):
    """Of the angular velocity, in the world's axes."""
    J = pinocchio.getFrameJacobian(model, data, frame, pinocchio.LOCAL_WORLD_ALIGNED)
    return J.reshape(6, -1)[3:]


def accelerations(robot, model, s, ds, q, v, a):
    """Of all joints: those that are coordinates are given, the platform's follows from them, and
    from that the others."""
    data = model.createData()
    pinocchio.forwardKinematics(model, data, s, ds, np.zeros(model.nv))
    pinocchio.computeJointJacobians(model, data, s)
    pinocchio.updateFramePlacements(model, data)
    world, names = pinocchio.LOCAL_WORLD_ALIGNED, list(robot.model.joint_names)
    dds, known = np.zeros(model.nv), {}
    for name, x in zip(robot.joint_names, a, strict=True):
        if name in names:
            known[names.index(name)] = x
    places = list(known)
    dds[places] = list(known.values())
    limbs = robot.model.limbs
    ends = [model.getFrameId(f"end{i}") for i in range(len(limbs))]
    slopes = [jacobian(model, data, k) for k in ends]
    drifts = [pinocchio.getFrameAcceleration(model, data, k, world).angular for k in ends]
    carrier, h = robot.model.carrier, 1e-3
    if carrier is None:
        E, *near = robot.jacobian(q + h * np.multiply.outer([0, 1, -1, 2, -2], v))[:, 3:]
        dW = E @ a + (8 * (near[0] - near[1]) - (near[2] - near[3])) @ v / (12 * h)
    else:
        dW = slopes[carrier] @ dds + drifts[carrier]
    at = 0
    for i, limb in enumerate(limbs):
        at += limb.joints
        if i != carrier:
            last = range(at - 3, at)
            rest = dW - drifts[i] - slopes[i] @ dds
            dds[last] = np.linalg.solve(slopes[i][:, last], rest)
    return dds
