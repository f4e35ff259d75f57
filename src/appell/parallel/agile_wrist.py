"""AgileWrist: a spherical parallel robot and its compiled equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from weakref import ref

import numpy as np
import numpy.typing as npt

from appell.errors import InputError
from appell.model.build import gravity_field, snapped
from appell.model.dh import link_inertia
from appell.model.inertia import Inertia, check_inertia
from appell.model.library.agile_wrist import branches
from appell.model.parameters import SYMBOLS, names
from appell.model.wrist import Wrist
from appell.parallel.recipe import Recipe, compiled, quantity_named, recipe_for, recorded
from appell.parallel.refusal import Singularities, reason, singularities
from appell.recipe import COMPILING
from appell.robot import Array, Numbers, _float_kind, _one_of

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


class AgileWrist:
    """A spherical parallel robot that answers for its dynamics: M a + C v + g = J_act^T tau.

    Coordinates q are the platform's Euler angles, R = Rz(q1) Ry(q2) Rx(q3); speeds v are their
    rates; M, C, g, energies and derivatives are in these. Torques tau are the three actuators':
    ``inverse_dynamics`` gives them, ``forward_dynamics`` takes them.

    Arguments are arrays (..., 3), whose leading axes broadcast, as those of
    :class:`~appell.robot.Robot`. A pose that a limb does not reach, or that is nearer to a
    singularity than the model's ``margin``, is refused; the kernels themselves give NaN there.
    """

    def __init__(self, model: Wrist) -> None:
        if not isinstance(model, Wrist):
            raise InputError(
                f"AgileWrist({model!r}): expected a Wrist; appell.load('agile_wrist') gives one."
            )
        self.model = model
        self._kernels: dict[tuple[Recipe, str], Kernel] = {}
        self._singles: dict[str, Callable[..., Any]] = {}
        self._on_branch: dict[str, AgileWrist] = {}

    def __reduce__(self) -> Any:
        return type(self), (self.model,)

    # What it is

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def nq(self) -> int:
        """How many coordinates."""
        return self.model.nv

    @property
    def nv(self) -> int:
        """How many speeds, and how many actuators."""
        return self.model.nv

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

    def inverse_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        out: Any = None,
    ) -> Array:
        """Actuator torques tau, (..., 3), with J_act^T tau = M a + C v + g."""
        arguments = (q, _one_of("v", v, qd), _one_of("a", a, qdd))
        return self._evaluate("inverse_dynamics", arguments, out)

    def forward_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        out: Any = None,
    ) -> Array:
        """Accelerations a of the Euler angles, (..., 3), that actuator torques tau give."""
        return self._evaluate("forward_dynamics", (q, _one_of("v", v, qd), tau), out)

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
        arguments = (q, _one_of("v", v, qd), _one_of("a", a, qdd))
        return self._evaluate("generalised_forces", arguments, out)

    def regressor(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        friction: bool = False,
        rotors: bool = False,
        out: Any = None,
    ) -> Array:
        """Y, (..., 3, 70), with tau = Y @ robot.parameters."""
        self._refuse_drives(friction, rotors)
        arguments = (q, _one_of("v", v, qd), _one_of("a", a, qdd))
        return self._evaluate("regressor", arguments, out)

    def mass_matrix(self, q: Numbers, *, out: Any = None) -> Array:
        """The inertia matrix M of the Euler angles, (..., 3, 3)."""
        return self._evaluate("mass_matrix", (q,), out)

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
        arguments = (q, _one_of("v", v, qd))
        return self._evaluate("coriolis_matrix", arguments, out, formulation=formulation)

    def gravity(self, q: Numbers, *, out: Any = None) -> Array:
        """g, (..., 3): what holds the robot still, on the Euler angles."""
        return self._evaluate("gravity", (q,), out)

    def bias(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """C v + g, (..., 3)."""
        return self._evaluate("bias", (q, _one_of("v", v, qd)), out)

    def kinetic_energy(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """T, (...), in J."""
        return self._evaluate("kinetic_energy", (q, _one_of("v", v, qd)), out)

    def potential_energy(self, q: Numbers, *, out: Any = None) -> Array:
        """U, (...), in J, zero with all mass in the centre."""
        return self._evaluate("potential_energy", (q,), out)

    def gibbs_function(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        out: Any = None,
    ) -> Array:
        """S, (...): half the mass times the acceleration squared (relative to free fall), so that
        dS/da = Q."""
        arguments = (q, _one_of("v", v, qd), _one_of("a", a, qdd))
        return self._evaluate("gibbs_function", arguments, out)

    def inverse_dynamics_derivatives(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        out: Any = None,
    ) -> tuple[Array, Array, Array]:
        """d tau / dq, d tau / dv and d tau / da, each (..., 3, 3)."""
        arguments = (q, _one_of("v", v, qd), _one_of("a", a, qdd))
        return self._evaluate("inverse_dynamics", arguments, out, wrt=("q", "v", "a"))

    def forward_dynamics_derivatives(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        out: Any = None,
    ) -> tuple[Array, Array, Array]:
        """da/dq, da/dv and da/dtau, each (..., 3, 3)."""
        arguments = (q, _one_of("v", v, qd), tau)
        return self._evaluate("forward_dynamics", arguments, out, wrt=("q", "v", "tau"))

    # Kinematics

    def forward_kinematics(self, q: Numbers, frame: str | None = None, *, out: Any = None) -> Array:
        """The pose of a body, (..., 4, 4), in the base; the platform's without a name."""
        return self._evaluate("forward_kinematics", (q,), out, frame=self.model.frame(frame))

    def jacobian(self, q: Numbers, frame: str | None = None, *, out: Any = None) -> Array:
        """J, (..., 6, 3): velocity of the centre, which is none, then the body's angular velocity,
        in the base's axes."""
        return self._evaluate("jacobian", (q,), out, frame=self.model.frame(frame))

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
        from appell.parallel import assembly

        angles, near = np.broadcast_arrays(_rows("theta", theta), _rows("start", start))
        flat, begin = angles.reshape(-1, 3), near.reshape(-1, 3)
        if not len(flat):
            return np.zeros(angles.shape)
        R, left = assembly.closed(
            self.model, flat, self.forward_kinematics(begin)[:, :3, :3].astype(float)
        )
        q = assembly.euler_angles(R, begin)
        found = assembly.branches(self.model, flat, R)
        for k, (rest, branch) in enumerate(zip(left, found, strict=True)):
            where = f"direct_kinematics: theta = {flat[k].tolist()} from q = {begin[k].tolist()}"
            if not rest < 1e-12:
                raise InputError(
                    f"{where}: the loops do not close, {rest:.1e} is left open; start nearer, or "
                    "see assemblies(theta) for the poses there are."
                )
            if branch != self.branch:
                raise InputError(
                    f"{where}: the pose found, {q[k].tolist()}, is on the branch '{branch}' and "
                    f"the robot on '{self.branch}'; start nearer, or ask with_branch('{branch}')."
                )
        return q.reshape(angles.shape)

    def assemblies(self, theta: Numbers) -> list[Assembly]:
        """All poses that actuator angles theta, (3,), allow, at most eight, and their branches;
        the smallest Euler angles first."""
        from appell.parallel.assembly import assemblies

        angles = _rows("theta", theta)
        if angles.shape != (3,):
            raise InputError(f"assemblies: theta has shape {angles.shape}; expected (3,).")
        return assemblies(self.model, angles)

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
        arguments = (q, _one_of("v", v, qd), _one_of("a", a, qdd))
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
        kind = _float_kind(dtype)
        by = (wrt,) if isinstance(wrt, str) else names("wrt", wrt)
        recipe = recipe_for(self.model, quantity, formulation, frame, by)
        with COMPILING:
            if (recipe, kind) not in self._kernels:
                self._kernels[recipe, kind] = compiled(self.model, recipe, kind)
            return self._kernels[recipe, kind]

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

    def with_gravity(self, gravity: Sequence[float]) -> AgileWrist:
        """The same robot in another field of gravity, m/s^2 in the base's axes."""
        return AgileWrist(replace(self.model, gravity=gravity_field(self.name, gravity)))

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

    def _evaluate(
        self,
        quantity: str,
        arguments: tuple[Any, ...],
        out: Any,
        *,
        frame: str | None = None,
        formulation: str | None = None,
        wrt: tuple[str, ...] = (),
    ) -> Any:
        q = arguments[0]
        if out is None and not (frame or formulation or wrt):
            single = self._singles.get(quantity) or self._single(quantity)
            results = single(*arguments)
        else:
            if out is not None:
                q = _kept(q, out)
            kernel = self.kernel(
                quantity, formulation=formulation, dtype=_kind(arguments), frame=frame, wrt=wrt
            )
            results = kernel(*arguments, out=out)
        if not _finite(results):
            self._refuse(quantity, q, _kind(arguments))
        return results

    def _single(self, quantity: str) -> Callable[..., Any]:
        """The fastest way for one state, made when first used; batches and other dtypes take the
        general way."""
        myself = ref(self)  # the function must not keep the robot alive that holds it

        def general(*arguments: Any) -> Any:
            robot = myself()
            assert robot is not None
            return robot.kernel(quantity, dtype=_kind(arguments))(*arguments)

        self._singles[quantity] = self.kernel(quantity).single(general)
        return self._singles[quantity]

    def _refuse(self, quantity: str, q: Any, kind: str) -> None:
        """An error that names the first pose at fault; none where NaN was given, which goes
        through."""
        at = np.asarray(q, dtype=float)
        why = reason(self.model, quantity, at, self.singularities(at), kind)
        if why:
            raise InputError(f"{quantity}: {why}.")


def _kind(arguments: tuple[Any, ...]) -> str:
    single = all(getattr(x, "dtype", None) == np.float32 for x in arguments)
    return "float32" if single else "float64"


def _finite(results: Any) -> bool:
    """Whether all are numbers: a sum of squares tells it at once."""
    if type(results) is np.ndarray and results.ndim == 1:
        return isfinite(results.dot(results))
    several = results if isinstance(results, tuple) else (results,)
    return all(isfinite(np.vdot(y, y)) for y in several)


def _kept(q: Any, out: Any) -> Any:
    """q as it is now, should it have to be explained after it was overwritten."""
    for y in out if isinstance(out, tuple) else (out,):
        if isinstance(q, np.ndarray) and isinstance(y, np.ndarray) and np.may_share_memory(q, y):
            return q.copy()
    return q


def _rows(name: str, given: Numbers) -> npt.NDArray[np.float64]:
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape[-1:] != (3,):
        raise InputError(f"{name} = {given!r}: expected angles (..., 3).")
    return array
