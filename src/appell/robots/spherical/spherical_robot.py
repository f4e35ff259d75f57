"""SphericalRobot: a spherical parallel robot and its compiled equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, prod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from appell.equations.quantity import Quantity
from appell.equations.spherical.spherical_quantities import QUANTITIES
from appell.errors import InputError, ModelError
from appell.model.arcs import branches, from_arcs
from appell.model.configuration import Random, drawing
from appell.model.description.dh import link_inertia
from appell.model.inertia import Inertia, check_inertia, snapped
from appell.model.parameters import SYMBOLS
from appell.model.spherical import SphericalModel
from appell.robots.dynamics import Array, Dynamics, Numbers, one_of
from appell.robots.kernels import kind_of
from appell.robots.spherical.spherical_refusal import SINGLE, Singularities, reason, singularities

if TYPE_CHECKING:
    from appell.robots.selfcheck import Check
    from appell.robots.spherical.assembly import PlatformAssembly


_REGULAR, _DRAWS = 0.05, 1000  # states nearer to a singularity are not checked
_ABOUT = 0.3  # rad: how far from the neutral configuration others are drawn
OF_ACTUATORS = ("inverse_dynamics", "actuator_torques", "regressor")  # their torques must exist


class LimbAngles(NamedTuple):
    """The actuated joints' angles theta, (..., actuators), and psi of the other joints between
    links, (..., passive)."""

    theta: Array
    psi: Array


class JointMotion(NamedTuple):
    """Rates and accelerations of theta and psi."""

    dtheta: Array
    dpsi: Array
    ddtheta: Array
    ddpsi: Array


@dataclass(frozen=True)
class Limbs:
    """A spherical parallel model that answers as a system."""

    model: SphericalModel

    quantities: ClassVar[Mapping[str, Quantity]] = QUANTITIES
    tangent: ClassVar[None] = None  # speeds are rates of coordinates
    direct: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def coordinates(self) -> tuple[int, ...]:
        return tuple(range(self.model.nv))

    def size(self, axis: str) -> int:
        return self.model.sizes[axis]

    def default(self, quantity: str) -> str:
        return next(iter(QUANTITIES[quantity].formulations))

    def frame(self, name: Any) -> str:
        return self.model.frame(name)

    def values(self, group: str) -> Array:
        return self.model.values(group)

    def subject(self, given: Mapping[str, Any], regroup: bool) -> SphericalModel:
        return self.model.with_values(given)

    def refuse(self, quantity: str) -> None:
        freedoms, actuators = self.model.nv, len(self.model.actuated)
        if quantity in OF_ACTUATORS and actuators < freedoms:
            raise InputError(
                f"{quantity}: '{self.name}' has {freedoms} degrees of freedom and "
                f"{actuators} actuators: no torques of these give every motion. Ask for "
                "generalised_forces, or build it with more actuated joints."
            )
        if quantity == "passive_jacobian" and not self.model.passive:
            raise InputError(
                f"{quantity}: '{self.name}' has no passive joints between its links: all are "
                "driven."
            )

    def idle(self) -> str:
        return (
            "a coordinate moves no inertia, so no acceleration follows from its force; give its "
            "links a mass"
        )


class SphericalRobot(Dynamics):
    """A spherical parallel robot that answers for its dynamics: M a + C v + g = J_act^T tau.

    Coordinates q are the platform's Euler angles, R = Rz(q1) Ry(q2) Rx(q3), or the joint angles of
    the limb that carries the platform; then, of each other limb with more than three joints, the
    angles of all but its last three. Speeds v are their rates; M, C, g, energies and derivatives
    are in these. Torques tau are the actuators': ``inverse_dynamics`` gives them (of least norm
    where there are more than freedoms), ``forward_dynamics`` takes them.

    Arguments are arrays (..., nv), whose leading axes broadcast, as those of
    `appell.robots.robot.Robot`. A pose that a limb does not reach, or that is nearer to a
    singularity than the model's ``margin``, is refused; the kernels themselves give NaN there.
    """

    model: SphericalModel

    def __init__(self, model: SphericalModel) -> None:
        if not isinstance(model, SphericalModel):
            raise InputError(
                f"SphericalRobot({model!r}): expected a SphericalModel; appell.load('agile_wrist') "
                "gives a robot with one, SphericalRobot.from_arcs(...) makes one."
            )
        super().__init__(model, Limbs(model))
        self._on_branch: dict[str, SphericalRobot] = {}

    @classmethod
    def from_arcs(cls, **parameters: Any) -> SphericalRobot:
        """A robot from the angles of its links.

        Args:
            **parameters: Those of `appell.model.arcs.from_arcs`: angles, rad, lengths, m, masses,
                kg.

        Returns:
            A `SphericalRobot`.

        Examples:
            >>> half = np.pi / 2
            >>> wrist = appell.SphericalRobot.from_arcs(
            ...     alpha=[[half, half]] * 3, lam=[0, 2, 4], eta=[0, 2, 4], gamma=1.0, beta=half,
            ...     link_density=1.0, platform_mass=1.0, platform_inertia=(0.01, 0.01, 0.01),
            ... )
            >>> wrist.nv
            3
        """
        return cls(from_arcs(**parameters))

    # What it is

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The coordinates: Euler angles about z, y and x, or the joints whose angles they are."""
        return self.model.coordinates

    @property
    def actuated(self) -> tuple[str, ...]:
        """The driven joints, in the order of the torques."""
        known = {joint: name for name, joint in self.model.joint_names.items()}
        return tuple(known[joint] for joint in self.model.actuated)

    @property
    def link_names(self) -> tuple[str, ...]:
        """The bodies, each a frame with its origin in the centre."""
        return self.model.frames

    @property
    def branch(self) -> str:
        """The sign in equation 34 of each limb that closes a loop."""
        return self.model.branch

    def mass(self) -> float:
        """All moving mass.

        Returns:
            The mass, kg.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> wrist.mass() > 0
            True
        """
        return float(sum(x.mass for x in self.model.inertias.values()))

    @property
    def parameters(self) -> Array:
        """Per body m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the centre."""
        return np.array([x for body in self.model.inertias.values() for x in body.parameters])

    def parameters_of(self, *, friction: bool = False, rotors: bool = False) -> Array:
        """The inertial ``parameters``.

        Args:
            friction: Refused if true: its joints have no friction.
            rotors: Refused if true: it has no rotors.

        Returns:
            The parameters, (p,), in SI units.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> wrist.parameters_of().shape
            (70,)
        """
        self._refuse_drives(friction, rotors)
        return self.parameters

    def parameter_names(
        self, *, friction: bool = False, rotors: bool = False, short: bool = False
    ) -> tuple[str, ...]:
        """What each of the parameters is, as "platform.Izz".

        Args:
            friction: Refused if true: its joints have no friction.
            rotors: Refused if true: it has no rotors.
            short: Whether names are short, by the body's number: "Izz7".

        Returns:
            A name for each, (p,).

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> wrist.parameter_names()[-1]
            'platform.Izz'
        """
        self._refuse_drives(friction, rotors)
        return tuple(
            f"{x}{k}" if short else f"{name}.{x}"
            for k, name in enumerate(self.model.inertias, start=1)
            for x in SYMBOLS
        )

    def __repr__(self) -> str:
        count = f"{len(self.model.actuated)} actuators, {len(self.link_names)} links"
        return f"<SphericalRobot {self.name}: {count}>"

    # Configurations

    def neutral(self) -> Array:
        """A configuration away from singularities: zeros, where those are.

        Returns:
            Coordinates, (nq,), rad.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> wrist.neutral().tolist()
            [0.0, 0.0, 0.0]
        """
        zeros = np.zeros(self.nq)
        if self.singularity(zeros) > self.model.margin:
            return zeros
        return self.regular_states(1, np.random.default_rng(0))[0]

    def random(self, rng: Random = None, count: int | Sequence[int] | None = None) -> Array:
        """A configuration drawn at random about the neutral one and away from singularities, or
        many.

        Args:
            rng: A generator of NumPy's, or a seed; another draw each time without it.
            count: How many; one without it.

        Returns:
            Coordinates, (nq,) or (count, nq), rad.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> wrist.random(0, count=4).shape
            (4, 3)
        """
        draw, shape = drawing(rng, count)
        return self.regular_states(prod(shape), draw, self.neutral(), _ABOUT).reshape(*shape, -1)

    def regular_states(
        self,
        count: int,
        draw: np.random.Generator,
        about: Array | float = 0.0,
        spread: float = np.pi,
    ) -> Array:
        """Configurations drawn at random, away from singularities.

        Args:
            count: How many.
            draw: A generator of NumPy's.
            about: Their middle, (nq,) or one number, rad.
            spread: How far from the middle at most, rad.

        Returns:
            Coordinates, (count, nq), rad.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> wrist.regular_states(4, np.random.default_rng(0)).shape
            (4, 3)
        """
        found = np.zeros((0, self.nq))
        for _ in range(_DRAWS):
            q = about + draw.uniform(-spread, spread, (count, self.nq))
            found = np.concatenate([found, q[self.singularity(q) > _REGULAR]])
            if len(found) >= count:
                return found[:count]
        raise ModelError(
            f"'{self.name}' reaches hardly any pose: {len(found)} of {_DRAWS * count}."
        )

    # Dynamics

    def generalised_forces(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        out: Any = None,
    ) -> Array:
        """The forces Q = M a + C v + g on the coordinates.

        Args:
            q: Coordinates, (..., nq), rad.
            v: Their rates, (..., nv), rad/s.
            a: Their accelerations, (..., nv), rad/s^2.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            out: An array that takes the result.

        Returns:
            Q, (..., nv), N m.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q, v = wrist.neutral(), np.ones(3)
            >>> wrist.generalised_forces(q, 0 * v, v).shape
            (3,)
        """
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._evaluate("generalised_forces", arguments, out)

    def coriolis_matrix(
        self,
        q: Numbers,
        v: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        formulation: str | None = None,
        out: Any = None,
    ) -> Array:
        """The Coriolis matrix C: dM/dt - 2C is skew-symmetric.

        Args:
            q: Coordinates, (..., nq), rad.
            v: Their rates, (..., nv), rad/s.
            qd: Another name for ``v``.
            formulation: "printed" for the paper's (21, 47, 48), which gives the same C v but has
                not this property.
            out: An array that takes the result.

        Returns:
            C, (..., nv, nv), N m s/rad.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q, v = wrist.neutral(), np.ones(3)
            >>> wrist.coriolis_matrix(q, v).shape
            (3, 3)
        """
        arguments = (q, one_of("v", v, qd))
        return self._evaluate(
            "coriolis_matrix", arguments, out, (None, "base", None, (), formulation)
        )

    # Kinematics

    def inverse_kinematics(self, q: Numbers, *, branch: str | None = None) -> LimbAngles:
        """The angles of the limbs' joints at a pose of the platform.

        Args:
            q: Coordinates, (..., nq), rad.
            branch: Which of the two solutions of equation 34 each limb has, "+" or "-"; the robot's
                own without it.

        Returns:
            A `LimbAngles` of theta, (..., actuators), and psi, (..., passive), rad, in (-pi, pi].

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q = wrist.neutral()
            >>> theta, psi = wrist.inverse_kinematics(q)
            >>> theta.shape, psi.shape
            ((3,), (3,))
        """
        if branch is not None:
            signs = branches(branch, len(self.model.closing))
            return self._other(signs).inverse_kinematics(q)
        c, s = self._evaluate("joint_angles", (q,), None)
        return LimbAngles(*self._by_kind(np.arctan2(s, c)))

    def direct_kinematics(self, theta: Numbers, start: Numbers) -> Array:
        """Coordinates for angles of the actuators, by Newton's method, on the robot's own branch.
        `assemblies` lists all there are.

        Args:
            theta: Angles of the actuators, (..., actuators), rad.
            start: Coordinates near them, (..., nq), rad.

        Returns:
            Coordinates, (..., nq), rad.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q = wrist.neutral()
            >>> theta = wrist.inverse_kinematics(q).theta
            >>> np.allclose(wrist.direct_kinematics(theta, q + 0.05), q, atol=1e-9)
            True
        """
        from appell.robots.spherical.assembly import direct_kinematics

        return direct_kinematics(self, theta, start)

    def assemblies(self, theta: Numbers) -> list[PlatformAssembly]:
        """All poses found for angles of the actuators (of three limbs with three joints at most
        eight).

        Args:
            theta: Angles of the actuators, (actuators,), rad.

        Returns:
            The poses, with their coordinates, rad, and branches; the smallest coordinates first.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q = wrist.neutral()
            >>> len(wrist.assemblies(wrist.inverse_kinematics(q).theta)) <= 8
            True
        """
        from appell.robots.spherical.assembly import assemblies

        return assemblies(self, theta)

    def actuator_jacobian(self, q: Numbers, *, out: Any = None) -> Array:
        """The matrix J_act with theta' = J_act v; forces on the coordinates are J_act^T tau.

        Args:
            q: Coordinates, (..., nq), rad.
            out: An array that takes the result.

        Returns:
            J_act, (..., actuators, nv), no unit.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q = wrist.neutral()
            >>> wrist.actuator_jacobian(q).shape
            (3, 3)
        """
        return self._evaluate("actuator_jacobian", (q,), out)

    def actuator_torques(self, q: Numbers, Q: Numbers, *, out: Any = None) -> Array:
        """The torques of the actuators with J_act^T tau = Q; of least norm where there are more
        actuators than degrees of freedom.

        Args:
            q: Coordinates, (..., nq), rad.
            Q: Forces on the coordinates, (..., nv), N m.
            out: An array that takes the result.

        Returns:
            Torques, (..., actuators), N m.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q = wrist.neutral()
            >>> J = wrist.actuator_jacobian(q)
            >>> np.allclose(J.T @ wrist.actuator_torques(q, [1, 2, 3]), [1, 2, 3])
            True
        """
        return self._evaluate("actuator_torques", (q, Q), out)

    def passive_jacobian(self, q: Numbers, *, out: Any = None) -> Array:
        """The matrix J_psi with psi' = J_psi v.

        Args:
            q: Coordinates, (..., nq), rad.
            out: An array that takes the result.

        Returns:
            J_psi, (..., passive, nv), no unit.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q = wrist.neutral()
            >>> wrist.passive_jacobian(q).shape
            (3, 3)
        """
        return self._evaluate("passive_jacobian", (q,), out)

    def joint_motion(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
    ) -> JointMotion:
        """The rates and accelerations of the limbs' joints.

        Args:
            q: Coordinates, (..., nq), rad.
            v: Their rates, (..., nv), rad/s.
            a: Their accelerations, (..., nv), rad/s^2.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.

        Returns:
            A `JointMotion`: theta' and psi', rad/s, theta'' and psi'', rad/s^2.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q, v = wrist.neutral(), np.ones(3)
            >>> wrist.joint_motion(q, v, 0 * v).dtheta.shape
            (3,)
        """
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        rates, accelerations = self._evaluate("joint_motion", arguments, None)
        return JointMotion(*self._by_kind(rates), *self._by_kind(accelerations))

    def singularities(self, q: Numbers) -> Singularities:
        """Distances from each kind of singularity; never refused.

        Args:
            q: Coordinates, (..., nq), rad.

        Returns:
            A `Singularities`, of distances at most 1, no unit.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q = wrist.neutral()
            >>> bool(wrist.singularities(q).distance > 0)
            True
        """
        return singularities(*self.kernel("singularities")(q))

    def singularity(self, q: Numbers) -> Array:
        """The distance from the nearest singularity.

        Args:
            q: Coordinates, (..., nq), rad.

        Returns:
            The distance, (...), at most 1, no unit; zero or less where a limb does not reach.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q = wrist.neutral()
            >>> bool(wrist.singularity(q) > 0)
            True
        """
        return self.singularities(q).distance

    def to_urdf(self, path: Any) -> NoReturn:
        """Refused: a URDF file cannot say loops.

        Args:
            path: Of the file.

        Returns:
            Nothing: it is refused.
        """
        raise InputError(f"'{self.name}' has loops, which a URDF file cannot say.")

    # Others like it

    def with_branch(self, branch: str) -> SphericalRobot:
        """The same robot assembled on another branch.

        Args:
            branch: "+", "-", or one sign per closing limb.

        Returns:
            A `SphericalRobot`.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> wrist.with_branch("+").branch
            '+++'
        """
        signs = branches(branch, len(self.model.closing))
        return SphericalRobot(replace(self.model, branch=signs))

    def with_payload(
        self,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
    ) -> SphericalRobot:
        """The robot with a load on the platform.

        Args:
            mass: Of the load, kg.
            com: Its centre of mass in the platform's axes, (3,), m.
            inertia: About its centre of mass, in the platform's axes, kg m^2, as for
                `Robot.with_payload`.

        Returns:
            A `SphericalRobot`.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> round(wrist.with_payload(0.5).mass() - wrist.mass(), 6)
            0.5
        """
        load = link_inertia("payload", mass, com, inertia)
        check_inertia("payload", load)
        return SphericalRobot(replace(self.model, platform=snapped(self.model.platform + load)))

    def with_parameters(
        self, parameters: Numbers, *, friction: bool = False, rotors: bool = False
    ) -> SphericalRobot:
        """The robot with other inertial parameters; refused if a body can have no such.

        Args:
            parameters: As ``parameter_names`` lists them, (p,), in SI units.
            friction: Refused if true: its joints have no friction.
            rotors: Refused if true: it has no rotors.

        Returns:
            A `SphericalRobot`.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> round(wrist.with_parameters(2 * wrist.parameters).mass() / wrist.mass(), 6)
            2.0
        """
        self._refuse_drives(friction, rotors)
        given = np.asarray(parameters, dtype=float)
        count = self.model.sizes["p"]
        if given.shape != (count,) or not np.isfinite(given).all():
            raise InputError(
                f"parameters of '{self.name}': got shape {given.shape}; expected {count} finite "
                "numbers, as parameter_names lists them."
            )
        inertias = []
        for name, ten in zip(self.model.inertias, given.reshape(-1, 10).tolist(), strict=True):
            inertia = Inertia.from_parameters(tuple(ten))
            check_inertia(name, inertia)
            inertias.append(snapped(inertia))
        return SphericalRobot(self.model.with_inertias(inertias))

    # Checks

    def states_to_check(self, count: int, draw: np.random.Generator) -> tuple[Array, Array, Array]:
        """States away from singularities, at which `selfcheck` tests laws.

        Args:
            count: How many.
            draw: A generator of NumPy's.

        Returns:
            q, v and a, (count, ...), rad, rad/s and rad/s^2.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> len(wrist.states_to_check(2, np.random.default_rng(0)))
            3
        """
        q = self.regular_states(count, draw)
        v, a = draw.uniform(-np.pi, np.pi, (2, count, self.nv))
        return q, v, a

    def driven(self, q: Array, tau: Array) -> Array:
        """The forces on the coordinates that torques of the actuators give.

        Args:
            q: Coordinates, (..., nq), rad.
            tau: Torques of the actuators, (..., actuators), N m.

        Returns:
            The forces J_act^T tau, (..., nv), N m.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q = wrist.neutral()
            >>> wrist.driven(q, np.zeros(3)).shape
            (3,)
        """
        return np.einsum("...jn,...j->...n", self.kernel("actuator_jacobian")(q), tau)

    def own_laws(self, q: Array, v: Array, tau: Array, a: Array) -> list[Check]:
        """A check of direct kinematics, where the actuators determine the pose.

        Args:
            q: Coordinates, (..., nq), rad.
            v: Their rates, (..., nv), rad/s.
            tau: Torques of the actuators, (..., actuators), N m.
            a: Their accelerations, (..., nv), rad/s^2.

        Returns:
            What was checked, as of `selfcheck`.

        Examples:
            >>> wrist = appell.load("agile_wrist")
            >>> q, v, a = wrist.states_to_check(2, np.random.default_rng(0))
            >>> checks = wrist.own_laws(q, v, wrist.inverse_dynamics(q, v, a), a)
            >>> all(check.passed for check in checks)
            True
        """
        from appell.robots.selfcheck import Check, error

        if tau.shape[-1] != self.nv:
            return []
        back = self.direct_kinematics(self.inverse_kinematics(q).theta, q + 1e-3)
        return [Check("direct kinematics undoes inverse kinematics", error(back, q), 1e-10)]

    def _refuse_drives(self, friction: bool, rotors: bool) -> None:
        if friction or rotors:
            raise InputError(f"'{self.name}': its joints have neither friction nor rotors.")

    def _by_kind(self, joints: Array) -> tuple[Array, Array]:
        """What is known of the actuated joints, and of the passive ones."""
        theta, psi = np.split(joints, [len(self.model.actuated)], axis=-1)
        return theta, psi

    def _other(self, branch: str) -> SphericalRobot:
        if branch == self.branch:
            return self
        return self._on_branch.setdefault(branch, self.with_branch(branch))

    def _regressor(self, friction: bool, rotors: bool) -> str:
        self._refuse_drives(friction, rotors)
        return "regressor"

    def _evaluate(
        self,
        quantity: str,
        arguments: tuple[Any, ...],
        out: Any,
        options: tuple[Any, ...] = (),
    ) -> Any:
        q = arguments[0] if out is None else _kept(arguments[0], out)
        # By name, as super() takes a tenth of a call's time.
        results = Dynamics._evaluate(self, quantity, arguments, out, options)
        if not _finite(results):
            self._refuse(quantity, q, kind_of(arguments))
        return results

    def _refuse(self, quantity: str, q: Any, kind: str) -> None:
        """An error that names the first pose at fault; none where NaN was given, which goes
        through."""
        at = np.asarray(q, dtype=float)
        plain = quantity.removesuffix("_derivatives")
        margin = max(self.model.margin, SINGLE) if kind == "float32" else self.model.margin
        why = reason(self.model, plain, at, self.singularities(at), margin)
        if why:
            raise InputError(f"{quantity}: {why}.")


def _finite(results: Any) -> bool:
    """Whether all are numbers: a sum of squares tells it at once."""
    if isinstance(results, np.ndarray):
        return isfinite(results.dot(results) if results.ndim == 1 else np.vdot(results, results))
    return all(map(_finite, results)) if isinstance(results, tuple) else isfinite(results)


def _kept(q: Any, out: Any) -> Any:
    """q as it is now, should it have to be explained after it was overwritten."""
    for y in out if isinstance(out, tuple) else (out,):
        if isinstance(q, np.ndarray) and isinstance(y, np.ndarray) and np.may_share_memory(q, y):
            return q.copy()
    return q
