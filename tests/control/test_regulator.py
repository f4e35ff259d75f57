"""Linear equations of motion near a state, and the linear-quadratic regulator."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import appell
from appell.control import linearise, lqr


def built(kind: str) -> appell.Robot:
    """A body on a joint of this kind, and another hinged to it."""
    build = appell.Builder(kind)
    build.link("body", appell.inertia.box(2.0, (0.3, 0.2, 0.1), com=(0.1, 0.02, 0.3)))
    build.link("arm", appell.inertia.box(1.0, (0.1, 0.1, 0.4), com=(0.0, 0.03, 0.2)))
    build.joint("first", kind, "world", "body")
    build.joint("hinge", "revolute", "body", "arm", pose=(0, 0.1, 0.2), axis="y", viscous=0.4)
    return build.robot()


def displaced_flow(robot, q, v, tau, dx, t):
    """The deviation after a time t of a motion that began displaced by dx from another."""

    def after(q, v):
        def rate(_, x):
            now, speeds = robot.normalise(x[: robot.nq]), x[robot.nq :]
            dq, dv = robot.kernel("motion")(now, speeds, tau)
            return np.concatenate([dq, dv])

        end = solve_ivp(rate, (0, t), [*q, *v], rtol=1e-11, atol=1e-12).y[:, -1]
        return robot.normalise(end[: robot.nq]), end[robot.nq :]

    n = robot.nv
    q0, v0 = after(q, v)
    q1, v1 = after(robot.integrate(q, dx[:n]), v + dx[n:])
    return np.concatenate([robot.difference(q0, q1), v1 - v0])


@pytest.mark.parametrize("kind", ["revolute", "spherical", "free"])
def test_deviations_follow_the_linear_equations_also_of_bodies_that_turn(kind):
    """Against two flights side by side: first order in the deviation and in the time."""
    robot, rng = built(kind), np.random.default_rng(1)
    q, v, tau = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    step, small = 1e-3, 1e-4
    A, _ = linearise(robot, q, v, tau)
    for _ in range(3):
        dx = rng.normal(size=2 * robot.nv)
        pair = [displaced_flow(robot, q, v, tau, s * small * dx, step) for s in (1, -1)]
        rate = ((pair[0] - pair[1]) / (2 * small) - dx) / step
        # The second order in time is left: half a step of A A dx.
        expected = A @ dx + step / 2 * A @ A @ dx
        np.testing.assert_allclose(rate, expected, atol=20 * step * np.abs(A @ dx).max())


def test_steps_hold_forces_between_samples():
    robot = built("revolute")
    q, v, tau = np.array([0.3, -0.5]), np.array([0.2, 0.1]), np.array([1.0, 0.5])
    A, B = linearise(robot, q, v, tau)
    Ad, Bd = linearise(robot, q, v, tau, dt=0.02)
    x, u = np.array([0.1, 0.2, -0.1, 0.3]), np.array([0.5, -1.0])
    flow = solve_ivp(lambda t, x: A @ x + B @ u, (0, 0.02), x, rtol=1e-11, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(Ad @ x + Bd @ u, flow, rtol=1e-8)


def test_friction_takes_part_if_asked():
    robot = built("revolute")
    state = np.array([0.3, -0.5]), np.array([0.2, 0.1]), np.zeros(2)
    without, with_it = (linearise(robot, *state, friction=f).A for f in (False, True))
    M = robot.mass_matrix(state[0])
    np.testing.assert_allclose(
        (with_it - without)[2:, 2:], -np.linalg.solve(M, np.diag([0, 0.4])), atol=1e-12
    )


def test_friction_of_a_joint_that_mimics_another_takes_part():
    """Against differences of the motion; dry friction does not change while no speed turns."""
    build, box = appell.Builder("mimicking"), appell.inertia.box(1.0, (0.1, 0.2, 0.4))
    before = "world"
    for k, mimic in enumerate((None, ("j0", -1.7), None)):
        build.link(f"l{k}", box)
        build.joint(
            f"j{k}", "revolute", before, f"l{k}", pose=(0.1, 0, 0.3), axis="xyz"[k],
            viscous=0.3 + k, coulomb=0.2, mimic=mimic,
        )  # fmt: skip
        before = f"l{k}"
    robot = build.robot()
    q, v, tau, h = np.array([0.3, -0.5]), np.array([0.4, -0.7]), np.array([1.0, 0.5]), 1e-5
    slopes = [
        (
            robot.forward_dynamics(q, v + d, tau, friction=True)
            - robot.forward_dynamics(q, v - d, tau, friction=True)
        ) / (2 * h)
        for d in h * np.eye(2)
    ]  # fmt: skip
    A, _ = linearise(robot, q, v, tau, friction=True)
    # Quadratic in v, so that differences err by rounding only: 1e-16 / h of some 100 rad/s^2.
    np.testing.assert_allclose(A[2:, 2:], np.transpose(slopes), rtol=0, atol=1e-7)


def cart_pole() -> appell.Robot:
    """Underactuated Robotics' cart-pole: 10 kg, 1 kg on 0.5 m, upright at pi."""
    build = appell.Builder("cart_pole", gravity=(0, 0, -9.81))
    build.link("cart", mass=10.0)
    build.link("pole", mass=1.0, com=(0, 0, -0.5))
    build.joint("rail", "prismatic", "world", "cart", axis="x")
    build.joint("pin", "revolute", "cart", "pole", axis="y")
    return build.robot()


def test_the_cart_pole_of_underactuated_robotics():
    """The gains that Drake prints for it, with its signs of the pole's angle."""
    robot = cart_pole()
    regulator = lqr(robot, [0, np.pi], Q=(10, 10, 1, 1), R=[1], actuated=["rail"])
    np.testing.assert_allclose(np.abs(regulator.K), [[3.1623, 254.39, 9.7692, 55.177]], rtol=2e-4)
    assert regulator.poles.real.max() < 0


def test_a_regulator_steadies_what_falls_and_a_sampled_one_too():
    robot = cart_pole()
    top = np.array([0, np.pi])
    for dt in (None, 0.01):
        K = lqr(robot, top, Q=np.eye(4), R=[1], actuated="rail", dt=dt).K

        def torque(t, q, v, K=K):
            return np.array([-(K @ [*(q - top), *v])[0], 0.0])

        run = appell.simulate(robot, top + (0, 0.2), np.zeros(2), torque=torque, until=30.0)
        assert np.abs(run.q[-1] - top).max() < 0.02


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"q": [0, 0.3], "actuated": ["rail"]}, "does not rest at q.*pin"),
        ({"q": [0, np.pi], "tau": [5.0, 0.0]}, "accelerates with"),
        ({"q": [0, np.pi], "actuated": ["wheel"]}, "rail, pin"),
        ({"q": [0, np.pi], "actuated": ["rail", "rail"]}, "twice"),
        ({"q": [0, np.pi], "Q": np.eye(3)}, r"Q must be .*\(4, 4\)"),
        ({"q": [0, np.pi], "R": [1.0]}, r"R must be .*\(2, 2\)"),
        ({"q": [0, np.pi], "Q": np.full((4, 4), np.nan)}, "Q must be"),
        ({"q": [0, np.pi], "R": [0.0, 0.0]}, "no regulator|singular"),
        ({"q": [0, np.nan]}, "nan|finite"),
        ({"q": [0, np.pi], "dt": -1.0}, "greater than zero"),
        ({"q": np.zeros((3, 2))}, r"lqr: q has shape \(3, 2\); expected \(2,\)"),
        ({"q": [0, np.pi], "tau": np.zeros((3, 2))}, r"tau has shape \(3, 2\); expected \(2,\)"),
    ],
)
def test_what_has_no_regulator_is_explained(asked, message):
    asked = {"Q": np.eye(4), "R": np.eye(2), **asked}
    with pytest.raises(appell.AppellError, match=message):
        lqr(cart_pole(), asked.pop("q"), **asked)


@pytest.mark.parametrize(
    ("tau", "forces", "message"),
    [
        (np.zeros((3, 2)), None, r"tau has shape \(3, 2\); expected \(2,\)"),
        (None, None, "tau = None; expected 2 numbers"),
        (
            [0, 0],
            {"pole": np.zeros((3, 6))},
            r"on 'pole' has shape \(3, 6\); expected \(6,\)",
        ),
        ([0, 0], {"pole": 1.0}, r"shape \(\); expected \(..., 6\)"),
        ([0, 0], 1.0, "forces = 1.0; expected wrenches by frame"),
    ],
)
def test_many_states_at_once_are_not_linearised(tau, forces, message):
    with pytest.raises(appell.InputError, match=message):
        linearise(cart_pole(), [0, 0], [0, 0], tau, forces=forces)


def test_what_is_no_robot_is_refused():
    for robot in (None, cart_pole().model):
        with pytest.raises(appell.InputError, match=r"lqr: a (NoneType|Model) is no robot"):
            lqr(robot, [0, 0], Q=np.eye(4), R=np.eye(2))
        with pytest.raises(appell.InputError, match=r"linearise: a (NoneType|Model) is no robot"):
            linearise(robot, [0, 0], [0, 0], [0, 0])


def test_wheels_that_roll_are_linearised_at_rest_only():
    robot = appell.load("differential_drive")
    q, v = robot.random_states(1)
    with pytest.raises(appell.InputError, match="v = 0"):
        linearise(robot, q[0], v[0], np.zeros(4))
    A, B = linearise(robot, q[0], 0 * v[0], np.zeros(4))
    assert A.shape == (8, 8)
    assert B.shape == (8, 4)


def test_hybrid_dynamics_gives_back_what_went_in():
    robot, rng = built("free"), np.random.default_rng(3)
    q, v, tau = robot.random(rng, 5), *rng.normal(size=(2, 5, robot.nv))
    push = {"arm": rng.normal(size=6)}
    a = robot.forward_dynamics(q, v, tau, forces=push)
    for given in ("hinge", ("first x", "first turn z"), robot.joint_names, ()):
        known = np.isin(robot.joint_names, given)
        both = robot.hybrid_dynamics(
            q, v, np.where(known, a, np.nan), np.where(known, np.nan, tau), given, forces=push
        )
        np.testing.assert_allclose(both[0], a, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(both[1], tau, rtol=1e-9, atol=1e-9)
    with pytest.raises(appell.InputError, match="hinge"):
        robot.hybrid_dynamics(q, v, a, tau, "hings")


def test_hybrid_dynamics_of_loops_are_refused():
    robot = appell.load("four_bar")
    with pytest.raises(appell.InputError, match="has loops: hybrid_dynamics is for trees; take"):
        robot.hybrid_dynamics(robot.neutral(), [0.5], [0.3], [1.0], ["crank"])
