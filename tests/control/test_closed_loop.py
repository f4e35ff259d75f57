"""The closed loop: an arm that moves as it must between samples, and what hardware does to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from moves import GOAL, LEE, START, bars
from scipy.integrate import solve_ivp

import appell
from appell.control import (
    Adc,
    ComputedTorque,
    Feedforward,
    Friction,
    Law,
    Motor,
    PDGravity,
    PointToPoint,
    TrackingIntegral,
    track,
)
from appell.control.laws.gains import Kind
from appell.control.tracking.hardware import Sensors
from appell.control.trajectories.joint_space import quintic
from appell.model.library.random import random_tree
from appell.robots.robot import Robot
from appell.simulation import Run, load_run

PUMA = appell.load("puma560")
LAW = ComputedTorque(PUMA)
ARM = bars(1)
WEIGHTLESS = ARM.with_gravity((0, 0, 0))
LIMP = PDGravity(WEIGHTLESS, kp=0, kd=0)  # asks for nothing
INERTIA = 1 / 3  # of a bar of 1 m and 1 kg about its end


# Between samples


def test_torques_are_held_and_the_arm_moves_by_its_dynamics():
    run = track(PUMA, LAW, LEE, period=0.02)
    y = np.concatenate([run.q[0], run.v[0]])

    def rate(t, y, tau):
        return np.concatenate([y[6:], PUMA.forward_dynamics(y[:6], y[6:], tau)])

    for k in range(50):
        tau, _ = LAW(y[:6], y[6:], *(x[0] for x in LEE(run.t[k : k + 1])))
        y = solve_ivp(rate, (0, 0.02), y, "DOP853", rtol=1e-12, atol=1e-13, args=(tau,)).y[:, -1]
        np.testing.assert_allclose(run.q[k + 1], y[:6], atol=1e-10)
        np.testing.assert_allclose(run.v[k + 1], y[6:], atol=1e-9)


def test_the_motion_is_known_between_samples():
    coarse = track(PUMA, LAW, LEE, period=0.02)
    tau, y = coarse.tau[30], np.concatenate([coarse.q[30], coarse.v[30]])

    def rate(t, y):
        return np.concatenate([y[6:], PUMA.forward_dynamics(y[:6], y[6:], tau)])

    way = solve_ivp(rate, (0, 0.013), y, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    q, v = coarse(0.613)
    np.testing.assert_allclose(q, way[:6], atol=1e-9)
    np.testing.assert_allclose(v, way[6:], atol=1e-7)
    np.testing.assert_allclose(coarse(coarse.t)[0], coarse.q, atol=1e-12)


def test_a_fast_motion_takes_shorter_steps():
    """A joint that swings at 300 rad/s, sampled every 0.2 s: the pendulum keeps its energy."""
    run = track(ARM, PDGravity(WEIGHTLESS, kp=0, kd=0), [0.0], v0=[300.0], period=0.2, until=1.0)
    assert np.ptp(run.energy) < 1e-7 * run.energy[0]


def test_what_a_run_holds():
    run = track(PUMA, TrackingIntegral(PUMA), LEE)
    assert run.t.shape == (201,)
    for x in (run.q, run.v, run.tau, run.error, run.desired, run.commanded, run.state):
        assert x.shape == (201, 6)
    np.testing.assert_array_equal(run.error, run.desired - run.q)
    assert run.max_error == np.abs(run.error).max()
    assert run.rms_error == pytest.approx(np.sqrt((run.error**2).mean()))
    np.testing.assert_allclose(run.state[1:], 0.01 * np.cumsum(run.error[:-1], axis=0), atol=1e-14)
    np.testing.assert_array_equal(run.tau, run.commanded)
    assert run.voltage is None
    assert run.stopped is None
    assert repr(run) == (
        f"<Tracked run of puma560: 0 s to 2 s, 201 samples, error at most {run.max_error:.3g}>"
    )


def test_a_run_can_be_saved(tmp_path):
    run = track(ARM, ComputedTorque(ARM), [0.3], until=0.5)
    again = load_run(run.save(tmp_path / "run"))
    assert isinstance(run, Run)
    kept = ("q", "desired", "desired_v", "desired_a", "commanded", "measured", "state", "error")
    for name in kept:
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
    assert again.max_error == run.max_error
    assert again.voltage is None
    assert repr(again).startswith(f"<Tracked run of {ARM.name}: 0 s to 0.5 s, 51 samples, error")
    np.testing.assert_array_equal(again(0.123)[0], run(0.123)[0])
    with pytest.raises(appell.InputError, match="not resumed; call track with a later until="):
        run.resume(1.0)


# When, and from where


def test_the_end_is_held_after_the_trajectory():
    run = track(PUMA, LAW, LEE, until=4.0)
    np.testing.assert_allclose(run.desired[run.t >= 2.0], np.tile(GOAL, (201, 1)), atol=1e-15)
    assert run.final_error < 1e-9


def test_the_last_sample_is_at_the_end_or_just_after_it():
    assert track(ARM, ComputedTorque(ARM), [0.0], until=1.0, period=0.3).t[-1] == pytest.approx(1.2)
    assert len(track(ARM, ComputedTorque(ARM), [0.0], until=0.3, period=0.1).t) == 4


def test_a_start_off_the_trajectory():
    run = track(PUMA, LAW, LEE, q0=START + 0.1, v0=np.full(6, 0.5))
    np.testing.assert_allclose(run.error[0], -0.1, atol=1e-15)
    np.testing.assert_array_equal(run.v[0], 0.5)
    assert run.final_error < 1e-3


# Sensors


def test_encoders_round_to_counts():
    run = track(PUMA, LAW, LEE, encoder=[1000, 1000, 1000, 500, 500, 500])
    step = 2 * np.pi / np.array([1000, 1000, 1000, 500, 500, 500])
    np.testing.assert_allclose(run.measured / step, np.round(run.measured / step), atol=1e-9)
    assert (np.abs(run.measured - run.q) <= step / 2 + 1e-12).all()
    assert run.max_error > 2 * track(PUMA, LAW, LEE).max_error


def test_a_prismatic_joint_is_counted_by_the_metre():
    robot = Robot(random_tree(2, 3, prismatic=1.0))
    q, _ = Sensors(robot, 100, None, "exact", 0.01, np.zeros(2))(np.array([0.123, -0.456]), None)
    np.testing.assert_allclose(q, [0.12, -0.46])


def test_a_converter_rounds_to_bits_within_its_range():
    adc = Adc(12, 0.0, np.radians(100))  # Lee's: 4.26e-4 rad a bit
    assert adc.step == pytest.approx(4.26e-4, rel=1e-3)
    q = np.array([-0.1, 0.0, 0.5 * adc.step * 0.99, 1.0, 5.0])
    seen = adc(q) / adc.step
    np.testing.assert_allclose(seen, np.round(seen), atol=1e-9)
    np.testing.assert_allclose(seen[[0, 1, 2, 4]], [0, 0, 0, 4095], atol=1e-9)
    run = track(PUMA, LAW, LEE, adc=Adc(16))
    assert np.abs(run.measured - run.q).max() <= Adc(16).step / 2 + 1e-12


def test_speeds_from_differences():
    exact = track(PUMA, LAW, LEE)
    derived = track(PUMA, LAW, LEE, speeds="differences")
    assert derived.max_error > 1.5 * exact.max_error
    assert derived.max_error < 5e-3
    assert derived.final_error < 3e-3


# Drives


def test_a_delay_shifts_torques():
    run = track(PUMA, LAW, LEE, delay=2)
    np.testing.assert_array_equal(run.tau[2:], run.commanded[:-2])
    np.testing.assert_allclose(run.tau[:2], np.tile(PUMA.gravity(START), (2, 1)))
    assert run.max_error > 2 * track(PUMA, LAW, LEE).max_error


def test_torques_stay_within_their_limits():
    limit = np.array([8.0, 100.0, 30.0, 2.0, 2.0, 1.0])
    run = track(PUMA, LAW, LEE, torque_limit=limit)
    assert (np.abs(run.tau) <= limit).all()
    assert (np.abs(run.commanded) > limit).any()
    np.testing.assert_array_equal(run.tau, np.clip(run.commanded, -limit, limit))
    unlimited = track(PUMA, LAW, LEE, torque_limit=True)  # this robot's joints have no limits
    np.testing.assert_array_equal(unlimited.tau, unlimited.commanded)


def test_a_motor_reaches_the_speed_of_its_voltage():
    """Driven at full voltage it comes to V / (k gear), as 1 - exp(-t / T), T = J R / (gear k)^2."""
    motor = Motor(torque_constant=0.1, resistance=2.0, voltage=12.0, gear=20.0)
    law = PDGravity(WEIGHTLESS, kp=1e6, kd=0)
    run = track(WEIGHTLESS, law, [1e3], q0=[0.0], until=1.0, motor=motor)
    constant = INERTIA * 2.0 / (20 * 0.1) ** 2
    np.testing.assert_allclose(run.v[:, 0], 6 * (1 - np.exp(-run.t / constant)), atol=1e-9)
    np.testing.assert_array_equal(run.voltage, 12.0)
    np.testing.assert_allclose(run.tau[:, 0], 20 * 0.1 / 2 * (12 - 2 * run.v[:, 0]))


def test_a_motor_with_volts_enough_gives_what_is_asked():
    """At the sample; in the period its own voltage slows it, which a shorter one lessens."""
    motor = Motor(torque_constant=0.2, resistance=1.0, voltage=1e4, gear=10.0)
    run = track(PUMA, LAW, LEE, motor=motor)
    np.testing.assert_allclose(run.tau, run.commanded, atol=1e-9)
    shorter = track(PUMA, LAW, LEE, motor=motor, period=0.002)
    assert shorter.max_error < 0.3 * run.max_error


def test_forces_from_outside_act_all_the_time():
    run = track(WEIGHTLESS, LIMP, [0.0], until=1.0, period=0.25, external=[0.3])
    np.testing.assert_allclose(run.v[:, 0], 0.3 / INERTIA * run.t, atol=1e-11)
    wave = track(
        WEIGHTLESS, LIMP, [0.0], until=1.0, period=0.25, external=lambda t, q, v: [np.cos(3 * t)]
    )
    np.testing.assert_allclose(wave.v[:, 0], np.sin(3 * wave.t) / 3 / INERTIA, atol=1e-10)


# Another robot than the law believes


def test_a_wrong_model_leaves_an_error_that_the_right_one_removes():
    loaded = PUMA.with_payload(2.0, (0, 0, 0.1))
    wrong = track(loaded, LAW, LEE)
    right = track(loaded, ComputedTorque(loaded), LEE)
    assert right.max_error < 1e-3 < 0.02 < wrong.max_error


# What cannot go on


def test_an_unstable_loop_stops_and_says_so():
    run = track(PUMA, PDGravity(PUMA, kp=1e4, kd=1e4), LEE, q0=START + 0.01)
    assert run.stopped
    assert "runs away" in run.stopped or "cannot be followed" in run.stopped
    assert len(run.t) == len(run.q) == len(run.tau) < 201
    assert run.stopped in repr(run)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"robot": "puma560"}, "expected a robot; appell.load gives one"),
        ({"law": lambda t: t}, "expected one such as ComputedTorque"),
        ({"robot": ARM}, "law is for 'puma560' with 6 joints; 'planar_chain.1.' has 1"),
        ({"period": 0}, "period = 0; expected a time in s, more than zero"),
        ({"period": -0.01}, "period = -0.01; expected a time"),
        ({"period": np.nan}, "period = nan; expected a time"),
        ({"period": "fast"}, "period = 'fast'; expected a time"),
        ({"until": 0}, "until = 0; expected a time"),
        ({"trajectory": GOAL}, "until is missing; a set point"),
        ({"trajectory": GOAL[:3], "until": 1}, r"trajectory has shape \(3,\); expected \(6,\)"),
        ({"trajectory": [np.nan] * 6, "until": 1}, r"trajectory\[0\] is nan"),
        ({"trajectory": lambda t: t, "until": 1}, "expected positions, speeds and accelerations"),
        ({"trajectory": quintic([0.0], [1.0], 1.0)}, r"gave q of shape \(101, 1\); expected"),
        ({"q0": [0, 0]}, r"q0 has shape \(2,\); expected \(6,\)"),
        ({"v0": [np.inf] * 6}, r"v0\[0\] is inf; expected finite"),
        ({"delay": -1}, "delay = -1; expected a whole number of samples"),
        ({"delay": 0.5}, "delay = 0.5; expected a whole number of samples"),
        ({"encoder": 0}, "encoder = 0; expected more than zero"),
        ({"encoder": 100, "adc": Adc(12)}, "give one of them"),
        ({"adc": 12}, r"adc = 12; expected Adc\(bits, low, high\)"),
        ({"speeds": "guessed"}, "speeds = 'guessed'; expected one of exact, differences"),
        ({"torque_limit": [1, 2]}, r"torque_limit has shape \(2,\)"),
        ({"torque_limit": -5}, "torque_limit = -5; expected more than zero"),
        ({"motor": 12}, r"motor = 12; expected Motor\(\.\.\.\)"),
        ({"friction": 3.0}, r"friction = 3.0; expected True or Friction"),
        ({"friction": Friction(coulomb=-1)}, "coulomb = -1; expected zero or more"),
        ({"friction": Friction(coulomb=2, stiction=1)}, "stiction 1 of joint 0 is less than"),
        ({"external": [1.0]}, r"external has shape \(1,\); expected \(6,\)"),
        ({"external": lambda t, q, v: 1.0}, r"external\(t, q, v\) has shape \(\); expected \(6,\)"),
        ({"motor": Motor(0.1, 0, 12)}, "Motor: resistance = 0; expected more than zero"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    usual = {"robot": PUMA, "law": LAW, "trajectory": LEE}
    with pytest.raises(appell.InputError, match=message):
        track(**(usual | change))


@pytest.mark.parametrize("bits", [0, 64, 3.5, True])
def test_a_converter_has_a_whole_number_of_bits(bits):
    with pytest.raises(appell.InputError, match="expected a whole number, 1 to 63"):
        Adc(bits)


def test_a_converter_has_a_range():
    with pytest.raises(appell.InputError, match="expected a range"):
        Adc(12, 1.0, 1.0)


def spring_law(sign):
    """A law of the user's own: any class derived from Law, with an equation over scalars."""

    def spring(model, q, v, desired, k):
        return [sign * g * (x - y) for g, x, y in zip(k, desired.q, q, strict=True)]

    @dataclass(frozen=True, eq=False, repr=False)
    class Spring(Law):
        k: float = 3.0
        equation = staticmethod(spring)
        gains: ClassVar = {"k": Kind()}

    return Spring(WEIGHTLESS)


def test_a_law_of_ones_own():
    law = spring_law(1)
    assert repr(law) == "<Spring of planar_chain(1): k=3>"
    run = track(WEIGHTLESS, law, [0.0], q0=[0.1], until=1.0, period=1e-3)
    np.testing.assert_allclose(run.q[:, 0], 0.1 * np.cos(3 * run.t), atol=1e-3)


def test_a_changed_law_of_ones_own_is_not_taken_from_the_cache():
    states = np.array([[0.2], [0.0], [0.5], [0.0], [0.0]])
    for sign in (1, -1):
        law = spring_law(sign)
        np.testing.assert_allclose(law(*states)[0], sign * 0.9)
        np.testing.assert_allclose(law.kernel()(*states), sign * 0.9)


def test_feedforward_alone_needs_no_errors():
    run = track(PUMA, Feedforward(PUMA, kp=0, kd=0), LEE, period=0.001)
    assert run.max_error < 0.05


def test_a_set_point_is_a_trajectory():
    run = track(PUMA, PointToPoint(PUMA), tuple(GOAL), q0=GOAL, until=0.2)
    assert run.max_error < 1e-12


# Limits of the joints


def limited(lower=-np.inf, upper=np.inf):
    """One bar, weightless, whose joint has limits."""
    model = WEIGHTLESS.model
    joints = (replace(model.joints[0], lower=lower, upper=upper),)
    bodies = tuple(replace(b, joint=joints[b.coordinate]) for b in model.bodies)
    return Robot(replace(model, joints=joints, bodies=bodies))


def test_a_start_beyond_a_limit_is_refused():
    with pytest.raises(appell.InputError, match=r"starts 0\.1 beyond the upper limit 0\.4"):
        track(limited(upper=0.4), LIMP, [0.5], until=1.0)


def test_a_law_of_another_kind_of_robot_is_refused():
    closed = appell.load("four_bar")
    with pytest.raises(appell.InputError, match="which has 1 coordinates; 'four_bar' has 3"):
        track(closed, LIMP, [0.5], until=1.0)
