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
    :class:`~appell.robots.robot.Robot`. A pose that a limb does not reach, or that is nearer to a
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
        """A robot from the angles of its links: see :func:`appell.model.arcs.from_arcs`."""
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
        """All moving mass, in kg."""
        return float(sum(x.mass for x in self.model.inertias.values()))

    @property
    def parameters(self) -> Array:
        """Per body m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the centre."""
        return np.array([x for body in self.model.inertias.values() for x in body.parameters])

    def parameters_of(self, *, friction: bool = False, rotors: bool = False) -> Array:
        """``parameters``; its joints have neither friction nor rotors."""
        self._refuse_drives(friction, rotors)
        return self.parameters

    def parameter_names(
        self, *, friction: bool = False, rotors: bool = False, short: bool = False
    ) -> tuple[str, ...]:
        """What each of them is, as "platform.Izz"; short, by the body's number: "Izz7"."""
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
        """A configuration (nq,) away from singularities: zeros, where those are."""
        zeros = np.zeros(self.nq)
        if self.singularity(zeros) > self.model.margin:
            return zeros
        return self.regular_states(1, np.random.default_rng(0))[0]

    def random(self, rng: Random = None, count: int | Sequence[int] | None = None) -> Array:
        """A configuration (nq,) drawn at random about the neutral one and away from singularities,
        or ``count`` of them, (count, nq). ``rng`` is a generator of NumPy's, or a seed."""
        draw, shape = drawing(rng, count)
        return self.regular_states(prod(shape), draw, self.neutral(), _ABOUT).reshape(*shape, -1)

    def regular_states(
        self,
        count: int,
        draw: np.random.Generator,
        about: Array | float = 0.0,
        spread: float = np.pi,
    ) -> Array:
        """Coordinates (count, nq) drawn at random about some, away from singularities."""
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
        """Q = M a + C v + g, (..., nv), the forces on the coordinates."""
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
        """C, (..., nv, nv): dM/dt - 2C is skew-symmetric. ``formulation="printed"`` is the paper's
        (21, 47, 48), which gives the same C v but has not this property."""
        arguments = (q, one_of("v", v, qd))
        return self._evaluate(
            "coriolis_matrix", arguments, out, (None, "base", None, (), formulation)
        )

    # Kinematics

    def inverse_kinematics(self, q: Numbers, *, branch: str | None = None) -> LimbAngles:
        """theta and psi in (-pi, pi]. ``branch`` chooses for each limb between the two solutions of
        equation 34, "+" or "-"; the robot's own without it."""
        if branch is not None:
            signs = branches(branch, len(self.model.closing))
            return self._other(signs).inverse_kinematics(q)
        c, s = self._evaluate("joint_angles", (q,), None)
        return LimbAngles(*self._by_kind(np.arctan2(s, c)))

    def direct_kinematics(self, theta: Numbers, start: Numbers) -> Array:
        """Coordinates q, (..., nq), for actuator angles theta, by Newton's method from a start near
        them, on the robot's own branch. :meth:`assemblies` lists all there are."""
        from appell.robots.spherical.assembly import direct_kinematics

        return direct_kinematics(self, theta, start)

    def assemblies(self, theta: Numbers) -> list[PlatformAssembly]:
        """All poses found for actuator angles theta, (actuators,), and their branches (of three
        limbs with three joints at most eight); the smallest coordinates first."""
        from appell.robots.spherical.assembly import assemblies

        return assemblies(self, theta)

    def actuator_jacobian(self, q: Numbers, *, out: Any = None) -> Array:
        """J_act, (..., actuators, nv): theta' = J_act v, and forces on the coordinates are
        J_act^T tau."""
        return self._evaluate("actuator_jacobian", (q,), out)

    def actuator_torques(self, q: Numbers, Q: Numbers, *, out: Any = None) -> Array:
        """Torques of the actuators, (..., actuators), with J_act^T tau = Q, forces on the
        coordinates; of least norm where there are more actuators than freedoms."""
        return self._evaluate("actuator_torques", (q, Q), out)

    def passive_jacobian(self, q: Numbers, *, out: Any = None) -> Array:
        """J_psi, (..., passive, nv): psi' = J_psi v."""
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
        """theta', psi', theta'' and psi''."""
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        rates, accelerations = self._evaluate("joint_motion", arguments, None)
        return JointMotion(*self._by_kind(rates), *self._by_kind(accelerations))

    def singularities(self, q: Numbers) -> Singularities:
        """Distances from each kind of singularity; never refused."""
        return singularities(*self.kernel("singularities")(q))

    def singularity(self, q: Numbers) -> Array:
        """The distance from the nearest singularity, (...), at most one; zero or less where a limb
        does not reach."""
        return self.singularities(q).distance

    def to_urdf(self, path: Any) -> NoReturn:
        """Refused: a URDF file cannot say loops."""
        raise InputError(f"'{self.name}' has loops, which a URDF file cannot say.")

    # Others like it

    def with_branch(self, branch: str) -> SphericalRobot:
        """The same robot assembled on another branch: "+", "-", or one sign per closing limb."""
        signs = branches(branch, len(self.model.closing))
        return SphericalRobot(replace(self.model, branch=signs))

    def with_payload(
        self,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
    ) -> SphericalRobot:
        """The robot with a load on the platform, whose centre of mass and inertia about it are
        given in the platform's axes."""
        load = link_inertia("payload", mass, com, inertia)
        check_inertia("payload", load)
        return SphericalRobot(replace(self.model, platform=snapped(self.model.platform + load)))

    def with_parameters(
        self, parameters: Numbers, *, friction: bool = False, rotors: bool = False
    ) -> SphericalRobot:
        """The robot with other inertial parameters; refused if a body can have no such."""
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
        """States away from singularities."""
        q = self.regular_states(count, draw)
        v, a = draw.uniform(-np.pi, np.pi, (2, count, self.nv))
        return q, v, a

    def driven(self, q: Array, tau: Array) -> Array:
        """J_act^T tau."""
        return np.einsum("...jn,...j->...n", self.kernel("actuator_jacobian")(q), tau)

    def own_laws(self, q: Array, v: Array, tau: Array, a: Array) -> list[Check]:
        """Direct kinematics, where the actuators determine the pose."""
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
