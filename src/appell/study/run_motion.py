"""The motion of a run as columns: what ``appell control follow`` and ``appell identify`` read."""

from __future__ import annotations

import numpy as np

from appell.model.units import units_of
from appell.robots.dynamics import Array
from appell.simulation import Run
from appell.simulation.torques import BadTorque, torque_law
from appell.study.scenario_build import Built

_LINES = 1000  # about so many, where the run has no samples of its own


def motion_csv(built: Built, run: Run) -> str:
    """A CSV text, a line per sample: time, and q, v and tau of every joint with their units."""
    t = _times(built, run)
    if run.desired is not None and len(t) == len(run.t):
        q, v, tau = run.q, run.v, run.tau
    else:
        q, v = run(t)
        tau = _torques(built, run, t, q, v)
    names = ["t [s]", *_named(built, run)]
    rows = np.column_stack([t, q, v, tau]).tolist()
    return "\n".join([",".join(names), *(",".join(map(repr, row)) for row in rows), ""])


def _times(built: Built, run: Run) -> Array:
    """Evenly spaced, so that derivatives can be taken of what is at them."""
    period = built.scenario.outputs.period
    if period is None and run.desired is not None:
        return run.t
    span = run.t[-1] - run.t[0]
    count = _LINES if period is None else int(span / period + 1e-9)
    return (
        np.linspace(run.t[0], run.t[-1], _LINES + 1)
        if period is None
        else (run.t[0] + period * np.arange(count + 1))
    )


def _torques(built: Built, run: Run, t: Array, q: Array, v: Array) -> Array:
    """The motors' torques at any time: those of the sample before, or what the task gives."""
    if run.desired is not None:
        # A time that rounding puts just before a sample is that sample's.
        rounding = 1e-9 * built.scenario.sampling.period
        return run.tau[np.searchsorted(run.t, t + rounding, side="right") - 1]
    return motor_torques(built, t, q, v, run.tau.shape[1])


def motor_torques(built: Built, t: Array, q: Array, v: Array, count: int) -> Array:
    """What the motors of a run without a law give, (N, count): disturbances are no part of it. NaN
    from where the function that gives them fails."""
    law, tau = torque_law(built.motors, count), np.full((len(t), count), np.nan)
    for k, state in enumerate(zip(t.tolist(), q, v, strict=True)):
        try:
            tau[k] = law(*state)
        except BadTorque:
            break
    return tau


def _named(built: Built, run: Run) -> list[str]:
    """The columns' names: joints are numbered, quaternions have no unit."""
    robot = built.robot
    units = dict(
        zip(robot.joint_names, units_of(robot.joint_kinds, len(robot.joint_names)), strict=True)
    )
    positions = [units[name].position for name in robot.joint_names]
    if len(positions) != run.q.shape[1]:
        positions = ["1"] * run.q.shape[1]
    speeds = [units[name].speed for name in robot.independent]
    forces = [units[name].force if name in units else "N m" for name in robot.actuated]
    columns = {"q": positions, "v": speeds, "tau": forces}
    return [
        f"{x}{k}" if unit == "1" else f"{x}{k} [{unit}]"
        for x, listed in columns.items()
        for k, unit in enumerate(listed, start=1)
    ]
