"""A closed loop in one kernel, where nothing between samples needs more than fixed steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from appell.control.laws.law import Law
from appell.control.rollouts.rollout import rollout
from appell.control.tracking.hardware import Drive, Sensors
from appell.control.tracking.plant import Always, Plant
from appell.control.tracking.stops import Stops
from appell.control.trajectories.sampled import SampledMotion
from appell.maths.tableau import RK4
from appell.robots.dynamics import Array
from appell.robots.robot import Robot
from appell.simulation.path import IntegratorStep, Piece, quintics

LONG = 2000  # samples, from which on a kernel is worth being compiled
PART = 10_000  # samples after which what is done is kept: about a second
FASTEST = 1e3  # rad/s or m/s: what is faster is told by the loop that goes sample by sample
_MOST = np.finfo(np.float32).max  # of a torque that has no limit


class Part(NamedTuple):
    """What is kept of some samples, the motion between them, and the state of robot and law
    after them."""

    rows: list[Any]
    pieces: list[Piece]
    y: Array
    state: Array


def at_once(
    law: Law,
    plan: SampledMotion,
    sensors: Sensors,
    drive: Drive,
    plant: Plant,
    stops: Stops | None,
    y: Array,
) -> Iterator[Part]:
    """All samples but the last, in parts of about a second of work, so that an interrupt loses
    little; sensors and drive are then as the loop would have left them. It ends where the loop has
    to go on sample by sample."""
    if not _plain(plan, sensors, drive, plant, stops):
        return
    count = len(plan.t) - 1
    # A kernel starts without torques that wait, a position before, and a state of the law.
    restarts = not (drive.waiting or sensors.differences or law.nstate)
    for first in range(0, count, PART if restarts else count):
        last = min(first + PART, count) if restarts else count
        paths = _rolled(law, plan, sensors, drive, plant, y, slice(first, last))
        if paths is None:
            return
        for start in range(first, last, PART):
            some = slice(start - first, min(start + PART, last) - first)
            part = _part(law, plan.t[first:], plant, stops, paths, some)
            if part is None:
                return
            asked, measured = (paths[x][some.start + 1 : some.stop + 1] for x in _SEEN)
            late = len(drive.waiting)
            waiting = [*drive.waiting, *(drive.within(x) for x in asked[-late:])]
            drive.waiting = deque(waiting[len(waiting) - late :])
            sensors.last = measured[-1]
            y = part.y
            yield part


_SEEN = ("commanded", "measured")


def _plain(
    plan: SampledMotion, sensors: Sensors, drive: Drive, plant: Plant, stops: Stops | None
) -> bool:
    """Whether nothing between samples needs more than fixed steps, and there are many."""
    robot = plant.robot
    return (
        type(plant) is Plant
        and isinstance(robot, Robot)
        and robot.nq == robot.nv
        and (plant.external is None or isinstance(plant.external, Always))
        and not plant.damping.any()
        and plant.method is RK4
        and len(plan.t) >= LONG
        and len(drive.waiting) < len(plan.t) - 1
        and drive.motor is None
        and sensors.adc is None
        and not (stops and stops.contacts.walls)
    )


def _rolled(
    law: Law, plan: SampledMotion, sensors: Sensors, drive: Drive, plant: Plant, y: Array,
    samples: slice,
) -> dict[str, Array] | None:  # fmt: skip
    """The paths of one run of the kernel from the state y over some samples; None if it fails."""
    n, along = plant.robot.nq, slice(samples.start, samples.stop + 1)
    force = _outside(plant)
    found = rollout(
        plant.robot, law, lambda t: (plan.q[along], plan.v[along], plan.a[along]), y[:n], y[n:],
        steps=samples.stop - samples.start,
        dt=float(plan.t[1]), every=1, formulation=plant.formulation, delay=len(drive.waiting),
        torque_limit=None if drive.limit is None else np.minimum(drive.limit, _MOST),
        encoder=sensors.counts, speeds="differences" if sensors.differences else "exact",
        external=force,
        keep=["q", "v", "tau", *_SEEN, *(["state"] if law.nstate else [])],
    )  # fmt: skip
    return None if found.failed[0] else {name: x[0] for name, x in found.path.items()}


def _outside(plant: Plant) -> Array | None:
    return plant.external.force if isinstance(plant.external, Always) else None


def _part(
    law: Law, t: Array, plant: Plant, stops: Stops | None, paths: dict[str, Array], some: slice
) -> Part | None:
    """Some samples of a kernel's paths; None where they are too fast or reach a limit."""
    ends, after = slice(some.start, some.stop + 1), slice(some.start + 1, some.stop + 1)
    q, v = paths["q"][ends], paths["v"][ends]
    held, asked, measured = (paths[x][after] for x in ("tau", *_SEEN))
    if not np.abs(v).max() < FASTEST or not np.isfinite(asked).all():
        return None
    count, force = len(held), _outside(plant)
    own = paths["state"][ends] if law.nstate else np.tile(law.initial, (count + 1, 1))
    states = np.concatenate([q, v], axis=1)
    flow = plant.robot.kernel("flow", formulation=plant.formulation)
    acting = held if force is None else held + force
    before, behind = flow(q[:-1], v[:-1], acting), flow(q[1:], v[1:], acting)
    times = t[ends]
    steps = [
        IntegratorStep(times[k], times[k + 1], states[k], states[k + 1], before[k], behind[k])
        for k in range(count)
    ]
    if stops is not None and (stops.touched(states[:-1]) or stops.passed(steps)):
        return None
    rows = zip(states[:-1], held, asked, measured, own, [None] * (count + 1), strict=False)
    return Part([*rows], quintics(steps), states[-1], own[-1])
