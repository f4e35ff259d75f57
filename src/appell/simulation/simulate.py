"""Simulation: flight by an adaptive integrator, interrupted by events.

Between events the state y = (q, v) is integrated; each step's polynomial is searched for the
first gap that closes and the first mode that ends. There the step is cut, impacts change the
speeds, the contacts that last are found anew, and integration starts again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.constraints.closed import ClosedRobot
from appell.constraints.simulate import longest_step
from appell.errors import InputError, interrupted
from appell.recipe import formulation_named, quantity_named
from appell.robot import Robot
from appell.simulation.contact import Choice, find_contacts
from appell.simulation.events import Degenerate
from appell.simulation.flight import Flight, Options, Stopped
from appell.simulation.impact import LAWS
from appell.simulation.run import Run
from appell.simulation.torques import breakpoints_of, torque_law
from appell.walls import Wall, check_mu, check_restitution

METHODS = ("DOP853", "RK45", "RK23", "Radau", "BDF")


def simulate(
    robot: Robot,
    q0: npt.ArrayLike | None = None,
    v0: npt.ArrayLike | None = None,
    *,
    until: float,
    torque: npt.ArrayLike | Callable[[float, Any, Any], npt.ArrayLike] | None = None,
    walls: Wall | Sequence[Wall] = (),
    restitution: float = 1.0,
    mu: float = 0.0,
    law: str = "newton",
    gap: float = 1e-6,
    points: Choice = None,
    stops: bool = True,
    friction: bool = False,
    formulation: str | None = None,
    method: str = "DOP853",
    rtol: float = 3e-13,
    atol: float = 1e-13,
    max_step: float | None = None,
    breakpoints: Sequence[float] = (),
    max_impacts: int = 10_000,
    max_steps: int = 100_000,
    progress: bool = False,
    resume: Run | None = None,
) -> Run:
    """Move a robot from q0, v0 at time 0 (at rest without v0) until a time, in s.

    ``torque`` is an array (nv,), or a law (t, q, v) -> tau; none without it. ``friction`` adds that
    of the joints.

    ``walls`` (:mod:`appell.walls`) stop the robot's points: those of ``points`` (see
    :func:`appell.simulation.contact.contact_points`), and ``stops`` its joints at their limits. An
    impact follows Newton's ``law`` or Poisson's with a ``restitution`` of 0 to 1 and Coulomb
    friction ``mu``, for walls that have none of their own. Contacts closer than ``gap``, in m, that
    approach when another strikes are struck with it. A contact whose next bounce would be lower
    than ``atol`` does not bounce: it lasts, until its force would turn negative.

    ``formulation`` names the equations of motion, such as ``"gibbs_tree"``, and the inertia matrix
    that impacts and contacts take with them; without it, the ones that are fastest for the robot.
    All give the same motion but for rounding. A run that is resumed keeps its own.

    ``method`` is one of SciPy's integrators, DOP853, RK45, RK23, or Radau and BDF for stiff
    systems, with tolerances ``rtol`` and ``atol``. No step is longer than ``max_step``, in s, nor
    than a joint takes for half a turn. An integrator sees a torque law only where it evaluates it:
    with a law given as a function ``max_step`` is 0.01 s, so that whatever lasts 10 ms is seen.
    ``breakpoints`` are times at which the law jumps; trajectories know theirs, and a law may have
    them as an attribute of that name. Integration begins anew there, with the law's values of
    either side.

    More than ``max_impacts`` within a second of motion, or ``max_steps`` in all, stop the run. One
    that stops early, or is interrupted from the keyboard, keeps its data and says why in
    ``stopped``; ``resume`` carries it on.

    A closed robot moves as by its own ``simulate``, and gives that run: it ends where a joint
    reaches its limit, unless ``stops`` is False. Walls and impacts are not supported for closed
    robots, and options about them are refused.
    """
    if not isinstance(robot, Robot):
        raise InputError(f"simulate({robot!r}): expected a Robot; appell.load gives one.")
    if isinstance(robot, ClosedRobot):
        _refuse_for_closed(
            robot, walls=walls in ((), []), restitution=restitution == 1.0, mu=mu == 0.0,
            law=law == "newton", gap=gap == 1e-6, points=points is None, method=method == "DOP853",
            max_impacts=max_impacts == 10_000, resume=resume is None,
            formulation=formulation is None, breakpoints=not breakpoints_of(torque, breakpoints),
        )  # fmt: skip
        with _bar(progress, 0.0, _time(until, 0.0)) as show:
            moved: Run = robot.simulate(
                () if q0 is None else q0, v0, until=until, torque=torque, stops=stops,
                friction=friction, rtol=rtol, atol=atol, max_steps=max_steps,
                max_step=max_step, show=lambda t: show(t, 0),
            )  # fmt: skip
        return moved
    if resume is not None and not isinstance(resume, Run):
        raise InputError(f"simulate: resume = {resume!r}; expected a Run to carry on.")
    start = 0.0 if resume is None else float(resume.t[-1])
    until = _time(until, start)
    q, v = _start(robot, q0, v0, resume)
    check_restitution("restitution", restitution)
    check_mu("mu", mu)
    if restitution is None or mu is None:
        raise InputError(f"restitution = {restitution!r}, mu = {mu!r}: expected numbers.")
    _one_of("law", law, LAWS)
    _one_of("method", method, METHODS)
    positive = {"gap": gap, "rtol": rtol, "atol": atol}
    longest = longest_step(max_step, torque)
    for name, value in {**positive, "max_step": longest}.items():
        _positive(name, value)
    for name, most in {"max_impacts": max_impacts, "max_steps": max_steps}.items():
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise InputError(f"{name} = {most!r}; expected a whole number, at least 1.")
    if formulation is None and resume is not None:
        formulation = resume.formulation
    which = _formulation(robot, formulation)
    contacts = find_contacts(robot.model, walls, points, stops)
    options = Options(
        restitution=contacts.per_contact(lambda wall: wall.restitution, float(restitution)),
        mu=contacts.per_contact(lambda wall: wall.mu, float(mu)),
        law=law, gap=float(gap), friction=bool(friction), method=method, rtol=float(rtol),
        atol=float(atol), max_step=float(longest), max_impacts=max_impacts, max_steps=max_steps,
        breakpoints=breakpoints_of(torque, breakpoints), formulation=which,
    )  # fmt: skip
    flight = Flight(robot, contacts, torque_law(torque, robot.nv), options, resume)
    flight.begin(start, q, v)
    stopped = None
    try:
        with _bar(progress, start, until) as show:
            flight.fly(until, show)
    except Stopped as reason:
        stopped = str(reason)
    except Degenerate as problem:
        stopped = flight.degenerate(problem)
    except KeyboardInterrupt:
        interrupted()
        stopped = f"interrupted at {flight.t:.6g} s; run.resume(until=...) goes on"
    settings = {
        "torque": torque, "walls": walls, "restitution": restitution, "mu": mu, "law": law,
        "points": points, "stops": stops, "friction": friction, "method": method,
        "max_impacts": max_impacts, "max_steps": max_steps, "progress": progress, **positive,
        "max_step": max_step, "breakpoints": breakpoints, "formulation": which,
    }  # fmt: skip
    return flight.run(stopped, settings)


def _formulation(robot: Robot, name: str | None) -> str:
    """The one that is asked for, if the robot can move by it, or else the fastest."""
    known = quantity_named("motion").formulations
    if name is not None and (not isinstance(name, str) or name not in known):
        raise InputError(f"formulation = {name!r}; expected one of {', '.join(known)}.")
    if name == "articulated_body" and robot.model.mimics:
        others = ", ".join(x for x in known if x != name)
        raise InputError(
            f"formulation = {name!r}: joints of '{robot.name}' mimic others, which articulated "
            f"bodies cannot; expected one of {others}."
        )
    return formulation_named("motion", name, robot.model)


def _refuse_for_closed(robot: Robot, **is_default: Any) -> None:
    """Refuse options that a closed robot's run does not honour."""
    given = [name for name, default in is_default.items() if not np.all(default)]
    if given:
        raise InputError(
            f"'{robot.name}' is closed: its runs have no walls, impacts, breakpoints and "
            f"formulations, and go by DOP853 from a start; leave out {', '.join(given)}. Its run "
            "ends where a joint reaches its limit (stops=False ignores limits)."
        )


def _start(robot: Robot, q0: Any, v0: Any, resume: Run | None) -> tuple[Any, Any]:
    if resume is not None:
        if q0 is not None or v0 is not None:
            raise InputError("simulate: resume goes on from the run's end; leave out q0 and v0.")
        q0, v0 = resume.q[-1], resume.v[-1]
    if q0 is None:
        raise InputError(f"simulate: q0 is missing; expected {robot.nq} coordinates.")
    q = _state("q0", q0, robot.nq, "coordinates", robot)
    v = np.zeros(robot.nv) if v0 is None else _state("v0", v0, robot.nv, "speeds", robot)
    if robot.model.free:
        length = float(np.linalg.norm(q[3:7]))
        if not abs(length - 1) < 1e-3:
            raise InputError(
                f"q0: its quaternion q0[3:7] has length {length:g}; expected 1 (x, y, z, w)."
            )
        q[3:7] /= length
    return q, v


def _state(name: str, given: Any, n: int, what: str, robot: Robot) -> Any:
    try:
        x = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} = {given!r}; expected {n} numbers.") from None
    if x.shape != (n,):
        raise InputError(
            f"{name} has shape {x.shape}; '{robot.name}' has {n} {what}: expected ({n},)."
        )
    if not np.isfinite(x).all():
        k = int(np.flatnonzero(~np.isfinite(x))[0])
        raise InputError(f"{name}[{k}] is {x[k]}; expected finite numbers.")
    return x


def _time(until: Any, start: float) -> float:
    if isinstance(until, bool) or not isinstance(until, int | float | np.number):
        raise InputError(f"until = {until!r}; expected a time in s.")
    if not start < until < np.inf:
        raise InputError(f"until = {until!r}; expected a time after {start:g} s, when it begins.")
    return float(until)


def _positive(name: str, x: Any) -> None:
    if isinstance(x, bool) or not isinstance(x, int | float | np.number) or not x > 0:
        raise InputError(f"{name} = {x!r}; expected a positive number.")


def _one_of(name: str, given: Any, known: Sequence[str]) -> None:
    if given not in known:
        raise InputError(f"{name} = {given!r}; expected one of {', '.join(known)}.")


@contextmanager
def _bar(wanted: bool, start: float, until: float) -> Iterator[Callable[[float, int], None]]:
    """What shows how far the run is."""
    if not wanted:
        yield lambda t, impacts: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.completed:.3f} of {task.total:g} s"), BarColumn(),
        TextColumn("{task.fields[impacts]} impacts"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns) as bar:
        task = bar.add_task("", total=until, impacts=0)
        bar.update(task, completed=start)
        yield lambda t, impacts: bar.update(task, completed=t, impacts=impacts)
