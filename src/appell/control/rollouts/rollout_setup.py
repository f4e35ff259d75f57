"""The arguments of a rollout, checked, as values of its program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.compile.gpu.device_arrays import on_gpu, on_host
from appell.compile.program import Program
from appell.compile.programs import compiled
from appell.compile.trace import trace
from appell.control.hardware_numbers import motors, one_turn, torque_limits
from appell.control.laws.compiled import ACTUATORS
from appell.control.laws.law import Law
from appell.control.rollouts.disturbed import CHANNELS
from appell.control.rollouts.gpu_arguments import single
from appell.control.rollouts.impulses import impulses_of
from appell.control.rollouts.integrators import METHODS, STABLE
from appell.control.rollouts.loop_program import LoopProgram, Strikes
from appell.control.rollouts.payload import Payload
from appell.control.rollouts.plant_parameters import PlantParameters, least
from appell.control.rollouts.singularity_guard import is_guarded
from appell.control.rollouts.values import Values, numbers
from appell.control.rollouts.watched import UNASKED
from appell.control.trajectories.sampled import SampledMotion, followed, planned
from appell.errors import InputError
from appell.given import names_of, one_of, optional, whole
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import Array, Dynamics
from appell.robots.kernels import float_kind
from appell.robots.recipe import equation_of, recipe_for
from appell.robots.robot import Robot
from appell.walls import check_mu, restitution_of

Numbers = npt.ArrayLike
APART = 1.0  # rad or m: joints that follow loops and are farther off are in another assembly
OPEN = 1e-6  # m or rad
KEPT = ("q", "v", "tau", "commanded", "measured", "state")
SOME = 2**14  # runs that are looked at together


@dataclass(frozen=True)
class Noise:
    """Deviations of normal random numbers, each one number, one per joint, or one per joint and
    run. One number of ``tau`` is for the motors alone: a free base and a ball have none. The random
    numbers depend on the seed, the run's number and the step alone.

    Attributes:
        q: On measured positions, rad (m).
        v: On measured velocities, rad/s (m/s).
        tau: On torques, N m (N).
        seed: Below 2^32.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> noise = appell.control.Noise(tau=0.1, seed=3)
        >>> found = appell.rollout(arm, q0=[0.1, 0.2], steps=10, runs=4, noise=noise)
        >>> found.q.shape
        (4, 2)
    """

    q: Numbers = 0.0
    v: Numbers = 0.0
    tau: Numbers = 0.0
    seed: int = 0


class RolloutSetup:
    """The arguments of a rollout, checked, as values of its program."""

    def __init__(
        self,
        robot: Dynamics,
        law: Law | None,
        dt: float,
        runs: int | None,
        integrator: str = "rk4",
        dtype: npt.DTypeLike = "float64",
    ) -> None:
        if not isinstance(robot, Dynamics):
            raise InputError(f"rollout({robot!r}): expected a robot; appell.load gives one.")
        optional("rollout: law", law, Law, "one such as ComputedTorque(robot), or None")
        self.robot, self.law, self.dt = robot, law, dt
        self.integrator = one_of("rollout: integrator", integrator, METHODS)
        self.dtype = float_kind(dtype)
        self.values = Values()
        if runs is not None:
            self.values.runs = whole("rollout: runs", runs, 1)
        self.noise: Noise | None = None
        self.follows = False

    def motion(self, trajectory: Any, q0: Any, v0: Any, steps: int | None) -> SampledMotion:
        """What is desired at the samples, and where the runs start."""
        robot, values = self.robot, self.values
        self.follows = trajectory is not None
        if self.law is not None and not self.follows:
            raise InputError("rollout: a law needs a trajectory, or a position to hold; give one.")
        until = None if steps is None else whole("rollout: steps", steps, 1) * self.dt
        refuse_other_robot("rollout", robot, self.law)
        if self.follows:
            trajectory = on_host("rollout: trajectory", trajectory)
            plan = planned(trajectory, robot.nv, self.dt, until)
            looped = robot.nq != len(robot.system.coordinates)
            plan = self._along_loops(plan, q0) if looped else plan
        else:
            if steps is None:
                raise InputError(
                    "rollout: steps is missing; without a trajectory nothing says how many."
                )
            t = np.arange(steps + 1) * self.dt
            plan = SampledMotion(t, *(np.zeros((len(t), 0)) for _ in range(3)))
        if q0 is None:
            q0 = plan.q[0] if self.follows else robot.neutral()
        if v0 is None:
            v0 = plan.v[0] if self.follows else np.zeros(robot.nv)
        values.input("q0", q0, (robot.nq,), "q0")
        refuse_open("rollout: q0", robot, values.inputs["q0"])
        values.input("v0", v0, (robot.nv,), "v0")
        if self.follows:
            for name, x in (("qd", plan.q), ("vd", plan.v), ("ad", plan.a)):
                values.table(name, x)
        values.tables["t"], values.shapes["t"] = plan.t[:, None], ()
        self.program = LoopProgram(robot, values, self.dt, self.dtype)
        return plan

    def _along_loops(self, plan: SampledMotion, q0: Any) -> SampledMotion:
        """The plan with the joints that follow the loops: one for all runs, so that none depends on
        another; they must be in one assembly."""
        robot = self.robot
        found = followed(robot, plan, None)
        if q0 is None or on_gpu(q0):
            return found
        starts = np.asarray(q0, dtype=float).reshape(-1, robot.nq)
        run = self._apart(starts, found.q[0])
        if run is not None:
            found = followed(robot, plan, starts[0])
            run = self._apart(starts, found.q[0])
        if run is None:
            return found
        raise InputError(
            f"rollout: run {run} starts in another assembly of the loops of '{robot.name}' than "
            "run 0; roll them out one assembly at a time."
        )

    def _apart(self, starts: Array, q: Array) -> int | None:
        """The first run whose joints that follow the loops start far from those in q."""
        follow = np.ones(self.robot.nq, dtype=bool)
        follow[list(self.robot.system.coordinates)] = False
        for rows in parts_of(len(starts)):
            far = (np.abs(starts[rows] - q)[:, follow] > APART).any(axis=1)
            if far.any():
                return rows.start + int(np.argmax(far))
        return None

    def numbered(self, ids: Any, noise: Noise | None) -> None:
        """The counters of random numbers, where there are some."""
        optional("rollout: noise", noise, Noise, "Noise(q=..., v=..., tau=...)")
        self.noise = noise
        if noise is None:
            return
        values, count = self.values, len(self.values.tables["t"])
        if count > 2**24:
            raise InputError(f"rollout: noise: {count - 1} steps; expected 2^24 at most.")
        at = np.arange(count)
        values.tables["at"], values.shapes["at"] = np.stack([at % 2**16, at // 2**16], 1), (2,)
        seed = whole("Noise: seed", noise.seed)
        if seed >= 2**32:
            raise InputError(f"Noise: seed = {seed}; expected less than 2^32.")
        values.input("key", [seed % 2**16, seed // 2**16], (2,), "seed")
        values.shapes["ids"] = (2,)
        values.inputs["ids"] = np.zeros((1, 2))  # when the number of runs is known
        robot = self.robot
        channels = robot.nq + robot.nv + self.program.nd + 4
        if channels > CHANNELS:
            raise InputError(
                f"rollout: noise: '{robot.name}' would take {channels} random numbers per step; "
                f"expected {CHANNELS} at most."
            )
        for name, width in (("q", robot.nq), ("v", robot.nv), ("tau", self.program.nd)):
            deviation = single(f"noise: {name}", getattr(noise, name))
            if not on_gpu(deviation):
                deviation = numbers(f"Noise: {name}", deviation)
            # One number for all is of motors: nothing shakes a free body or a ball from outside.
            shaken = motors(robot) if name == "tau" else range(width)
            self.each(f"noise.{name}", deviation, width, f"Noise: {name}", shaken)
            if least(deviation) < 0:
                raise InputError(f"Noise: {name}: a deviation is negative; expected zero or more.")
            if not on_gpu(deviation) and not np.any(deviation):
                del self.values.inputs[f"noise.{name}"], self.values.shapes[f"noise.{name}"]

    def identified(self, runs: int, ids: Any) -> None:
        """The runs' numbers, in two halves; those that are given are looked at in any case."""
        if ids is None and self.noise is None:
            return
        number = np.arange(runs) if ids is None else np.asarray(on_host("rollout: ids", ids))
        wrong = number.shape != (runs,) or number.dtype.kind not in "iu"
        if wrong or number.min() < 0 or number.max() >= 2**32:
            raise InputError(f"rollout: ids: expected {runs} whole numbers, from 0 to 2^32 - 1.")
        if self.noise is not None:
            halves = self.values.inputs["ids"] = np.empty((runs, 2))
            np.remainder(number, 2**16, out=halves[:, 0])
            np.floor_divide(number, 2**16, out=halves[:, 1])

    def noisy(self, *names: str) -> list[str]:
        return [x for x in names if f"noise.{x}" in self.values.inputs]

    def each(
        self, name: str, given: Any, width: int, what: str, places: Sequence[int] | None = None
    ) -> None:
        """One number for all, or for those in some places, one per joint, or one per joint and
        run."""
        given = single(what, given)
        if np.ndim(given) == 0:
            full = np.zeros(width)
            full[slice(None) if places is None else list(places)] = numbers(what, given)
            given = full
        self.values.input(name, given, (width,), what)

    def not_negative(self, name: str) -> None:
        """Refuse numbers below zero."""
        if least(self.values.inputs[name]) < 0:
            raise InputError(f"rollout: {name} is negative; expected zero or more.")

    def friction(self, viscous: Any, coulomb: Any, slip: float, h: float) -> None:
        """Friction of the joints; refused if steps h are too long to follow it below ``slip``."""
        if viscous is None and coulomb is None:
            return
        self._refuse_spherical("friction")
        n, taken = self.robot.model.nv, self.values.inputs
        plain = getattr(self.robot.model, "is_coordinate", [True] * n)
        for name, given in (("viscous", viscous), ("coulomb", coulomb)):
            # One number for all is of joints, and not of what a free body or a ball does.
            joints = [k for k in range(n) if plain[k]]
            self.each(name, 0.0 if given is None else given, n, name, joints)
            self.not_negative(name)
        reads = ["q0", "viscous", "coulomb", *self.program.parameters.reads]
        if n != self.robot.nv or any(on_gpu(taken[x]) for x in reads):
            return
        rate = np.zeros(n)
        slowing = self._slowing(reads, slip)
        for rows in parts_of(self.count()):
            part = {x: taken[x][rows] if taken[x].ndim > 1 else taken[x] for x in reads}
            _, found = slowing(rows.stop - rows.start, part, np.zeros((1, 0)), {}, 0)
            rate = np.fmax(rate, np.fmax.reduce(found["rate"]))  # a run without mass has none
        joint = int(np.argmax(rate))
        name = self.robot.independent[joint]
        stable = STABLE[self.integrator]
        if rate[joint] * h > stable:
            raise InputError(
                f"rollout: friction of joint '{name}' changes its speed at "
                f"a rate of {rate[joint]:.3g}/s below slip = {slip:g}, too fast for steps of {h:g} "
                f"s; expected less than {stable / h:.3g}/s for {self.integrator}. Give a larger "
                "slip, more substeps, or the inertia of its rotor (robot.with_armature)."
            )

    def _slowing(self, reads: Sequence[str], slip: float) -> Any:
        """The kernel of the rates, 1/s, at which friction changes each joint's speed at the start,
        if the others are held by nothing: (viscous + coulomb / slip) times that of M^-1."""
        robot, values, parameters = self.robot, self.values, self.program.parameters
        constant = repr(values.constants.get("payload.holder"))
        key = ("friction of a rollout", tuple(reads), parameters.groups, constant, slip)
        known: dict[Any, Any] = robot._kernels
        kernel = known.get(key)
        if kernel is None:
            recipe = recipe_for(robot.system, "inverse_mass_matrix", parameters=parameters.groups)
            inverse = equation_of(robot.system, recipe)

            def rates(q: Any, viscous: Any, coulomb: Any, *given: Any) -> list[Any]:
                W = inverse(q, *parameters.of(*given))
                both = zip(viscous, coulomb, strict=True)
                return [(b + c / slip) * W[k][k] for k, (b, c) in enumerate(both)]

            shapes = {x: values.shapes[x] for x in reads}
            tape = trace(rates, shapes, {"rate": (robot.nv,)})
            widths = {x: int(np.prod(shape, dtype=int)) for x, shape in shapes.items()}
            program = Program(widths, {}, {}, (tape,), (), (), (), ("rate",))
            kernel = compiled(program, "float64", f"compiling the friction of {robot.name}")
            known[key] = kernel
        return kernel

    def _refuse_spherical(self, what: str, cure: str = "track and simulate have it") -> None:
        if not self.robot.system.direct and not isinstance(self.robot, ClosedRobot):
            raise InputError(
                f"rollout: {what}: the actuators of '{self.robot.name}' do not act on its speeds "
                f"one by one; {cure}."
            )

    def encoded(self, encoder: Any) -> None:
        """The counts of a revolution, or of a metre, and how far that is."""
        if encoder is None:
            return
        self._refuse_spherical("encoder", "no encoder counts its coordinates; leave it out")
        if self.robot.nq != self.robot.nv:
            raise InputError(
                f"rollout: encoder: '{self.robot.name}' has coordinates that none counts."
            )
        self.each("counts", encoder, self.robot.nq, "encoder")
        counts = self.values.inputs["counts"]
        if not on_gpu(counts) and not least(counts) > 0:
            raise InputError(
                f"rollout: encoder: {least(counts):g} counts; expected numbers greater than zero."
            )
        self.values.constant("turn", one_turn(self.robot))

    def commands(self, tau: Any, steps: int) -> None:
        """Torques, where no law gives them."""
        nd = self.program.nd
        if self.law is not None:
            if tau is not None:
                raise InputError("rollout: tau and a law both give torques; leave one out.")
            return
        if tau is None:
            tau = np.zeros(nd)
        if np.ndim(tau) == 1:
            self.values.input("asked", tau, (nd,), "tau")
        elif np.ndim(tau) == 2 and np.shape(tau)[0] == self.values.runs == steps > 1:
            raise InputError(
                f"rollout: tau has shape {np.shape(tau)}, and there are as many runs as steps; "
                "give (runs, steps, d), so that it is clear which is which, or (1, steps, d) for "
                "the same in all runs."
            )
        else:
            self.values.stepped("asked", tau, nd, steps, "tau")
        self.program.each.append(self.values.tape(lambda x: x, ["asked"], ["tau"]))

    def refuse_gains(self, gains: Any) -> None:
        optional("rollout: gains", gains, Mapping, 'a dictionary such as {"kp": (runs, n)}')
        if gains and self.law is None:
            raise InputError(
                f"rollout: gains of {', '.join(map(str, gains))} are for a law, and there is none; "
                "give law=, or leave gains out."
            )
        for name in gains or {}:
            assert self.law is not None
            one_of("rollout: gains", name, self.law._values)

    def kept(self, names: Any) -> list[str]:
        """What is kept of states."""
        asked = names_of("rollout: keep", names, KEPT)
        if not asked:
            raise InputError(
                f"rollout: keep is empty; expected some of {', '.join(KEPT)}, or no every."
            )
        if "state" in asked and (self.law is None or not self.law.nstate):
            raise InputError("rollout: keep='state': there is no law that has one; leave it out.")
        return asked

    def limited(self, limit: Any) -> bool:
        limit = single("torque_limit", limit)
        if limit is None or limit is False:
            return False
        if limit is True or (np.ndim(limit) < 2 and not on_gpu(limit)):
            most = torque_limits(limit, self.robot)
            assert most is not None
            limit = np.minimum(most, np.finfo(np.float32).max)
        self.values.input("limit", limit, (self.program.nd,), "torque_limit")
        if not least(limit) > 0:
            raise InputError("rollout: torque_limit: expected numbers greater than zero.")
        return True

    def delayed(self, delay: Any) -> Any:
        """In samples, one for all or one per run. What waits at first is what the law's model needs
        to hold the robot still, of the motors alone; without a law nothing."""
        late = np.asarray(on_host("rollout: delay", delay))
        if late.dtype.kind not in "iu" or late.ndim > 1 or not late.size or (late < 0).any():
            raise InputError(f"rollout: delay = {delay!r}; expected whole numbers of samples.")
        self.values.count("delay", late.shape)
        if late.max(initial=0):
            self.values.variable(held=(self.program.nd,))
            self.program.first.append(self.values.tape(self._holding(), ["q0"], ["held"]))
        return int(late) if late.ndim == 0 else late

    def _holding(self) -> Callable[[Any], Any]:
        """(q) -> the torques that the law's model needs to hold the robot still."""
        width, acting = self.program.nd, set(motors(self.robot))
        if self.law is None:
            return lambda q: [0.0] * width
        system = self.law.robot.system
        gravity = equation_of(system, recipe_for(system, "gravity", None))
        turned = ACTUATORS in system.quantities
        by_motors = equation_of(system, recipe_for(system, ACTUATORS, None)) if turned else None

        def holding(q: Any) -> Any:
            tau = gravity(q) if by_motors is None else by_motors(q, gravity(q))
            return [x if k in acting else 0.0 for k, x in enumerate(tau)]

        return holding

    def pushed(self, external: Any, steps: int) -> None:
        n = self.robot.nv
        if external is None:
            return
        self._refuse_spherical("external")
        if callable(external):
            self.program.push(external)
            return
        shape = tuple(np.shape(external))
        if len(shape) == 2 and shape[0] == steps > 1:
            raise InputError(
                f"rollout: external has shape {shape}, and there are {steps} steps: rows of two "
                f"axes are runs, (runs, {n}). Expected (runs, steps, {n}), so that it is clear "
                "which is which: external[None] for forces by step that are the same in all runs, "
                f"np.broadcast_to(external[:, None], ({steps}, {steps}, {n})) for constant forces "
                "by run."
            )
        if np.ndim(external) == 3:
            self.values.stepped("external", external, n, steps, "external")
        else:
            self.values.input("external", external, (n,), "external")

    def unasked(self) -> list[str]:
        """What is watched in any case."""
        missing = set() if is_guarded(self.robot) else {"least_margin", "singular_at"}
        missing |= set() if self.integrator == "implicit_midpoint" else {"unsolved_at"}
        return [x for x in UNASKED if x not in missing]

    def plant(self, parameters: Mapping[str, Any] | None, payload: Payload | None) -> None:
        """The parameters of the robot with what it carries; those of a law stay its own."""
        optional("rollout: payload", payload, Payload, "Payload(mass, com, link)")
        given = parameters or {}
        self.program.parameters = PlantParameters(self.robot, self.values, given, payload)

    def struck(self, walls: Any, points: Any, stops: bool, rules: Any) -> Any:
        """Walls and stops, as the equation of their impulses."""
        restitution, at_stops, mu = rules
        check_mu("rollout: mu", mu)
        bounce = restitution_of("rollout: restitution", restitution)
        stopped = restitution_of("rollout: stop_restitution", at_stops)
        if not isinstance(stops, bool | np.bool_):
            raise InputError(f"rollout: stops = {stops!r}; expected True or False.")
        if isinstance(walls, tuple) and not walls and points is None and not stops:
            return None
        from appell.simulation.contacts.contact import find_contacts

        contacts = find_contacts(self.robot.model, walls, points, bool(stops))
        if not len(contacts):
            return None
        if not isinstance(self.robot, Robot) or isinstance(self.robot, ClosedRobot):
            raise InputError(
                f"rollout: walls and stops are for trees; '{self.robot.name}' is none. simulate "
                "has them for all robots."
            )
        e = contacts.per_contact(lambda wall: wall.restitution, bounce, stopped)
        rough = contacts.per_contact(lambda wall: wall.mu, 0.0 if mu is None else mu)
        key = contacts.geometry, e.tobytes(), rough.tobytes()
        known = self.program.parameters
        return Strikes(lambda h: impulses_of(self.robot, contacts, e, rough, known, h), key)

    def count(self) -> int:
        """How many runs there are, as far as is known by now."""
        return self.values.runs or 1


def parts_of(count: int) -> Iterator[slice]:
    """Rows, some at a time: what is computed of each takes little memory so."""
    for start in range(0, count, SOME):
        yield slice(start, min(start + SOME, count))


def refuse_other_robot(what: str, robot: Dynamics, law: Law | None) -> None:
    """Refuse a law of a robot with other joints."""
    if law is not None and (law.robot.nq, law.robot.nv) != (robot.nq, robot.nv):
        raise InputError(
            f"{what}: the law is for '{law.robot.name}' with {law.robot.nv} speeds; "
            f"'{robot.name}' has {robot.nv}. Make the law for this robot."
        )


def refuse_open(what: str, robot: Dynamics, q: Any) -> None:
    """Of a robot with loops, refuse what does not close them."""
    if not isinstance(robot, ClosedRobot) or on_gpu(q) or not robot.system.size("c"):
        return
    closure, starts = robot.kernel("closure"), np.atleast_2d(q)
    for rows in parts_of(len(starts)):
        open_by = np.abs(closure(starts[rows])).max(initial=0.0)
        if not open_by < OPEN:
            raise InputError(
                f"{what}: the loops of '{robot.name}' are open by {open_by:.3g}; robot.assemble "
                "closes them."
            )
