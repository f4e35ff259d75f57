"""Dynamics: the methods that every robot answers, whatever it is made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from appell.equations.quantities import regressor_named
from appell.errors import InputError
from appell.model import configuration
from appell.model.axes import gravity_field
from appell.model.parameters import groups, names
from appell.robots.frames_and_momentum import Array, FramesAndMomentum, Numbers, one_of
from appell.robots.recipe import compiled, equation_of, recipe_for, recorded, shapes
from appell.robots.system import System, formulation_of

__all__ = ["AXES", "Array", "Dynamics", "Forces", "Numbers", "float_kind", "kind_of", "one_of"]

if TYPE_CHECKING:
    from typing_extensions import Self

    from appell.compile.count import Operations
    from appell.compile.kernel import Kernel
    from appell.robots.selfcheck import Check

Forces = Mapping[str, Numbers] | None  # wrenches by frame
AXES = ("base", "mixed", "local")  # of wrenches and motions; the first two are the same
_OPTIONS = ("frame", "axes", "relative_to", "forces", "formulation")


class Dynamics(FramesAndMomentum):
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
        self._requests: dict[Hashable, Kernel] = {}  # the same, by the arguments of kernel()
        self._singles: dict[Hashable, Callable[..., Any]] = {}

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
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> Array:
        """Forces tau of the actuators, (..., nv), that give accelerations a, with external
        ``forces``: see :meth:`bias`."""
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._forced("inverse_dynamics", arguments, out, forces, axes)

    def forward_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> Array:
        """Accelerations a, (..., nv), that forces tau of the actuators give, with external
        ``forces``: see :meth:`bias`."""
        arguments = (q, one_of("v", v, qd), tau)
        return self._forced("forward_dynamics", arguments, out, forces, axes)

    def mass_matrix(self, q: Numbers, *, out: Any = None) -> Array:
        """The inertia matrix M of the speeds, (..., nv, nv), rotors included: the Hessian of the
        Gibbs function by the accelerations."""
        return self._evaluate("mass_matrix", (q,), out)

    def inverse_mass_matrix(self, q: Numbers, *, out: Any = None) -> Array:
        """M^-1, (..., nv, nv)."""
        return self._evaluate("inverse_mass_matrix", (q,), out)

    def coriolis_matrix(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """C, (..., nv, nv), by Christoffel's symbols: dM/dt - 2C is skew-symmetric."""
        return self._evaluate("coriolis_matrix", (q, one_of("v", v, qd)), out)

    def gravity(self, q: Numbers, *, out: Any = None) -> Array:
        """g, (..., nv): what holds the robot still."""
        return self._evaluate("gravity", (q,), out)

    def bias(
        self,
        q: Numbers,
        v: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> Array:
        """C v + g, (..., nv), less the work of external ``forces``.

        These map frames to wrenches (..., 6): a force and a moment that the surroundings exert at
        the frame's origin, in the base's axes, or with ``axes="local"`` in the frame's own. On
        the speeds a wrench w is the force J^T w: M a + C v + g = tau + J^T w.
        """
        return self._forced("bias", (q, one_of("v", v, qd)), out, forces, axes)

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
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> tuple[Array, Array, Array]:
        """d tau / dq, d tau / dv and d tau / da, each (..., nv, nv), with external ``forces``
        (see :meth:`bias`) whose wrenches stay as they are."""
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._forced("inverse_dynamics_derivatives", arguments, out, forces, axes)

    def forward_dynamics_derivatives(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> tuple[Array, Array, Array]:
        """da/dq, da/dv and da/dtau (M^-1 of a tree), each (..., nv, nv), with external ``forces``
        (see :meth:`bias`) whose wrenches stay as they are."""
        arguments = (q, one_of("v", v, qd), *([tau] if self.system.size("d") else []))
        return self._forced("forward_dynamics_derivatives", arguments, out, forces, axes)

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
        axes: str = "base",
        relative_to: str | None = None,
        forces: Sequence[str] = (),
    ) -> Kernel:
        """A quantity's compiled equation, which refuses nothing.

        ``formulation`` chooses among its equations; ``parameters`` makes groups of the robot's
        numbers inputs ("mass", "com", "inertia", "geometry", "gravity", or True for all), whose
        own values are ``kernel.defaults``; ``wrt`` differentiates by inputs. Inertial parameters
        are regrouped to the fewest that give the same dynamics; ``regroup=False`` takes them as
        they are given, as do kernels with parameters. ``axes`` and ``relative_to`` are those of
        frames' motion; ``forces`` names frames whose wrenches, "wrench_" and the frame's name, are
        inputs after the state.
        """
        request = (
            quantity, formulation, dtype, target, frame, parameters, wrt, regroup, axes,
            relative_to, forces,
        )  # fmt: skip
        try:
            kernel = self._requests.get(request)
        except TypeError:  # lists, or what will be refused
            return self._made(*request)
        if kernel is None:
            kernel = self._requests[request] = self._made(*request)
        return kernel

    def _made(
        self, quantity: str, formulation: str | None, dtype: Any, target: str, frame: str | None,
        parameters: Any, wrt: Any, regroup: bool, axes: str, relative_to: str | None, forces: Any,
    ) -> Kernel:  # fmt: skip
        """The kernel for a request, found by its recipe or compiled."""
        if target != "cpu":
            raise InputError(f"target={target!r}: kernels are made for 'cpu'.")
        kind = float_kind(dtype)
        by = (wrt,) if isinstance(wrt, str) else names("wrt", wrt)
        on = (forces,) if isinstance(forces, str) else tuple(forces)
        recipe = recipe_for(
            self.system, quantity, formulation, frame, groups(parameters), by, regroup, axes,
            relative_to, on,
        )  # fmt: skip
        key = recipe, kind
        if key not in self._kernels:  # two threads may make it twice, from the same code
            self._kernels[key] = compiled(self.system, recipe, kind)
        return self._kernels[key]

    def equation(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        frame: str | None = None,
        axes: str = "base",
        relative_to: str | None = None,
        forces: Sequence[str] = (),
    ) -> Callable[..., Any]:
        """A quantity's equation as it is written, uncompiled, for scalars of any kind.

        The function takes a sequence of scalars for each input of the quantity, in the robot's
        coordinates: floats, arrays (a batch), SymPy or CasADi symbols. It gives a number, a list,
        or a list of lists. (The functions of ``appell.equations`` themselves take the positions of
        the bodies' joints, which are others where frames are turned, joints mimic others or stand
        in another order, or the base is free.)
        """
        recipe = recipe_for(
            self.system, quantity, formulation, frame, regroup=False, axes=axes,
            relative_to=relative_to, forces=tuple(forces),
        )  # fmt: skip
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

    def _regressor(self, friction: bool, rotors: bool) -> str:
        """The quantity with these columns."""
        return regressor_named(friction, rotors)

    def _with_model(self, model: Any) -> Self:
        return type(self)(model)  # type: ignore[call-arg]  # a robot is made from its model

    def _forced(
        self, quantity: str, arguments: tuple[Any, ...], out: Any, forces: Forces, axes: str
    ) -> Any:
        """A quantity with external forces, if there are any."""
        if forces is None:
            return self._evaluate(quantity, arguments, out)
        if type(forces) is not dict and not isinstance(forces, Mapping):
            raise InputError(
                f"{quantity}: forces = {forces!r}; expected wrenches by frame: "
                "forces={'hand': (fx, fy, fz, mx, my, mz)}."
            )
        arguments = (*arguments, *forces.values())
        options = (None, axes, None, tuple(forces)) if forces else ()
        return self._evaluate(quantity, arguments, out, options)

    def _evaluate(
        self, quantity: str, arguments: tuple[Any, ...], out: Any, options: tuple[Any, ...] = ()
    ) -> Any:
        """What the kernel of a quantity gives; ``options`` are some of kernel()'s, in the order of
        _OPTIONS."""
        if out is not None:
            return self._general(quantity, arguments, out, options)
        key = (quantity, options) if options else quantity
        try:
            single = self._singles.get(key)
        except TypeError:  # a frame that is no name: the kernel refuses it
            return self._general(quantity, arguments, None, options)
        if single is None:
            single = self._singles[key] = self._single(quantity, options)
        return single(*arguments)

    def _general(
        self, quantity: str, arguments: tuple[Any, ...], out: Any, options: tuple[Any, ...]
    ) -> Any:
        """For batches and for both dtypes."""
        chosen = dict(zip(_OPTIONS, options, strict=False))
        return self.kernel(quantity, dtype=kind_of(arguments), **chosen)(*arguments, out=out)

    def _single(self, quantity: str, options: tuple[Any, ...]) -> Callable[..., Any]:
        """The fastest way for one state of float64; all else goes the general way."""
        myself = ref(self)  # the function must not keep the robot alive that holds it

        def general(*arguments: Any) -> Any:
            robot = myself()
            assert robot is not None
            return robot._general(quantity, arguments, None, options)

        return self.kernel(quantity, **dict(zip(_OPTIONS, options, strict=False))).single(general)


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
