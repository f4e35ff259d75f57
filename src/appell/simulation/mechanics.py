"""How a robot moves, in the speeds that are integrated: what a flight asks of it.

A tree's are its own speeds. A closed robot's are independent ones u among its tree's speeds
v = Gamma(q) u, so that v satisfies the loops; its coordinates are put back on the loops after
each step, by what the integrator erred. Where the independent speeds degenerate others take their
place; where no choice helps, the loops themselves are singular, and the motion ends.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from appell.errors import InputError, did_you_mean
from appell.model.configuration import quaternions
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.closed.independent_speeds import freedom_at
from appell.robots.closed.near_singular import POOR, Look, first_singular, look
from appell.robots.closed.refusal import OPEN, SingularError
from appell.robots.dynamics import Array
from appell.robots.robot import Robot
from appell.robots.spherical.spherical_refusal import reason
from appell.robots.spherical.spherical_robot import SphericalRobot
from appell.robots.system import formulation_of
from appell.simulation.contacts.contact import Contacts, ContactState
from appell.simulation.flow import flow
from appell.simulation.friction import joint_friction
from appell.simulation.path import Piece
from appell.simulation.torques import Pushes, Torque

_ROUNDING = 1e-12  # of a product of two Jacobians
# The quality, by that of the speeds when they were chosen, at which others are sought.
_FALLEN = 0.1
_LOOKED_AT = 33  # places of a step at which a spherical robot is looked at
_HALVINGS = 40  # of the time between two of them


class Turn(NamedTuple):
    """Where a motion cannot go on as it did: with other speeds, or not at all."""

    time: float
    reason: str | None = None  # why it ends there
    speeds: tuple[int, ...] | None = None  # those that describe it from there on


def mechanics_of(robot: Any, formulation: str | None, singular: float) -> Mechanics:
    """The mechanics of a robot by a formulation (the fastest without)."""
    if isinstance(robot, ClosedRobot):
        return ClosedMechanics(robot, formulation, singular)
    if isinstance(robot, SphericalRobot):
        return SphericalMechanics(robot, formulation, singular)
    return Mechanics(robot, formulation)


class Mechanics:
    """A tree of bodies."""

    restores = False  # whether its coordinates are put right after each step
    flow: Callable[[Array, Array, Array], Array]  # (q, u, forces on the joints) -> dq/dt, du/dt

    def __init__(self, robot: Any, formulation: str | None) -> None:
        self.robot, self.tree, self.now = robot, robot, robot
        self.nq, self.joints = robot.nq, robot.model.nv
        self.actuators = robot.system.size("d")
        self.shown = np.arange(self.joints)  # the joints whose speeds are the robot's v
        self.chosen: tuple[int, ...] = tuple(range(self.joints))  # and those integrated
        self._describe(robot.model)
        self.choices: list[tuple[float, tuple[str, ...]]] = []  # from when on which are
        self.unit = np.eye(self.joints)
        self.still = np.zeros(self.joints)
        self.formulation = self._formulation(formulation)
        self._equations()

    def _describe(self, model: Any) -> None:
        """What is known of the speeds of all joints."""
        self.quaternions = quaternions(model)
        self.angles = [i for i, joint in enumerate(model.joints) if joint.screw.angle]
        self.friction = joint_friction(model)  # viscous, dry, and a constant force

    def _formulation(self, name: str | None) -> str:
        known = self.robot.system.quantities["flow"].formulations
        if name is not None and (not isinstance(name, str) or name not in known):
            hint = did_you_mean(name, known)
            raise InputError(f"formulation = {name!r}; expected one of {', '.join(known)}.{hint}")
        if name == "articulated_body" and self.tree.model.mimics:
            others = ", ".join(x for x in known if x != name)
            raise InputError(
                f"formulation = {name!r}: joints of '{self.robot.name}' mimic others, which "
                f"articulated bodies cannot; expected one of {others}."
            )
        return formulation_of(self.robot.system, "flow", name)

    def _equations(self) -> None:
        """Take the equations of the chosen speeds."""
        self.flow = flow(self.now, self.formulation)
        vars(self).pop("mass_matrix", None)

    @cached_property
    def mass_matrix(self) -> Callable[[Array], Array]:
        """That of the integrated speeds. Articulated bodies make none; the robot's default stands
        in for theirs."""
        made = self.formulation in self.now.system.quantities["mass_matrix"].formulations
        formulation = self.formulation if made else None
        return self.now.kernel("mass_matrix", formulation=formulation).bare

    def begin(
        self, t: float, q: Array, v: Array, names: tuple[str, ...] = ()
    ) -> tuple[Array, Array]:
        """The coordinates and the integrated speeds to begin with. ``v`` are the robot's speeds, or
        those of all its joints with the ``names`` of those to integrate."""
        return q, v

    def speeds(self, q: Array, u: Array) -> Array:
        """The speeds of all joints, of one state or many."""
        return u

    def integrated(self, v: Array) -> Array:
        """Those of the speeds of all joints that are integrated."""
        return v

    def rows(self, q: Array) -> Array:
        """Gamma, (joints, n): how the speeds of all joints follow from those integrated."""
        return self.unit

    def drift(self, q: Array, u: Array) -> Array:
        """dGamma/dt u: accelerations of all joints while no integrated speed changes."""
        return self.still

    def displacement(self, q: Array, u: Array) -> Array:
        """The change of the coordinates by a small displacement u."""
        return self.flow(q, u, self.still)[: self.nq]

    def driven(self, law: Torque) -> Torque:
        """A law of the robot's own torques and speeds as one of forces on all joints, that takes
        the integrated speeds."""
        return law

    def pushed(self, q: Array, Q: Array) -> Array:
        """Forces on the robot's speeds v, as the flow takes them."""
        return Q

    def loaded(self, torque: Torque, forces: Pushes | None, axes: str) -> Torque:
        """Forces on all joints, with what external forces do there."""
        if forces is None:
            return torque

        def total(t: float, q: Array, u: Array) -> Array:
            f = torque(t, q, u)
            for frame, w in forces(t, q, self.own(q, u)).items():
                f = f + self.wrenched(q, self.tree.jacobian(q, frame, axes=axes).T @ w)
            return f

        return total

    def own(self, q: Array, u: Array) -> Array:
        """The robot's speeds v."""
        return u

    def wrenched(self, q: Array, f: Array) -> Array:
        """Forces on the tree's speeds, as the flow takes them."""
        return f

    def contacts(self, contacts: Contacts, q: Array, u: Array) -> ContactState:
        """The contacts, with Jacobians by the integrated speeds."""
        return contacts.at(q, u)

    def path(self, piece: Piece) -> Piece:
        """A piece of (q, u) as one of the coordinates and the speeds of all joints."""
        return piece

    def restored(self, q: Array) -> Array:
        """Coordinates put right after a step."""
        return q

    def opening(self, q: Array) -> Array | None:
        """How far loops are open at some configurations, at most, m or rad."""
        return None

    def turn(self, piece: Piece) -> Turn | None:
        """The first place of a piece, up to its end, where other speeds are needed."""
        return None

    def better(self, q: Array) -> tuple[int, ...] | None:
        """Speeds that describe the motion much better from here on, if there are any."""
        return None

    def choose(self, t: float, chosen: tuple[int, ...], q: Array) -> None:
        """Integrate other speeds from now on; a tree has no others."""


class ClosedMechanics(Mechanics):
    """A tree whose loops are closed."""

    restores = True
    robot: ClosedRobot

    def __init__(self, robot: ClosedRobot, formulation: str | None, singular: float) -> None:
        self.singular, self.assembly = singular, robot.assembly
        self.ways = dict[tuple[int, ...], ClosedRobot]()
        super().__init__(robot, formulation)
        self.tree = Robot(robot.model)
        self.now = robot.unchecked()
        self.shown = np.array(robot.mechanism.independent, dtype=np.intp)
        self.actuated = list(robot.mechanism.actuated)

    # Where it may begin

    def begin(
        self, t: float, q: Array, v: Array, names: tuple[str, ...] = ()
    ) -> tuple[Array, Array]:
        robot = self.robot
        opening = np.abs(robot.closure(q)).max(initial=0.0)
        if not opening <= OPEN:
            raise InputError(
                f"at q0 a loop of '{robot.name}' is open by {opening:.3g} (m or rad); "
                "start from robot.assemble(q0)."
            )
        q = robot.assemble(q)
        self.choose(t, tuple(robot.joints_named("choices", names or robot.independent)), q)
        if not self._looked(q).margin > self.singular or not self.first > POOR:
            raise SingularError(
                f"q0 is singular: the speeds of {', '.join(self.now.independent)} do "
                f"not determine the others. Those of {', '.join(robot.best_independent(q))} do it "
                "best there: robot.described_by([...])."
            )
        return q, self.integrated(v) if names else v

    # In its independent speeds

    def speeds(self, q: Array, u: Array) -> Array:
        return self.now.speeds(q, u)

    def integrated(self, v: Array) -> Array:
        return v[list(self.chosen)]

    def rows(self, q: Array) -> Array:
        return self.now._evaluate("gamma", (q,), None)

    def drift(self, q: Array, u: Array) -> Array:
        return self.now.accelerations(q, u, np.zeros_like(u))

    def driven(self, law: Torque) -> Torque:
        def forces(t: float, q: Array, u: Array) -> Array:
            f = np.zeros(self.joints)
            f[self.actuated] = law(t, q, self.own(q, u))
            return f

        return forces

    def own(self, q: Array, u: Array) -> Array:
        same = self.chosen == self.robot.mechanism.independent
        return u if same else self.speeds(q, u)[self.shown]

    def pushed(self, q: Array, Q: Array) -> Array:
        f = np.zeros(self.joints)
        f[self.shown] = Q
        return f

    def contacts(self, contacts: Contacts, q: Array, u: Array) -> ContactState:
        c, Gamma, drift = contacts.at(q, self.speeds(q, u)), self.rows(q), self.drift(q, u)
        J = c.J @ Gamma
        # What no allowed speed moves is only rounding here, and holds nothing.
        size = np.linalg.norm(c.J, axis=1) * np.linalg.norm(Gamma)
        J[np.linalg.norm(J, axis=1) < _ROUNDING * size] = 0.0
        return c._replace(
            rate=J @ u, J=J, drift=c.drift + c.J @ drift, P=c.P @ Gamma,
            turning=c.turning + c.P @ drift,
        )  # fmt: skip

    def path(self, piece: Piece) -> Piece:
        q = np.ascontiguousarray(piece.y[:, : self.nq])
        v = self.speeds(q, np.ascontiguousarray(piece.y[:, self.nq :]))
        return piece._replace(y=np.concatenate([q, v], axis=1))

    def restored(self, q: Array) -> Array:
        return self.assembly.nearest(q)

    def opening(self, q: Array) -> Array | None:
        return np.abs(self.robot.closure(q)).max(axis=-1, initial=0.0)

    # Which of the speeds are independent

    def choose(self, t: float, chosen: tuple[int, ...], q: Array) -> None:
        if chosen not in self.ways:
            names = [self.robot.joint_names[k] for k in chosen]
            same = chosen == self.robot.mechanism.independent
            way = self.robot if same else self.robot.described_by(names, at=q)
            self.ways[chosen] = way.unchecked()
        self.chosen, self.now = chosen, self.ways[chosen]
        self._equations()
        self.choices.append((t, self.now.independent))
        self.first = float(self._looked(q).quality)

    def _looked(self, q: Array) -> Look:
        return look(self.assembly, self.chosen, np.zeros(1), q[None]).at(0)

    def better(self, q: Array) -> tuple[int, ...] | None:
        quality = float(self._looked(q).quality)
        if quality > _FALLEN * self.first:
            return None
        self.first = quality  # asked again only when it has fallen further
        free = freedom_at(self.assembly, q)
        best = tuple(free.best())
        enough = free.n == self.robot.nv and free.qualities(best)[0] >= 3 * quality
        return best if enough else None

    def turn(self, piece: Piece) -> Turn | None:
        def place(times: Array) -> Array:
            return np.ascontiguousarray(piece.at(times)[:, : self.nq])

        start, end = piece.start, piece.end
        found = first_singular(self.assembly, self.chosen, start, end, place, self.singular)
        if found is None:
            return None
        if found.of_loops:
            return Turn(
                found.t,
                f"singular configuration of '{self.robot.name}': at {found.t:.6g} s the margin of "
                f"its loops falls to {self.singular:g}; no choice of independent speeds leads past "
                "it",
            )
        # Again from before this step with other speeds, or (if those do not describe the motion
        # here yet) on to halfway there.
        best = self._passing(start, piece.y[0, : self.nq], found.q)
        if best is not None:
            return Turn(start, None, best)
        if found.t - start <= 1e-12 * max(1.0, start):
            return Turn(
                start, f"no choice of independent speeds describes the motion at {start:.6g} s"
            )
        return Turn(0.5 * (start + found.t))

    def _passing(self, t: float, q: Array, there: Array) -> tuple[int, ...] | None:
        """Other speeds that describe both a state and where the chosen ones become poor."""
        free = freedom_at(self.assembly, there)
        best = tuple(free.best())
        if free.n != self.robot.nv:
            return None
        here = look(self.assembly, best, np.zeros(1), q[None]).quality[0]
        tried = sum(when == t for when, _ in self.choices)
        return None if best == self.chosen or here < 10 * POOR or tried > 3 else best


class SphericalMechanics(Mechanics):
    """A spherical parallel robot, in its own coordinates, whose rates are its speeds."""

    robot: SphericalRobot

    def __init__(self, robot: SphericalRobot, formulation: str | None, singular: float) -> None:
        self.singular = max(singular, robot.model.margin)
        super().__init__(robot, formulation)

    def _describe(self, model: Any) -> None:
        self.quaternions, self.angles = (), list(range(self.joints))
        self.friction = np.zeros(self.joints), np.zeros(self.joints), np.zeros(self.joints)

    def begin(
        self, t: float, q: Array, v: Array, names: tuple[str, ...] = ()
    ) -> tuple[Array, Array]:
        self.robot.mass_matrix(q)  # refused where a limb does not reach
        near = float(self.robot.singularity(q))
        if not near > self.singular:
            raise SingularError(
                f"q0 is singular, or next to it: its distance is {near:.1e}; start elsewhere."
            )
        return q, v

    def pushed(self, q: Array, Q: Array) -> Array:
        return self.robot.actuator_torques(q, Q)

    def wrenched(self, q: Array, f: Array) -> Array:
        return self.pushed(q, f)  # its Jacobians are those of its own speeds

    def turn(self, piece: Piece) -> Turn | None:
        times = np.linspace(piece.start, piece.end, _LOOKED_AT)
        near = self.robot.singularity(np.ascontiguousarray(piece.at(times)[:, : self.nq]))
        bad = ~(near > self.singular)
        if not bad.any():
            return None
        first = int(np.argmax(bad))
        good, late = float(times[max(first - 1, 0)]), float(times[first])
        for _ in range(_HALVINGS):  # the last instant that its equations still answer
            t = 0.5 * (good + late)
            if self.robot.singularity(piece(t)[: self.nq]) > self.singular:
                good = t
            else:
                late = t
        q = piece(late)[: self.nq]
        distances = self.robot.singularities(q)
        why = reason(self.robot.model, "motion", q, distances, 2 * self.singular)
        return Turn(good, f"singular at {good:.6g} s: {why or 'a limb does not reach'}")
