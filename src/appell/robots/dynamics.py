"""Dynamics: the methods that every robot answers, whatever it is made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from appell.equations.quantities import regressor_named
from appell.errors import InputError
from appell.model import configuration
from appell.model.build import gravity_field
from appell.model.configuration import Configurations
from appell.model.parameters import groups, names
from appell.robots.recipe import compiled, equation_of, recipe_for, recorded, shapes
from appell.robots.system import System, formulation_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from appell.compile.count import Operations
    from appell.compile.kernel import Kernel
    from appell.robots.selfcheck import Check

Array = npt.NDArray[np.floating[Any]]
Numbers = npt.ArrayLike


class Dynamics(Configurations):
    """A system and the kernels that answer for it, each compiled when it is first used.

    Arguments are arrays whose last axis counts coordinates, speeds or actuators; leading axes are
    batches and broadcast as in NumPy. Results are float64, or float32 where all arguments are.
    Units are SI and radians. ``qd`` and ``qdd`` are accepted as names for v and a. An equation is
    compiled when it is first used, and kept in the user's cache.
    """

    model: Any

    def __init__(self, model: Any, system: System) -> None:
        self.model, self.system = model, system
        self._kernels: dict[Hashable, Kernel] = {}
        self._asked: dict[tuple[str, str], Kernel] = {}  # the default ones, by name and dtype
        self._singles: dict[str, Callable[..., Any]] = {}

    def __reduce__(self) -> Any:
        return type(self), (self.model,)

    @property
    def name(self) -> str:
        return self.system.name

    @property
    def nq(self) -> int:
        """How many coordinates."""
        return self.system.size("q")

    @property
    def nv(self) -> int:
        """How many speeds."""
        return self.system.size("n")

    @property
    def joint_kinds(self) -> tuple[str, ...]:
        """The kind of each of the model's joints; coordinates that are no joints' are angles."""
        return ("revolute",) * self.nv

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints, or whatever else the coordinates are."""
        raise NotImplementedError

    @property
    def independent(self) -> tuple[str, ...]:
        """What has the speeds v, in order."""
        return self.joint_names

    @property
    def actuated(self) -> tuple[str, ...]:
        """What has the forces tau, in order."""
        return self.joint_names

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
        arguments = (q, one_of("v", v, qd), *([tau] if self.system.size("d") else []))
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
        """A quantity's compiled equation, which refuses nothing.

        ``formulation`` chooses among its equations; ``parameters`` makes groups of the robot's
        numbers inputs ("mass", "com", "inertia", "geometry", "gravity", or True for all), whose
        own values are ``kernel.defaults``; ``wrt`` differentiates by inputs. Inertial parameters
        are regrouped to the fewest that give the same dynamics; ``regroup=False`` takes them as
        they are given, as do kernels with parameters.
        """
        if target != "cpu":
            raise InputError(f"target={target!r}: kernels are made for 'cpu'.")
        kind = float_kind(dtype)
        by = (wrt,) if isinstance(wrt, str) else names("wrt", wrt)
        recipe = recipe_for(
            self.system, quantity, formulation, frame, groups(parameters), by, regroup
        )
        key = recipe, kind
        if key not in self._kernels:  # two threads may make it twice, from the same code
            self._kernels[key] = compiled(self.system, recipe, kind)
        return self._kernels[key]

    def equation(
        self, quantity: str, *, formulation: str | None = None, frame: str | None = None
    ) -> Callable[..., Any]:
        """A quantity's equation as it is written, uncompiled, for scalars of any kind.

        The function takes a sequence of scalars for each input of the quantity, in the robot's
        coordinates: floats, arrays (a batch), SymPy or CasADi symbols. It gives a number, a list,
        or a list of lists. (The functions of ``appell.equations`` themselves take the positions of
        the bodies' joints, which are others where frames are turned, joints mimic others or stand
        in another order, or the base is free.)
        """
        recipe = recipe_for(self.system, quantity, formulation, frame, regroup=False)
        sizes = {x: size for x, (size,) in shapes(self.system, recipe)[0].items()}
        equation = equation_of(self.system, recipe)

        def of_scalars(*states: Any) -> Any:
            if [len(x) for x in states] != [*sizes.values()]:
                given = ", ".join(str(len(x)) for x in states) or "nothing"
                wanted = ", ".join(f"{name} of {n}" for name, n in sizes.items())
                raise InputError(f"{quantity} of '{self.name}': expected {wanted}; got {given}.")
            return equation(*states)

        return of_scalars

    def default_formulation(self, quantity: str) -> str:
        """The equation that computes a quantity fastest for this robot."""
        return formulation_of(self.system, quantity, None)

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

        recipe = recipe_for(self.system, quantity, formulation, frame, regroup=regroup)
        return count(recorded(self.system, recipe))

    def selfcheck(self, states: int = 100, seed: int = 0) -> list[Check]:
        """Check compiled kernels against the equations on floats and against laws of physics."""
        from appell.robots.selfcheck import selfcheck

        return selfcheck(self, states, seed)

    @property
    def parameters(self) -> Array:
        """Per moving body m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz: tau = Y @ parameters."""
        raise NotImplementedError

    # What its self-check asks for; robots that are no trees answer otherwise

    def states_to_check(self, count: int, draw: np.random.Generator) -> tuple[Array, Array, Array]:
        """States q, v and a at which laws are checked."""
        q = configuration.random(self.model, draw, (count,), limited=False)
        v, a = draw.uniform(-np.pi, np.pi, (2, count, self.nv))
        return q, v, a

    def displaced(self, q: Array, d: Array) -> Array:
        """Coordinates (..., nq) after a small displacement d (..., nv)."""
        return configuration.integrate(self.model, q, d)

    def driven(self, q: Array, tau: Array) -> Array:
        """The forces on the speeds (..., nv) that the actuators' forces tau give."""
        return tau

    def own_laws(self, q: Array, v: Array, tau: Array, a: Array) -> list[Check]:
        """Laws of this kind of robot only, at states where forces tau give accelerations a."""
        return []

    def _default(self, quantity: str, dtype: str) -> Kernel:
        """The kernel behind the method of that name."""
        return self.kernel(quantity, dtype=dtype)

    def _regressor(self, friction: bool, rotors: bool) -> str:
        """The quantity with these columns."""
        return regressor_named(friction, rotors)

    def _with_model(self, model: Any) -> Self:
        return type(self)(model)  # type: ignore[call-arg]  # a robot is made from its model

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
