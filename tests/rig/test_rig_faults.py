"""Every fault ends in zero volts and brakes, within two cycles of its limit, with its reason and
with every cycle in the log."""

from __future__ import annotations

import numpy as np
import pytest
from rigs import PUMA, START, law, moving, run, sound, tried

from appell.errors import InputError
from appell.rig import Command, Fault, Limits, Order, State, Status
from appell.rig.loop import realtime
from appell.rig.machine.lockstep import Lockstep
from appell.rig.machine.protocol import command_of
from appell.rig.machine.simulated_machine import Rig

LIMITS = Limits()
SLACK = 2


def stands(report, fault, limit, *reasons):
    """The machine stood in time and for good, and the log holds every cycle until the end."""
    assert report.state is State.FAULT
    assert report.reason.startswith(reasons), report.reason
    assert report.plant["safe"]
    assert 0 <= report.plant["live_until"] + 1 - fault.cycle <= limit + SLACK
    assert report.states[-1].reason == report.reason
    cycles = report.log["cycle"]
    np.testing.assert_array_equal(cycles, cycles[0] + np.arange(len(cycles)))
    assert report.log.complete
    after = report.log.rows[report.log["state"] == State.FAULT]
    assert len(after) > 10
    assert not after["volts"].any()
    assert not after["order"].any()
    return True


def test_without_a_fault_it_follows_and_stops():
    report = sound()
    assert [e.state for e in report.states] == [State.HOMING, State.ENABLED, State.STOP]
    assert report.ok
    assert report.plant["safe"]
    assert np.degrees(report.max_error) < 1.5
    assert report.plant["watchdog"] is None


@pytest.mark.parametrize(
    ("kind", "size", "limit", "reasons"),
    [
        ("lost readings", 0, LIMITS.missed, ["readings lost"]),
        ("damaged readings", 0, LIMITS.missed, ["readings lost"]),
        ("late readings", 130, LIMITS.missed, ["readings lost"]),
        ("late readings", 30, 30 + LIMITS.late, ["readings late"]),
        ("lost commands", 0, PUMA.watchdog, ["commands late"]),
        ("damaged commands", 0, PUMA.watchdog, ["commands late"]),
        ("late commands", 130, PUMA.watchdog, ["commands late"]),
        ("late commands", 30, LIMITS.old + 2 + LIMITS.late + 30, ["commands late"]),
        ("hot", 0, LIMITS.hot, ["over-temperature: joint 3"]),
        ("noise", 100, LIMITS.window, ["potentiometer noisy: joint 3"]),
        ("slip", 40, LIMITS.jump, ["encoder jumped: joint 3"]),
    ],
)
def test_a_fault_stops_the_machine(kind, size, limit, reasons):
    fault = Fault(kind, moving(), joint=2, size=size)
    assert stands(tried(fault), fault, limit, *reasons)


@pytest.mark.parametrize(
    ("kind", "size", "duration"),
    [
        ("lost readings", 0, LIMITS.missed - 1),
        ("lost commands", 0, LIMITS.late),
        ("damaged readings", 0, 5),
        ("late readings", LIMITS.old, 100),
        ("late commands", LIMITS.old, 100),
        ("hot", 0, LIMITS.hot - 1),
        ("noise", 100, 3),
    ],
)
def test_what_is_within_the_limits_does_not(kind, size, duration):
    report = tried(Fault(kind, moving(), 1, size, duration))
    assert report.ok, report.reason


def test_a_slip_of_a_few_counts_is_seen_at_the_next_index_pulse():
    fault = Fault("slip", moving(), joint=2, size=5)
    report = tried(fault)
    pulses, cycles = report.log["pulses"][:, 2], report.log["cycle"]
    new = np.flatnonzero((pulses[1:] != pulses[:-1]) & (cycles[1:] >= fault.cycle))[0] + 1
    limit = int(cycles[new]) - fault.cycle
    assert limit > 5
    assert stands(report, fault, limit, "encoder slipped")
    assert report.plant["live_until"] + 1 >= cycles[new]


def test_a_stuck_counter_is_seen_when_the_joint_moves_or_should_have():
    fault = Fault("stuck", moving(), joint=2)
    report = tried(fault)
    cycles, qd = report.log["cycle"].astype(int), report.log["qd"][:, 2]
    before = int(np.argmax(cycles == fault.cycle - 1))
    reading = PUMA.at(report.log["pots"])[:, 2]
    should = np.abs(qd - qd[before]) > LIMITS.stuck
    moves = np.abs(reading - report.log["q"][before, 2]) > LIMITS.apart + 0.005
    reached = (should | moves) & (cycles > fault.cycle)
    limit = int(cycles[np.argmax(reached)]) - fault.cycle + LIMITS.disagree
    assert 10 < limit < 100
    assert stands(report, fault, limit, "encoder stuck: joint 3")
    assert np.ptp(report.log["counts"][before + 1 :, 2]) == 0


def test_a_stuck_counter_at_rest_does_no_harm():
    report = run(faults=[Fault("stuck", 30, joint=2, duration=30)])
    assert report.ok


def test_an_index_pulse_that_is_missing_is_noticed_on_the_way():
    fault = Fault("no index", moving(), joint=2)
    report = tried(fault)
    counts, latch = (report.log[x][:, 2].astype(int) for x in ("counts", "latch"))
    far = np.abs(counts - latch) > PUMA.counts[2] + LIMITS.slip
    limit = int(report.log["cycle"][np.argmax(far)]) - fault.cycle
    assert stands(report, fault, limit, "index pulse missing: joint 3")


def test_an_index_pulse_that_is_missing_ends_homing():
    report = run(faults=[Fault("no index", 0, joint=4)])
    assert report.state is State.FAULT
    assert report.reason == "index pulse missing: joint 5"
    assert [e.state for e in report.states] == [State.HOMING, State.FAULT]


def test_a_dead_controller_leaves_the_machine_standing():
    fault = Fault("dead controller", moving())
    report = tried(fault)
    assert report.plant["watchdog"] - fault.cycle <= PUMA.watchdog
    assert report.plant["live_until"] + 1 - fault.cycle <= PUMA.watchdog + SLACK
    assert report.plant["safe"]


def test_a_dead_machine_leaves_the_controller_in_fault_with_its_log_closed():
    fault = Fault("dead plant", moving())
    report = tried(fault)
    assert report.reason.startswith("readings lost")
    assert report.states[-1].cycle - fault.cycle <= LIMITS.missed
    assert report.log.complete


def test_two_faults_keep_the_first_reason():
    at = moving()
    report = tried(Fault("hot", at, joint=1), Fault("dead plant", at + 3))
    assert report.reason == "over-temperature: joint 2"


def test_a_law_that_gives_nonsense_is_a_fault(monkeypatch):
    from rigs import law

    from appell.control import Law

    real, calls = Law.__call__, []

    def mad(self, *arguments, **options):
        tau, state = real(self, *arguments, **options)
        calls.append(0)
        return (tau * np.nan if len(calls) == 900 else tau), state

    monkeypatch.setattr(type(law()), "__call__", mad, raising=False)
    report = run()
    assert report.reason == "law: torques are not finite"
    assert np.isfinite(report.volts).all()
    assert report.plant["safe"]


def test_a_law_that_raises_is_a_fault(monkeypatch):
    from rigs import law

    def broken(self, *arguments, **options):
        raise ZeroDivisionError("mine")

    monkeypatch.setattr(type(law()), "__call__", broken, raising=False)
    assert run().reason == "law: ZeroDivisionError: mine"


@pytest.mark.parametrize("torques", ["much", [1, 2], 3.0, 1j * np.ones(6)])
def test_a_law_that_gives_no_torques_is_a_fault(monkeypatch, torques):
    monkeypatch.setattr(type(law()), "__call__", lambda *given, **more: (torques, None))
    report = run()
    assert report.reason.startswith("law: torques are")
    assert report.reason.endswith("expected numbers of shape (6,)")
    assert report.plant["safe"]


def test_a_law_cannot_change_what_is_checked(monkeypatch):
    real = type(law()).__call__

    def greedy(self, q, v, qd, vd, ad, state, **more):
        made = real(self, q, v, qd, vd, ad, state, **more)
        for x in (q, v, qd, vd, ad):
            x[:] = 0
        return made

    monkeypatch.setattr(type(law()), "__call__", greedy)
    np.testing.assert_array_equal(run().log.rows, sound().log.rows)


CHANGES = {
    "nonsense": lambda r: r._replace(counts=np.zeros(5), pots=None),
    "number": lambda r: 5,
    "nothing": lambda r: r._replace(status=None),
    "large": lambda r: r._replace(counts=r.counts + np.int64(2**40)),
    "ahead": lambda r: r._replace(cycle=r.cycle + 10**6),
    "echo": lambda r: r._replace(echo=r.echo + 10**6),
}


class Broken:
    """A driver that fails, in one way or the other."""

    def __init__(self, rig, way, at):
        self.inner, self.way, self.left = Lockstep(rig), way, at

    def read(self, timeout):
        self.left -= 1
        if self.way == "read" and self.left < 0:
            raise OSError("no such device")
        if self.way == "silent":
            return None
        reading = self.inner.read(timeout)
        change = CHANGES.get(self.way)
        return change(reading) if change and self.left < 0 else reading

    def write(self, command):
        if self.way == "write" and self.left < 0:
            raise KeyError("a bug of the driver")
        self.inner.write(command)

    def close(self):
        pass


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("read", "hardware: OSError: no such device"),
        ("write", "hardware: KeyError"),
        ("nonsense", "hardware: counts of a reading are array([0., 0., 0., 0., 0.])"),
        ("number", "hardware: read gave a int; expected a Reading, or None"),
        ("nothing", "hardware: status of a reading is None"),
        ("large", "hardware: no reading: "),
        ("ahead", "readings out of order: one is 1000000 cycles ahead"),
        ("echo", "commands out of order: the machine heard one of cycle 1000"),
        ("silent", "readings lost"),
    ],
)
def test_a_driver_that_fails_is_a_fault(way, reason):
    rig = Rig(law().robot, PUMA, START)
    report = run(hardware=lambda: Broken(rig, way, 200), channel="lockstep")
    assert report.reason.startswith(reason)
    assert report.states[-1].cycle <= 202
    assert report.log.complete
    assert report.plant is None
    assert report.stands == (way in ("write", "large", "ahead", "echo"))  # it can still be heard
    for _ in range(PUMA.watchdog + 1):  # and the machine stands by itself
        rig.step(None)
    assert rig.safe


def test_a_new_run_resets_a_machine_that_stopped_by_itself():
    rig = Rig(law().robot, PUMA, START, [Fault("dead controller", 300)])
    first = run(hardware=lambda: Lockstep(rig), channel="lockstep")
    assert first.state is State.FAULT
    assert rig.status & Status.WATCHDOG
    rig.faults.clear()
    again = run(hardware=lambda: Lockstep(rig), channel="lockstep")
    assert again.ok, again.reason
    assert not rig.status & Status.WATCHDOG


def test_a_reset_never_drives():
    rig = Rig(law().robot, PUMA, START)
    rig.status |= Status.WATCHDOG
    rig.step(Command(1, 0, Order.RESET | Order.ENABLE | Order.RELEASE, PUMA.dac(np.ones(6))))
    assert rig.safe
    assert rig.status & Status.WATCHDOG
    rig.step(Command(2, 0, Order.RESET, PUMA.dac(np.ones(6))))
    assert rig.safe
    assert not rig.status & Status.WATCHDOG


@pytest.mark.parametrize("limits", [{"missed": 0}, {"error": -1.0}, {"slip": "few"}])
def test_limits_that_make_no_sense_are_refused(limits):
    with pytest.raises(InputError, match="above zero"):
        Limits(**limits)


def test_an_interrupt_leaves_the_machine_safe(monkeypatch):
    rig = Rig(law().robot, PUMA, START)
    hardware = Lockstep(rig)

    def interrupted(timeout=0.0, real=hardware.read):
        if rig.cycle == 500:
            raise KeyboardInterrupt
        return real(timeout)

    monkeypatch.setattr(hardware, "read", interrupted)
    closed = []
    monkeypatch.setattr(hardware, "close", lambda: closed.append(hardware.sent))
    with pytest.raises(KeyboardInterrupt):
        run(hardware=lambda: hardware, channel="lockstep")
    last = command_of(closed[0], 6)
    assert last.order == 0
    assert (last.codes == 2048).all()


def test_a_machine_that_is_silent_at_the_end_is_a_fault():
    end = sound().states[-1].cycle
    report = tried(Fault("dead plant", end - 3))
    assert [e.state for e in report.states[-2:]] == [State.STOP, State.FAULT]
    assert report.reason == "the machine does not say that it stands"
    assert not report.stands
    assert report.log.complete


def sleeping(monkeypatch, naps):
    """Time that passes in sleep alone, each nap too long by some ns."""
    now, naps = [0], iter(naps)

    def sleep(seconds):
        now[0] += round(1e9 * seconds) + next(naps)

    monkeypatch.setattr(realtime.time, "monotonic_ns", lambda: now[0])
    monkeypatch.setattr(realtime.time, "sleep", sleep)
    return now


def test_deadlines_that_passed_are_counted(monkeypatch):
    """One sleep takes five periods too long, one cycle three."""
    now = sleeping(monkeypatch, [0, 5_200_000, 0, 0])
    clock = realtime.Clock(0.001)
    assert clock.wait() == (1, 0)
    assert clock.wait() == (6, 5_200_000)
    assert clock.wait() == (1, 0)
    now[0] += 3_300_000
    assert clock.wait() == (3, 300_000)
    assert clock.overruns == 1
    assert clock.deadline == 11_000_000
