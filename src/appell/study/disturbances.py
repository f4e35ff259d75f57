"""Forces on frames and joints in windows of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

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
        """The motors' torques and, on the same joints, the disturbances'."""
        push = self.external
        if push is None:
            return given
        if given is None or not callable(given):
            constant = 0.0 if given is None else given
            return lambda t, q, v: constant + push(t, q, v)
        return lambda t, q, v: np.asarray(given(t, q, v)) + push(t, q, v)


def disturbances_of(scenario: Scenario, robot: Dynamics) -> Disturbances:
    """The disturbances of a scenario; refused if the robot has no such frame or joint."""
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

    def forces(t: float, q: Any, v: Any) -> dict[str, Array]:
        wrenches: dict[str, Array] = {}
        for name, wrench, d in frames:
            wrenches[name] = wrenches.get(name, np.zeros(6)) + _active(d, t, period) * wrench
        return wrenches

    size = robot.nv if law else len(robot.actuated)

    def external(t: float, q: Any, v: Any) -> Array:
        push = np.zeros(size)
        for k, force, d in joints:
            push[k] += _active(d, t, period) * force
        return push

    ends = sorted({x for d in given for x in (d.start, d.end) if x})
    return Disturbances(
        forces if frames else None, external if joints else None, axes.pop(), tuple(ends)
    )


def _active(d: Disturbance, t: float, period: float | None) -> float:
    """1 within the window; under a law its ends are the samples next to them."""
    start, end = (
        x if period is None or x is None else round(x / period) * period for x in (d.start, d.end)
    )
    assert start is not None
    return float(start <= t and (end is None or t < end))


def _joint(robot: Dynamics, d: Disturbance, names: tuple[str, ...]) -> int:
    if d.joint not in names:
        raise InputError(f"'{robot.name}' has no joint '{d.joint}' here; expected {names}.")
    if not isinstance(d.force, float) or any(d.moment) or d.frame:
        raise InputError(f"on joint '{d.joint}', expected force = one number, and no frame.")
    return names.index(d.joint)
