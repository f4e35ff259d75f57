"""Robots with a free base move as Pinocchio's free-flyer and MuJoCo's free joint say.

Pinocchio's speeds of a free body are Appell's. MuJoCo's linear velocity is in the world's
axes, so its accelerations and forces are turned, and its accelerations also lose w x v.
"""

from __future__ import annotations

from xml.etree.ElementTree import SubElement, fromstring, tostring

import mujoco
import numpy as np
import pinocchio
import pytest
from descriptions import about_com, mjcf, urdf
from scipy.spatial.transform import Rotation

from appell.model.build import assemble
from appell.model.library.random import random_description, random_inertia
from appell.robots.robot import Robot

STATES = 3
SIZES = [0, 1, 2, 3, 4, 5, 7]
AXES = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED


def described(n, seed):
    """Links and hinges of a tree on a massive base, and the free robot they make."""
    links, hinges = {}, []
    if n:
        links, hinges = random_description(
            n, seed, branching=0.3, prismatic=0.25, fixed=0.2, rotors=True, friction=False
        )
    links["base"] = random_inertia(np.random.default_rng(seed + 1000))
    return links, hinges, Robot(assemble("free", links, hinges, base="free"))


def drawn(robot, seed):
    draw = np.random.default_rng(seed)
    q = draw.uniform(-2, 2, (STATES, robot.nq))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    return q, *draw.normal(size=(2, STATES, robot.nv))


def ours(robot, link, q, v, a):
    tau = robot.inverse_dynamics(q, v, a)
    found = {
        "tau": tau,
        "a": robot.forward_dynamics(q, v, tau),
        "bias": robot.bias(q, v),
        "g": robot.gravity(q),
        "M": robot.mass_matrix(q),
        "C v + g": np.einsum("nij,nj->ni", robot.coriolis_matrix(q, v), v) + robot.gravity(q),
        "T": robot.kinetic_energy(q, v),
        "U": robot.potential_energy(q),
        "pose": robot.forward_kinematics(q, link),
        "J": robot.jacobian(q, link),
        "Y p": robot.regressor(q, v, a) @ robot.parameters,
    }
    found |= dict(zip(("tq", "tv", "ta"), robot.inverse_dynamics_derivatives(q, v, a), strict=True))
    found |= dict(
        zip(("aq", "av", "at"), robot.forward_dynamics_derivatives(q, v, tau), strict=True)
    )
    return found


def agree(found, expected, bound=1e-9):
    for name, x in expected.items():
        size = max(np.abs(x).max(), 1e-3)
        assert np.abs(found[name] - x).max() <= bound * size, name


# Of the larger ones, which take seconds to compile, one each.
@pytest.mark.parametrize(
    ("n", "seed"), [(n, seed) for n in SIZES for seed in range(3) if n < 3 or seed == n % 3]
)
def test_pinocchio(n, seed):
    links, hinges, robot = described(n, seed)
    other = pinocchio.buildModelFromXML(urdf(links, hinges), pinocchio.JointModelFreeFlyer())
    for h in hinges:
        if h.joint:
            other.armature[other.joints[other.getJointId(h.name)].idx_v] = h.joint.reflected
    data = other.createData()
    joints = [other.joints[other.getJointId(name)].idx_v for name in robot.joint_names[6:]]
    speeds = [*range(6), *joints]
    places = [*range(7), *(k + 1 for k in joints)]
    link = robot.link_names[-1]
    frame = other.getFrameId(link)
    q, v, a = drawn(robot, seed)
    found = ours(robot, link, q, v, a)
    rows: dict[str, list] = {name: [] for name in found}
    for i in range(STATES):
        Q, V, A = np.empty(other.nq), np.empty(other.nv), np.empty(other.nv)
        Q[places], V[speeds], A[speeds] = q[i], v[i], a[i]
        tau = pinocchio.rnea(other, data, Q, V, A).copy()
        rows["tau"].append(tau)
        rows["Y p"].append(tau)
        rows["a"].append(A)
        rows["bias"].append(pinocchio.nle(other, data, Q, V).copy())
        rows["C v + g"].append(rows["bias"][-1])
        rows["g"].append(pinocchio.computeGeneralizedGravity(other, data, Q).copy())
        M = pinocchio.crba(other, data, Q).copy()
        rows["M"].append(M)
        rows["T"].append(V @ M @ V / 2)
        rows["U"].append(pinocchio.computePotentialEnergy(other, data, Q))
        rows["J"].append(pinocchio.computeFrameJacobian(other, data, Q, frame, AXES).copy())
        pinocchio.framesForwardKinematics(other, data, Q)
        rows["pose"].append(data.oMf[frame].homogeneous.copy())
        by_motion = pinocchio.computeRNEADerivatives(other, data, Q, V, A)
        by_force = pinocchio.computeABADerivatives(other, data, Q, V, tau)
        derivatives = (*by_motion, *by_force)
        for name, x in zip(("tq", "tv", "ta", "aq", "av", "at"), derivatives, strict=True):
            rows[name].append(x.copy())
    expected = {name: np.array(x) for name, x in rows.items()}
    for name in ("tau", "Y p", "a", "bias", "C v + g", "g"):
        expected[name] = expected[name][:, speeds]
    for name in ("M", "tq", "tv", "ta", "aq", "av", "at"):
        expected[name] = expected[name][:, speeds][:, :, speeds]
    expected["J"] = expected["J"][:, :, speeds]
    agree(found, expected, 1e-8)


@pytest.mark.parametrize("n", SIZES)
def test_mujoco(n):
    links, hinges, robot = described(n, seed=n)
    other = mujoco.MjModel.from_xml_string(free_mjcf(links, hinges))
    joints = [other.joint(name).dofadr[0] for name in robot.joint_names[6:]]
    q, v, a = drawn(robot, n)
    tau, M = robot.inverse_dynamics(q, v, a), robot.mass_matrix(q)
    for i in range(STATES):
        data = mujoco.MjData(other)
        R = Rotation.from_quat(q[i, 3:7]).as_matrix()
        data.qpos[:3], data.qpos[3:7] = q[i, :3], np.roll(q[i, 3:7], 1)
        data.qpos[[j + 1 for j in joints]] = q[i, 7:]
        data.qvel[:3], data.qvel[3:6], data.qvel[joints] = R @ v[i, :3], v[i, 3:6], v[i, 6:]
        data.qacc[:3] = R @ (a[i, :3] + np.cross(v[i, 3:6], v[i, :3]))
        data.qacc[3:6], data.qacc[joints] = a[i, 3:6], a[i, 6:]
        mujoco.mj_inverse(other, data)
        force = np.concatenate(
            [R.T @ data.qfrc_inverse[:3], data.qfrc_inverse[3:6], data.qfrc_inverse[joints]]
        )
        full = np.zeros((other.nv, other.nv))
        mujoco.mj_fullM(other, data, full)
        order = [*range(6), *joints]
        turn = np.eye(other.nv)
        turn[:3, :3] = R
        agree(
            {"tau": tau[i], "M": M[i]},
            {"tau": force, "M": turn.T @ full[np.ix_(order, order)] @ turn},
        )


def free_mjcf(links, hinges):
    """The same robot on a free joint."""
    tree = fromstring(mjcf(links, hinges))
    world = tree.find("worldbody")
    children = list(world)
    base = SubElement(world, "body", name="root")
    mass, c, I = about_com(links["base"])
    moments, axes = np.linalg.eigh(I)
    axes *= np.linalg.det(axes)
    quat = np.roll(Rotation.from_matrix(axes).as_quat(), 1)
    numbers = {"pos": c, "quat": quat, "diaginertia": moments}
    texts = {k: " ".join(repr(float(y)) for y in x) for k, x in numbers.items()}
    SubElement(base, "inertial", mass=repr(mass), **texts)
    SubElement(base, "freejoint")
    for child in children:
        world.remove(child)
        base.append(child)
    return tostring(tree, encoding="unicode")
