"""The Agile Wrist against a multibody model of it, and against the balance of energy."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import appell
from appell.papers.abedloo2014_simulator import PASSIVE, PSI, THETA, Simulator, tree
from appell.robots.robot import Robot

CLOSE = 1e-8  # N m, what is asked; rounding leaves some 1e-13

DENSITY, RADIUS = 1.378, 0.1
WRISTS = {
    "paper": {},
    "other": {
        "alpha1": (1.3, 1.4, 1.5),
        "platform_inertia": (60e-4, 70e-4, 50e-4),
        "platform_com": (0.01, 0.02, -0.03),
        "gravity": (3.0, -2.0, -8.0),
        "branch": "-+-",
    },
}


@pytest.fixture(params=WRISTS, scope="module")
def wrist(request):
    return appell.load("agile_wrist", **WRISTS[request.param])


def states(wrist, n=20):
    draw = np.random.default_rng(7)
    return wrist.regular_states(n, draw), *draw.normal(size=(2, n, 3))


def opened(wrist, simulator, q, v, a):
    """The same motion of the open tree: its joints, their speeds and accelerations."""
    s, ds, dds = np.zeros((3, 7))
    s[THETA], s[PSI] = wrist.inverse_kinematics(q)
    (ds[THETA], ds[PSI], dds[THETA], dds[PSI]) = wrist.joint_motion(q, v, a)
    # The platform's joint closes the chain of the first limb.
    R = wrist.forward_kinematics(q)[:3, :3]
    turn = simulator.pose(s)[:3, :3].T @ R
    axis = np.array(wrist.model.limbs[0].platform_axis, dtype=float)
    sine = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    s[2] = np.arctan2(axis @ sine, np.trace(turn) - 1)
    A = simulator.jacobian(s)[3:]
    W = wrist.jacobian(q)[3:] @ v
    ds[2] = A[:, 2] @ (W - A @ ds)
    slope = simulator.slope(s)[3:] @ ds @ ds
    dW = wrist.jacobian(q)[3:] @ a + wrist.kernel("jacobian", wrt="q")(q)[3:] @ v @ v
    dds[2] = A[:, 2] @ (dW - slope - A @ dds)
    return s, ds, dds


def test_torques_are_those_of_the_multibody_model(wrist):
    simulator = Simulator(wrist.model)
    q, v, a = states(wrist)
    for state in zip(q, v, a, strict=True):
        s, ds, dds = opened(wrist, simulator, *state)
        loops = simulator.loops(s, ds)
        assert np.abs(loops.error).max() < 1e-13
        assert np.abs(loops.A @ ds).max() < 1e-11
        assert np.abs(loops.A @ dds + loops.bias).max() < 1e-10
        tau = wrist.inverse_dynamics(*state)
        # The passive joints are moved by the constraints alone, which gives the multipliers.
        needed, A = simulator.robot.inverse_dynamics(s, ds, dds), loops.A
        multipliers = np.linalg.solve(A[:, PASSIVE].T, needed[PASSIVE])
        expected = needed[THETA] - A[:, THETA].T @ multipliers
        np.testing.assert_allclose(tau, expected, rtol=0, atol=CLOSE)
        np.testing.assert_allclose(
            simulator.accelerations(s, ds, tau, stabilised=False), dds, rtol=0, atol=CLOSE
        )
        platform = simulator.platform(s, ds, dds)
        for ours, simulated in zip(state, platform, strict=True):
            if abs(state[0][1]) < np.pi / 2:  # where SciPy's Euler angles are ours
                difference = (simulated - ours + np.pi) % (2 * np.pi) - np.pi
                np.testing.assert_allclose(difference, 0, atol=CLOSE)


def test_a_wrong_torque_would_be_seen(wrist):
    simulator = Simulator(wrist.model)
    q, v, a = (x[0] for x in states(wrist))
    s, ds, dds = opened(wrist, simulator, q, v, a)
    tau = wrist.inverse_dynamics(q, v, a) + [1e-6, 0, 0]
    assert np.abs(simulator.accelerations(s, ds, tau, stabilised=False) - dds).max() > 1e-5


def test_the_open_tree_is_mujocos(wrist):
    model = tree(wrist.model)
    robot, other = Robot(model), mujoco.MjModel.from_xml_string(mjcf(wrist.model))
    data = mujoco.MjData(other)
    draw = np.random.default_rng(3)
    order = [other.joint(name).dofadr[0] for name in robot.joint_names]
    for _ in range(5):
        q, v, a = draw.normal(size=(3, 7))
        data.qpos[order], data.qvel[order], data.qacc[order] = q, v, a
        mujoco.mj_inverse(other, data)
        np.testing.assert_allclose(
            robot.inverse_dynamics(q, v, a), data.qfrc_inverse[order], rtol=0, atol=1e-9
        )


def mjcf(wrist) -> str:
    """The open tree for MuJoCo, which has each link's mass at Gauss's points of its arc, from z
    towards negative y."""
    nodes, weights = np.polynomial.legendre.leggauss(14)

    def arc(angle):
        x = angle * (nodes + 1) / 2
        masses = DENSITY * RADIUS * angle * weights / 2
        points = RADIUS * np.stack([0 * x, -np.sin(x), np.cos(x)], axis=-1)
        return "".join(
            f'<body pos="{" ".join(map(str, point))}"><inertial pos="0 0 0" mass="{m}" '
            'diaginertia="1e-14 1e-14 1e-14"/></body>'
            for m, point in zip(masses, points, strict=True)
        )

    def inertial(inertia):
        m, com, I = float(inertia.mass), inertia.com, inertia.central
        full = " ".join(str(float(x)) for x in (I.xx, I.yy, I.zz, I.xy, I.xz, I.yz))
        place = " ".join(str(float(x)) for x in com)
        return f'<inertial pos="{place}" mass="{m}" fullinertia="{full}"/>'

    def turned(R):
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, np.asarray(R, dtype=float).ravel())
        return f'quat="{" ".join(map(str, quaternion))}"'

    def euler(axes, *angles):
        return Rotation.from_euler(axes, angles).as_matrix()

    bodies = ""
    for i, limb in enumerate(wrist.limbs, 1):
        held, (alpha1, alpha2) = "", (link.alpha for link in limb.links)
        if i == 1:
            onward = euler("ZX", limb.eta, -limb.beta).T
            # MuJoCo's joint turns the body's own frame: its axis there is v*.
            axis = " ".join(map(str, onward.T[:, 2]))
            bend = turned(euler("X", alpha2) @ onward)
            held = (
                f'<body name="platform" {bend}><joint name="xi" axis="{axis}"/>'
                f"{inertial(wrist.platform)}</body>"
            )
        bodies += (
            f'<body name="first{i}" {turned(euler("ZX", limb.lam, limb.gamma - np.pi))}>'
            f'<joint name="theta{i}" axis="0 0 1"/>{arc(alpha1)}'
            f'<body name="second{i}" {turned(euler("X", alpha1))}>'
            f'<joint name="psi{i}" axis="0 0 1"/>{arc(alpha2)}{held}</body></body>'
        )
    field = " ".join(str(float(x)) for x in wrist.gravity)
    return (
        '<mujoco><compiler angle="radian" boundmass="0" boundinertia="0"/>'
        f'<option gravity="{field}"/><worldbody>{bodies}</worldbody></mujoco>'
    )


def test_energy_is_kept_in_a_free_swing(wrist):
    q0 = states(wrist, 1)[0][0] * 0.2
    assert wrist.singularity(q0) > 0.1

    def rates(t, y):
        return np.concatenate([y[3:], wrist.forward_dynamics(y[:3], y[3:], [0, 0, 0])])

    run = solve_ivp(rates, (0, 0.25), [*q0, 0, 0, 0], "DOP853", rtol=1e-12, atol=1e-13)
    q, v = run.y[:3].T, run.y[3:].T
    energy = wrist.kinetic_energy(q, v) + wrist.potential_energy(q)
    assert wrist.kinetic_energy(q, v).max() > 1e-3
    assert np.abs(energy - energy[0]).max() < 1e-9


def test_what_actuators_give_is_what_energy_gains(wrist):
    q0 = np.array([0.1, -0.1, 0.2])
    home = wrist.inverse_kinematics(q0).theta

    def torque(t, q):
        return 0.5 * np.sin(5 * t + np.arange(3)) - 3 * (wrist.inverse_kinematics(q).theta - home)

    def rates(t, y):
        q, v = y[:3], y[3:6]
        tau = torque(t, q)
        power = tau @ (wrist.actuator_jacobian(q) @ v)
        return np.concatenate([v, wrist.forward_dynamics(q, v, tau), [power]])

    run = solve_ivp(rates, (0, 3), [*q0, *[0] * 4], "DOP853", rtol=1e-11, atol=1e-12)
    q, v, work = run.y[:3].T, run.y[3:6].T, run.y[6]
    energy = wrist.kinetic_energy(q, v) + wrist.potential_energy(q)
    assert np.ptp(work) > 0.01
    assert np.abs(energy - energy[0] - work).max() < 1e-8
