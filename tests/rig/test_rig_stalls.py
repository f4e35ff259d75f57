"""What a run is when its processes stand still now and then, as they do on a desktop system."""

from __future__ import annotations

import numpy as np
import pytest
from rigs import END, PUMA, START, law, moving, run, sound

from appell.control import spline
from appell.rig import Command, Fault, Order, State
from appell.rig.controller.controller import Controller, Phase
from appell.rig.controller.mission import Follow
from appell.rig.controller.observer import Observer
from appell.rig.loop.serve_simulated import serve
from appell.rig.machine.protocol import command_bytes, reading_bytes
from appell.rig.machine.simulated_arm import SimulatedArm
from appell.rig.machine.simulated_machine import Rig

ROBOT = law().robot


def test_the_observer_knows_how_old_counts_are_and_how_seldom_they_come():
    """An arm that swings to and fro; one cycle in ten has counts, some of them old, some new."""
    rng, T, n = np.random.default_rng(6), PUMA.period, 2000
    arm = SimulatedArm(ROBOT, PUMA, START)
    states, given = [arm.y], []
    for k in range(n + 10):
        a = np.array([3, 2, 3, 6, 6, 9]) * np.cos(5 * T * k)
        tau = ROBOT.inverse_dynamics(arm.q, arm.v, a)
        tau += PUMA.viscous * arm.v + PUMA.coulomb * np.sign(arm.v)
        volts = PUMA.output(tau)[1]
        arm.advance(volts, True, False, T)
        states.append(arm.y)
        given.append((volts * PUMA.torque_per_volt, a))
    counts = np.floor((np.array(states)[:, :6] - START) / PUMA.count).astype(np.int32)
    observer, read, errors = Observer(ROBOT.model, PUMA, counts[0], START), 0, []
    for k in range(1, n):
        tau, a = given[k - 1]
        age = int(rng.integers(-8, 31)) if k % 3 == 0 else 0
        if rng.random() < 0.9 or k - age <= read:
            observer.predict(tau, 1)
        else:
            observer.follow(a, 1, counts[k - age], k - age - read, age)
            read = k - age
        errors.append(observer.x - states[k])
    worst = np.abs(errors).max(axis=0)
    assert np.ptp(np.array(states)[:, :6], axis=0).min() > 0.1
    assert (worst[:6] < 0.012).all()
    assert (worst[6:] < 0.3).all()


def test_late_readings_do_not_lead_the_arm_astray():
    for size in (10, 40):
        late = run(faults=[Fault("late readings", moving(), size=size, duration=15)])
        assert late.ok
        assert late.max_error < sound().max_error + np.radians(0.1)


def test_after_a_stall_each_cycle_has_the_command_that_was_sent_for_it(monkeypatch):
    """Stalls of 40 and 7 cycles, and a machine that had none."""
    rng, live = np.random.default_rng(5), Order.ENABLE | Order.RELEASE
    hold = ROBOT.gravity(START) / PUMA.torque_per_volt
    sent = [
        Command(k, round(1e6 * k - 4e5), live, PUMA.dac(hold + rng.uniform(-1, 1, 6)))
        for k in range(1, 101)
    ]
    steps = [*[1] * 20, 40, 1, 1, 7, *[1] * 31]
    assert sum(steps) == len(sent)

    class Stalling:
        period, deadline, overruns, left = 1_000_000, 0, 0, list(steps)

        def __init__(self, period):
            pass

        def wait(self):
            self.deadline += self.left[0] * self.period
            return self.left.pop(0), 0

    class Commands:
        taken, readings = 0, ()

        def receive(self):
            start, self.taken = self.taken, sum(steps[: len(steps) - len(Stalling.left)])
            return [command_bytes(c) for c in sent[start : self.taken]]

        def send(self, data):
            self.readings = (*self.readings, data)

    monkeypatch.setattr("appell.rig.loop.serve_simulated.Clock", Stalling)
    channel, stalled, well = Commands(), Rig(ROBOT, PUMA, START), Rig(ROBOT, PUMA, START)
    serve(stalled, channel, lambda: [] if Stalling.left else [b"end"])
    expected = [reading_bytes(well.step(command)) for command in sent]
    assert channel.readings == tuple(expected[k - 1] for k in np.cumsum(steps))[:-1]


class World:
    """A controller and a machine that stall, each by itself, while the arm moves on: in ms."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.now = self.machine_at = self.machine_until = 0
        self.rig, self.sent, self.newest = Rig(ROBOT, PUMA, START), [], None
        way = spline([START, END, START], [0.0, 1.0, 2.0])
        self.controller = Controller(law(), Follow(way, PUMA, repeat=5), PUMA)
        self.stalls, self.worst = 0, 0.0

    def pass_time(self, ms):
        """The machine goes on or, where it stood still, makes up with what it was sent."""
        for _ in range(ms):
            self.now += 1
            while self.machine_until <= self.now and self.machine_at < self.now:
                self.machine_at += 1
                due = [c for t, c in self.sent if t < self.machine_at]
                self.sent = self.sent[len(due) :]
                self.newest = self.rig.step(due[-1] if due else None)

    def cycle(self, stalls):
        """A cycle of the controller, which may stall before it or in it."""
        before, within = stalls
        self.pass_time(1 + before)
        tick = self.now
        self.pass_time(within)
        reading, self.newest = self.newest, None
        self.sent.append((self.now, self.controller.cycle(tick, reading, 0)))
        if self.controller.phase is Phase.FOLLOW:
            off = self.controller.qd - self.rig.arm.q
            self.worst = max(self.worst, float(np.abs(off).max()))

    def stall(self, share):
        """How long the controller does, before and in a cycle; now and then the machine does."""
        if self.random.random() < share and self.now >= self.machine_until:
            self.machine_until = self.now + int(self.random.integers(5, 40))
        if self.random.random() > share:
            return 0, 0
        self.stalls += 1
        long = int(self.random.integers(5, 40))
        return (long, 0) if self.random.random() < 0.5 else (0, long)

    def run(self):
        """Bursts of 0.2 s, one per second, once the arm is on its way."""
        while not self.controller.ended:
            under_way = self.controller.phase is Phase.FOLLOW
            self.cycle(self.stall(0.1) if under_way and self.now % 1000 < 200 else (0, 0))


@pytest.mark.parametrize("seed", range(4))
def test_stalls_of_both_sides_are_bridged(seed):
    world = World(seed)
    world.run()
    assert world.controller.state is State.STOP, world.controller.reason
    assert world.stalls > 20
    assert world.worst < np.radians(7)
