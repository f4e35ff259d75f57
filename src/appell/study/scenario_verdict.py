"""Whether a run did what its scenario asks, and in words."""

from __future__ import annotations

from math import pi
from typing import NamedTuple

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


def verdict_of(scenario: Scenario, run: Run) -> Verdict:
    """The verdict on a run of a scenario.

    It is good if the run came to its end, kept what the file expects and, under a law, ended at its
    goal and struck no joint's stop, unless the file says how many impacts it expects.
    """
    checks = _checks(scenario, run)
    struck = _stops(run)
    foreseen = scenario.expect.impacts is not None or scenario.expect.max_impacts is not None
    ok = (
        run.stopped is None
        and all(check.ok for check in checks)
        and (run.desired is None or (_arrived(scenario, run) and (foreseen or not struck)))
    )
    failed = [
        f"{c.what} is {c.value:.3g} {c.unit}, expected {_bound(c)}" for c in checks if not c.ok
    ]
    if run.stopped is None:
        text = _told(scenario, run)
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


def _told(scenario: Scenario, run: Run) -> str:
    """What happened, in a line."""
    end = f"{run.t[-1]:.6g} s"
    if isinstance(scenario.task, PumaLine):
        return f"the line takes {end}; largest torque {np.abs(run.tau).max():.1f} N m"
    if run.desired is None:
        struck = f"{len(run.impacts)} impact{'s' * (len(run.impacts) != 1)}"
        change = float(run.energy[-1] - run.energy[0])
        return f"moved until {end}, {struck}, energy changed by {change:.3g} J"
    worst, last = (_largest(scenario, run, x) for x in (np.abs(run.error).max(axis=0),
                                                        np.abs(run.error[-1])))  # fmt: skip
    if _arrived(scenario, run):
        return f"arrived at {end}, error {last} at the end and at most {worst}"
    return f"ended at {end}, {last} from its goal, error at most {worst}"


def _arrived(scenario: Scenario, run: Run) -> bool:
    """Whether every joint ended as near to its goal as the file says, or else 1 degree or 10 mm."""
    assert run.robot is not None
    expect = scenario.expect
    error = np.abs(run.error[-1])
    bound = expect.final_error or expect.max_error
    if bound is not None:
        return bool((_shown(scenario, run, error)[0] <= bound).all())
    return bool((error <= _near(run.robot)).all())


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
        worst, units = _shown(scenario, run, np.abs(run.error))
        both = " or ".join(dict.fromkeys(units))
        at_most("max_error", worst.max(), expect.max_error, both)
        if run.stopped is None:  # else there is no end to be judged
            at_most("final_error", worst[-1].max(), expect.final_error, both)
    at_most("max_torque", np.abs(run.tau).max(initial=0.0), expect.max_torque, "N m or N")
    drift = np.abs(run.energy - run.energy[0]).max()
    at_most("energy_drift", drift, expect.energy_drift, "J")
    count = len(run.impacts)
    at_most("max_impacts", count, expect.max_impacts, "impacts")
    if expect.impacts is not None and run.stopped is None:
        made.append(Held("impacts", count, expect.impacts, "impacts", count >= expect.impacts))
    return tuple(made)
