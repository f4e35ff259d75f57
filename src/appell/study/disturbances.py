"""Forces on frames and joints in windows of time."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from appell.control.tracking.closed_loop import ROUNDING
from appell.errors import InputError
from appell.robots.dynamics import Array, Dynamics
from appell.study.scenario import Disturbance, Located, Scenario


class Disturbances(NamedTuple):
    """What disturbs a run, as simulate and track take it."""

    forces: Callable[[float, Any, Any], dict[str, Array]] | None
    external: Callable[[float, Any, Any], Array] | None  # on the independent speeds
    axes: str
    breakpoints: tuple[float, ...]

    def torque(self, given: Any) -> Any:
        """The motors' torques and, on the same joints, the disturbances', for `simulate`."""
        push = self.external
        if push is None:
            return given
        if given is None or not callable(given):
            constant = 0.0 if given is None else given
            return lambda t, q, v: constant + push(t, q, v)
        return lambda t, q, v: np.asarray(given(t, q, v)) + push(t, q, v)


def disturbances_of(scenario: Scenario, robot: Dynamics, until: float) -> Disturbances:
    """The disturbances of a scenario whose run ends at a time; refused if the robot has no such
    frame or joint, and if they begin after the run."""
    given = scenario.disturbances
    axes = {d.axes for d in given if d.joint is None} or {"base"}
    if len(axes) > 1:
        raise Located(
            f"{scenario.source.place(('disturbances',))}: axes are both base and local; expected "
            "the same for all."
        )
    frames: list[tuple[str, Array, Disturbance]] = []
    joints: list[tuple[int, float, Disturbance]] = []
    law = scenario.task.kind not in ("fall", "torque")
    for k, d in enumerate(given):
        with scenario.at("disturbances", k):
            if d.end is not None and d.end <= d.start:
                raise InputError(f"end = {d.end:g} s is not after start = {d.start:g} s.")
            if d.start >= until:
                raise InputError(
                    f"start = {d.start:g} s, and the run ends at {until:g} s: it would have no "
                    "effect; leave it out, or let it begin before."
                )
            if d.joint is None:
                if isinstance(d.force, float):
                    raise InputError(f"force = {d.force:g}; expected three numbers on a frame.")
                frame = robot.system.frame(d.frame)
                name = d.frame or str(getattr(frame, "name", frame))
                frames.append((name, np.array([*d.force, *d.moment]), d))
            else:
                names = robot.independent if law else robot.actuated
                joints.append((_joint(robot, d, names), d.force, d))  # type: ignore[arg-type]

    period = scenario.sampling.period if law else None
    windows = {d: window(d, period) for d in given}

    def forces(t: float, q: Any, v: Any) -> dict[str, Array]:
        wrenches: dict[str, Array] = {}
        for name, wrench, d in frames:
            wrenches[name] = wrenches.get(name, np.zeros(6)) + _active(windows[d], t) * wrench
        return wrenches

    size = robot.nv if law else len(robot.actuated)

    def external(t: float, q: Any, v: Any) -> Array:
        push = np.zeros(size)
        for k, force, d in joints:
            push[k] += _active(windows[d], t) * force
        return push

    ends = sorted({x for ends in windows.values() for x in ends if 0 < x < inf})
    return Disturbances(
        forces if frames else None, external if joints else None, axes.pop(), tuple(ends)
    )


def window(d: Disturbance, period: float | None) -> tuple[float, float]:
    """When a disturbance begins and ends, s. Under a law, one that begins or ends at a sample does
    so at the sample's very time, though the file's digits round to a neighbour of it."""
    ends = (d.start, inf if d.end is None else d.end)
    return ends if period is None else (_at_sample(ends[0], period), _at_sample(ends[1], period))


def _at_sample(t: float, period: float) -> float:
    if t == inf:
        return t
    sample = round(t / period) * period
    return sample if abs(t - sample) <= ROUNDING * period else t


def _active(window: tuple[float, float], t: float) -> float:
    return float(window[0] <= t < window[1])


def _joint(robot: Dynamics, d: Disturbance, names: tuple[str, ...]) -> int:
    if d.joint not in names:
        raise InputError(f"'{robot.name}' has no joint '{d.joint}' here; expected {names}.")
    if not isinstance(d.force, float) or any(d.moment) or d.frame:
        raise InputError(f"on joint '{d.joint}', expected force = one number, and no frame.")
    return names.index(d.joint)
