"""Laws and tracking of robots with loops: closed robots, and spherical parallel ones."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import appell
from appell.control import (
    Adaptive,
    Adc,
    CartesianImpedance,
    ComputedTorque,
    Feedforward,
    Friction,
    JointImpedance,
    Law,
    Motor,
    PDGravity,
    PointToPoint,
    SlidingMode,
    Tracking,
    TrackingIntegral,
    quintic,
    track,
)
from appell.control.laws.compiled import of_state
from appell.rig.loop.run_setup import setup
from appell.simulation import load_run

ROBOTS = ["four_bar", "five_bar", "planar_3rrr", "agile_wrist"]
STATES = 6


@cache
def robot_of(name: str) -> Any:
    return appell.load(name)


def own(robot: Any, q: np.ndarray) -> np.ndarray:
    """The coordinates whose rates are the speeds."""
    return q[..., list(robot.system.coordinates)]


def states(robot: Any) -> list[np.ndarray]:
    """q, v, qd, vd and ad."""
    draw = np.random.default_rng(4)
    q, qd = robot.random(1, STATES), robot.random(2, STATES)
    v, vd, ad = draw.uniform(-1, 1, (3, STATES, robot.nv))
    return [q, v, qd, vd, ad]


def close(x: np.ndarray, y: np.ndarray, tolerance: float = 1e-11) -> None:
    np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, float(np.abs(y).max())))


@pytest.mark.parametrize("name", [*ROBOTS, "delta"])
def test_with_the_exact_model_errors_obey_their_equation(name):
    """e'' + kd e' + kp e = 0 in continuous time: the acceleration is the commanded one."""
    robot = robot_of(name)
    law = ComputedTorque(robot, kp=50, kd=15)
    q, v, qd, vd, ad = states(robot)
    tau, _ = law(q, v, qd, vd, ad)
    assert tau.shape == (STATES, len(robot.actuated))
    commanded = ad + 15 * (vd - v) + 50 * (own(robot, qd) - own(robot, q))
    close(robot.forward_dynamics(q, v, tau), commanded)
    close(law(q[0], v[0], qd[0], vd[0], ad[0])[0], tau[0], 1e-14)


@pytest.mark.parametrize("name", ["planar_3rrr", "agile_wrist"])
def test_each_law_is_what_it_says_in_the_robots_own_terms(name):
    robot = robot_of(name)
    q, v, qd, vd, ad = states(robot)
    e, de = own(robot, qd) - own(robot, q), vd - v

    def forces(law: Law) -> np.ndarray:
        return robot.driven(q, law(q, v, qd, vd, ad)[0])

    def needed(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return robot.kernel("generalised_forces")(q, v, a)

    def passive(v_r: np.ndarray, a_r: np.ndarray) -> np.ndarray:
        """M a_r + C v_r + g with Christoffel's C, from what is quadratic in the speeds."""
        still = np.zeros_like(v)
        turned = [needed(q, x, still) - robot.gravity(q) for x in (v + v_r, v - v_r)]
        return needed(q, still, a_r) + (turned[0] - turned[1]) / 4

    close(forces(PDGravity(robot, 7, 3)), robot.gravity(q) + 7 * e + 3 * de)
    close(forces(Feedforward(robot, 7, 3)), needed(qd, vd, ad) + 7 * e + 3 * de)
    close(forces(PointToPoint(robot, 9, 6)), needed(q, v, 9 * e - 6 * v))
    close(forces(Tracking(robot, 9, 6)), needed(q, v, ad + 9 * e + 6 * de))
    close(forces(TrackingIntegral(robot, 9, 6, 1)), needed(q, v, ad + 9 * e + 6 * de))
    close(forces(JointImpedance(robot, 7, 3)), passive(vd, ad) + 7 * e + 3 * de)
    v_r, a_r = vd + 2 * e, ad + 2 * de
    s = v_r - v
    close(forces(Adaptive(robot, 2, 5)), passive(v_r, a_r) + 5 * s)
    switched = 4 * np.clip(s / 0.5, -1, 1)
    close(forces(SlidingMode(robot, 2, 4, 0.5)), passive(v_r, a_r) + switched)


@pytest.mark.parametrize("name", ["planar_3rrr", "agile_wrist"])
def test_a_tool_on_a_spring_is_drawn_by_its_jacobian(name):
    robot = robot_of(name)
    q, v, _, vd, ad = states(robot)
    stiff, soft = (CartesianImpedance(robot, k, 3.0) for k in (40.0, 0.0))
    there = q + 0.0
    there[..., list(robot.system.coordinates)] += 1e-7
    if hasattr(robot, "assemble"):
        there = np.array([robot.integrate(x, np.full(robot.nv, 1e-7)) for x in q])
    by = robot.driven(q, stiff(q, v, there, vd, ad)[0] - soft(q, v, there, vd, ad)[0])
    J = robot.jacobian(q)
    moved = J @ np.full(robot.nv, 1e-7)
    close(by / 1e-7, 40 * np.einsum("kij,ki->kj", J, moved) / 1e-7, 1e-5)
    assert robot.link_names[-1] in repr(stiff) or "platform" in repr(stiff)


def test_an_adaptive_law_learns_along_the_forces_on_the_speeds():
    robot = robot_of("planar_3rrr")
    law = Adaptive(robot, 2, 5, 0.5)
    q, v, qd, vd, ad = (x[0] for x in states(robot))
    s = vd + 2 * (own(robot, qd) - own(robot, q)) - v
    parameter = int(np.argmax(robot.parameters))
    _, before = law(q, v, qd, vd, ad, period=0.01)
    other = law.initial.copy()
    other[parameter] += 1.0
    forces = [law(q, v, qd, vd, ad, p)[0] for p in (law.initial, other)]
    column = robot.driven(q, forces[1] - forces[0])  # Y of that parameter
    learned = (before - law.initial)[parameter]
    assert learned == pytest.approx(0.01 * 0.5 * column @ s, rel=1e-9)


@pytest.mark.parametrize("name", ["five_bar", "agile_wrist"])
def test_a_law_is_the_same_on_floats_in_float32_with_gains_and_from_a_pickle(name):
    robot = robot_of(name)
    law = Tracking(robot, 30, 9)
    given = states(robot)
    tau = law(*given)[0]
    one = of_state(law, gains=False)(*(x[0].tolist() for x in given))
    close(np.array(one, dtype=float), tau[0], 1e-13)
    kernel = law.kernel(gains=True)
    close(kernel(*given, *kernel.defaults.values()), tau, 1e-14)
    close(law.kernel(dtype="float32")(*(x.astype("f4") for x in given)), tau, 1e-3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(law))(*given)[0], tau)


def test_a_law_takes_any_formulation_of_its_robot():
    robot = robot_of("agile_wrist")
    given = states(robot)
    laws = [Tracking(robot, formulation=f) for f in ("quasi_speeds", "gibbs_jacobian")]
    assert "formulation=gibbs_jacobian" in repr(laws[1])
    close(laws[1](*given)[0], laws[0](*given)[0])
    five_bar = robot_of("five_bar")
    law = ComputedTorque(five_bar, formulation="newton_euler")
    given = states(five_bar)
    close(law(*given)[0], ComputedTorque(five_bar)(*given)[0])
    with pytest.raises(appell.InputError, match="has no formulation 'gibbs_lean'"):
        Tracking(robot, formulation="gibbs_lean")


# Tracked


def moved(robot: Any, by: float = 0.15, duration: float = 0.3) -> Any:
    start = own(robot, robot.neutral())
    return quintic(start, start + by, duration)


@pytest.mark.parametrize("name", ROBOTS)
def test_errors_of_a_tracked_motion_fall_with_the_period(name):
    robot = robot_of(name)
    law, move = ComputedTorque(robot), moved(robot)
    coarse, fine = (track(robot, law, move, period=p) for p in (0.004, 0.002))
    assert fine.stopped is None
    assert fine.error.shape == (len(fine.t), robot.nv)
    assert fine.max_error < 0.005
    assert fine.max_error == pytest.approx(coarse.max_error / 2, rel=0.1)
    assert fine.tau.shape == (len(fine.t), len(robot.actuated))


@pytest.mark.parametrize("name", ["planar_3rrr", "agile_wrist"])
def test_pd_with_gravity_reaches_a_set_point(name):
    robot = robot_of(name).with_gravity([0.0, -3.0, -9.81])
    start = own(robot, robot.neutral())
    law = PDGravity(robot)
    run = track(robot, law, start + 0.1, until=2.5, period=0.005, q0=robot.neutral())
    assert run.stopped is None
    assert np.abs(run.error[0]).max() == pytest.approx(0.1)
    assert run.final_error < 1e-6


def test_a_tracked_closed_robot_keeps_its_loops_and_its_run(tmp_path):
    robot = robot_of("planar_3rrr")
    run = track(robot, Tracking(robot), moved(robot), period=0.01, until=0.2, speeds="differences")
    assert run.opening is not None
    assert run.opening.max() < 1e-12
    assert np.abs(robot.closure(run.desired)).max() < 1e-12
    assert np.abs(robot.closure(run(np.linspace(0, 0.2, 41))[0])).max() < 1e-9
    np.testing.assert_allclose(run(run.t[5])[0], run.q[5], atol=1e-11)
    np.testing.assert_allclose(run(run.t[5])[1], run.v[5], atol=1e-11)
    again = load_run(run.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(again.error, run.error)
    assert len(run.plot().axes) >= 3


def test_energy_changes_by_the_work_of_the_actuators_and_of_forces_from_outside():
    """A motion under constant forces from outside, without a law's: the work is theirs."""
    for name, force in (("five_bar", [0.3, -0.2]), ("agile_wrist", [0.01, 0.02, -0.01])):
        robot = robot_of(name).with_gravity([0.0, 0.0, 0.0])
        limp = PDGravity(robot, 0.0, 0.0)
        start = own(robot, robot.neutral())
        run = track(robot, limp, start, until=0.2, external=force, stops=False)
        work = (own(robot, run.q[-1]) - start) @ np.array(force)
        assert run.kinetic[-1] > 0
        assert run.kinetic[-1] == pytest.approx(work, rel=1e-7)


def test_viscous_friction_of_all_joints_slows_a_closed_robot():
    tree = appell.load("five_bar")
    joints = len(tree.joint_names)
    parameters = tree.parameters_of(friction=True)
    parameters[-2 * joints : -joints] = 0.05
    robot = tree.with_parameters(parameters, friction=True).with_gravity([0.0, 0.0, 0.0])
    limp = PDGravity(robot, 0.0, 0.0)
    start, speed = own(robot, robot.neutral()), np.array([0.5, -0.3])
    run = track(robot, limp, start, until=0.05, period=0.001, v0=speed, friction=True)
    a = robot.forward_dynamics(run.q[0], speed, run.tau[0], friction=True)
    np.testing.assert_allclose((run.v[1] - run.v[0]) / 0.001, a, rtol=2e-2, atol=1e-3)
    free = track(robot, limp, start, until=0.05, period=0.001, v0=speed)
    assert run.kinetic[-1] < 0.99 * run.kinetic[0]
    assert free.kinetic[-1] == pytest.approx(free.kinetic[0], rel=1e-9)


def test_limits_and_motors_act_on_the_actuators():
    robot = robot_of("planar_3rrr")
    run = track(robot, ComputedTorque(robot), moved(robot), period=0.01, torque_limit=0.01)
    assert np.abs(run.tau).max() <= 0.01
    assert run.commanded is not None
    assert np.abs(run.commanded).max() > 0.01
    crank = robot_of("four_bar")
    motor = Motor(torque_constant=0.5, resistance=1.0, voltage=24.0)
    run = track(crank, ComputedTorque(crank), moved(crank), period=0.01, motor=motor, delay=1)
    assert run.voltage is not None
    assert run.stopped is None


def test_a_motion_into_a_singularity_ends_there():
    robot = robot_of("five_bar")
    start = own(robot, robot.neutral())
    limp = PDGravity(robot, 0.0, 0.0)
    run = track(robot, limp, start, until=5.0, v0=[3.0, -3.0], stops=False)
    assert run.stopped is not None
    assert len(run.t) == len(run.q) == len(run.tau)


# Refused


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("differential_drive", "is nonholonomic: 'left wheel' forbids velocities"),
        ("rolling_disc", "has a free base"),
        ("snakeboard", "has a free base"),
    ],
)
def test_laws_refuse_what_they_cannot_move(name, reason):
    with pytest.raises(appell.InputError, match=reason):
        ComputedTorque(appell.load(name))


def test_laws_refuse_robots_with_too_few_actuators():
    robot = robot_of("five_bar")
    fewer = appell.close(
        appell.Robot(robot.model), robot.constraints, guess=robot.reference,
        independent=robot.independent, actuated=robot.actuated[:1],
    )  # fmt: skip
    with pytest.raises(appell.InputError, match="is underactuated: no forces of its 1 actuators"):
        ComputedTorque(fewer)


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("planar_3rrr", {"encoder": 1000}, "coordinates that close its loops"),
        ("agile_wrist", {"adc": Adc(12)}, "coordinates that close its loops"),
        ("planar_3rrr", {"motor": Motor(1, 1, 1)}, "do not turn with its speeds"),
        ("planar_3rrr", {"friction": Friction(1.0)}, "the friction of its own joints"),
        ("agile_wrist", {"friction": True}, "have no friction"),
        ("agile_wrist", {"torque_limit": True}, "have no efforts of their own"),
        ("agile_wrist", {"torque_limit": [1.0, 2.0]}, r"expected a number, or 3"),
        ("planar_3rrr", {"q0": np.zeros(3)}, r"q0 has shape \(3,\); expected \(9,\)"),
        ("planar_3rrr", {"q0": np.zeros(9)}, "q0"),
        ("agile_wrist", {"formulation": "gibbs_lean"}, "gibbs_lean"),
    ],
)
def test_options_that_cannot_be_honoured_are_refused(name, options, reason):
    robot = robot_of(name)
    with pytest.raises(appell.InputError, match=reason):
        track(robot, Tracking(robot), moved(robot), **options)


def test_a_trajectory_that_leaves_the_loops_is_refused():
    robot = robot_of("planar_3rrr")
    far = own(robot, robot.neutral()) + [5.0, 0.0, 0.0]
    with pytest.raises(appell.InputError, match=r"trajectory at .* s: "):
        track(robot, Tracking(robot), quintic(own(robot, robot.neutral()), far, 1.0))


def test_a_limit_of_the_integral_needs_actuators_at_the_errors():
    assert TrackingIntegral(robot_of("five_bar"), limit=3.0).limit is not None
    with pytest.raises(appell.InputError, match="so no error belongs to a limit"):
        TrackingIntegral(robot_of("agile_wrist"), limit=3.0)


def test_the_rig_refuses_robots_with_loops():
    robot = robot_of("four_bar")
    with pytest.raises(appell.InputError, match="drives and measures every joint"):
        setup(TrackingIntegral(robot), moved(robot))
