"""Robot: a model and its compiled equations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from appell.equations.quantities import QUANTITIES, regressor_named
from appell.errors import InputError
from appell.model.build import attach, gravity_field
from appell.model.dh import from_dh, link_inertia
from appell.model.model import Model
from appell.model.parameters import (
    groups,
    inertial_parameters,
    names,
    parameter_names,
    with_parameters,
)
from appell.recipe import COMPILING, Recipe, compiled, quantity_named, recorded

if TYPE_CHECKING:
    from appell.compile.count import Operations
    from appell.compile.kernel import Kernel

Array = npt.NDArray[np.floating[Any]]
Numbers = npt.ArrayLike


class Robot:
    """A robot that answers for its dynamics: M a + C v + g = tau.

    Arguments are arrays whose last axis counts the joints; leading axes are batches and
    broadcast as in NumPy. Results are float64, or float32 where all arguments are. Units
    are SI and radians. ``qd`` and ``qdd`` are accepted as names for v and a. An equation is
    compiled when it is first used, and kept in the user's cache.
    """

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise InputError(
                f"Robot({model!r}): expected a Model; appell.load reads one by name or from a file."
            )
        self.model = model
        self._kernels: dict[tuple[Recipe, str], Kernel] = {}
        self._asked: dict[tuple[str, str], Kernel] = {}  # the default ones, by name

    def __getattr__(self, name: str) -> Any:
        """``_inverse_dynamics`` and the like: a quantity's fastest way for one state, made when
        first used. Batches and other dtypes take the general way."""
        quantity = name[1:]
        if not name.startswith("_") or quantity not in QUANTITIES:
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")
        myself = ref(self)  # the function must not keep the robot alive that holds it

        def general(*arguments: Any) -> Any:
            robot = myself()
            assert robot is not None
            return robot._evaluate(quantity, arguments, None)

        self.__dict__[name] = self.kernel(quantity).single(general)
        return self.__dict__[name]

    def __reduce__(self) -> Any:
        return type(self), (self.model,)

    @classmethod
    def from_dh(cls, **table: Any) -> Robot:
        """A chain from Denavit-Hartenberg parameters: see :func:`appell.model.dh.from_dh`."""
        return cls(from_dh(**table))

    # What it is

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def nq(self) -> int:
        """How many coordinates."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """How many speeds."""
        return self.model.nv

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The independent joints, in the order of the coordinates."""
        return tuple(joint.name for joint in self.model.joints)

    @property
    def link_names(self) -> tuple[str, ...]:
        """All links, those behind fixed joints too: each is a frame."""
        return tuple(frame.name for frame in self.model.frames)

    @property
    def parameters(self) -> Array:
        """Per moving link m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about its frame's origin."""
        return inertial_parameters(self.model)

    def parameters_of(self, *, friction: bool = False, rotors: bool = False) -> Array:
        """``parameters``; with ``rotors`` also a robot's that has none, and with ``friction`` the
        joints' viscous and then their Coulomb coefficients after them."""
        return inertial_parameters(self.model, friction=friction, rotors=rotors)

    def parameter_names(
        self, *, friction: bool = False, rotors: bool = False, short: bool = False
    ) -> tuple[str, ...]:
        """What each of them is, as "link2.Izz" and "joint2.viscous"; short, "Izz2" and "fv2"."""
        return parameter_names(self.model, friction=friction, rotors=rotors, short=short)

    def __repr__(self) -> str:
        return f"<Robot {self.name}: {self.nv} joints, {len(self.link_names)} links>"

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
        out: Any = None,
    ) -> Array:
        """Joint forces tau = M a + C v + g, (..., nv); with ``friction``, what the motors must
        give: friction(v) besides."""
        v, a = _one_of("v", v, qd), _one_of("a", a, qdd)
        if out is None and not friction:
            return self._inverse_dynamics(q, v, a)
        taken = self.friction(v) if friction else None  # before out, which may be v, is written
        tau = self._evaluate("inverse_dynamics", (q, v, a), out)
        return tau if taken is None else np.add(tau, taken, out=out)

    def forward_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        friction: bool = False,
        out: Any = None,
    ) -> Array:
        """Accelerations a, (..., nv), that joint forces tau give; with ``friction``, tau is what
        the motors give and friction(v) is taken from it."""
        v = _one_of("v", v, qd)
        if out is None and not friction:
            return self._forward_dynamics(q, v, tau)
        if friction:
            kernel = self.kernel("forward_dynamics")
            try:
                tau = np.subtract(tau, self.friction(v))  # type: ignore[arg-type]
            except (TypeError, ValueError) as problem:
                raise kernel.explained([q, v, tau], out, problem) from None
        return self._evaluate("forward_dynamics", (q, v, tau), out)

    def mass_matrix(self, q: Numbers, *, out: Any = None) -> Array:
        """The inertia matrix M, (..., nv, nv), rotors included: the Hessian of the Gibbs
        function by the accelerations."""
        return self._mass_matrix(q) if out is None else self._evaluate("mass_matrix", (q,), out)

    def coriolis_matrix(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """C, (..., nv, nv), by Christoffel's symbols: dM/dt - 2C is skew-symmetric."""
        return self._evaluate("coriolis_matrix", (q, _one_of("v", v, qd)), out)

    def gravity(self, q: Numbers, *, out: Any = None) -> Array:
        """g, (..., nv): what holds the robot still."""
        return self._evaluate("gravity", (q,), out)

    def bias(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """C v + g, (..., nv)."""
        return self._evaluate("bias", (q, _one_of("v", v, qd)), out)

    def friction(
        self, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """What the joints' friction takes, (..., nv): viscous v + coulomb sign(v)."""
        return self._evaluate("friction", (_one_of("v", v, qd),), out)

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
        """Y, (..., nv, p), with tau = Y @ robot.parameters; columns for ``friction`` and
        ``rotors`` as in :meth:`parameters_of`."""
        arguments = (q, _one_of("v", v, qd), _one_of("a", a, qdd))
        return self._evaluate(regressor_named(friction, rotors), arguments, out)

    def kinetic_energy(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """T, (...), in J."""
        return self._evaluate("kinetic_energy", (q, _one_of("v", v, qd)), out)

    def potential_energy(self, q: Numbers, *, out: Any = None) -> Array:
        """U, (...), in J, zero with all mass at the base's origin."""
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
        """G, (...): half the mass times the acceleration squared (relative to free fall), so that
        dG/da = tau."""
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
        """d tau / dq, d tau / dv and d tau / da, each (..., nv, nv)."""
        arguments = (q, _one_of("v", v, qd), _one_of("a", a, qdd))
        return self._evaluate("inverse_dynamics_derivatives", arguments, out)

    def forward_dynamics_derivatives(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        out: Any = None,
    ) -> tuple[Array, Array, Array]:
        """da/dq, da/dv and da/dtau = M^-1, each (..., nv, nv)."""
        arguments = (q, _one_of("v", v, qd), tau)
        return self._evaluate("forward_dynamics_derivatives", arguments, out)

    # Kinematics

    def forward_kinematics(self, q: Numbers, frame: str | None = None, *, out: Any = None) -> Array:
        """The pose of a link, (..., 4, 4), in the base; the tip's without a name."""
        return self._evaluate("forward_kinematics", (q,), out, frame)

    def jacobian(self, q: Numbers, frame: str | None = None, *, out: Any = None) -> Array:
        """J, (..., 6, nv): velocity of the frame's origin, then its angular velocity, both in
        the base's axes."""
        return self._evaluate("jacobian", (q,), out, frame)

    # Its equations

    def kernel(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        dtype: npt.DTypeLike = "float64",
        target: str = "cpu",
        frame: str | None = None,
        parameters: Sequence[str] | str | bool = (),
        wrt: Sequence[str] | str = (),
        regroup: bool = True,
    ) -> Kernel:
        """A quantity's compiled equation.

        ``formulation`` chooses among its equations; ``parameters`` makes groups of the robot's
        numbers inputs ("mass", "com", "inertia", "geometry", "gravity", or True for all), whose
        own values are ``kernel.defaults``; ``wrt`` differentiates by inputs. Inertial parameters
        are regrouped to the fewest that give the same dynamics; ``regroup=False`` takes them as
        they are given, as do kernels with parameters.
        """
        if target != "cpu":
            raise InputError(f"target={target!r}: kernels are made for 'cpu'.")
        kind = _float_kind(dtype)
        chosen = groups(parameters)
        by = (wrt,) if isinstance(wrt, str) else names("wrt", wrt)
        self._check_frame(quantity, frame)
        which = formulation or self.default_formulation(quantity)
        recipe = Recipe(quantity, which, frame, chosen, by, regroup and not chosen)
        with COMPILING:
            if (recipe, kind) not in self._kernels:
                self._kernels[recipe, kind] = compiled(self.model, recipe, kind)
            return self._kernels[recipe, kind]

    def default_formulation(self, quantity: str) -> str:
        """The equation that computes a quantity fastest for this robot."""
        return quantity_named(quantity).default(self.model)

    def operations(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        frame: str | None = None,
        regroup: bool = True,
    ) -> Operations:
        """How many multiplications, additions, ... one evaluation takes; ``regroup=False`` counts
        with the inertial parameters as they are given."""
        from appell.compile.count import count

        self._check_frame(quantity, frame)
        which = formulation or self.default_formulation(quantity)
        return count(recorded(self.model, Recipe(quantity, which, frame, (), (), regroup)))

    def with_payload(
        self,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
        link: str | None = None,
    ) -> Robot:
        """The robot carrying a load, whose centre of mass and inertia about it are given in the
        frame of the link that holds it (the tip without a name)."""
        frame = self.model.frame(link, "link")
        load = link_inertia("payload", mass, com, inertia)
        return Robot(attach(self.model, load, frame))

    def with_parameters(
        self, parameters: Numbers, *, friction: bool = False, rotors: bool = False
    ) -> Robot:
        """The robot with other inertial parameters, given as :meth:`parameters_of` lists them;
        refused if a link can have no such inertia."""
        given = np.asarray(parameters, dtype=float)
        return Robot(with_parameters(self.model, given, friction=friction, rotors=rotors))

    def with_gravity(self, gravity: Sequence[float]) -> Robot:
        """The same robot in another field of gravity, m/s^2 in the base's axes."""
        return Robot(replace(self.model, gravity=gravity_field(self.name, gravity)))

    def to_urdf(self, path: str | os.PathLike[str]) -> Path:
        """Write the robot to a .urdf file, which ``appell.load`` reads back to the same dynamics;
        see :mod:`appell.model.urdf_writer`. A file that is there is replaced."""
        from appell.model.urdf_writer import write_urdf

        if self.nv != self.model.nv:
            raise InputError(f"'{self.name}' has loops, which a URDF file cannot say.")
        return write_urdf(self.model, path)

    def selfcheck(self, states: int = 100, seed: int = 0) -> Any:
        """Check compiled kernels against the equations on floats and against laws of physics."""
        from appell.selfcheck import selfcheck

        return selfcheck(self, states, seed)

    def _check_frame(self, quantity: str, frame: Any) -> None:
        if quantity_named(quantity).frame:
            self.model.frame(frame)
        elif frame is not None:
            raise InputError(f"{quantity} is asked of no frame; leave out frame={frame!r}.")

    def _evaluate(
        self, quantity: str, arguments: tuple[Any, ...], out: Any, frame: str | None = None
    ) -> Any:
        single = all(getattr(x, "dtype", None) == np.float32 for x in arguments)
        kind = "float32" if single else "float64"
        if frame is not None:
            return self.kernel(quantity, dtype=kind, frame=frame)(*arguments, out=out)
        kernel = self._asked.get((quantity, kind))
        if kernel is None:
            kernel = self._asked[quantity, kind] = self.kernel(quantity, dtype=kind)
        return kernel(*arguments, out=out)


def _one_of(name: str, value: Any, alias: Any) -> Any:
    """An argument that goes by two names."""
    if alias is None:
        return value
    if value is not None:
        other = {"v": "qd", "a": "qdd"}[name]
        raise InputError(f"{name} is given twice, as {name} and as {other}; leave one out.")
    return alias


def _float_kind(dtype: Any) -> str:
    try:
        kind = np.dtype(dtype).name
    except TypeError:
        kind = ""
    if kind not in ("float64", "float32"):
        raise InputError(f"dtype={dtype!r}: kernels are made for float64 and float32.")
    return kind
