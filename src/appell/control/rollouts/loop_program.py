"""A closed loop as a program: sensors, law, drives, robot, and what is watched, a part each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf, nan
from typing import Any, NamedTuple

import numpy as np

from appell.compile.program import Loop, Part, Program
from appell.compile.trace import Traced, choose, largest
from appell.control.laws.compiled import ACTUATORS, of_state
from appell.control.laws.feedback import positions
from appell.control.laws.law import Law
from appell.control.rollouts import disturbed
from appell.control.rollouts.integrators import CHANGE, advance
from appell.control.rollouts.plant_parameters import PlantParameters
from appell.control.rollouts.plant_steps import rates_of, restored
from appell.control.rollouts.singularity_guard import SingularityGuard
from appell.control.rollouts.values import Later, Values
from appell.control.rollouts.watched import FAILURES, NOT_AT_END, REDUCTIONS, UNASKED
from appell.errors import InputError
from appell.given import is_number
from appell.model.limits import limits
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import Dynamics
from appell.robots.recipe import equation_of, recipe_for

_COUNTERS = ("ids", "at", "key")  # of random numbers
_FORCES = ("tau", "external", "viscous", "coulomb")


def _is_scalar(x: Any) -> bool:
    return isinstance(x, Traced) or is_number(x)


class Strikes(NamedTuple):
    """Impulses at the end of a step of a length, ``of(h)``, and what they depend on."""

    of: Callable[[float], Callable[..., Any]]
    key: Any


class LoopProgram:
    """Collects the parts of a program; each method adds one, and what it reads must be there."""

    def __init__(self, robot: Dynamics, values: Values, dt: float, dtype: str) -> None:
        self.robot, self.values, self.dt, self.dtype = robot, values, dt, dtype
        self.parameters = PlantParameters(
            robot, values, {}, None
        )  # its own, until others are given
        self.nq, self.nv, self.nd = robot.nq, robot.nv, robot.system.size("d")
        self.first: list[Later] = []
        self.each: list[Later] = []
        self.last: list[Later] = []
        self.after: list[Later] = []  # of each step, when the robot has moved
        self.substep: list[Later] = []  # of each part of a step
        self.outputs: list[str] = ["q", "v"]
        self.measured = ("q", "v")
        self.guard: SingularityGuard | None = None
        self.stopped = False  # whether joints stop at their limits
        values.variable(q=(self.nq,), v=(self.nv,), tau=(self.nd,), error=(self.nv,))
        values.constant("dt", dt)
        self.begin(("q", "q0"), ("v", "v0"))
        self.start("tau", 0.0)

    def begin(self, *pairs: tuple[str, str]) -> None:
        """Variables that start with an input."""
        for name, source in pairs:
            self.first.append(self.values.tape(lambda x: x, [source], [name]))

    def start(self, name: str, number: float) -> None:
        """A variable that starts with a number everywhere."""
        shape = self.values.shapes[name]
        full = np.full(shape, number).tolist()
        self.first.append(self.values.tape(lambda: full, [], [name]))

    # Before a step

    def sense(self, encoder: bool, differences: bool, noise: Sequence[str]) -> None:
        """What the law is told of q and v, where that is not what they are."""
        values, dt = self.values, self.dt
        if not (encoder or differences or noise):
            return
        values.variable(**{"q.seen": (self.nq,), "v.seen": (self.nv,)})
        reads = ["q", "v"]
        reads += ["counts", "turn"] * encoder + ["q.last", "v.first"] * differences
        reads += [f"noise.{x}" for x in noise] + ["t"] * differences
        reads += list(_COUNTERS) if noise else []
        if differences:
            values.variable(**{"q.last": (self.nq,), "v.first": (self.nv,)})
            self.begin(("v.first", "v0"))
            self.start("q.last", 0.0)

        def seen(*given: Any) -> Any:
            known = dict(zip(reads, given, strict=True))
            q, v = known["q"], known["v"]
            counters: Any = [known.get(x) for x in _COUNTERS]
            if "noise.q" in known:
                numbers = disturbed.normal(len(q), 0, *counters)
                q = disturbed.noisy(q, known["noise.q"], numbers)
            if encoder:
                pairs = zip(known["turn"], known["counts"], strict=True)
                q = disturbed.quantised(q, [turn / counts for turn, counts in pairs])
            if differences:
                rate = [(x - y) / dt for x, y in zip(q, known["q.last"], strict=True)]
                later = known["t"]
                v = [
                    choose(0.5 * dt, later, x, y)
                    for x, y in zip(rate, known["v.first"], strict=True)
                ]
            if "noise.v" in known:
                numbers = disturbed.normal(len(v), len(q) + 1, *counters)
                v = disturbed.noisy(v, known["noise.v"], numbers)
            return (q, v, q) if differences else (q, v)

        writes = ["q.seen", "v.seen"] + ["q.last"] * differences
        self.each.append(values.tape(seen, reads, writes))
        self.measured = ("q.seen", "v.seen")

    def control(self, law: Law, gains: Mapping[str, Any]) -> None:
        """What the law asks for, and its state."""
        values, names = self.values, list(law._values)
        forces = of_state(law, gains=True)
        for name in names:
            if name in gains:
                values.input(f"law.{name}", gains[name], law._values[name].shape, f"gains: {name}")
            else:
                values.constant(f"law.{name}", law._values[name])
        stateful = bool(law.nstate)
        if stateful:
            values.variable(state=(law.nstate,))
            initial = np.asarray(law.initial, dtype=float).tolist()
            self.first.append(values.tape(lambda: initial, [], ["state"]))
            values.constant("period", [self.dt])
        reads = [*self.measured, "qd", "vd", "ad", *(["state", "period"] * stateful)]
        reads += [f"law.{name}" for name in names]
        writes = ["tau", "state"] if stateful else ["tau"]
        self.each.append(values.tape(forces, reads, writes))

    def remember(self, names: Sequence[str]) -> None:
        """Of this step what the law is told of q, and what it asks for."""
        sources = {"measured": self.measured[0], "commanded": "tau"}
        for name in names:
            source = sources[name]
            self.values.variable(**{name: self.values.shapes[source]})
            self.start(name, 0.0)
            self.each.append(self.values.tape(lambda x: x, [source], [name]))

    def drive(self, delay: Any, limited: bool, noise: bool) -> None:
        """From what is asked for to what acts: late, with noise, within limits."""
        values = self.values
        most = int(np.max(delay))
        if most:
            values.variable(waiting=(most * self.nd,))
            self.first.append(values.tape(lambda x: list(x) * most, ["held"], ["waiting"]))
            if np.ndim(delay):
                values.input("delay", delay, (), "delay")
            else:
                values.constant("delay", delay)
            self.each.append(
                values.tape(disturbed.late, ["tau", "waiting", "delay"], ["tau", "waiting"])
            )
        if noise:
            first = self.nq + self.nv + 2

            def shaken(tau: Any, deviation: Any, *counters: Any) -> Any:
                numbers = disturbed.normal(len(tau), first, *counters)
                return disturbed.noisy(tau, deviation, numbers)

            reads = ["tau", "noise.tau", *_COUNTERS]
            self.each.append(values.tape(shaken, reads, ["tau"]))
        if limited:
            self.each.append(values.tape(disturbed.limited, ["tau", "limit"], ["tau"]))

    # What is watched

    def watch(self, names: Sequence[str], follows: bool, more: Sequence[str] = ()) -> None:
        """Bring reductions up to date, before each step and at the end; what else looks at the
        same things is told by ``more``."""
        values, robot = self.values, self.robot
        sizes = {"": (), "n": (self.nv,), "d": (self.nd,)}
        looks = {*more, *(x for name in names for x in REDUCTIONS[name].looks_at)}
        if not self.nd and "tau" in looks:
            torques = [x for x in names if "tau" in REDUCTIONS[x].looks_at]
            raise InputError(
                f"rollout: reduce={torques!r}: '{robot.name}' has no actuators; leave it out."
            )
        if "error" in looks:
            if not follows:
                raise InputError(
                    f"rollout: reduce={list(names)!r}: an error needs a trajectory; give one."
                )
            system = robot.system if ACTUATORS in robot.system.quantities else robot.model
            if len(positions(system, range(self.nq))) != self.nv:
                raise InputError(
                    f"rollout: reduce={list(names)!r}: an error is one per joint, and "
                    f"'{robot.name}' has coordinates that are no joints' (a free base or a ball); "
                    "leave it out, or give a cost."
                )

            def error(q: Any, qd: Any) -> Any:
                own, wanted = positions(system, q), positions(system, qd)
                return [y - x for x, y in zip(own, wanted, strict=True)]

            self._both(values.tape(error, ["q", "qd"], ["error"]))
        if "excess" in looks:
            self._both(self._excess())
        if "beyond" in looks:
            self._watch_limits()
        if "moving" in looks:
            moving = self._moving()
            self.each.append(moving)
            self.after.append(moving)
        if "margin" in looks:
            values.variable(margin=())
            self.guard = SingularityGuard(robot, values)
            self.first += self.guard.first
        if "unsolved" in looks:
            values.variable(unsolved=())
            self.start("unsolved", 0.0)
        for name in names:
            reduction = REDUCTIONS[name]
            values.variable(**{name: sizes[reduction.axis]})
            self.start(name, reduction.start)
            tape = values.tape(reduction.update, [name, *reduction.looks_at], [name])
            self.each.append(tape)
            if name not in NOT_AT_END:
                self.last.append(tape)
            if name == "work":  # half of it with the speeds before a step, half with those after
                self.after.append(tape)
            if reduction.finish is not None:
                self.last.append(values.tape(reduction.finish, [name, "t", "dt"], [name]))
            self.outputs.append(name)

    def _moving(self) -> Later:
        """The velocities of what the actuators act on."""
        values, robot = self.values, self.robot
        values.variable(moving=(self.nd,))
        if isinstance(robot, ClosedRobot):
            speeds, acting = self._joint_speeds(), robot.mechanism.actuated

            def of_actuators(q: Any, v: Any) -> Any:
                s = speeds(q, v)
                return [s[k] for k in acting]

            return values.tape(of_actuators, ["q", "v"], ["moving"])
        if robot.system.direct:
            return values.tape(lambda v: v, ["v"], ["moving"])
        raise InputError(
            f"rollout: work: the actuators of '{robot.name}' do not move with its speeds; "
            "leave it out."
        )

    def energies(self) -> None:
        """Kinetic and potential energy, at the start and at the end."""
        values, system, parameters = self.values, self.robot.system, self.parameters
        values.variable(energy=(2,))
        kinetic, potential = (
            equation_of(system, recipe_for(system, x, None, parameters=parameters.groups))
            for x in ("kinetic_energy", "potential_energy")
        )

        def total(q: Any, v: Any, *given: Any) -> Any:
            numbers = parameters.of(*given)
            return kinetic(q, v, *numbers) + potential(q, *numbers)

        reads = ["q", "v", *parameters.reads]
        self.first.append(values.tape(lambda *x: [total(*x), 0.0], reads, ["energy"]))
        ended = values.tape(lambda e, *x: [e[0], total(*x)], ["energy", *reads], ["energy"])
        self.last.append(ended)
        self.outputs.append("energy")

    def succeed(self) -> None:
        """1 where a run ends within the tolerance, and no limit was passed and no number lost on
        the way; else 0. After the reductions, of which it reads some."""
        values = self.values
        values.variable(success=())
        marks = [x for x in ("first_violation", *FAILURES) if x in values.shapes]

        def succeeded(error: Any, tolerance: Any, *never: Any) -> Any:
            good: Any = 1.0
            for e, most in zip(error, tolerance, strict=True):
                good = choose(most, abs(e), 0.0, good)
            for time in never:
                good = choose(time, inf, 0.0, good)
            return good

        self.last.append(values.tape(succeeded, ["error", "tolerance", *marks], ["success"]))
        self.outputs.append("success")

    def spoil(self) -> None:
        """Results of runs that failed say so themselves: a settling time is infinite, success 0,
        and all other numbers but times of events are none. After all that is watched."""
        values = self.values
        marks = [x for x in FAILURES if x in values.shapes]
        plain = {"q", "v", "success", *UNASKED}
        for name in (x for x in self.outputs if x not in plain):
            number = inf if name == "settling_time" else nan

            def spoiled(value: Any, *never: Any, number: float = number) -> Any:
                # Added, so that derivatives of what failed are not zero.
                more: Any = 0.0
                for time in never:
                    more = choose(time, inf, number, more)
                return [x + more for x in value] if isinstance(value, Sequence) else value + more

            self.last.append(values.tape(spoiled, [name, *marks], [name]))

    def end_with_error(self) -> None:
        self.values.variable(final_error=(self.nv,))
        self.last.append(self.values.tape(lambda e: e, ["error"], ["final_error"]))
        self.outputs.append("final_error")

    def _both(self, tape: Later) -> None:
        self.each.append(tape)
        self.last.append(tape)

    def _excess(self) -> Later:
        """How far positions and speeds of all joints, those that follow loops or mimic others too,
        and torques of the actuators are beyond the model's limits. Joints that stop at theirs are
        beyond them by a part of a step alone, which does not count."""
        robot, model = self.robot, self.robot.model
        bodies = [(body, body.joint) for body in getattr(model, "bodies", ())]
        stops = [] if self.stopped else limits(model)
        tau_of = {name: k for k, name in enumerate(robot.actuated)}
        fast = [
            (body.coordinate, abs(float(body.ratio)), float(joint.speed))
            for body, joint in bodies
            if np.isfinite(joint.speed)
        ]
        strong = [
            (tau_of[joint.name], float(joint.effort))
            for _, joint in bodies
            if joint.name in tau_of and np.isfinite(joint.effort)
        ]
        self.values.variable(excess=(len(stops) + len(fast) + len(strong),))
        speeds = self._joint_speeds() if fast and isinstance(robot, ClosedRobot) else None

        def excess(q: Any, v: Any, tau: Any) -> Any:
            u = v if speeds is None else speeds(q, v)
            return [
                *(-s.side * (q[s.coordinate] - s.value) for s in stops),
                *(ratio * abs(u[k]) - most for k, ratio, most in fast),
                *(abs(tau[k]) - most for k, most in strong),
            ]

        return self.values.tape(excess, ["q", "v", "tau"], ["excess"])

    def _watch_limits(self) -> None:
        """How far joints have been beyond limits of position, also at the ends of substeps."""
        known = limits(self.robot.model)

        def further(beyond: Any, q: Any) -> Any:
            for x in known:
                beyond = largest(beyond, -x.side * (q[x.coordinate] - x.value))
            return beyond

        self.values.variable(beyond=())
        self.first.append(self.values.tape(lambda q: further(0.0, q), ["q0"], ["beyond"]))
        self.substep.append(self.values.tape(further, ["beyond", "q"], ["beyond"]))

    def _joint_speeds(self) -> Callable[[Any, Any], Any]:
        """(q, v) -> the speeds of all joints of a robot with loops."""
        system = self.robot.system
        return equation_of(system, recipe_for(system, "speeds", None))

    def pay(self, cost: Callable[..., Any], follows: bool) -> None:
        """The integral of a cost of the user's, by the rule of rectangles."""
        values, dt = self.values, self.dt
        values.variable(cost=())
        self.start("cost", 0.0)
        reads = ["cost", "t", "q", "v", "tau", *(["qd", "vd"] * follows)]
        if not callable(cost):
            raise InputError(
                f"rollout: cost = {cost!r}; expected a function of {', '.join(reads[1:])}."
            )

        def paid(c: Any, *x: Any) -> Any:
            rate = cost(*x)
            if not _is_scalar(rate):
                raise InputError(
                    f"rollout: cost gave {rate!r}; expected one number: add up what are several."
                )
            return c + dt * rate

        self._of_user(paid, reads, ["cost"])
        self.outputs.append("cost")

    # The step

    def push(self, external: Callable[..., Any]) -> None:
        """Forces from outside, a function of t, q and v, held for a step."""
        self.values.variable(external=(self.nv,))
        count = self.nv

        def pushed(*x: Any) -> Any:
            forces = external(*x)
            if not isinstance(forces, Iterable):
                raise InputError(
                    f"rollout: external gave {forces!r}; expected {count} numbers, one per speed."
                )
            forces = list(forces)
            if len(forces) != count or not all(map(_is_scalar, forces)):
                raise InputError(
                    f"rollout: external gave {len(forces)} entries; expected {count} numbers, one "
                    "per speed."
                )
            return forces

        self._of_user(pushed, ["t", "q", "v"], ["external"])

    def _of_user(self, equation: Any, reads: Sequence[str], writes: Sequence[str]) -> None:
        """A function that a user wrote is traced each time: what it reads may have changed."""
        tape = self.values.traced(equation, reads, writes)
        self.each.append(Later(lambda: (tape,), repr(tape)))

    def move(
        self,
        method: str,
        substeps: int,
        formulation: str | None,
        slip: float,
        strikes: Strikes | None,
    ) -> None:
        """The robot over a step."""
        given = (method, substeps, self.parameters.groups, formulation, slip)
        self.each.append(
            Later(
                lambda: self._moved(method, substeps, formulation, slip, strikes),
                (*given, strikes and strikes.key),
            )
        )
        self.each += self.after

    def _moved(
        self,
        method: str,
        substeps: int,
        formulation: str | None,
        slip: float,
        strikes: Strikes | None,
    ) -> tuple[Part, ...]:
        values, h = self.values, self.dt / substeps
        forces = [x for x in _FORCES if x in values.shapes]
        names = [*forces, *self.parameters.reads]
        rates = rates_of(self.robot, formulation, self.parameters, forces, slip)
        asked = [x for x in names if x not in values.constants]

        def with_constants(q: Any, v: Any, *given: Any) -> Any:
            known = {**values.constants, **dict(zip(asked, given, strict=True))}
            return rates(q, v, *(known[x] for x in names))

        others = {x: values.shapes[x] for x in asked}
        change = CHANGE[self.dtype]
        parts: list[Part] = [
            *advance(method, with_constants, (self.nq, self.nv), others, h, change)
        ]
        restore = restored(self.robot)
        held = [] if restore is None else [values.traced(restore, ["q"], ["q"])]
        parts += held
        if strikes is not None:
            reads = ["q", "v", *self.parameters.reads]
            parts += [values.traced(strikes.of(h), reads, ["q", "v"]), *held]
        begin: tuple[Part, ...] = ()
        if self.guard is not None:
            begin = self.guard.begin()
            parts += self.guard.look()
        parts += [part for later in self.substep for part in later.parts()]
        if substeps > 1:
            parts = [Loop(((0.0,),) * substeps, tuple(parts))]
        return (*begin, *parts)

    def key(self, kept: Sequence[str]) -> Any:
        """What the program depends on, besides the robot and the law."""
        every = (self.first, self.each, self.last, self.substep)
        parts = [tuple(x.key for x in some) for some in every]
        return *parts, tuple(kept), tuple(self.outputs), self.values.key

    def program(self, kept: Sequence[str]) -> Program:
        values = self.values

        def made(parts: Sequence[Later]) -> tuple[Part, ...]:
            return tuple(part for later in parts for part in later.parts())

        def widths(arrays: Mapping[str, Any]) -> dict[str, int]:
            return {name: int(np.prod(values.shapes[name], dtype=int)) for name in arrays}

        return Program(
            widths(values.inputs), widths(values.tables), widths(values.series),
            made(self.first), made(self.each), made(self.last), tuple(kept), tuple(self.outputs),
        )  # fmt: skip
