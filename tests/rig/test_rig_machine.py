"""The machine: numbers, physics, homing, observer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rigs import END, PUMA, START, law, ready, run

import appell
from appell.control.tracking.hardware import Friction
from appell.control.tracking.rubbing import RubbingPlant
from appell.errors import InputError
from appell.rig import Command, Fault, Limits, Machine, Order, State, machine_for
from appell.rig.controller.controller import Phase
from appell.rig.controller.observer import Observer, apart
from appell.rig.controller.safety import _CHECKS, TRANSITIONS, Safety, Seen, after
from appell.rig.machine.faults import FOREVER, fault_of, fault_option
from appell.rig.machine.protocol import Reading, Status
from appell.rig.machine.simulated_arm import SimulatedArm
from appell.rig.machine.simulated_machine import Rig
from appell.rig.machine.simulated_sensors import Switches

ROBOT = law().robot


def test_the_pumas_numbers():
    np.testing.assert_array_equal(PUMA.counts, [200, 200, 250, 250, 250, 250])
    np.testing.assert_allclose(PUMA.torque[:3], [123.3, 213.7, 112.7], rtol=0.01)
    np.testing.assert_allclose(PUMA.count * PUMA.counts, PUMA.revolution)
    assert PUMA.full_scale == 10


def test_volts_and_codes():
    volts = np.array([-10, -0.003, 0, 0.003, 5, 20.0])
    codes = PUMA.dac(volts)
    np.testing.assert_array_equal(codes, [0, 2047, 2048, 2049, 3072, 4095])
    assert np.abs(PUMA.volts(codes) - volts)[:5].max() <= PUMA.volt_step / 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"counts": 0}, "counts"),
        ({"counts": 200.5}, "whole"),
        ({"gear": (1, 2)}, "joints"),
        ({"lower": 3.0, "upper": -3.0}, "below"),
        ({"period": -1}, "period"),
        ({"watchdog": 0}, "watchdog"),
        ({"watchdog": 10**9}, "60 s at most"),
        ({"pot_low": np.nan}, "finite"),
        ({"speed": "fast"}, "numbers"),
    ],
)
def test_a_machine_that_cannot_be_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        replace(PUMA, **change)


def test_a_machine_is_assumed_for_an_arm_with_limits_only():
    with pytest.raises(InputError, match="Machine"):
        machine_for(appell.load("stanford_arm"))
    assert machine_for(appell.load("puma560")).name == "PUMA 560"


# Physics


def test_a_cycle_moves_the_arm_as_the_exact_plant_does():
    """Against dry friction with every change located: 300 cycles under torques that vary."""
    rng = np.random.default_rng(3)
    arm = SimulatedArm(ROBOT, PUMA, START)
    friction = Friction(PUMA.viscous, PUMA.coulomb)
    viscous, *dry = friction.levels(6)
    exact = RubbingPlant(ROBOT, viscous, None, dry)
    y = np.concatenate([START, np.zeros(6)])
    gravity = ROBOT.gravity(START)
    for k in range(300):
        if k % 50 == 0:
            push = gravity + rng.uniform(-1, 1, 6) * np.array([30, 40, 20, 2, 2, 0.3])
        volts = push / PUMA.torque_per_volt
        arm.advance(volts, True, False, 0.001)
        y = exact.advance(0.001 * k, y, push, 0.001)
    assert np.abs(y[6:]).max() > 0.1
    np.testing.assert_allclose(arm.q, y[:6], atol=1e-3)
    np.testing.assert_allclose(arm.v, y[6:], atol=1e-2)


def test_the_quick_way_is_the_careful_one():
    """From random states, slow joints among them: where it is taken, and what comes of it."""
    rng = np.random.default_rng(4)
    quick, careful = SimulatedArm(ROBOT, PUMA, START), SimulatedArm(ROBOT, PUMA, START)
    taken = []
    for _ in range(500):
        v = rng.uniform(-2, 2, 6) * np.where(rng.random(6) < 0.03, 1e-3, 1)
        quick.y = careful.y = np.concatenate([rng.uniform(-1, 1, 6), v])
        quick.hand = careful.hand = rng.uniform(-1, 1, 6)
        volts, period = rng.uniform(-10, 10, 6), np.array([0.001])
        made = quick.smooth(quick.y, volts, quick.hand, quick.numbers, period)
        taken.append(made[-1] == 18)
        quick.advance(volts, True, False, 0.001)
        careful.careful(volts, True, False, 0.001)
        np.testing.assert_allclose(quick.y, careful.y, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(quick.current, careful.current, rtol=1e-12, atol=1e-13)
        assert not taken[-1] or (v * quick.v > 0).all()
    assert 0.5 < np.mean(taken) < 0.95


def test_brakes_hold_and_cut_off_motors_slow_the_wrist():
    arm = SimulatedArm(ROBOT, PUMA, START)
    arm.v[:] = [0.5, 0.5, 0.5, 1, 1, 1.0]
    for _ in range(400):
        arm.advance(np.zeros(6), False, True, 0.001)
    assert not arm.v[:3].any()
    assert np.abs(arm.v).max() < 0.2
    q = arm.q.copy()
    for _ in range(200):
        arm.advance(np.zeros(6), False, True, 0.001)
    np.testing.assert_array_equal(arm.q[:3], q[:3])


def test_a_motor_has_no_torque_beyond_what_the_supply_drives():
    arm = SimulatedArm(ROBOT, PUMA, START)
    top = PUMA.supply / (PUMA.torque_constant * PUMA.gear)
    arm.v[:] = top
    tau, _ = arm.motors(np.full(6, 10.0), True)
    assert (tau <= 1e-9).all()
    arm.v[:] = 0
    np.testing.assert_allclose(arm.motors(np.full(6, 10.0), True)[0], PUMA.torque)


def test_a_motor_gets_hot_under_its_greatest_current_and_cools_again():
    switches, most = Switches(replace(PUMA, period=0.1)), PUMA.amplifier * PUMA.full_scale
    hours = range(0, 20_000, 16)
    hot = [switches.see(most * (np.arange(6) == 1), k, []) for k in hours]
    assert hot[0] == 0
    assert hot[-1] == 0b10
    assert [switches.see(0 * most, k, []) for k in hours][-1] == 0


# The machine's own watchdog


def test_the_machine_stops_by_itself_and_stays_stopped():
    rig = Rig(ROBOT, PUMA, START)
    live = Order.ENABLE | Order.RELEASE
    codes = PUMA.dac(ROBOT.gravity(START) / PUMA.torque_per_volt)
    rig.step(Command(1, 0, live, codes))
    assert not rig.safe
    for k in range(PUMA.watchdog):
        assert not rig.safe, k
        rig.step(None)
    assert rig.safe
    for k in range(2, 10):
        assert rig.step(Command(k, 0, live, codes)).status & 4
        assert rig.safe


def test_an_old_command_is_not_obeyed_again():
    rig = Rig(ROBOT, PUMA, START)
    rig.step(Command(5, 0, Order.ENABLE | Order.TOOL_1, PUMA.dac(np.zeros(6))))
    assert rig.tools == Order.TOOL_1
    rig.step(Command(5, 0, Order.ENABLE | Order.TOOL_2, PUMA.dac(np.zeros(6))))
    rig.step(Command(4, 0, 0, PUMA.dac(np.zeros(6))))
    assert (rig.tools, rig.echo) == (Order.TOOL_1, 5)


# Homing and the observer


@pytest.mark.parametrize("seed", [1])
def test_homing_finds_the_joints_to_a_count(seed):
    rng = np.random.default_rng(seed)
    q0 = START + rng.uniform(-0.2, 0.2, 6)
    report = run(q0=q0, seed=seed)
    assert report.ok, report.reason
    true = np.array(report.plant["q"])
    np.testing.assert_allclose(report.q[-1], true, atol=1.5 * PUMA.count.max())
    looked = report.log.rows[report.log["phase"] == Phase.HOME]["q"][0]
    assert np.abs(looked - q0).max() > 2 * PUMA.count.max()  # the potentiometers are coarser


def test_where_the_index_pulse_is_matters():
    other = replace(PUMA, index=1.0)
    report = run(machine=other)
    assert report.ok
    np.testing.assert_allclose(report.q[-1], report.plant["q"], atol=1.5 * PUMA.count.max())


def test_a_potentiometer_that_is_torn_off_is_seen_before_anything_moves():
    beyond = replace(PUMA, pot_low=np.where(np.arange(6) == 1, -0.5, PUMA.pot_low))
    report = run(machine=beyond)
    assert report.reason == "potentiometer out of range: joint 2"
    assert not report.volts.any()


def test_the_observer_follows_speeds_without_lag_when_told_the_acceleration():
    observer = Observer(ROBOT.model, PUMA, np.zeros(6, dtype=np.int32), np.zeros(6))
    a, T = 2.0, PUMA.period
    for k in range(1, 600):
        v, q = a * k * T, a * (k * T) ** 2 / 2
        observer.follow(np.full(6, a), 1, np.floor(q / PUMA.count).astype(np.int32))
    np.testing.assert_allclose(observer.v, v, atol=0.03)
    np.testing.assert_allclose(observer.q, q, atol=2 * PUMA.count.max())


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-1000, 1000))
def test_counters_may_run_over(count, step):
    new = (count + step + 2**31) % 2**32 - 2**31
    assert apart(np.array([new]), np.array([count])) == step


# Missions, states, faults as text


def test_what_the_machine_cannot_do_is_refused():
    from appell.control import quintic

    with pytest.raises(InputError, match="joint 1 from"):
        run(trajectory=quintic(START, END + 4.0, 2.0))
    with pytest.raises(InputError, match="more time"):
        run(trajectory=quintic(START, END, 0.05))
    with pytest.raises(InputError, match="comes back"):
        run(repeat=2)
    with pytest.raises(InputError, match="channel"):
        run(channel="smoke signals")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"faults": [3]}, "faults = .*expected a list such as"),
        ({"faults": "stuck"}, "faults = 'stuck'"),
        ({"faults": 3}, "faults = 3"),
        ({"machine": 3}, "machine = 3; expected a rig.Machine"),
        ({"limits": 3}, "limits = 3; expected such as"),
        ({"log": 3}, "log = 3; expected the name"),
        ({"hardware": 3}, "hardware = 3; expected what makes"),
        ({"channel": 3}, "channel = 3"),
        ({"tool": 16}, "tool = 16; expected bits"),
        ({"tool": -1}, "tool = -1; expected bits"),
        ({"seed": -1}, "seed = -1"),
        ({"robot": 5}, "robot = 5; expected a Robot"),
    ],
)
def test_arguments_of_another_kind_are_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        ready(**wrong)


def test_only_listed_changes_of_state_happen():
    assert after(State.HOMING, "homed") is State.ENABLED
    for state in State:
        for event in ("homed", "done", "fault", "dream"):
            if (state, event) not in TRANSITIONS:
                with pytest.raises(InputError):
                    after(state, event)
    assert all(after(s, "fault") is State.FAULT for s in State)


def test_faults_as_text():
    names = [f"joint{j + 1}" for j in range(6)]
    assert fault_option("stuck@1500,joint=2", names) == Fault("stuck", 1500, 1)
    assert fault_option("stuck@1500, joint=joint6", names) == Fault("stuck", 1500, 5)
    short = fault_option("late-readings@10,size=4,duration=30", names)
    assert (short.kind, short.size, short.duration) == ("late readings", 4.0, 30)
    assert fault_of('{"kind": "hot", "cycle": 5}').duration == FOREVER
    assert Fault("late-readings", 10, size=4) == Fault("late readings", 10, size=4)
    wrong = ["fire@3", "stuck@x", "stuck@1,leg=2", "{}", "hot@1,joint=0", "hot@1,joint=7"]
    wrong += ["hot@1,joint=2,joint=3", "hot@1,joint=2,duration=0", "late-readings@1"]
    wrong += ["slip@1,joint=1", "noise@1,joint=1,size=-3", "noise@1,joint=1,size=1e30"]
    for text in wrong:
        with pytest.raises(InputError, match=r"[^.]\. Write it like 'stuck@1500,joint=2'\.$"):
            fault_option(text, names)
    with pytest.raises(InputError, match="joints 0 to 5"):
        run(faults=[Fault("hot", 1, joint=6)])


@pytest.mark.parametrize("wrong", [{"missed": np.inf}, {"missed": 2.5}, {"error": np.nan}])
def test_limits_that_are_none_are_refused(wrong):
    with pytest.raises(InputError, match=r"Limits: .* above zero"):
        Limits(**wrong)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(error=0.002), "error too large"),
        (Limits(torque=1), "torque beyond"),
    ],
)
def test_limits_of_error_and_torque(limits, reason):
    weak = replace(PUMA, amplifier=PUMA.amplifier * 0.3) if limits.torque == 1 else PUMA
    report = run(limits=limits, machine=weak)
    assert report.reason.startswith(reason)
    assert report.plant["safe"]


def pushed(**seen):
    """What is said of a joint, by the checks alone, in as many cycles as it takes."""
    safety, z = Safety(PUMA), np.zeros(6)
    still, pots = np.zeros(6, dtype=np.int32), (z - PUMA.pot_low) / PUMA.code
    for tick in range(1, 200):
        reading = Reading(tick, 0, tick, Status.POWERED, 0, still, still, still, np.rint(pots))
        given = {"q": z, "v": z, "desired": z, "tau": z} | seen
        order = Order.ENABLE | Order.RELEASE
        wrong = safety.check(Seen(tick, 1, reading, 0, order=order, homed=True, **given))
        if wrong:
            return tick, wrong
    return None


def test_limits_of_position_speed_torque_and_error_take_as_many_cycles_as_they_say():
    limits, one = Limits(), np.eye(6)[3]
    out = PUMA.upper * 1.001 * one
    assert pushed(q=out, desired=out)[0] <= limits.position
    assert pushed(v=1.01 * one * PUMA.speed) == (
        limits.speed,
        "speed beyond its limit: joint 4",
    )
    assert pushed(v=0.99 * PUMA.speed) is None
    assert pushed(tau=-1.01 * one * PUMA.torque) == (
        limits.torque,
        "torque beyond its limit: joint 4",
    )
    assert pushed(tau=0.99 * PUMA.torque) is None
    assert pushed(desired=(limits.error + 1e-6) * one)[1] in (
        "error too large: joint 4",
        "encoder stuck: joint 4",
    )


def test_what_is_well_at_a_glance_passes_every_check():
    """States near every limit, on both sides of it."""
    judged = [_judged(np.random.default_rng(seed), seed % 2 == 0) for seed in range(400)]
    assert (True, True) not in judged
    assert judged.count((True, False)) > 40
    assert judged.count((False, True)) > 100


def _judged(rng, homed):
    """Whether a state is well at a glance, and whether a check finds anything."""
    safety, limits = Safety(PUMA), Limits()
    if homed:
        safety.set_home(np.zeros(6, dtype=np.int32), np.zeros(6))

    def near(x, share):
        """Up to a limit, or now and then close to it."""
        close = rng.random() < share
        return (
            x
            * rng.choice([-1, 1], 6)
            * rng.uniform(0.97 if close else 0, 1.03 if close else 0.9, 6)
        )

    half = (PUMA.upper - PUMA.lower) / 2
    q = (PUMA.upper + PUMA.lower) / 2 + near(half, 0.1)
    pots = (q + near(limits.apart, 0.1) - PUMA.pot_low) / PUMA.code
    counts = np.round(near(PUMA.counts + limits.slip, 0.1)).astype(np.int32)
    turned = np.where(rng.random(6) < 0.02, rng.integers(-5, 5, 6), 0).astype(np.int32)
    before = counts - np.round(near(safety.most_counts, 0.1)).astype(np.int32)
    pulses = np.zeros(6, dtype=np.uint16)
    jumped = pots - near(limits.jumps_of, 0.1)
    hot = int(rng.random() < 0.05)
    live = Status.POWERED
    last = Reading(1, 0, 0, live, 0, before, turned, pulses, jumped)
    new = pulses + (turned != 0).astype(np.uint16)
    reading = Reading(2, 0, 1, live, hot, counts, turned, new, pots)
    desired = q + near(limits.error, 0.1)
    safety.last, safety.stood = last, desired - near(limits.stuck, 0.1)
    v, tau = near(np.asarray(PUMA.speed), 0.1), near(PUMA.torque, 0.1)
    seen = Seen(2, 1, reading, 0, q, v, desired, tau, Order.ENABLE | Order.RELEASE, homed)
    well = safety.well(seen, reading)
    strict = replace(limits, **dict.fromkeys(("hot", "speed", "torque", "disagree", "noise"), 1))
    safety.limits = strict
    return well, any(getattr(safety, check)(seen, reading) for check in _CHECKS)


def test_a_machine_of_ones_own():
    one = Machine("one", -1, 1, 2, 500, 50, -1.2, 1.2, 0.1, 1, 1)
    assert one.n == 1
    assert one.count[0] == pytest.approx(2 * np.pi / 25000)


def test_assumed_friction_does_not_hold_light_links_with_strong_motors():
    text = (
        '<robot name="light"><link name="base"/><link name="a"><inertial><mass value="0.1"/>'
        '<inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></inertial></link>'
        '<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="500" velocity="5"/></joint></robot>'
    )
    machine = appell.rig.machine_for(appell.Robot.from_urdf(text))
    assert machine.coulomb == pytest.approx([1e-3])
