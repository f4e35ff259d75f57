"""A closed loop in one kernel, where nothing between samples needs more than fixed steps."""

from __future__ import annotations

from collections import deque
from typing import Any

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
from appell.simulation.path import IntegratorStep

LONG = 2000  # samples, from which on a kernel is worth being compiled
FASTEST = 1e3  # rad/s or m/s: what is faster is told by the loop that goes sample by sample
_MOST = np.finfo(np.float32).max  # of a torque that has no limit


def at_once(
    law: Law,
    plan: SampledMotion,
    sensors: Sensors,
    drive: Drive,
    plant: Plant,
    stops: Stops | None,
    y: Array,
) -> tuple[list[Any], list[IntegratorStep], Array, Array] | None:
    """What is kept of all samples but the last, the steps between them, and the state of robot and
    law at the last one; sensors and drive are then as the loop would have left them. None where the
    loop has to go sample by sample."""
    robot = plant.robot
    always = plant.external if isinstance(plant.external, Always) else None
    plain = (
        type(plant) is Plant
        and isinstance(robot, Robot)
        and robot.nq == robot.nv
        and plant.external is always
        and not plant.damping.any()
        and plant.method is RK4
        and len(plan.t) >= LONG
        and len(drive.waiting) < len(plan.t) - 1
        and drive.motor is None
        and sensors.adc is None
        and not (stops and stops.contacts.walls)
    )
    if not plain:
        return None
    n, count, delay = robot.nq, len(plan.t) - 1, len(drive.waiting)
    found = rollout(
        robot, law, lambda t: (plan.q, plan.v, plan.a), y[:n], y[n:], steps=count,
        dt=float(plan.t[1]), every=1, formulation=plant.formulation, delay=delay,
        torque_limit=None if drive.limit is None else np.minimum(drive.limit, _MOST),
        encoder=sensors.counts, speeds="differences" if sensors.differences else "exact",
        external=None if always is None else always.force,
        keep=["q", "v", "tau", "commanded", "measured", *(["state"] if law.nstate else [])],
    )  # fmt: skip
    q, v = found.path["q"][0], found.path["v"][0]
    held, asked, measured = (found.path[x][0, 1:] for x in ("tau", "commanded", "measured"))
    if found.failed[0] or not np.abs(v).max() < FASTEST or not np.isfinite(asked).all():
        return None
    own = found.path["state"][0] if law.nstate else np.tile(law.initial, (count + 1, 1))
    states = np.concatenate([q, v], axis=1)
    flow = robot.kernel("flow", formulation=plant.formulation)
    acting = held if always is None else held + always.force
    before, after = flow(q[:-1], v[:-1], acting), flow(q[1:], v[1:], acting)
    t = plan.t
    steps = [
        IntegratorStep(t[k], t[k + 1], states[k], states[k + 1], before[k], after[k])
        for k in range(count)
    ]
    if stops is not None and (stops.touched(states[:-1]) or stops.passed(steps)):
        return None
    if delay:
        drive.waiting = deque([drive.within(x) for x in asked[-delay:]])
    sensors.last = measured[-1]
    rows = zip(states[:-1], held, asked, measured, own, [None] * (count + 1), strict=False)
    return [*rows], steps, states[-1], own[-1]
