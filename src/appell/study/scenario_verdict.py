"""Whether a run did what its scenario asks, and in words."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi
from typing import Any, NamedTuple

import numpy as np

from appell.model.units import TURNING, Units, units_of
from appell.robots.dynamics import Array, Dynamics
from appell.simulation import Run
from appell.study.positions import positions_of
from appell.study.puma_line import PumaLine
from appell.study.scenario import Scenario

# How far from its goal a joint may end, where the file says nothing: 1 degree, or 10 mm.
_NEAR = {True: pi / 180, False: 0.01}
_LISTED = 3  # stops and limits that a verdict names


class Held(NamedTuple):
    """An expectation of a scenario: the value of the run, and the bound that it is held to."""

    what: str
    value: float
    bound: float
    unit: str
    ok: bool


class Verdict(NamedTuple):
    """Whether the run came to its end and kept what was expected of it, and in words."""

    ok: bool
    text: str
    checks: tuple[Held, ...]


def verdict_of(scenario: Scenario, run: Run, duration: float | None = None) -> Verdict:
    """The verdict on a run of a scenario, whose motion lasts a duration, s, if it has an end.

    It is good if the run came to its end, kept what the file expects and, under a law, ended at its
    goal, not before its motion did, and struck no joint's stop, unless the file says how many
    impacts it expects.
    """
    checks = _checks(scenario, run)
    struck = _stops(run)
    foreseen = scenario.expect.impacts is not None or scenario.expect.max_impacts is not None
    whole = duration is None or run.t[-1] >= duration * (1 - 1e-9)
    arrived = run.desired is None or (whole and _arrived(scenario, run))
    ok = (
        run.stopped is None
        and all(check.ok for check in checks)
        and arrived
        and (run.desired is None or foreseen or not struck)
    )
    failed = [
        f"{c.what} is {c.value:.3g} {c.unit}, expected {_bound(c)}" for c in checks if not c.ok
    ]
    if run.stopped is None:
        text = _told(scenario, run, arrived, None if whole else duration)
    elif run.stopped.startswith("interrupted"):
        text = f"stopped early: {run.stopped}"
    else:
        text = f"stopped early, at {run.t[-1]:.6g} s: {run.stopped}"
    if run.desired is not None and struck:
        text += f"; {_listed(struck)} struck"
    beyond = [f"{x.quantity} of {x.joint}" for x in run.exceeded]
    if beyond and not isinstance(scenario.task, PumaLine):
        text += f"; beyond the joints' limits: {_listed(beyond)}"
    return Verdict(ok, "; ".join([text, *failed]), checks)


def _stops(run: Run) -> list[str]:
    """The limits of joints that were struck, each once."""
    stops = {
        f"the {stop} of {joint}": None
        for impact in run.impacts
        for joint, stop in zip(impact.points, impact.walls, strict=True)
        if joint not in run.places
    }
    return list(stops)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _bound(check: Held) -> str:
    return f"{check.bound:g}{' or more' if check.what == 'impacts' else ''}"


def _told(scenario: Scenario, run: Run, arrived: bool, duration: float | None) -> str:
    """What happened, in a line; with the duration of a motion that the run did not see the end
    of."""
    end = f"{run.t[-1]:.6g} s"
    if isinstance(scenario.task, PumaLine):
        return f"the line takes {end}; largest torque {np.abs(run.tau).max():.1f} N m"
    if run.desired is None:
        struck = f"{len(run.impacts)} impact{'s' * (len(run.impacts) != 1)}"
        change = float(run.energy[-1] - run.energy[0])
        return f"moved until {end}, {struck}, energy changed by {change:.3g} J"
    worst, last = (_largest(scenario, run, x) for x in (np.abs(run.error).max(axis=0),
                                                        np.abs(run.error[-1])))  # fmt: skip
    if duration is not None:
        return f"ended at {end} of {duration:.6g} s, before the motion's end, error at most {worst}"
    if arrived:
        return f"arrived at {end}, error {last} at the end and at most {worst}"
    return f"ended at {end}, {last} from its goal, error at most {worst}"


def _arrived(scenario: Scenario, run: Run) -> bool:
    """Whether every joint ended as near to its goal as the file says, or else 1 degree or 10 mm."""
    assert run.robot is not None
    expect = scenario.expect
    error = np.abs(run.error[-1])
    bound = expect.final_error or expect.max_error
    near = _near(run.robot) / positions_of(scenario, run.robot).scale
    if isinstance(bound, Mapping):
        near = np.array([bound.get(x, y) for x, y in zip(run.robot.independent, near, strict=True)])
    elif bound is not None:
        near = np.full_like(near, bound)
    return bool((_shown(scenario, run, error)[0] <= near).all())


def _near(robot: Dynamics) -> Array:
    return np.array([_NEAR[u is TURNING] for u in _units(robot)])


def _largest(scenario: Scenario, run: Run, error: Array) -> str:
    """The largest of the joints' errors, in the file's unit, and the joint; 10 mm count as much as
    a degree."""
    assert run.robot is not None
    shown, units = _shown(scenario, run, error)
    k = int(np.argmax(error / _near(run.robot)))
    joint = f" ({run.robot.independent[k]})" if run.robot.nv > 1 else ""
    return f"{shown[k]:.3g} {units[k]}{joint}"


def _shown(scenario: Scenario, run: Run, error: Array) -> tuple[Array, list[str]]:
    """Errors of the joints in the unit of the file, and these units."""
    assert run.robot is not None
    scale = positions_of(scenario, run.robot).scale
    angle = "deg" if scenario.angles == "degrees" else "rad"
    units = [angle if u is TURNING else u.position for u in _units(run.robot)]
    return error / scale, units


def _units(robot: Dynamics) -> list[Units]:
    kinds = dict(zip(robot.joint_names, robot.joint_kinds, strict=True))
    return [units_of([kinds[name]], 1)[0] for name in robot.independent]


def _checks(scenario: Scenario, run: Run) -> tuple[Held, ...]:
    expect = scenario.expect
    made: list[Held] = []

    def at_most(what: str, value: float, bound: float | None, unit: str) -> None:
        if bound is not None:
            made.append(Held(what, float(value), float(bound), unit, bool(value <= bound)))

    if run.desired is not None:
        errors, units = _shown(scenario, run, np.abs(run.error))
        names = run.robot.independent if run.robot is not None else ()

        def of_joints(what: str, error: Array, bound: Any) -> None:
            if not isinstance(bound, Mapping):
                at_most(what, error.max(), bound, " or ".join(dict.fromkeys(units)))
                return
            for joint, x, unit in zip(names, error, units, strict=True):
                at_most(f"{what} of {joint}", x, bound.get(joint), unit)

        of_joints("max_error", errors.max(axis=0), expect.max_error)
        if run.stopped is None:  # else there is no end to be judged
            of_joints("final_error", errors[-1], expect.final_error)
    at_most("max_torque", np.abs(run.tau).max(initial=0.0), expect.max_torque, "N m or N")
    drift = np.abs(run.energy - run.energy[0]).max()
    at_most("energy_drift", drift, expect.energy_drift, "J")
    count = len(run.impacts)
    at_most("max_impacts", count, expect.max_impacts, "impacts")
    if expect.impacts is not None and run.stopped is None:
        made.append(Held("impacts", count, expect.impacts, "impacts", count >= expect.impacts))
    return tuple(made)
