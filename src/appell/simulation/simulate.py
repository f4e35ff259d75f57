"""Simulation: flight by an adaptive integrator, interrupted by events.

Between events the state y = (q, v) is integrated; each step's polynomial is searched for the
first gap that closes and the first mode that ends. There the step is cut, impacts change the
speeds, the contacts that last are found anew, and integration starts again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.errors import InputError, interrupted
from appell.given import is_number, one_of, vector, whole
from appell.maths.tableau import Tableau
from appell.model.configuration import normalise, quaternions
from appell.robots.dynamics import AXES, Dynamics, Forces
from appell.simulation.contacts.contact import find_contacts
from appell.simulation.contacts.impact import LAWS
from appell.simulation.contacts.points import Choice
from appell.simulation.events import Degenerate
from appell.simulation.flight import Flight, Options, Stopped
from appell.simulation.mechanics import mechanics_of
from appell.simulation.progress import progress_bar
from appell.simulation.run import Run
from appell.simulation.stepper import EXPLICIT, IMPLICIT, SMALLEST_RTOL, tableau
from appell.simulation.torques import breakpoints_of, torque_law
from appell.walls import Wall, check_mu, restitution_of

_LONGEST = 0.01  # s: every integrator looks at a torque law at least once in it


def simulate(
    robot: Dynamics,
    q0: npt.ArrayLike | None = None,
    v0: npt.ArrayLike | None = None,
    *,
    until: float,
    torque: npt.ArrayLike | Callable[[float, Any, Any], npt.ArrayLike] | None = None,
    forces: Forces | Callable[[float, Any, Any], Forces] = None,
    axes: str = "base",
    walls: Wall | Sequence[Wall] = (),
    restitution: float = 1.0,
    stop_restitution: float = 0.0,
    mu: float = 0.0,
    law: str = "newton",
    gap: float = 1e-6,
    points: Choice = None,
    stops: bool = True,
    friction: bool = False,
    formulation: str | None = None,
    method: str | Tableau = "DOP853",
    rtol: float = 3e-13,
    atol: float = 1e-13,
    max_step: float | None = None,
    breakpoints: Sequence[float] = (),
    max_impacts: int = 10_000,
    max_steps: int = 100_000,
    singular: float = 1e-4,
    progress: bool = False,
    resume: Run | None = None,
) -> Run:
    """The motion of a robot from q0 and v0 at time 0 until a time.

    Args:
        robot: Any robot: a tree, a closed one, a spherical one.
        q0: Coordinates (nq,) in rad and m; neutral without them.
        v0: Velocities (nv,) in rad/s and m/s; at rest without them.
        until: The time at which the motion ends, s.
        torque: Forces of the actuators (N m, N): an array, (nv,), or of a closed robot
            (actuators,); or a function (t, q, v) that gives them. None without it.
        forces: External ones: wrenches by frame, ``{"hand": (fx, fy, fz, mx, my, mz)}``, N and N m,
            or a function (t, q, v) that gives them.
        axes: "base", or "local" for wrenches in the frames' own axes.
        walls: Surfaces (`appell.walls`) that the robot's ``points`` cannot pass.
        restitution: Of impacts with walls that have none of their own, 0 to 1.
        stop_restitution: Of joints that strike their limits, 0 to 1: they do not bounce by default.
        mu: Coefficient of Coulomb friction of walls that have none of their own, no unit.
        law: Of impacts: "newton" or "poisson".
        gap: Contacts closer than this, in m, that approach when another strikes are struck with it.
        points: What touches walls: the points that the model names, or the origins of all links
            with a mass. Names of links and `appell.Frame`s take these alone; a mapping ``{"tip":
            ("hand", (0, 0, 0.1))}`` adds places on links to the model's.
        stops: Whether joints stop at their limits.
        friction: Whether joints have their friction: viscous, and dry friction that holds what is
            at rest.
        formulation: The equations of motion, such as "gibbs_tree", and the inertia matrix that
            impacts take with them; the fastest ones without it. All give the same motion but for
            rounding.
        method: "DOP853", "RK45", "RK23", a `Tableau`, or SciPy's "Radau" or "BDF" for stiff
            systems. "RK4", and a tableau without an estimate of its error, takes steps of
            ``max_step``.
        rtol: Relative tolerance of a step, no unit.
        atol: Absolute tolerance of a step, rad or m, and per s. A contact whose next bounce would
            be lower lasts, until its force would turn negative.
        max_step: No step is longer than this, in s, nor than a joint takes for half a turn. It is
            0.01 s where ``torque`` is a function: an integrator sees it only where it evaluates it.
        breakpoints: Times, s, at which ``torque`` jumps, where integration begins anew.
            Trajectories know theirs, and a function may have them as an attribute of that name.
        max_impacts: More within a second of motion stop the run.
        max_steps: More in all stop the run.
        singular: A closed robot's run ends where the margin of its loops (``robot.margins``, no
            unit) falls to this: there errors of the integrator, 1e-12, grow to 1e-8 in the
            dependent speeds.
        progress: Whether to show a bar.
        resume: A run to carry on; it keeps its formulation.

    Returns:
        A `Run`. One that stops early, or is interrupted from the keyboard, keeps its data and says
        why in ``stopped``. Speeds and torques beyond the model's limits are not cut off:
        ``exceeded`` lists them. A closed robot moves in its independent speeds; where these
        degenerate, others take their place (``choices``).

    Examples:
        >>> chain = appell.load("planar_chain")
        >>> floor = appell.walls.Plane((0, 1, 0), -1.5)
        >>> run = appell.simulate(chain, [0.3, 0.2, 0.1], until=1, walls=floor, restitution=0.6)
        >>> run.q.shape == (len(run.t), 3), run.stopped
        (True, None)
        >>> len(run.impacts) > 0
        True
    """
    if not isinstance(robot, Dynamics):
        raise InputError(f"simulate({robot!r}): expected a Robot; appell.load gives one.")
    if resume is not None and not isinstance(resume, Run):
        raise InputError(f"simulate: resume = {resume!r}; expected a Run to carry on.")
    start = 0.0 if resume is None else float(resume.t[-1])
    until = _time(until, start)
    q, v, choices = _start(robot, q0, v0, resume)
    check_mu("mu", mu)
    if mu is None:
        raise InputError("mu = None: expected a number.")
    one_of("law", law, LAWS)
    positive = {"gap": gap, "rtol": rtol, "atol": atol, "singular": singular}
    seen = callable(torque) or callable(forces)
    longest = (_LONGEST if seen else np.inf) if max_step is None else max_step
    for name, value in {**positive, "max_step": longest}.items():
        if not is_number(value) or not value > 0:
            raise InputError(f"{name} = {value!r}; expected a positive number.")
    _refuse_method(method, rtol, longest)
    whole("max_impacts", max_impacts, 1)
    whole("max_steps", max_steps, 1)
    if formulation is None and resume is not None:
        formulation = resume.formulation
    mechanics = mechanics_of(robot, formulation, float(singular))
    contacts = find_contacts(robot.model, walls, points, stops)
    options = Options(
        restitution=restitution_of("restitution", restitution),
        stop_restitution=restitution_of("stop_restitution", stop_restitution),
        mu=float(mu), law=law, gap=float(gap), friction=bool(friction), method=method,
        rtol=float(rtol), atol=float(atol),
        max_step=float(longest), max_impacts=max_impacts, max_steps=max_steps,
        breakpoints=breakpoints_of(torque, breakpoints), forces=forces,
        axes=one_of("axes", axes, AXES), driven=seen,
    )  # fmt: skip
    if mechanics.restores and method == "BDF":
        raise InputError(
            f"method = 'BDF': '{robot.name}' is put back on its loops after each step, and BDF "
            "would lose what it knows of the steps before; Radau suits stiff closed robots."
        )
    if torque is not None and not mechanics.actuators:
        raise InputError(f"'{robot.name}' has no actuators; leave out torque.")
    torques = torque_law(torque, mechanics.actuators)
    flight = Flight(mechanics, contacts, torques, options, resume)
    flight.begin(start, q, v, choices)
    stopped = None
    try:
        with progress_bar(progress, start, until) as show:
            flight.fly(until, show)
    except Stopped as reason:
        stopped = str(reason)
    except Degenerate as problem:
        stopped = flight.degenerate(problem)
    except KeyboardInterrupt:
        interrupted()
        stopped = f"interrupted at {flight.t:.6g} s"
    given = {name: x for name, x in vars(options).items() if name != "driven"}
    settings = {
        **given, "torque": torque, "walls": walls, "points": points, "stops": stops,
        "progress": progress, "singular": singular, "max_step": max_step,
        "breakpoints": breakpoints, "formulation": mechanics.formulation,
    }  # fmt: skip
    return flight.run(stopped, settings)


def _refuse_method(method: Any, rtol: float, longest: float) -> None:
    if not isinstance(method, Tableau):
        one_of("method", method, (*EXPLICIT, *IMPLICIT))
    if rtol < SMALLEST_RTOL:
        raise InputError(
            f"rtol = {rtol!r}; expected {SMALLEST_RTOL:.2g} or more: float64 has no more digits."
        )
    if method not in IMPLICIT and not tableau(method).errors and longest == np.inf:
        raise InputError(
            f"method = {method!r} takes steps of one length; give it as max_step, in s."
        )


def _start(
    robot: Dynamics, q0: Any, v0: Any, resume: Run | None
) -> tuple[Any, Any, tuple[str, ...]]:
    """Coordinates and speeds; of a closed robot that goes on, those of all its joints and the names
    of those that were integrated."""
    if resume is not None:
        if q0 is not None or v0 is not None:
            raise InputError("simulate: resume goes on from the run's end; leave out q0 and v0.")
        q0, v0 = resume.q[-1], resume.v[-1]
    if q0 is None:
        raise InputError(f"simulate: q0 is missing; expected {robot.nq} coordinates.")
    q = vector("q0", q0, robot.nq, f"'{robot.name}' has {robot.nq} coordinates: ")
    at_rest = np.zeros(robot.nv) if v0 is None else v0
    v = vector("v0", at_rest, robot.nv, f"'{robot.name}' has {robot.nv} speeds: ")
    unit = normalise(robot.model, q)
    if not np.linalg.norm(q - unit) < 1e-3:
        lengths = {k: float(np.linalg.norm(q[k : k + 4])) for k in quaternions(robot.model)}
        k = max(lengths, key=lambda k: abs(lengths[k] - 1))
        raise InputError(
            f"q0: its quaternion q0[{k}:{k + 4}] has length {lengths[k]:g}; expected 1 (x, y, z, "
            "w)." + ("" if lengths[k] else " robot.neutral() has 0, 0, 0, 1 there: no turn.")
        )
    if resume is not None and resume.speeds is not None:
        return unit, np.array(resume.speeds[-1]), resume.choices[-1][1]
    return unit, v, ()


def _time(until: Any, start: float) -> float:
    if not is_number(until):
        raise InputError(f"until = {until!r}; expected a time in s.")
    if not start < until < np.inf:
        raise InputError(f"until = {until!r}; expected a time after {start:g} s, when it begins.")
    return float(until)
