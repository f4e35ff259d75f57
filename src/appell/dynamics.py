"""Dynamics: the methods that every robot answers, whatever it is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from appell.equations.quantities import regressor_named
from appell.errors import InputError
from appell.model.build import gravity_field
from appell.model.model import Model
from appell.model.wrist import Wrist
from appell.recipe import COMPILING

if TYPE_CHECKING:
    from typing_extensions import Self

    from appell.compile.kernel import Kernel

Array = npt.NDArray[np.floating[Any]]
Numbers = npt.ArrayLike


class Dynamics(ABC):
    """A model and the kernels that answer for it, each compiled when it is first used.

    A robot says by ``kernel`` which equation answers a quantity. Arguments, results and units
    are those of :class:`~appell.robot.Robot`.
    """

    model: Model | Wrist

    def __init__(self, model: Model | Wrist) -> None:
        self.model = model
        self._kernels: dict[Hashable, Kernel] = {}
        self._asked: dict[tuple[str, str], Kernel] = {}  # the default ones, by name and dtype
        self._singles: dict[str, Callable[..., Any]] = {}

    def __reduce__(self) -> Any:
        return type(self), (self.model,)

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

    def with_gravity(self, gravity: Sequence[float]) -> Self:
        """The same robot in another field of gravity, m/s^2 in the base's axes."""
        return self._with_model(replace(self.model, gravity=gravity_field(self.name, gravity)))

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
        """Forces tau of the actuators, (..., nv), that give accelerations a."""
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
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
        """Accelerations a, (..., nv), that forces tau of the actuators give."""
        return self._evaluate("forward_dynamics", (q, one_of("v", v, qd), tau), out)

    def mass_matrix(self, q: Numbers, *, out: Any = None) -> Array:
        """The inertia matrix M of the speeds, (..., nv, nv), rotors included: the Hessian of the
        Gibbs function by the accelerations."""
        return self._evaluate("mass_matrix", (q,), out)

    def coriolis_matrix(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """C, (..., nv, nv), by Christoffel's symbols: dM/dt - 2C is skew-symmetric."""
        return self._evaluate("coriolis_matrix", (q, one_of("v", v, qd)), out)

    def gravity(self, q: Numbers, *, out: Any = None) -> Array:
        """g, (..., nv): what holds the robot still."""
        return self._evaluate("gravity", (q,), out)

    def bias(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """C v + g, (..., nv)."""
        return self._evaluate("bias", (q, one_of("v", v, qd)), out)

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
        ``rotors`` as in ``parameters_of``."""
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._evaluate(self._regressor(friction, rotors), arguments, out)

    def kinetic_energy(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """T, (...), in J."""
        return self._evaluate("kinetic_energy", (q, one_of("v", v, qd)), out)

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
        dG/da = M a + C v + g."""
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
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
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
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
        """da/dq, da/dv and da/dtau (M^-1 of a tree), each (..., nv, nv)."""
        arguments = (q, one_of("v", v, qd), tau)
        return self._evaluate("forward_dynamics_derivatives", arguments, out)

    # Kinematics

    def forward_kinematics(self, q: Numbers, frame: str | None = None, *, out: Any = None) -> Array:
        """The pose of a link, (..., 4, 4), in the base; the tip's or platform's without a name."""
        return self._evaluate("forward_kinematics", (q,), out, frame)

    def jacobian(self, q: Numbers, frame: str | None = None, *, out: Any = None) -> Array:
        """J, (..., 6, nv): velocity of the frame's origin, then its angular velocity, both in
        the base's axes."""
        return self._evaluate("jacobian", (q,), out, frame)

    # Its equations

    @abstractmethod
    def kernel(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        dtype: npt.DTypeLike = "float64",
        frame: str | None = None,
    ) -> Kernel:
        """A quantity's compiled equation."""

    def _made_once(self, recipe: Hashable, make: Callable[[], Kernel]) -> Kernel:
        with COMPILING:
            if recipe not in self._kernels:
                self._kernels[recipe] = make()
            return self._kernels[recipe]

    def _default(self, quantity: str, dtype: str) -> Kernel:
        """The kernel behind the method of that name."""
        return self.kernel(quantity, dtype=dtype)

    def _regressor(self, friction: bool, rotors: bool) -> str:
        """The quantity with these columns."""
        return regressor_named(friction, rotors)

    def _with_model(self, model: Any) -> Self:
        return type(self)(model)

    def _evaluate(
        self,
        quantity: str,
        arguments: tuple[Any, ...],
        out: Any,
        frame: str | None = None,
        formulation: str | None = None,
    ) -> Any:
        if frame is not None or formulation is not None:
            kernel = self.kernel(
                quantity, dtype=kind_of(arguments), frame=frame, formulation=formulation
            )
            return kernel(*arguments, out=out)
        if out is not None:
            return self._general(quantity, arguments, out)
        single = self._singles.get(quantity)
        if single is None:
            single = self._singles[quantity] = self._single(quantity)
        return single(*arguments)

    def _general(self, quantity: str, arguments: tuple[Any, ...], out: Any) -> Any:
        """For batches and for both dtypes."""
        kind = kind_of(arguments)
        kernel = self._asked.get((quantity, kind))
        if kernel is None:
            kernel = self._asked[quantity, kind] = self._default(quantity, kind)
        return kernel(*arguments, out=out)

    def _single(self, quantity: str) -> Callable[..., Any]:
        """The fastest way for one state of float64; all else goes the general way."""
        myself = ref(self)  # the function must not keep the robot alive that holds it

        def general(*arguments: Any) -> Any:
            robot = myself()
            assert robot is not None
            return robot._general(quantity, arguments, None)

        return self._default(quantity, "float64").single(general)


def one_of(name: str, value: Any, alias: Any) -> Any:
    """An argument that goes by two names."""
    if alias is None:
        return value
    if value is not None:
        other = {"v": "qd", "a": "qdd"}[name]
        raise InputError(f"{name} is given twice, as {name} and as {other}; leave one out.")
    return alias


def kind_of(arguments: tuple[Any, ...]) -> str:
    """The dtype in which they are answered."""
    single = all(getattr(x, "dtype", None) == np.float32 for x in arguments)
    return "float32" if single else "float64"


def float_kind(dtype: Any) -> str:
    """The name of a dtype that kernels are made for."""
    try:
        kind = np.dtype(dtype).name
    except TypeError:
        kind = ""
    if kind not in ("float64", "float32"):
        raise InputError(f"dtype={dtype!r}: kernels are made for float64 and float32.")
    return kind
