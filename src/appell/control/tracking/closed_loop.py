"""The closed loop: a sampled law moves an arm along a trajectory, with all that hardware does.

At every sample the law is given what the sensors show and what is desired, and its torques are
held until the next one (zero-order hold). Between samples the arm moves by its own dynamics,
integrated to about 1e-11.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, nextafter
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.control.hardware_numbers import torque_limits
from appell.control.laws.compiled import ACTUATORS
from appell.control.laws.law import Law, seconds
from appell.control.tracking.at_once import at_once
from appell.control.tracking.hardware import Adc, Drive, Friction, Motor, Sensors
from appell.control.tracking.looped_plant import LoopedPlant
from appell.control.tracking.plant import Always, External, Lost, Plant
from appell.control.tracking.rubbing import RubbingPlant
from appell.control.tracking.stops import Stops, Surroundings
from appell.control.trajectories.sampled import Motion, SampledMotion, followed, planned
from appell.equations.quantities import QUANTITIES
from appell.errors import InputError, interrupted
from appell.given import one_of, vector
from appell.maths.tableau import Tableau
from appell.model.units import units_of
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import AXES, Array, Dynamics, Forces
from appell.robots.system import formulation_of
from appell.simulation.contacts.points import Choice
from appell.simulation.path import quintics
from appell.simulation.progress import progress_bar
from appell.simulation.run import Run
from appell.simulation.stepper import tableau
from appell.simulation.torques import BadTorque, breakpoints_of, force_law
from appell.walls import Wall, check_mu, restitution_of

Numbers = npt.ArrayLike

_RUNAWAY = 1e4  # rad/s or m/s
ROUNDING = 1e-8  # of a period: times this near to a sample are at it


def track(
    robot: Dynamics,
    law: Law,
    trajectory: Motion | Numbers,
    *,
    period: float = 0.01,
    until: float | None = None,
    q0: Numbers | None = None,
    v0: Numbers | None = None,
    delay: int = 0,
    encoder: Numbers | None = None,
    adc: Adc | None = None,
    speeds: str = "exact",
    torque_limit: Numbers | bool | None = None,
    motor: Motor | None = None,
    friction: Friction | bool = False,
    external: Numbers | External | None = None,
    forces: Forces | Callable[[float, Any, Any], Forces] = None,
    axes: str = "base",
    breakpoints: Sequence[float] = (),
    formulation: str | None = None,
    method: str | Tableau = "DOP853",
    stops: bool = True,
    progress: bool = False,
    stop_restitution: float = 0.0,
    walls: Wall | Sequence[Wall] = (),
    restitution: float = 1.0,
    mu: float = 0.0,
    points: Choice = None,
) -> Run:
    """The motion of a robot along a trajectory under a law that is sampled every ``period``
    seconds.

    Joints stop at their limits as in `appell.simulate`. The run ends with the trajectory, or at
    ``until``; after the trajectory's end its last position is held. A robot with loops ends its run
    where it becomes singular; encoders, converters and dry friction are for robots without.

    Args:
        robot: What moves. To simulate a modelling error, give the law a different robot.
        law: A control law, such as `ComputedTorque`.
        trajectory: What gives q, v, a at many times, and lasts its ``duration``; or a position
            alone, (n,), rad or m, a set point, which needs ``until``. Of a closed robot these are
            of its independent joints; the others follow along the loops from ``q0``, or from its
            reference.
        period: Of the samples, s.
        until: When the run ends, s.
        q0: Where it starts, (nq,), rad or m; where the trajectory does without it.
        v0: Its velocities there, (nv,), rad/s or m/s.
        delay: Samples by which torques act late; those of gravity, by the law's model, act before
            them.
        encoder: Counts per revolution, one number or one per joint; positions are exact without it.
        adc: An `Adc` through which positions are measured.
        speeds: "exact", or "differences" of the positions measured.
        torque_limit: N m or N, one number or one per joint; True takes the joints' own efforts.
        motor: A `Motor`, whose voltage limits torques.
        friction: True for that of the robot's joints, or a `Friction`.
        external: Forces on the joints, constant, (n,), N m or N, or a function of t, q, v.
        forces: Wrenches by frame, (..., 6), N and N m, or a function of t, q, v that gives them.
        axes: Of the wrenches: "base", or "local", the frames' own.
        breakpoints: Times, s, at which ``external`` or ``forces`` jump between samples, where
            integration begins anew; at such a time they have the value after it.
        formulation: The equations by which the robot moves; a law has one of its own.
        method: Between samples: "DOP853", "RK45", "RK23", "RK4" with one step per sample, or a
            `Tableau`.
        stops: Whether joints stop at their limits.
        progress: Whether to show a bar.
        stop_restitution: Of joints that strike their limits, 0 to 1.
        walls: Surfaces (`appell.walls`) that the robot's ``points`` cannot pass.
        restitution: Of impacts with walls that have none of their own, 0 to 1.
        mu: Coefficient of Coulomb friction of walls that have none of their own, no unit.
        points: What touches walls, as for `appell.simulate`.

    Returns:
        A `Run`, at the samples: ``error``, ``max_error``, ``tau``, ... ``impacts`` has when stops
        and walls were struck, ``reactions`` their forces; ``warnings`` names them, and what exceeds
        the limits of the model, which nothing cuts off but ``torque_limit``. A run that cannot go
        on keeps its data and says why in ``stopped``.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> law = appell.control.ComputedTorque(arm.with_payload(0.5), kp=100, kd=20)
        >>> move = appell.control.quintic([0, 0], [1, 0.5], 1.0)
        >>> run = appell.control.track(arm, law, move, period=0.01)
        >>> run.q.shape, run.stopped
        ((101, 2), None)
    """
    _fitting(robot, law)
    n, period = robot.nv, seconds(period)
    start = None if q0 is None else vector("track: q0", q0, robot.nq)
    plan = followed(robot, planned(trajectory, n, period, until), start)
    q = plan.q[0] if start is None else start
    v = plan.v[0] if v0 is None else vector("track: v0", v0, n)
    sensors = Sensors(robot, encoder, adc, speeds, period, v)
    drive = Drive(_held(law.robot, q), delay, torque_limits(torque_limit, robot), motor)
    outside = _pushed(robot, _forces(external, q, v), forces, one_of("axes", axes, AXES))
    if outside is not None and not isinstance(outside, Always):
        _first(outside, q, v)
        outside = _UntilNext(outside)
    plant = _plant(robot, drive, friction, outside, (formulation, tableau(method)))
    y = plant.begin(q, v)
    around = Surroundings(
        bool(stops), restitution_of("track: stop_restitution", stop_restitution),
        walls, restitution_of("track: restitution", restitution), mu, points,
    )  # fmt: skip
    check_mu("track: mu", mu)
    at_limits = Stops(robot, plant, y[: robot.nq], around) if stops or walls else None
    jumps = breakpoints_of(None, breakpoints)
    loop = _SampledLoop(robot, law, plan, period, sensors, drive, plant, outside, at_limits, jumps)
    with progress_bar(progress, 0.0, float(plan.t[-1])) as show:
        return loop.run(y, show)


class _UntilNext:
    """Forces from outside between two samples, or breakpoints: those that jump there have, up to
    it, the value before it. An integrator would else look for the jump within its last step."""

    def __init__(self, forces: External) -> None:
        self.forces, self.last = forces, inf

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        return self.forces(min(t, self.last), q, v)


@dataclass
class _SampledLoop:
    """A run under way, and what is kept of it."""

    robot: Dynamics
    law: Law
    plan: SampledMotion
    period: float
    sensors: Sensors
    drive: Drive
    plant: Plant
    outside: External | None
    stops: Stops | None
    breakpoints: tuple[float, ...] = ()
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    reactions: dict[int, Array] = field(default_factory=dict)  # of the stops, by sample

    def run(self, y: Array, show: Callable[[float, int], None]) -> Run:
        """Sample by sample, from the state y = (q, v) to the end or as far as it goes; ``show`` is
        told the time."""
        t, state = self.plan.t.tolist(), self.law.initial
        stopped = None
        how = self.law, self.plan, self.sensors, self.drive, self.plant, self.stops, y
        try:
            for part in at_once(*how):
                self.rows += part.rows
                self.plant.pieces += part.pieces
                y, state = part.y, part.state
                show(t[len(self.rows)], 0)
        except KeyboardInterrupt:
            interrupted()
            k = len(self.rows)
            self.sample(k, y, state)
            return self.result(f"interrupted at {t[k]:.6g} s")
        for k, now in enumerate(t[len(self.rows) :], start=len(self.rows)):
            held, state, stopped = self.sample(k, y, state)
            show(now, 0)
            if stopped or k + 1 == len(t):
                break
            try:
                y = self.advance(k, now, y, held)
            except (Lost, BadTorque) as problem:
                stopped = str(problem)
            except KeyboardInterrupt:
                interrupted()
                stopped = f"interrupted at {now:.6g} s"
            if stopped:
                break
        return self.result(stopped)

    def advance(self, k: int, now: float, y: Array, held: Array) -> Array:
        """The state a period later, in parts where forces from outside jump on the way."""
        for start, length in self.parts(now):
            if isinstance(self.outside, _UntilNext):
                self.outside.last = nextafter(start + length, -inf)
            y = self.part(k, start, y, held, length)
        return y

    def parts(self, now: float) -> list[tuple[float, float]]:
        """When the parts of the period that begins now begin, and how long they are, s."""
        near = ROUNDING * self.period  # a breakpoint at a sample makes no part
        first = bisect_right(self.breakpoints, now + near)
        last = bisect_left(self.breakpoints, now + self.period - near)
        if first >= last:
            return [(now, self.period)]
        times = [now, *self.breakpoints[first:last], now + self.period]
        return [(a, b - a) for a, b in pairwise(times)]

    def part(self, k: int, now: float, y: Array, held: Array, period: float) -> Array:
        """The state a time later: freely, and with stops where a limit is passed so."""
        plant, stops, lost = self.plant, self.stops, None
        first = now == self.plan.t[k]
        if stops is None or not stops.touched(y):
            steps, pieces = len(plant.steps), len(plant.pieces)
            try:
                after = plant.advance(now, y, held, period)
            except Lost as problem:
                lost = problem
            if stops is None or not stops.passed(plant.steps[steps:], plant.pieces[pieces:]):
                if lost is not None:
                    raise lost
                self.reactions.pop(k if first else k + 1, None)
                return after
            del plant.steps[steps:], plant.pieces[pieces:]
        plant.tau = held
        after, begin, self.reactions[k + 1] = stops.advance(now, y, period)
        if first:
            self.reactions[k] = begin
        return after

    def sample(self, k: int, y: Array, state: Array) -> tuple[Array, Array, str | None]:
        """What is held for a period, the law's state after it, and what is wrong."""
        n, plan = self.robot.nq, self.plan
        q, v = self.sensors(y[:n], y[n:])
        asked, after = self.law(q, v, plan.q[k], plan.v[k], plan.a[k], state, period=self.period)
        held, volts = self.drive(asked, v)
        given = held if volts is None else held - self.drive.damping * y[n:]
        self.rows.append((y, given, asked, q, state, volts))
        if not np.isfinite(held).all():
            return held, after, f"the law's torques are not finite at {plan.t[k]:.6g} s"
        fastest = int(np.argmax(np.abs(y[n:])))
        if not abs(y[n + fastest]) < _RUNAWAY:
            joint = self.robot.independent[fastest]
            kind = self.robot.joint_kinds[self.robot.system.coordinates[fastest]]
            speed = f"{y[n + fastest]:.3g} {units_of([kind], 1)[0].speed}"
            return held, after, f"the arm runs away: {joint} at {speed} at {plan.t[k]:.6g} s"
        return held, after, None

    def result(self, stopped: str | None) -> Run:
        columns = list(zip(*self.rows, strict=True))
        y, tau, asked, measured, states = (np.array(x) for x in columns[:5])
        count, n, robot = len(y), self.robot.nq, self.robot
        q, v = np.ascontiguousarray(y[:, :n]), np.ascontiguousarray(y[:, n:])
        contacts = self.stops.contacts.names if self.stops else ()
        reactions = np.zeros((count, len(contacts)))
        for k, forces in self.reactions.items():
            reactions[k] = forces
        pieces = [*quintics(self.plant.steps), *self.plant.pieces]
        return Run(
            t=self.plan.t[:count],
            q=q,
            v=v,
            tau=tau,
            kinetic=robot.kernel("kinetic_energy")(q, v),
            potential=robot.kernel("potential_energy")(q),
            impacts=self.stops.impacts if self.stops else [],
            contacts=contacts,
            reactions=reactions,
            residuals={},
            stopped=stopped,
            robot=robot,
            walls=self.stops.contacts.walls if self.stops else (),
            places=self.stops.contacts.places if self.stops else {},
            pieces=sorted(pieces, key=lambda piece: piece.start),
            **self.plant.of_loops(q, v),
            desired=self.plan.q[:count],
            desired_v=self.plan.v[:count],
            desired_a=self.plan.a[:count],
            commanded=asked,
            measured=measured,
            state=states,
            voltage=None if self.drive.motor is None else np.array(columns[5]),
        )


def _held(robot: Dynamics, q: Array) -> Array:
    """The actuators' forces that hold a robot still."""
    g: Array = robot.kernel("gravity")(q)
    return robot.kernel(ACTUATORS)(q, g) if ACTUATORS in robot.system.quantities else g


def _fitting(robot: Any, law: Any) -> None:
    if not isinstance(robot, Dynamics):
        raise InputError(f"track({robot!r}): expected a robot; appell.load gives one.")
    if not isinstance(law, Law):
        raise InputError(
            f"track: law = {law!r}; expected one such as ComputedTorque(robot), or a class of your "
            "own derived from Law."
        )
    free = getattr(robot.model, "free", False)
    if law.robot.nv != robot.nv or free:
        base = " and a free base" if free else ""
        raise InputError(
            f"track: the law is for '{law.robot.name}' with {law.robot.nv} joints; '{robot.name}' "
            f"has {robot.nv}{base}."
        )
    sizes = {"coordinates": "joint_names", "speeds": "independent", "forces": "actuated"}
    for name, what in sizes.items():
        own, believed = (len(getattr(x, what)) for x in (robot, law.robot))
        if own != believed:
            raise InputError(
                f"track: the law is for '{law.robot.name}', which has {believed} {name}; "
                f"'{robot.name}' has {own}."
            )


def _forces(external: Any, q: Array, v: Array) -> External | None:
    """Forces from outside as a function of t, q, v."""
    if external is None:
        return None
    if callable(external):

        def forces(t: float, q: Array, v: Array) -> Array:
            return vector("track: external(t, q, v)", external(t, q.copy(), v.copy()), len(v))

        return forces
    return Always(vector("track: external", external, len(v)))


def _pushed(robot: Dynamics, external: External | None, given: Any, axes: str) -> External | None:
    """The same with what wrenches on frames do to the speeds, J^T w."""
    wrenches = force_law(given, robot)
    if wrenches is None:
        return external
    jacobian = robot.unchecked().jacobian if isinstance(robot, ClosedRobot) else robot.jacobian

    def forces(t: float, q: Array, v: Array) -> Array:
        Q = np.zeros(len(v)) if external is None else external(t, q, v)
        for frame, w in wrenches(t, q, v).items():
            Q = Q + jacobian(q, frame, axes=axes).T @ w
        return Q

    return forces


def _first(external: External, q: Array, v: Array) -> None:
    """Ask for the forces once, so that what is wrong with them is refused at once."""
    try:
        external(0.0, q, v)
    except BadTorque as problem:
        raise InputError(f"track: {problem}") from None


def _plant(
    robot: Dynamics,
    drive: Drive,
    friction: Any,
    external: External | None,
    how: tuple[str | None, Tableau],
) -> Plant:
    """The robot between samples, by ``how``: a formulation and a method."""
    formulation, _ = how
    if formulation is not None:
        formulation_of(robot.system, "forward_dynamics", formulation)
    if ACTUATORS in robot.system.quantities:
        losses = np.zeros(robot.system.size("d")) + drive.damping
        return LoopedPlant(robot, losses, external, _viscous(robot, drive, friction), *how)
    if formulation == "articulated_body" and robot.model.mimics:
        raise InputError(
            f"track: formulation={formulation!r}: joints of '{robot.name}' mimic others, which "
            "articulated bodies cannot; choose another formulation."
        )
    if friction is False or friction is None:
        return Plant(robot, np.zeros(robot.nv) + drive.damping, external, *how)
    levels = Friction.of(robot) if friction is True else friction
    if not isinstance(levels, Friction):
        raise InputError(f"track: friction = {friction!r}; expected True or Friction(...).")
    viscous, *dry = levels.levels(robot.nv)
    damping = viscous + drive.damping
    if not dry[1].any():
        return Plant(robot, damping, external, *how)
    _refuse_without_friction(formulation)
    return RubbingPlant(robot, damping, external, dry, *how)


def _viscous(robot: Dynamics, drive: Drive, friction: Any) -> Array:
    """Viscous friction of all joints of a robot with loops; refused what it cannot have."""
    if drive.motor is not None and robot.actuated != robot.independent:
        raise InputError(
            f"track: motor: the motors of '{robot.name}' ({', '.join(robot.actuated)}) do not turn "
            f"with its speeds ({', '.join(robot.independent)}), which slow them; leave it out"
            ", or choose independent=actuated."
        )
    if friction is False or friction is None:
        return np.zeros(robot.model.nv)
    if friction is not True:
        raise InputError(
            f"track: friction = {friction!r}: '{robot.name}' has loops, and has the friction "
            "of its own joints (True) or none."
        )
    viscous, coulomb, *_ = Friction.of(robot).levels(robot.model.nv)
    if coulomb.any():
        raise InputError(
            f"track: friction: joints of '{robot.name}', which has loops, have Coulomb "
            "friction, and track sticks joints of trees only; simulate(friction=True) does it."
        )
    return viscous


def _refuse_without_friction(formulation: str | None) -> None:
    """Joints that stick need M and the bias, which some formulations do not have."""
    biased = QUANTITIES["bias"].formulations
    kept = [name for name in QUANTITIES["mass_matrix"].formulations if name in biased]
    if formulation is not None and formulation not in kept:
        raise InputError(
            f"track: formulation={formulation!r} has no mass matrix and bias of its own, which dry "
            f"friction needs; expected one of {', '.join(kept)}."
        )
