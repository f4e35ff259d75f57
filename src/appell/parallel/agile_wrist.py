"""AgileWrist: a spherical parallel robot and its compiled equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from appell.dynamics import Array, Dynamics, Numbers, float_kind, kind_of, one_of
from appell.errors import InputError
from appell.model.dh import link_inertia
from appell.model.inertia import Inertia, check_inertia, snapped
from appell.model.library.agile_wrist import branches
from appell.model.parameters import SYMBOLS, names
from appell.model.wrist import Wrist
from appell.parallel.recipe import compiled, quantity_named, recipe_for, recorded
from appell.parallel.refusal import Singularities, reason, singularities

if TYPE_CHECKING:
    from appell.compile.count import Operations
    from appell.compile.kernel import Kernel
    from appell.parallel.assembly import Assembly
    from appell.selfcheck import Check


class LimbAngles(NamedTuple):
    """The actuators' angles theta and the passive ones psi, each (..., 3)."""

    theta: Array
    psi: Array


class JointMotion(NamedTuple):
    """Rates and accelerations of theta and psi, each (..., 3)."""

    dtheta: Array
    dpsi: Array
    ddtheta: Array
    ddpsi: Array


class AgileWrist(Dynamics):
    """A spherical parallel robot that answers for its dynamics: M a + C v + g = J_act^T tau.

    Coordinates q are the platform's Euler angles, R = Rz(q1) Ry(q2) Rx(q3); speeds v are their
    rates; M, C, g, energies and derivatives are in these. Torques tau are the three actuators':
    ``inverse_dynamics`` gives them, ``forward_dynamics`` takes them.

    Arguments are arrays (..., 3), whose leading axes broadcast, as those of
    :class:`~appell.robot.Robot`. A pose that a limb does not reach, or that is nearer to a
    singularity than the model's ``margin``, is refused; the kernels themselves give NaN there.
    """

    model: Wrist

    def __init__(self, model: Wrist) -> None:
        if not isinstance(model, Wrist):
            raise InputError(
                f"AgileWrist({model!r}): expected a Wrist; appell.load('agile_wrist') gives one."
            )
        super().__init__(model)
        self._on_branch: dict[str, AgileWrist] = {}

    # What it is

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The coordinates: Euler angles about z, y and x."""
        return ("yaw", "pitch", "roll")

    @property
    def link_names(self) -> tuple[str, ...]:
        """The bodies, each a frame with its origin in the centre."""
        return self.model.frames

    @property
    def branch(self) -> str:
        """Each limb's sign in equation 34."""
        return self.model.branch

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
        return f"<AgileWrist {self.name}: 3 actuators, {len(self.link_names)} links>"

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
        """Q = M a + C v + g, (..., 3), the forces on the Euler angles."""
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
        """C, (..., 3, 3): dM/dt - 2C is skew-symmetric. ``formulation="printed"`` is the paper's
        (21, 47, 48), which gives the same C v but has not this property."""
        arguments = (q, one_of("v", v, qd))
        return self._evaluate("coriolis_matrix", arguments, out, formulation=formulation)

    # Kinematics

    def inverse_kinematics(self, q: Numbers, *, branch: str | None = None) -> LimbAngles:
        """theta and psi, (..., 3), in (-pi, pi]. ``branch`` chooses for each limb between the two
        solutions of equation 34, "+" or "-"; the robot's own without it."""
        if branch is not None:
            return self._other(branches(branch)).inverse_kinematics(q)
        c, s, c_psi, s_psi = self._evaluate("limb_angles", (q,), None)
        return LimbAngles(np.arctan2(s, c), np.arctan2(s_psi, c_psi))

    def direct_kinematics(self, theta: Numbers, start: Numbers) -> Array:
        """Euler angles q, (..., 3), for actuator angles theta, by Newton's method from a start near
        them, on the robot's own branch. :meth:`assemblies` lists all there are."""
        from appell.parallel.assembly import direct_kinematics

        return direct_kinematics(self.model, theta, start)

    def assemblies(self, theta: Numbers) -> list[Assembly]:
        """All poses that actuator angles theta, (3,), allow, at most eight, and their branches;
        the smallest Euler angles first."""
        from appell.parallel.assembly import assemblies

        return assemblies(self.model, theta)

    def actuator_jacobian(self, q: Numbers, *, out: Any = None) -> Array:
        """J_act, (..., 3, 3): theta' = J_act v, and forces on the Euler angles are J_act^T tau."""
        return self._evaluate("actuator_jacobian", (q,), out)

    def passive_jacobian(self, q: Numbers, *, out: Any = None) -> Array:
        """J_psi, (..., 3, 3): psi' = J_psi v."""
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
        return JointMotion(*self._evaluate("joint_motion", arguments, None))

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

    # Its equations

    def kernel(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        dtype: npt.DTypeLike = "float64",
        target: str = "cpu",
        frame: str | None = None,
        wrt: Sequence[str] | str = (),
    ) -> Kernel:
        """A quantity's compiled equation; ``formulation`` chooses among its equations, ``wrt``
        differentiates by inputs. It gives NaN where the robot's methods refuse."""
        if target != "cpu":
            raise InputError(f"target={target!r}: kernels are made for 'cpu'.")
        kind = float_kind(dtype)
        by = (wrt,) if isinstance(wrt, str) else names("wrt", wrt)
        recipe = recipe_for(self.model, quantity, formulation, frame, by)
        return self._made_once((recipe, kind), lambda: compiled(self.model, recipe, kind))

    def default_formulation(self, quantity: str) -> str:
        """The equation that computes a quantity fastest."""
        return next(iter(quantity_named(quantity).formulations))

    def operations(
        self, quantity: str, *, formulation: str | None = None, frame: str | None = None
    ) -> Operations:
        """How many multiplications, additions, ... one evaluation takes."""
        from appell.compile.count import count

        return count(recorded(self.model, recipe_for(self.model, quantity, formulation, frame, ())))

    def with_branch(self, branch: str) -> AgileWrist:
        """The same robot assembled on another branch: "+", "-", or a sign a limb."""
        return AgileWrist(replace(self.model, branch=branches(branch)))

    def with_payload(
        self,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
    ) -> AgileWrist:
        """The robot with a load on the platform, whose centre of mass and inertia about it are
        given in the platform's axes."""
        load = link_inertia("payload", mass, com, inertia)
        check_inertia("payload", load)
        return AgileWrist(replace(self.model, platform=snapped(self.model.platform + load)))

    def with_parameters(
        self, parameters: Numbers, *, friction: bool = False, rotors: bool = False
    ) -> AgileWrist:
        """The robot with other inertial parameters; refused if a body can have no such."""
        self._refuse_drives(friction, rotors)
        given = np.asarray(parameters, dtype=float)
        if given.shape != (70,) or not np.isfinite(given).all():
            raise InputError(
                f"parameters of '{self.name}': got shape {given.shape}; expected 70 finite "
                "numbers, as parameter_names lists them."
            )
        inertias = []
        for name, ten in zip(self.model.inertias, given.reshape(-1, 10).tolist(), strict=True):
            inertia = Inertia.from_parameters(tuple(ten))
            check_inertia(name, inertia)
            inertias.append(snapped(inertia))
        return AgileWrist(self.model.with_inertias(inertias))

    def selfcheck(self, states: int = 100, seed: int = 0) -> list[Check]:
        """Check compiled kernels against the equations on floats and against laws of physics."""
        from appell.parallel.selfcheck import selfcheck

        return selfcheck(self, states, seed)

    def _refuse_drives(self, friction: bool, rotors: bool) -> None:
        if friction or rotors:
            raise InputError(f"'{self.name}': its joints have neither friction nor rotors.")

    def _other(self, branch: str) -> AgileWrist:
        if branch == self.branch:
            return self
        return self._on_branch.setdefault(branch, self.with_branch(branch))

    def _default(self, quantity: str, dtype: str) -> Kernel:
        plain = quantity.removesuffix("_derivatives")
        by = () if plain == quantity else quantity_named(plain).inputs
        return self.kernel(plain, dtype=dtype, wrt=by)

    def _regressor(self, friction: bool, rotors: bool) -> str:
        self._refuse_drives(friction, rotors)
        return "regressor"

    def _evaluate(
        self,
        quantity: str,
        arguments: tuple[Any, ...],
        out: Any,
        frame: str | None = None,
        formulation: str | None = None,
    ) -> Any:
        q = arguments[0] if out is None else _kept(arguments[0], out)
        # By name, as super() takes a tenth of a call's time.
        results = Dynamics._evaluate(self, quantity, arguments, out, frame, formulation)
        if not _finite(results):
            self._refuse(quantity, q, kind_of(arguments))
        return results

    def _refuse(self, quantity: str, q: Any, kind: str) -> None:
        """An error that names the first pose at fault; none where NaN was given, which goes
        through."""
        at = np.asarray(q, dtype=float)
        plain = quantity.removesuffix("_derivatives")
        why = reason(self.model, plain, at, self.singularities(at), kind)
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
