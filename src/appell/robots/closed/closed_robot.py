"""Robots with loops and wheels: the same methods as a tree's, in independent speeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import InputError
from appell.model import configuration
from appell.model.configuration import Random, drawing
from appell.robots.closed import along_loops
from appell.robots.closed.assemble import Assembly
from appell.robots.closed.closed_system import Closed
from appell.robots.closed.independent_speeds import freedom_about, freedom_at
from appell.robots.closed.mechanism import Constraint, Mechanism
from appell.robots.closed.refusal import Margins, SingularError, finite, refuse, width
from appell.robots.dynamics import Array, Forces, Numbers, one_of
from appell.robots.robot import Robot

if TYPE_CHECKING:
    from typing_extensions import Self

    from appell.robots.selfcheck import Check


class ClosedRobot(Robot):
    """A tree whose loops are closed, described by its tree's coordinates and independent speeds;
    `close` makes it. It answers the methods of `Robot`.

    ``q`` (nq) are all coordinates of the tree and satisfy the loops: ``assemble`` finds such. ``v``
    (nv) are the speeds of the joints named in ``independent``, ``a`` their rates, ``tau`` the
    forces of the joints named in ``actuated``. A configuration that is open or singular is refused;
    ``unchecked()`` gives the same robot without these checks.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        reference: Array,
        *,
        check: bool = True,
        inverse_kinematics: Callable[..., Array] | None = None,
        assembly: Assembly | None = None,
    ) -> None:
        super().__init__(mechanism.model)
        self.system = Closed(mechanism)
        self.mechanism, self.reference, self.check = mechanism, reference, check
        self.assembly = assembly or Assembly(mechanism)
        self._inverse_kinematics = inverse_kinematics

    def __reduce__(self) -> Any:
        how = self._inverse_kinematics
        again = partial(type(self), check=self.check, inverse_kinematics=how)
        return again, (self.mechanism, self.reference)

    def __repr__(self) -> str:
        return (
            f"<ClosedRobot {self.name}: degrees of freedom {self.nv}, joints {self.model.nv}, "
            f"constraints {len(self.constraints)}, actuators {len(self.actuated)}>"
        )

    # What it is

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """What closes its loops and keeps its wheels rolling."""
        return self.mechanism.constraints

    @property
    def independent(self) -> tuple[str, ...]:
        """The joints whose speeds are v, in order."""
        return tuple(self.joint_names[k] for k in self.mechanism.independent)

    @property
    def actuated(self) -> tuple[str, ...]:
        """The joints whose forces are tau, in order."""
        return tuple(self.joint_names[k] for k in self.mechanism.actuated)

    @property
    def reaction_names(self) -> tuple[str, ...]:
        """What each of the reactions is."""
        return tuple(f"{c.name}: {row}" for c in self.constraints for row in c.rows)

    def coordinates(self, joints: Sequence[str] | None = None) -> list[int]:
        """Where joints stand in q.

        Args:
            joints: Their names; the actuated ones without it.

        Returns:
            Their places in q.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> bars.coordinates() == bars.coordinates(bars.actuated)
            True
        """
        places = self.joints_named("joints", self.actuated if joints is None else joints)
        if not all(self.model.is_coordinate[k] for k in places):
            raise InputError(
                f"'{self.name}': a speed of a free body or a ball is no coordinate's rate."
            )
        return [self.model.place(k) for k in places]

    def joints_named(self, what: str, names: Sequence[str]) -> list[int]:
        """Where joints stand among the tree's speeds.

        Args:
            what: What a refusal calls the names.
            names: Names of joints.

        Returns:
            Their places.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> bars.joints_named("joints", bars.joint_names[:2])
            [0, 1]
        """
        known = {name: k for k, name in enumerate(self.joint_names)}
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, Sequence):
            raise InputError(f"'{self.name}': {what} = {names!r}; expected names of joints.")
        for name in names:
            if name not in known:
                raise InputError(
                    f"'{self.name}': {what} names joint {name!r}; its joints are "
                    f"{', '.join(known)}."
                )
        if len(set(names)) < len(names):
            raise InputError(f"'{self.name}': {what} = {list(names)} names a joint twice.")
        return [known[name] for name in names]

    # Others like it

    def unchecked(self) -> Self:
        """The same robot, which does not look whether loops are closed or near singular.

        Returns:
            A robot of the same kind.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> bars.unchecked().check
            False
        """
        return self._like(self.mechanism, check=False)

    def described_by(self, independent: Sequence[str], at: Numbers | None = None) -> Self:
        """The same robot in other independent speeds, that describe its motion at a configuration.

        Args:
            independent: Names of joints.
            at: Coordinates, (nq,), rad or m; about the reference without it.

        Returns:
            A robot of the same kind.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> bars.described_by(bars.joint_names[:2]).independent == bars.joint_names[:2]
            True
        """
        chosen = self.joints_named("independent", independent)
        if at is None:
            free = freedom_about(self.assembly, self.reference)
        else:
            free = freedom_at(self.assembly, finite("described_by: at", at, self.nq))
        if free.n != self.nv:
            raise SingularError(
                f"'{self.name}' has {free.n} degrees of freedom there and {self.nv} elsewhere: "
                "no speeds describe its motion through that configuration; choose another."
            )
        free.refuse(chosen, self.assembly)
        return self._like(replace(self.mechanism, independent=tuple(chosen)))

    def best_independent(self, q: Numbers) -> tuple[str, ...]:
        """The joints whose speeds describe the motion best at one configuration.

        Args:
            q: Coordinates, (nq,), rad or m.

        Returns:
            Their names.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> len(bars.best_independent(bars.neutral()))
            2
        """
        best = freedom_at(self.assembly, finite("best_independent: q", q, self.nq)).best()
        return tuple(self.joint_names[k] for k in best)

    def _with_model(self, model: Any) -> Self:
        return self._like(replace(self.mechanism, model=model))

    def _like(self, mechanism: Mechanism, *, check: bool | None = None) -> Self:
        again = type(self)(
            mechanism,
            self.reference,
            check=self.check if check is None else check,
            inverse_kinematics=self._inverse_kinematics,
            assembly=self.assembly,  # neither gravity nor a payload moves a joint
        )
        if mechanism is self.mechanism:
            again._kernels = self._kernels
        return again

    # Dynamics

    def inverse_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        friction: bool = False,
        generalised: bool = False,
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> Array:
        """The forces of the actuators that give accelerations a; of least norm where there are more
        actuators than degrees of freedom.

        Args:
            q: Coordinates, (..., nq), rad.
            v: Their rates, (..., nv), rad/s.
            a: Their accelerations, (..., nv), rad/s^2.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            friction: Whether friction in all joints is included.
            generalised: Whether the forces M a + C v + g on the independent speeds are asked for
                instead, whatever drives them.
            forces: External wrenches by frame, (..., 6), N and N m: see `bias`.
            axes: Of these wrenches: "base", or "local" for each frame's own.
            out: An array that takes the result.

        Returns:
            Forces, (..., actuators), or with ``generalised`` (..., nv), N m or N.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> q, v = bars.neutral(), np.zeros(bars.nv)
            >>> bars.inverse_dynamics(q, v, v).shape, bars.actuated
            ((2,), ('left shoulder', 'right shoulder'))
        """
        v, a = one_of("v", v, qd), one_of("a", a, qdd)
        name = "generalised_forces" if generalised else "inverse_dynamics"
        return self._forced(name + "_with_friction" * friction, (q, v, a), out, forces, axes)

    def forward_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        friction: bool = False,
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> Array:
        """The accelerations a that forces of the actuators give.

        Args:
            q: Coordinates, (..., nq), rad.
            v: Their rates, (..., nv), rad/s.
            tau: Forces of the actuators, (..., actuators), N m or N; left out where there are none.
            qd: Another name for ``v``.
            friction: Whether friction in all joints is included.
            forces: External wrenches by frame, (..., 6), N and N m: see `bias`.
            axes: Of these wrenches: "base", or "local" for each frame's own.
            out: An array that takes the result.

        Returns:
            a, (..., nv), rad/s^2 or m/s^2.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> q, v = bars.neutral(), np.zeros(bars.nv)
            >>> hold = bars.inverse_dynamics(q, v, v)
            >>> np.allclose(bars.forward_dynamics(q, v, hold), 0)
            True
        """
        name = "forward_dynamics" + "_with_friction" * friction
        state = (q, one_of("v", v, qd))
        arguments = (*state, tau) if self.actuated else state
        return self._forced(name, arguments, out, forces, axes)

    def friction(
        self,
        v: Numbers | None = None,
        *,
        q: Numbers | None = None,
        qd: Numbers | None = None,
        out: Any = None,
    ) -> Array:
        """The forces that friction in all joints takes from the independent speeds.

        Args:
            v: Their rates, (..., nv), rad/s.
            q: Coordinates, (..., nq), rad or m, on which it depends.
            qd: Another name for ``v``.
            out: An array that takes the result.

        Returns:
            The forces, (..., nv), N m or N.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> q, v = bars.neutral(), np.zeros(bars.nv)
            >>> bars.friction(v + 1, q=q).shape
            (2,)
        """
        if q is None:
            raise InputError("friction of a closed robot depends on its configuration: give q=.")
        return self._evaluate("friction", (q, one_of("v", v, qd)), out)

    def speeds(self, q: Numbers, v: Numbers) -> Array:
        """The speeds of all joints of the tree.

        Args:
            q: Coordinates, (..., nq), rad.
            v: Their rates, (..., nv), rad/s.

        Returns:
            Speeds, (..., joints), rad/s or m/s.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> q, v = bars.neutral(), np.zeros(bars.nv)
            >>> bars.speeds(q, v + 1).shape, len(bars.joint_names)
            ((4,), 4)
        """
        return self._evaluate("speeds", (q, v), None)

    def accelerations(self, q: Numbers, v: Numbers, a: Numbers) -> Array:
        """The accelerations of all joints of the tree.

        Args:
            q: Coordinates, (..., nq), rad.
            v: Their rates, (..., nv), rad/s.
            a: Their accelerations, (..., nv), rad/s^2.

        Returns:
            Accelerations, (..., joints), rad/s^2 or m/s^2.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> q, v = bars.neutral(), np.zeros(bars.nv)
            >>> bars.accelerations(q, v, v + 1).shape
            (4,)
        """
        return self._evaluate("accelerations", (q, v, a), None)

    def reactions(
        self,
        q: Numbers,
        v: Numbers,
        tau: Numbers | None = None,
        *,
        forces: Forces = None,
        axes: str = "base",
    ) -> Array:
        """The forces and moments in the loops, as ``reaction_names`` lists them: on the second
        place of a loop, in its axes. Where redundant loops leave them undetermined, those of least
        norm.

        Args:
            q: Coordinates, (..., nq), rad.
            v: Their rates, (..., nv), rad/s.
            tau: Forces of the actuators, (..., actuators), N m or N; left out where there are none.
            forces: External wrenches by frame, (..., 6), N and N m: see `bias`.
            axes: Of these wrenches: "base", or "local" for each frame's own.

        Returns:
            Forces and moments, (..., rows), N and N m.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> q, v = bars.neutral(), np.zeros(bars.nv)
            >>> bars.reactions(q, v, np.zeros(2)).shape, bars.reaction_names[0]
            ((5,), 'tool to right forearm: force x')
        """
        if self.actuated and tau is None:
            raise InputError(
                f"reactions: tau is missing; expected (..., {len(self.actuated)}), the forces of "
                f"{', '.join(self.actuated)} (zeros where they rest)."
            )
        a = self.forward_dynamics(q, v, tau, forces=forces, axes=axes)
        of_tree = self.speeds(q, v), self.accelerations(q, v, a)
        needed = Robot(self.model).inverse_dynamics(q, *of_tree, forces=forces, axes=axes)
        if self.actuated:
            needed[..., list(self.mechanism.actuated)] -= np.asarray(tau, dtype=float)
        J = self.assembly.rows(q)
        return np.einsum("...vr,...v->...r", np.linalg.pinv(J, rcond=1e-11), needed)

    # Configurations

    def neutral(self) -> Array:
        """The reference: the configuration about which the robot was closed.

        Returns:
            Coordinates, (nq,), rad or m.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> bars.neutral().shape
            (4,)
        """
        return self.reference.copy()

    def random(self, rng: Random = None, count: int | Sequence[int] | None = None) -> Array:
        """Closed configurations about the reference, drawn at random within the joints' limits.

        Args:
            rng: A generator of NumPy's, or a seed; another draw each time without it.
            count: How many; one without it.

        Returns:
            Coordinates, (nq,) or (count, nq), rad or m.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> bars.random(0, count=3).shape
            (3, 4)
        """
        return along_loops.random(self, *drawing(rng, count))

    def integrate(self, q: Numbers, dv: Numbers) -> Array:
        """Coordinates after the independent joints have moved, and the others with them.

        Args:
            q: Coordinates, (..., nq), rad.
            dv: How far they move, (..., nv), rad or m.

        Returns:
            Closed coordinates, (..., nq), rad or m.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> q = bars.integrate(bars.neutral(), [0.1, 0])
            >>> bool(np.abs(bars.closure(q)).max() < 1e-9)
            True
        """
        return along_loops.integrate(self, q, dv)

    def difference(self, q1: Numbers, q2: Numbers) -> Array:
        """How far the independent joints move from q1 to q2, along the loops and on the same
        branch. Refused where wheels roll.

        Args:
            q1: Closed coordinates, (..., nq), rad or m.
            q2: Others, (..., nq), rad or m.

        Returns:
            How far, (..., nv), rad or m.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> q = bars.integrate(bars.neutral(), [0.1, 0])
            >>> np.allclose(bars.difference(bars.neutral(), q), [0.1, 0])
            True
        """
        return along_loops.difference(self, q1, q2)

    def integrate_derivatives(self, q: Numbers, dv: Numbers) -> Any:
        """Refused: a closed robot's displacements are those of its independent joints.

        Args:
            q: Coordinates, (..., nq), rad.
            dv: A displacement, (..., nv), rad or m.

        Returns:
            Nothing: it is refused; ask the tree, ``appell.Robot(robot.model)``.
        """
        raise self._along_loops("integrate_derivatives")

    def difference_derivatives(self, q1: Numbers, q2: Numbers) -> Any:
        """Refused: a closed robot's displacements are those of its independent joints.

        Args:
            q1: Closed coordinates, (..., nq), rad or m.
            q2: Others, (..., nq), rad or m.

        Returns:
            Nothing: it is refused; ask the tree, ``appell.Robot(robot.model)``.
        """
        raise self._along_loops("difference_derivatives")

    def _along_loops(self, method: str) -> InputError:
        return InputError(
            f"{method}: '{self.name}' has loops, along which its independent joints move; ask it "
            "of its tree, appell.Robot(robot.model)."
        )

    def normalise(self, q: Numbers) -> Array:
        """Closed configurations near some, with quaternions of length one.

        Args:
            q: Coordinates, (..., nq), rad.

        Returns:
            Coordinates, (..., nq), rad or m.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> bool(np.abs(bars.closure(bars.normalise(bars.neutral() + 0.01))).max() < 1e-9)
            True
        """
        return self.assemble(super().normalise(q))

    def closure(self, q: Numbers) -> Array:
        """How far the loops are from closed.

        Args:
            q: Coordinates, (..., nq), rad.

        Returns:
            How far, (..., rows), m and rad.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> bool(np.abs(bars.closure(bars.neutral())).max() < 1e-9)
            True
        """
        return self.assembly.opening(q)

    def assemble(
        self, guess: Numbers | None = None, fixed: Mapping[str, float] | Sequence[str] = ()
    ) -> Array:
        """Coordinates near a guess at which the loops are closed.

        Args:
            guess: Coordinates, (..., nq), rad or m; the reference without it.
            fixed: Joints that stay where the guess has them, or their coordinates by name, rad or
                m.

        Returns:
            Coordinates, (nq,), or as the guess has them, rad or m.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> first = bars.actuated[0]
            >>> q = bars.assemble(fixed={first: bars.neutral()[bars.coordinates([first])[0]] + 0.1})
            >>> bool(np.abs(bars.closure(q)).max() < 1e-9)
            True
        """
        q = np.array(self.reference) if guess is None else finite("assemble: guess", guess, self.nq)
        if q.ndim > 1:
            return np.array([self.assemble(x, fixed) for x in q])
        if isinstance(fixed, str) or not isinstance(fixed, Mapping | Sequence):
            raise InputError(f"assemble: fixed = {fixed!r}; expected names of joints, in a list.")
        held = self.joints_named("fixed", list(fixed))
        if isinstance(fixed, Mapping):
            values = finite("assemble: fixed", list(fixed.values()), len(fixed))
            q[self.coordinates(list(fixed))] = values
        q = self.assembly.assembled(q, held)
        self.assembly.refuse_open(q, list(fixed))
        return q

    def margins(self, q: Numbers) -> Margins:
        """How far a configuration is from singular ones.

        Args:
            q: Coordinates, (..., nq), rad.

        Returns:
            A `Margins`, of values from 0, singular, to 1, no unit.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> bool(bars.margins(bars.neutral()).loops > 0)
            True
        """
        pivots, share, acting = np.moveaxis(self._checks(q)[..., -3:], -1, 0)
        values = np.linalg.svd(self.assembly.rows(q) / self.assembly.units, compute_uv=False)
        rank = self.model.nv - self.nv
        loops = values[..., rank - 1] / values[..., 0] if rank else np.ones(np.shape(share))
        return Margins(loops, np.minimum(pivots, share), acting)

    def random_states(
        self, count: int, seed: int | np.random.Generator = 0, spread: float = 0.3
    ) -> tuple[Array, Array]:
        """Closed configurations about the reference, and independent speeds from -1 to 1.

        Args:
            count: How many.
            seed: A seed, or a generator of NumPy's.
            spread: How far a step of the random walk goes at most, rad or m.

        Returns:
            Coordinates, (count, nq), rad or m, and speeds, (count, nv), rad/s or m/s.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> q, v = bars.random_states(5)
            >>> q.shape, v.shape
            ((5, 4), (5, 2))
        """
        draw = np.random.default_rng(seed)
        found = np.tile(self.reference, (count, 1))
        for k in range(count):
            for _ in range(3):
                way = draw.uniform(-spread, spread, self.nv)
                found[k] = self.assembly.moved(found[k], way, self.model.nv - self.nv)
        return found, draw.uniform(-1, 1, (count, self.nv))

    def inverse_kinematics(self, *target: Any, **options: Any) -> Array:
        """Coordinates that bring the tool to a target, of robots of the library; for any robot
        there is `appell.control.inverse_kinematics`.

        Args:
            *target: Where the tool is to be, as the robot's page in the library says, m and rad.
            **options: Such as the branch, as that page says.

        Returns:
            Coordinates, (nq,), rad or m.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> q = bars.inverse_kinematics([0.05, 0.35])
            >>> q.shape
            (4,)
        """
        if self._inverse_kinematics is None:
            raise InputError(
                f"'{self.name}' has no inverse kinematics of its own; "
                "appell.control.inverse_kinematics(robot, pose) solves that of any robot, and "
                "assemble(guess, fixed=...) closes it for given coordinates of its actuators."
            )
        return self._inverse_kinematics(*target, **options)

    def simulate(self, q0: Numbers, v0: Numbers | None = None, **options: Any) -> Any:
        """Simulate the robot: `appell.simulate` with the robot as its first argument.

        Args:
            q0: Coordinates at the start, (nq,), rad or m.
            v0: Speeds there, (nv,), rad/s or m/s; at rest without them.
            **options: Those of `appell.simulate`.

        Returns:
            A `Run`.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> bars.simulate(bars.neutral(), until=0.01).t[-1].item()
            0.01
        """
        from appell import simulate

        return simulate(self, q0, v0, **options)

    # Checks

    def states_to_check(self, count: int, draw: np.random.Generator) -> tuple[Array, Array, Array]:
        """States near the reference at which `selfcheck` tests laws.

        Args:
            count: How many.
            draw: A generator of NumPy's.

        Returns:
            q, v and a, (count, ...), rad or m, and per s and s^2.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> len(bars.states_to_check(2, np.random.default_rng(0)))
            3
        """
        q, v = self.random_states(count, draw, spread=0.15)
        return q, v, draw.uniform(-1, 1, v.shape)

    def displaced(self, q: Array, d: Array) -> Array:
        """Coordinates after a small displacement, closed to its first order.

        Args:
            q: Coordinates, (..., nq), rad.
            d: The displacement, (..., nv), rad or m.

        Returns:
            Coordinates, (..., nq), rad or m.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> bars.displaced(bars.neutral(), np.array([1e-6, 0])).shape
            (4,)
        """
        return configuration.integrate(self.model, q, self.kernel("speeds")(q, d))

    def driven(self, q: Array, tau: Array) -> Array:
        """The forces on the independent speeds that forces of the actuators give.

        Args:
            q: Coordinates, (..., nq), rad.
            tau: Torques of the actuators, (..., actuators), N m.

        Returns:
            The forces, (..., nv), N m or N.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> bars.driven(bars.neutral(), np.zeros(2)).shape
            (2,)
        """
        Gamma = self.kernel("gamma")(q)[..., list(self.mechanism.actuated), :]
        return np.einsum("...jn,...j->...n", Gamma, tau)

    def own_laws(self, q: Array, v: Array, tau: Array, a: Array) -> list[Check]:
        """Checks of the loops, and of the accelerations by Lagrange's multipliers.

        Args:
            q: Coordinates, (..., nq), rad.
            v: Their rates, (..., nv), rad/s.
            tau: Torques of the actuators, (..., actuators), N m.
            a: Their accelerations, (..., nv), rad/s^2.

        Returns:
            What was checked, as of `selfcheck`.

        Examples:
            >>> bars = appell.load("five_bar")
            >>> q, v, a = bars.states_to_check(2, np.random.default_rng(0))
            >>> tau = bars.inverse_dynamics(q, v, a)
            >>> [check.passed for check in bars.own_laws(q, v, tau, a)]
            [True, True]
        """
        from appell.robots.closed.multipliers import multipliers
        from appell.robots.selfcheck import Check, error

        speeds, found = self.kernel("speeds")(q, v), self.kernel("accelerations")(q, v, a)
        return [
            Check("loops are closed", float(np.abs(self.closure(q)).max(initial=0.0)), 1e-10),
            Check(
                "accelerations are those of Lagrange's multipliers",
                error(found, multipliers(self, q, speeds, tau)),
                1e-6,
            ),
        ]

    # Refusals

    def _checks(self, q: Any) -> Array:
        """Rows of closure and three margins, never refused."""
        return super()._evaluate("checks", (q,), None)

    def _evaluate(
        self,
        quantity: str,
        arguments: tuple[Any, ...],
        out: Any,
        options: tuple[Any, ...] = (),
    ) -> Any:
        if self.check and width(arguments[0]) == self.nq:
            refuse(self, quantity, arguments[0], self._checks(arguments[0]))
        return super()._evaluate(quantity, arguments, out, options)
