"""Kernels: a system's equations, compiled when they are first used and kept by the robot."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
import numpy.typing as npt

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
        if target != "cpu":
            raise InputError(f"target={target!r}: kernels are made for 'cpu'.")
        kind = float_kind(dtype)
        by = (wrt,) if isinstance(wrt, str) else names("wrt", wrt)
        on = (forces,) if isinstance(forces, str) else tuple(forces)
        recipe = recipe_for(
            self.system, quantity, formulation, frame, groups(parameters), by, regroup, axes,
            relative_to, on,
        )  # fmt: skip
        kernel = self._kernels.get((recipe, kind))
        if kernel is None:  # two threads may make it twice, from the same code
            kernel = self._kernels[recipe, kind] = compiled(self.system, recipe, kind)
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
        """A quantity's equation as it is written, uncompiled, for scalars of any kind.

        The function takes a sequence of scalars for each input of the quantity, in the robot's
        coordinates: floats, arrays (a batch), SymPy's symbols, CasADi's SX or MX, JAX arrays. It
        gives a number, a list, or a list of lists. (The functions of ``appell.equations``
        themselves take the positions of the bodies' joints, which are others where frames are
        turned, joints mimic others or stand in another order, or the base is free.)
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
        """The equation that computes a quantity fastest for this robot."""
        return formulation_of(self.system, quantity, None)

    def operations(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        frame: FrameName | None = None,
        regroup: bool = True,
    ) -> Operations:
        """How many multiplications, additions, ... one evaluation takes; ``regroup=False`` counts
        with the inertial parameters as they are given."""
        from appell.compile.count import count

        recipe = recipe_for(self.system, quantity, formulation, frame, regroup=regroup)
        return count(recorded(self.system, recipe))

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
