"""Limits of joints mean the same in track as in simulate: positions stop there, and what exceeds a
speed or a torque is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from moves import GOAL, START, bars

import appell
from appell.control import ComputedTorque, Friction, PDGravity, quintic, track
from appell.robots.robot import Robot
from appell.simulation import load_run

WEIGHTLESS = bars(1).with_gravity((0, 0, 0))
LIMP = PDGravity(WEIGHTLESS, kp=0, kd=0)  # asks for nothing
INERTIA = 1 / 3  # of a bar of 1 m and 1 kg about its end
PUMA = appell.load("puma560")


def changed(robot, **limits):
    """A tree whose joints have limits; a function of the joint's number gives each its own."""
    each = [
        {name: x(j) if callable(x) else x for name, x in limits.items()}
        for j in range(len(robot.model.joints))
    ]
    joints = tuple(replace(x, **new) for x, new in zip(robot.model.joints, each, strict=True))
    bodies = tuple(replace(b, joint=joints[b.coordinate]) for b in robot.model.bodies)
    return Robot(replace(robot.model, joints=joints, bodies=bodies))


@pytest.mark.parametrize("side", [1, -1])
def test_a_joint_stops_at_its_limit_and_the_run_says_so(side):
    which = "upper" if side > 0 else "lower"
    arm = changed(WEIGHTLESS, **{which: side * 0.505})
    run = track(arm, LIMP, [0.0], until=2.0, v0=[side * 1.0])
    assert run.stopped is None
    (impact,) = run.impacts
    assert impact.time == pytest.approx(0.505, abs=1e-9)  # between two samples
    assert (impact.points, impact.walls) == (("joint1",), (f"{which} limit",))
    np.testing.assert_allclose(run.q[run.t > 0.505, 0], side * 0.505, atol=1e-9)
    assert run.warnings == (f"joint1 strikes its {which} limit at 0.505 s",)
    assert str(run).endswith(f"warning: joint1 strikes its {which} limit at 0.505 s")
    back = track(arm, LIMP, [0.0], until=1.0, v0=[side * 1.0], stop_restitution=0.5)
    assert back.v[-1, 0] == pytest.approx(-0.5 * side, abs=1e-9)
    assert back(0.605)[0][0] == pytest.approx(side * 0.455, abs=1e-9)
    past = track(arm, LIMP, [0.0], until=1.0, v0=[side * 1.0], stops=False)
    assert past.q[-1, 0] == pytest.approx(side)
    (beyond,) = past.exceeded
    assert beyond[:4] == ("joint1", "position", pytest.approx(side), side * 0.505)
    assert beyond.time == pytest.approx(0.505, abs=0.01)  # within a sample


def test_a_stop_bears_what_presses_the_arm_against_it():
    """A torque of 2 N m holds the arm there; another, from 0.5 s on, leads it away."""

    def push(t, q, v):
        return [2.0 if t < 0.5 else -1.0]

    arm = changed(WEIGHTLESS, upper=0.1)
    run = track(arm, LIMP, [0.0], until=0.6, external=push)
    assert run.contacts == (("joint1", "upper limit"),)
    rests = (run.t > 0.3) & (run.t < 0.495)
    np.testing.assert_allclose(run.reactions[rests, 0], 2.0, atol=1e-6)
    np.testing.assert_allclose(run.reactions[run.t > 0.51], 0.0)
    assert run.q[-1, 0] == pytest.approx(0.1 - 0.5 * 0.1**2 / INERTIA, abs=1e-9)


@pytest.mark.parametrize("friction", [False, True])
def test_stops_of_track_are_those_of_simulate(friction):
    """Two bars fall on their stops: sampled or not, with what rubs or without."""
    robot = changed(bars(2), lower=-0.4, upper=0.6, viscous=0.1, coulomb=0.5)
    limp = PDGravity(robot.with_gravity((0, 0, 0)), kp=0, kd=0)
    run = track(robot, limp, [0.2, 0.1], until=0.8, friction=friction)
    other = appell.simulate(robot, [0.2, 0.1], until=0.8, friction=friction)
    assert len(run.impacts) == len(other.impacts) > 1
    times = [[x.time for x in some.impacts] for some in (run, other)]
    np.testing.assert_allclose(times[0], times[1], atol=1e-8)
    np.testing.assert_allclose(run.q, other(run.t)[0], atol=1e-7)


def test_stops_of_a_closed_robot_are_those_of_simulate():
    robot = appell.load("five_bar").with_gravity((0, 0, 0))
    q = robot.neutral()
    tree = changed(
        Robot(robot.model), lower=lambda j: q[j] - 0.3, upper=lambda j: q[j] + 0.2, speed=1.0
    )
    closed = appell.close(
        tree, robot.constraints, independent=robot.independent, actuated=robot.actuated,
        guess=robot.reference,
    )  # fmt: skip
    force = [0.3, -0.2]
    start = q[list(robot.mechanism.independent)]
    run = track(closed, PDGravity(closed, 0.0, 0.0), start, q0=q, until=0.6, external=force)
    other = closed.simulate(run.q[0], until=0.6, torque=force)
    assert len(run.impacts) == len(other.impacts) > 0
    np.testing.assert_allclose(run.q, other(run.t)[0], atol=1e-7)
    assert run.opening.max() < 1e-9
    assert {x.joint for x in run.exceeded} == {x.joint for x in other.exceeded} != set()


@pytest.mark.parametrize(("stiction", "moves"), [(1.6, False), (1.4, True)])
def test_stiction_holds_an_arm_on_its_stop(stiction, moves):
    """Pressed with 2 N m, then pulled away with 1.5 N m."""

    def pull(t, q, v):
        return [2.0 if t < 0.5 else -1.5]

    rubs = Friction(coulomb=0.5, stiction=stiction)
    arm = changed(WEIGHTLESS, upper=0.1)
    run = track(arm, LIMP, [0.0], until=0.6, external=pull, friction=rubs)
    assert run.stopped is None
    assert run.q[40, 0] == pytest.approx(0.1, abs=1e-9)
    assert (run.q[-1, 0] < 0.09) == moves
    if moves:
        assert run.q[-1, 0] == pytest.approx(0.1 - 0.5 * 0.1**2 / INERTIA, abs=1e-6)


def test_a_limit_reached_and_left_between_two_samples_is_seen():
    """A torque turns the arm back: free, it is beyond its limit for 0.3 ms, and at no sample."""

    def back(t, q, v):
        return [-INERTIA * 1000.0]

    q = np.array([0.0])  # x = t - 500 t^2 is farthest at 1 ms, 0.5 mrad
    options = {"until": 0.02, "v0": [1.0], "external": back}
    run = track(changed(WEIGHTLESS, upper=0.00049), LIMP, q, **options)
    assert len(run.impacts) == 1
    assert not track(changed(WEIGHTLESS, upper=0.00051), LIMP, q, **options).impacts


def test_bad_restitution_of_stops_is_refused():
    for e in (-0.1, 1.1, None, "soft"):
        with pytest.raises(appell.InputError, match=r"stop_restitution = .*from 0 \(no rebound\)"):
            track(WEIGHTLESS, LIMP, [0.0], until=1.0, stop_restitution=e)
        with pytest.raises(appell.InputError, match=r"stop_restitution = .*from 0 \(no rebound\)"):
            appell.simulate(WEIGHTLESS, [0.0], until=1.0, stop_restitution=e)


def test_speeds_and_torques_beyond_the_models_limits_are_told(tmp_path):
    robot, law = changed(PUMA, speed=0.5, effort=20.0), ComputedTorque(PUMA)
    move = quintic(START, GOAL, 2.0)
    run = track(robot, law, move)
    told = {(x.joint, x.quantity): x for x in run.exceeded}
    for quantity, values, limit in (("speed", run.v, 0.5), ("torque", run.tau, 20.0)):
        assert any(kind == quantity for _, kind in told)
        for j, name in enumerate(robot.joint_names):
            x = np.abs(values[:, j])
            assert ((name, quantity) in told) == (x.max() > limit)
            if x.max() > limit:
                found = told[name, quantity]
                assert found.limit == limit
                assert found.largest == pytest.approx(x.max(), rel=1e-3)  # between samples, too
                assert found.time <= run.t[np.argmax(x > limit)]
    assert load_run(run.save(tmp_path / "run")).exceeded == run.exceeded
    kept = track(robot, law, move, torque_limit=True)
    assert {x.quantity for x in kept.exceeded} == {"speed"}
    fall = appell.simulate(robot, START, until=0.5)
    assert {x.quantity for x in fall.exceeded} == {"speed"}
    assert f"warning: {fall.exceeded[0]}" in str(fall)
    assert track(PUMA, law, move).warnings == ()
