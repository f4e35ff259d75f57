"""The closed loop: a sampled law moves an arm along a trajectory, with all that hardware does.

At every sample the law is given what the sensors show and what is desired, and its torques are
held until the next one (zero-order hold). Between samples the arm moves by its own dynamics,
integrated to about 1e-11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from appell.constraints.closed import ClosedRobot
from appell.control.hardware import Adc, Drive, Friction, Motor, Sensors, torque_limits
from appell.control.law import Law, seconds
from appell.control.plan import Motion, Plan, planned, vector
from appell.control.plant import External, Lost, Plant
from appell.control.rubbing import RubbingPlant
from appell.control.stops import Stops
from appell.control.tracked import Tracked, pieces
from appell.equations.quantities import QUANTITIES
from appell.errors import InputError, interrupted
from appell.model.units import units_of
from appell.recipe import formulation_named
from appell.robot import Array, Robot

Numbers = npt.ArrayLike

_RUNAWAY = 1e4  # rad/s or m/s


def track(
    robot: Robot,
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
    formulation: str | None = None,
    stops: bool = True,
) -> Tracked:
    """Move ``robot`` along a trajectory under a law that is sampled every ``period`` seconds.

    ``trajectory`` gives q, v, a at many times, and lasts its ``duration``; a position alone, (n,),
    is a set point, and needs ``until``. The run ends with the trajectory, or at ``until``; after
    the trajectory's end its last position is held. It starts where the trajectory does, or at
    ``q0`` with ``v0``. An error of the model is had by a law of another robot.

    Torques act ``delay`` samples late; those of gravity, by the law's model, before them. Positions
    are measured as they are, or by an ``encoder`` of so many counts a revolution, or through an
    ``adc``; ``speeds`` are "exact" or the "differences" of the positions measured. Torques are
    limited by ``torque_limit`` (True: the joints' own efforts) and by the voltage of a ``motor``.
    ``friction`` is that of the robot's joints (True) or another. ``external`` adds forces on the
    joints, constant (n,) or as a function of t, q, v. ``formulation`` names the equations by which
    the arm moves, one of ``robot.kernel("forward_dynamics")``'s; a law has one of its own.

    A run that cannot go on keeps its data and says why in ``stopped``. So does one in which a joint
    passes its limit: it ends with the last sample before that. Impacts at limits are not part of
    it; ``stops=False`` ignores the limits. Closed robots are not tracked.
    """
    _fitting(robot, law)
    n, period = robot.nv, seconds(period)
    plan = planned(trajectory, n, period, until)
    q = plan.q[0] if q0 is None else vector("q0", q0, n)
    v = plan.v[0] if v0 is None else vector("v0", v0, n)
    sensors = Sensors(robot, encoder, adc, speeds, period, v)
    drive = Drive(law.robot.gravity(q), delay, torque_limits(torque_limit, robot), motor)
    plant = _plant(robot, drive, friction, _forces(external, q, v), formulation)
    loop = _Loop(robot, law, plan, period, sensors, drive, plant)
    return loop.run(np.concatenate([q, v]), Stops(robot, q) if stops else None)


class _Loop:
    """A run under way, and what is kept of it."""

    def __init__(
        self,
        robot: Robot,
        law: Law,
        plan: Plan,
        period: float,
        sensors: Sensors,
        drive: Drive,
        plant: Plant,
    ) -> None:
        self.robot, self.law, self.plan, self.period = robot, law, plan, period
        self.sensors, self.drive, self.plant = sensors, drive, plant
        self.rows: list[tuple[Any, ...]] = []

    def run(self, y: Array, stops: Stops | None) -> Tracked:
        """Sample by sample, from the state y = (q, v) to the end or as far as it goes."""
        t, state = self.plan.t.tolist(), self.law.initial
        stopped = None
        for k, now in enumerate(t):
            held, state, stopped = self.sample(k, y, state)
            if stopped or k + 1 == len(t):
                break
            try:
                before = len(self.plant.steps)
                y = self.plant.advance(now, y, held, self.period)
                stopped = stops.passed(self.plant.steps[before:]) if stops else None
                if stopped:
                    break
            except Lost as problem:
                stopped = str(problem)
                break
            except KeyboardInterrupt:
                interrupted()
                stopped = f"interrupted at {now:.6g} s"
                break
        return self.result(stopped)

    def sample(self, k: int, y: Array, state: Array) -> tuple[Array, Array, str | None]:
        """What is held for a period, the law's state after it, and what is wrong."""
        n, plan = self.robot.nv, self.plan
        q, v = self.sensors(y[:n], y[n:])
        asked, after = self.law(q, v, plan.q[k], plan.v[k], plan.a[k], state, period=self.period)
        held, volts = self.drive(asked, v)
        given = held - self.drive.damping * y[n:]
        self.rows.append((y, given, asked, q, state, volts))
        if not np.isfinite(held).all():
            return held, after, f"the law's torques are not finite at {plan.t[k]:.6g} s"
        fastest = int(np.argmax(np.abs(y[n:])))
        if not abs(y[n + fastest]) < _RUNAWAY:
            joint = self.robot.model.joints[fastest]
            unit = units_of([joint.kind], 1)[0].speed
            return (
                held,
                after,
                f"the arm runs away: {joint.name} at {y[n + fastest]:.3g} {unit} at "
                f"{plan.t[k]:.6g} s",
            )
        return held, after, None

    def result(self, stopped: str | None) -> Tracked:
        columns = list(zip(*self.rows, strict=True))
        y, tau, asked, measured, states = (np.array(x) for x in columns[:5])
        count, n = len(y), self.robot.nv
        q, v = y[:, :n], y[:, n:]
        return Tracked(
            t=self.plan.t[:count],
            q=q,
            v=v,
            tau=tau,
            kinetic=self.robot.kinetic_energy(q, v),
            potential=self.robot.potential_energy(q),
            impacts=[],
            contacts=(),
            reactions=np.empty((count, 0)),
            residuals={},
            stopped=stopped,
            robot=self.robot,
            pieces=pieces(self.plant.steps),
            desired=self.plan.q[:count],
            commanded=asked,
            measured=measured,
            state=states,
            voltage=None if self.drive.motor is None else np.array(columns[5]),
        )


def _fitting(robot: Any, law: Any) -> None:
    if not isinstance(robot, Robot):
        raise InputError(f"track({robot!r}): expected a Robot; appell.load gives one.")
    if isinstance(robot, ClosedRobot):
        raise InputError(
            f"track: '{robot.name}' is closed, and closed robots are not tracked; simulate it with "
            "torque=, a function of t, q and v."
        )
    if not isinstance(law, Law):
        raise InputError(
            f"track: law = {law!r}; expected one such as ComputedTorque(robot), or a class of your "
            "own derived from Law."
        )
    if law.robot.nv != robot.nv or robot.model.free:
        base = " and a free base" if robot.model.free else ""
        raise InputError(
            f"track: the law is for '{law.robot.name}' with {law.robot.nv} joints; '{robot.name}' "
            f"has {robot.nv}{base}."
        )


def _forces(external: Any, q: Array, v: Array) -> External | None:
    """Forces from outside as a function of t, q, v."""
    if external is None:
        return None
    if callable(external):

        def forces(t: float, q: Array, v: Array) -> Array:
            return vector("external(t, q, v)", external(t, q.copy(), v.copy()), len(v))

        forces(0.0, q, v)
        return forces
    always = vector("external", external, len(v))
    return lambda t, q, v: always


def _plant(
    robot: Robot,
    drive: Drive,
    friction: Any,
    external: External | None,
    formulation: str | None,
) -> Plant:
    if formulation is not None:
        formulation_named("forward_dynamics", formulation, robot.model)
    if formulation == "articulated_body" and robot.model.mimics:
        raise InputError(
            f"track: formulation={formulation!r}: joints of '{robot.name}' mimic others, which "
            "articulated bodies cannot; choose another formulation."
        )
    if friction is False or friction is None:
        return Plant(robot, np.zeros(robot.nv) + drive.damping, external, formulation)
    levels = Friction.of(robot) if friction is True else friction
    if not isinstance(levels, Friction):
        raise InputError(f"track: friction = {friction!r}; expected True or Friction(...).")
    viscous, coulomb, stiction = levels.levels(robot.nv)
    if not stiction.any():
        return Plant(robot, viscous + drive.damping, external, formulation)
    _refuse_without_friction(formulation)
    return RubbingPlant(robot, viscous + drive.damping, external, coulomb, stiction, formulation)


def _refuse_without_friction(formulation: str | None) -> None:
    """Joints that stick need M and the bias, which some formulations do not have."""
    kept = [
        name
        for name in QUANTITIES["mass_matrix"].formulations
        if name in QUANTITIES["bias"].formulations
    ]
    if formulation is not None and formulation not in kept:
        raise InputError(
            f"track: formulation={formulation!r} has no mass matrix and bias of its own, which dry "
            f"friction needs; expected one of {', '.join(kept)}."
        )
