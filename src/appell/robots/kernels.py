"""Kernels: a system's equations, compiled when they are first used and kept by the robot."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from appell import given
from appell.compile.gpu.device_arrays import dtype_of, on_gpu
from appell.errors import InputError
from appell.model.configuration import Configurations
from appell.model.model import FrameName
from appell.model.parameters import groups, names
from appell.robots.bounded_cache import BoundedCache
from appell.robots.recipe import compiled, equation_of, recipe_for, recorded, shapes
from appell.robots.system import System, formulation_of

if TYPE_CHECKING:
    from appell.compile.count import Operations
    from appell.compile.kernel import Kernel

TARGETS = ("cpu", "cuda")
_OPTIONS = ("frame", "axes", "relative_to", "forces", "formulation")


class Kernels(Configurations):
    """A model, the system of equations that describes it, and their kernels."""

    model: Any

    def __init__(self, model: Any, system: System) -> None:
        self.model, self.system = model, system
        self._kernels: dict[Hashable, Kernel] = BoundedCache()
        # The same by the arguments of kernel(), and their fastest way for one state.
        self._requests: dict[Hashable, Kernel] = BoundedCache()
        self._singles: dict[Hashable, Callable[..., Any]] = BoundedCache()

    def __reduce__(self) -> Any:
        return type(self), (self.model,)

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.system.name

    @property
    def nq(self) -> int:
        """How many coordinates."""
        return self.system.size("q")

    @property
    def nv(self) -> int:
        """How many speeds."""
        return self.system.size("n")

    # Its equations

    def kernel(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        dtype: npt.DTypeLike = "float64",
        target: str = "cpu",
        frame: FrameName | None = None,
        parameters: Sequence[str] | str | bool = (),
        wrt: Sequence[str] | str = (),
        regroup: bool = True,
        axes: str = "base",
        relative_to: FrameName | None = None,
        forces: Sequence[FrameName] = (),
    ) -> Kernel:
        """A quantity's compiled equation, which refuses no numbers.

        Args:
            quantity: What to compute, such as "inverse_dynamics" or "mass_matrix".
            formulation: Which of its equations; the fastest for this robot without it.
            dtype: "float64" or "float32".
            target: "cpu", or "cuda" for an NVIDIA GPU, with arrays of CuPy, PyTorch, JAX and
                others.
            frame: A link's name, or an `appell.Frame`; the tip without it.
            parameters: Groups of the robot's numbers that are inputs, in SI units: "mass", "com",
                "inertia", "geometry", "gravity", or True for all. Their own values are
                ``kernel.defaults``.
            wrt: Inputs to differentiate by.
            regroup: Whether inertial parameters are regrouped to the fewest that give the same
                dynamics; False takes them as they are given, as do kernels with parameters.
            axes: Of the motion of frames, as for `jacobian`.
            relative_to: A frame to take for the base.
            forces: Frames whose wrenches, "wrench_" and the frame's name, are inputs after the
                state.

        Returns:
            A `Kernel`: called with arrays, it gives arrays.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> kernel = arm.kernel("mass_matrix", parameters="mass")
            >>> kernel([0, 0], mass=[1, 2]).round(3).tolist()
            [[4.917, 1.583], [1.583, 0.583]]
        """
        request = (
            quantity, formulation, dtype, target, frame, _kept(parameters), _kept(wrt), regroup,
            axes, relative_to, _kept(forces),
        )  # fmt: skip
        try:
            kernel = self._requests.get(request)
        except TypeError:  # what will be refused
            return self._made(*request)
        if kernel is None:
            kernel = self._requests[request] = self._made(*request)
        return kernel

    def _made(
        self, quantity: str, formulation: str | None, dtype: Any, target: str,
        frame: FrameName | None, parameters: Any, wrt: Any, regroup: bool, axes: str,
        relative_to: FrameName | None, forces: Any,
    ) -> Kernel:  # fmt: skip
        """The kernel for a request, found by its recipe or compiled."""
        target, kind = given.one_of("target", target, TARGETS), float_kind(dtype)
        by = (wrt,) if isinstance(wrt, str) else names("wrt", wrt)
        on = (forces,) if isinstance(forces, str) else tuple(forces)
        recipe = recipe_for(
            self.system, quantity, formulation, frame, groups(parameters), by, regroup, axes,
            relative_to, on,
        )  # fmt: skip
        kernel = self._kernels.get((recipe, kind, target))
        if kernel is None:  # two threads may make it twice, from the same code
            kernel = compiled(self.system, recipe, kind, target)
            self._kernels[recipe, kind, target] = kernel
        return kernel

    def equation(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        frame: FrameName | None = None,
        axes: str = "base",
        relative_to: FrameName | None = None,
        forces: Sequence[FrameName] = (),
    ) -> Callable[..., Any]:
        """A quantity's equation as it is written, uncompiled, for scalars of any kind: floats,
        arrays (a batch), SymPy's symbols, CasADi's SX or MX, JAX arrays.

        The scalars are in the robot's coordinates. (The functions of ``appell.equations``
        themselves take the positions of the bodies' joints, which are others where frames are
        turned, joints mimic others or stand in another order, or the base is free.)

        Args:
            quantity: What to compute, such as "inverse_dynamics" or "mass_matrix".
            formulation: Which of its equations; the fastest for this robot without it.
            frame: A link's name, or an `appell.Frame`; the tip without it.
            axes: Of the motion of frames, as for `jacobian`.
            relative_to: A frame to take for the base.
            forces: Frames whose wrenches are inputs after the state.

        Returns:
            A function that takes a sequence of scalars for each input, in SI units, and gives a
            number, a list, or a list of lists.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> import sympy
            >>> q1, q2 = sympy.symbols("q1 q2")
            >>> sorted(map(str, arm.equation("gravity")([q1, q2])[1].free_symbols))
            ['q1', 'q2']
        """
        recipe = recipe_for(
            self.system, quantity, formulation, frame, regroup=False, axes=axes,
            relative_to=relative_to, forces=tuple(forces),
        )  # fmt: skip
        if recipe.wrt:
            raise InputError(
                f"{quantity} of '{self.name}' has no equation of its own: a kernel differentiates "
                f"that of {recipe.quantity}; differentiate equation({recipe.quantity!r}), or ask "
                f"for kernel({quantity!r})."
            )
        sizes = {x: size for x, (size,) in shapes(self.system, recipe)[0].items()}
        equation = equation_of(self.system, recipe)

        def of_scalars(*states: Any) -> Any:
            counts = [_count(x) for x in states]
            if counts != [*sizes.values()]:
                given = ", ".join(map(str, counts)) or "nothing"
                wanted = ", ".join(f"{name} of {n}" for name, n in sizes.items())
                whole = any(isinstance(x, str) for x in counts)
                raise InputError(
                    f"{quantity} of '{self.name}': expected {wanted}; got {given}."
                    + (" Give sequences of scalars: casadi.vertsplit(x) of symbols." * whole)
                )
            return equation(*states)

        return of_scalars

    def default_formulation(self, quantity: str) -> str:
        """The equation that computes a quantity fastest for this robot.

        Args:
            quantity: What to compute, such as "inverse_dynamics" or "mass_matrix".

        Returns:
            Its name.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.default_formulation("mass_matrix")
            'gibbs_lean'
        """
        return formulation_of(self.system, quantity, None)

    def operations(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        frame: FrameName | None = None,
        regroup: bool = True,
    ) -> Operations:
        """How many multiplications, additions and other operations one evaluation takes.

        Args:
            quantity: What to compute, such as "inverse_dynamics" or "mass_matrix".
            formulation: Which of its equations; the fastest for this robot without it.
            frame: A link's name, or an `appell.Frame`; the tip without it.
            regroup: Whether inertial parameters are regrouped first; False counts with them as they
                are given.

        Returns:
            How many of each, no unit.

        Examples:
            >>> puma = appell.load("puma560")
            >>> print(puma.operations("inverse_dynamics"))
            156 multiplications, 121 additions, 10 sines and cosines
        """
        from appell.compile.count import count

        recipe = recipe_for(self.system, quantity, formulation, frame, regroup=regroup)
        return count(recorded(self.system, recipe))

    def _evaluate(
        self, quantity: str, arguments: tuple[Any, ...], out: Any, options: tuple[Any, ...] = ()
    ) -> Any:
        """What the kernel of a quantity gives; ``options`` are some of kernel()'s, in the order of
        _OPTIONS."""
        into = out is not None
        key = (quantity, options, into) if options or into else quantity
        try:
            single = self._singles.get(key)
        except TypeError:  # a frame that is no name: the kernel refuses it
            return self._general(quantity, arguments, out, options)
        if single is None:
            single = self._singles[key] = self._single(quantity, options, into)
        return single(*arguments, out) if into else single(*arguments)

    def _general(
        self, quantity: str, arguments: tuple[Any, ...], out: Any, options: tuple[Any, ...]
    ) -> Any:
        """For batches and for both dtypes."""
        chosen = dict(zip(_OPTIONS, options, strict=False))
        target = "cuda" if any(map(on_gpu, arguments)) else "cpu"
        kernel = self.kernel(quantity, dtype=kind_of(arguments), target=target, **chosen)
        return kernel(*arguments, out=out)

    def _single(self, quantity: str, options: tuple[Any, ...], into: bool) -> Callable[..., Any]:
        """The fastest way for one state, or few, of float64; all else goes the general way."""
        myself = ref(self)  # the function must not keep the robot alive that holds it

        def general(*arguments: Any) -> Any:
            robot = myself()
            assert robot is not None
            *states, out = arguments if into else (*arguments, None)
            return robot._general(quantity, tuple(states), out, options)

        chosen = dict(zip(_OPTIONS, options, strict=False))
        return self.kernel(quantity, **chosen).single(general, into)


def _count(x: Any) -> int | str:
    """How many scalars a sequence has; what is none is described."""
    try:
        return len(x)
    except TypeError:
        return f"one {type(x).__name__}"


def _kept(names: Any) -> Any:
    """A list as a tuple, by which a request can be found again."""
    return tuple(names) if type(names) is list else names


def kind_of(arguments: tuple[Any, ...]) -> str:
    """The dtype in which they are answered."""
    single = all(
        getattr(x, "dtype", None) == np.float32 or (on_gpu(x) and dtype_of(x) == "float32")
        for x in arguments
    )
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
