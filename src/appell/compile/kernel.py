"""A compiled equation: called like a NumPy function, on one state or on a million."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from appell.compile.batches import Batches
from appell.compile.emit.entry import available, entry
from appell.compile.gufunc import core, gufunc
from appell.compile.native import compile_module, fuses, lanes, load, loop_data
from appell.errors import InputError

if TYPE_CHECKING:
    from appell.compile.tape import Tape

Shape = tuple[int, ...]
_ALIASES = {"qd": "v", "qdd": "a"}  # other names of inputs, as robots' methods take them


class Code:
    """Machine code in this process, there as long as a kernel runs it."""

    def __init__(self, header: Mapping[str, Any], code: bytes) -> None:
        self.outputs = {k: tuple(shape) for k, shape in header["outputs"].items()}
        self.steps: int = header["steps"]
        self.streams: bool = header["streams"]
        self.addresses, self._memory = load(header["entries"], code)


def compile_tape(tape: Tape, dtype: str) -> tuple[dict[str, Any], bytes]:
    """The header and machine code of a tape."""
    from appell.compile.emit.gufunc_loop import streams
    from appell.compile.emit.llvm import emit
    from appell.compile.fuse import fused
    from appell.compile.lower import REALS

    steps = fused(tape) if fuses() else tape
    entries, code = compile_module(emit(steps, dtype, lanes(dtype)))
    header = {
        "outputs": tape.outputs,
        "steps": len(tape),
        "streams": streams(tape, REALS[dtype], lanes(dtype)),
        "entries": entries,
    }
    return header, code


class Kernel:
    """``kernel(*inputs, out=None)``: leading axes broadcast, large batches use all threads.

    ``inputs`` and ``outputs`` map names to the shapes of one state; ``defaults`` holds the robot's
    own values of inputs that are parameters and may then be left out of a call. Kernels are made by
    `appell.compile.make.kernel_of`.

    Examples:
        >>> kernel = appell.load("planar_chain", n=2).kernel("mass_matrix", parameters="mass")
        >>> kernel.inputs, kernel.outputs
        ({'q': (2,), 'mass': (2,)}, {'M': (2, 2)})
        >>> kernel([0, 0]).round(3).tolist()
        [[2.667, 0.833], [0.833, 0.333]]
        >>> kernel(np.zeros((1000, 2)), mass=[1, 2]).shape
        (1000, 2, 2)
    """

    cached: bool  # whether its code was there before
    seconds_to_compile: float

    def __init__(
        self,
        code: Code,
        name: str,
        dtype: str,
        inputs: Mapping[str, Shape],
        tape: Callable[[], Tape],
        defaults: Mapping[str, Any],
        doc: str,
        origin: tuple[Any, ...] | None,
    ) -> None:
        self.name, self.dtype, self.doc = name, np.dtype(dtype), doc
        self.inputs, self.outputs, self.steps = dict(inputs), code.outputs, code.steps
        self._tape, self._code = tape, code
        self.origin = origin  # the function and arguments that make it again
        self.defaults = dict(defaults)
        for values in self.defaults.values():
            values.flags.writeable = False
        self._deep = any(len(shape) > 2 for shape in self.outputs.values())
        self._enter(code)

    def _enter(self, code: Code) -> None:
        """Make the code callable."""
        dtype, given = self.dtype.name, list(self.inputs.values())
        results, at = list(map(core, self.outputs.values())), code.addresses["loop"]
        ufuncs, self._alive = zip(
            *(
                gufunc(at, loop_data(past), dtype, given, results, self.name, self.doc)
                for past in ((False, True) if code.streams else (False,))
            ),
            strict=True,
        )
        self._ufunc = ufuncs[0]
        self._batches = Batches(ufuncs, given, results, dtype, code.steps)

    def __reduce__(self) -> Any:
        if self.origin is None:
            raise TypeError("only the kernels of a robot can be pickled")
        return self.origin

    def __deepcopy__(self, memo: Any) -> Kernel:
        return self  # it never changes

    def tape(self) -> Tape:
        """The equation's tape, recorded again: what is kept between runs is code only.

        Returns:
            A tape: the steps of the equation, one operation each.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> kernel = arm.kernel("gravity")
            >>> len(kernel.tape()) == kernel.steps
            True
        """
        return self._tape()

    def bare(self, *arguments: Any) -> Any:
        """The same as the kernel without checks and threads, for arrays; outputs have at most two
        axes.

        Args:
            *arguments: Arrays of the kernel's dtype, in SI units.

        Returns:
            What the kernel gives, in the units of the quantity.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> kernel = arm.kernel("gravity")
            >>> kernel.bare(np.zeros(2)).round(3).tolist()
            [19.62, 4.905]
        """
        return self._ufunc(*arguments)

    def single(
        self, otherwise: Callable[..., Any] | None = None, into: bool = False
    ) -> Callable[..., Any]:
        """A function for one state at a time, or a small batch, faster than the kernel itself.

        Args:
            otherwise: What takes arguments that are no such, or not of this kernel's dtype; without
                it, they are taken without checks.
            into: Whether its last argument is the array to write into.

        Returns:
            A function of the inputs.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> kernel = arm.kernel("gravity")
            >>> one = kernel.single()
            >>> one(np.zeros(2)).round(3).tolist()
            [19.62, 4.905]
        """
        return self._entered(otherwise or self.bare, self, into)

    def _entered(
        self, otherwise: Callable[..., Any], owner: Any, into: bool = False
    ) -> Callable[..., Any]:
        """The compiled function, which keeps its owner alive; ``into``: its last argument is the
        array to write into."""
        if not self._code.addresses["call"] or not available():
            return otherwise
        at, data = self._code.addresses["call"], loop_data(False)
        function, kept = entry(at, self.name, self.dtype, otherwise, owner, data, into)
        self._alive = (self._alive, kept)
        return function

    @cached_property
    def _quick(self) -> Callable[..., Any]:
        """The call without names, as fast as it can be."""
        myself = ref(self)  # the function must not keep the kernel alive that holds it

        def general(*arguments: Any) -> Any:
            kernel = myself()
            assert kernel is not None
            return kernel._general(arguments, {}, None)

        return self._entered(general, self._code)

    @cached_property
    def _quick_into(self) -> Callable[..., Any]:
        """The same, with the array to write into as the last argument."""
        myself = ref(self)

        def general(*arguments: Any) -> Any:
            kernel = myself()
            assert kernel is not None
            return kernel._general(arguments[:-1], {}, arguments[-1])

        return self._entered(general, self._code, into=True)

    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        if not named:
            return self._quick(*arguments) if out is None else self._quick_into(*arguments, out)
        return self._general(arguments, named, out)

    def _general(self, arguments: tuple[Any, ...], named: Mapping[str, Any], out: Any) -> Any:
        """Whatever the arguments are."""
        values = [self._plain(x) for x in self._bound(arguments, named)]
        try:
            if self._deep:
                return self._unfolded(values, out)
            if out is None and not any(isinstance(x, np.ndarray) and x.ndim > 1 for x in values):
                return self._ufunc(*values)
            return self._batches(values, out)
        except (TypeError, ValueError) as problem:
            raise self.explained(values, out, problem) from None

    def _unfolded(self, values: list[Any], out: Any) -> Any:
        """Outputs of three axes and more, which compiled code writes as one."""
        results = self._batches(values)
        many = results if isinstance(results, tuple) else (results,)
        shaped = tuple(
            y.reshape(y.shape[: y.ndim - len(core(shape))] + shape)
            for y, shape in zip(many, self.outputs.values(), strict=True)
        )
        if out is not None:
            targets = out if isinstance(out, tuple) else (out,)
            for target, y in zip(targets, shaped, strict=True):
                np.copyto(target, y)
            return targets if len(targets) > 1 else targets[0]
        return shaped if len(shaped) > 1 else shaped[0]

    def __repr__(self) -> str:
        core = ", ".join(f"{k}{list(s)}" for k, s in self.inputs.items())
        made = ", ".join(f"{k}{list(s)}" for k, s in self.outputs.items())
        return f"<kernel {self.name}({core}) -> {made}, {self.dtype}, {self.steps} steps>"

    def _plain(self, x: Any) -> Any:
        """An argument as an array that is nothing more, in float32 for a kernel of float32."""
        if x is None or (type(x) is np.ndarray and self.dtype == np.float64):
            return x
        if isinstance(x, np.ndarray) and hasattr(x, "mask"):  # importing np.ma takes 10 ms
            raise InputError(f"{self.name}: masked arrays are not taken; fill them with numbers.")
        try:
            array = np.asarray(x)
        except ValueError:  # ragged; explained when NumPy refuses it
            return x
        if self.dtype == np.float32 and array.dtype.kind in "fiub":
            with np.errstate(over="ignore"):
                return array.astype(np.float32, copy=False)
        return array

    def _bound(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        """Arguments in order, with the robot's own values for parameters that are not given."""
        names = list(self.inputs)
        if len(arguments) == len(names) and not named:
            return list(arguments)
        values = dict(zip(names, arguments, strict=False))
        for name, value in named.items():
            if name not in self.inputs and _ALIASES.get(name) in self.inputs:
                name = _ALIASES[name]
            if name not in self.inputs or name in values:
                problem = "given twice" if name in values else "unknown"
                raise InputError(f"{self.name}: {name} is {problem}; it takes {', '.join(names)}.")
            values[name] = value
        values = {**self.defaults, **values}
        missing = [name for name in names if name not in values]
        if missing or len(arguments) > len(names):
            raise InputError(
                f"{self.name} takes {', '.join(names)}; "
                + (f"{', '.join(missing)} missing." if missing else f"got {len(arguments)}.")
            )
        return [values[name] for name in names]

    def explained(self, values: list[Any], out: Any, problem: Exception) -> Exception:
        """Why NumPy refused a call, in terms of the robot.

        Args:
            values: The arguments of the call.
            out: The array that was to take the result.
            problem: What NumPy raised.

        Returns:
            An error to raise.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> kernel = arm.kernel("gravity")
            >>> type(kernel.explained([None], None, ValueError())).__name__
            'InputError'
        """
        leading = []
        for (name, shape), value in zip(self.inputs.items(), values, strict=True):
            if value is None:
                return InputError(f"{self.name}: {name} is missing; expected {expected(shape)}.")
            try:
                array = np.asarray(value)
            except ValueError:
                return InputError(f"{self.name}: {name} is ragged; expected {expected(shape)}.")
            if array.dtype.kind not in "fiub":
                return InputError(
                    f"{self.name}: {name} has dtype {array.dtype}; expected real numbers"
                    + (" (take its real part first)." if array.dtype.kind == "c" else ".")
                )
            if not np.can_cast(array.dtype, self.dtype):
                return InputError(
                    f"{self.name}: {name} has dtype {array.dtype}, which {self.dtype} cannot hold; "
                    f"convert it with .astype({self.dtype})."
                )
            if shape and array.shape[-len(shape) :] != shape:
                return InputError(
                    f"{self.name}: {name} has shape {array.shape}; expected {expected(shape)}."
                )
            leading.append((name, array.shape[: array.ndim - len(shape)]))
        try:
            np.broadcast_shapes(*(axes for _, axes in leading))
        except ValueError:
            shown = ", ".join(f"{name} {axes}" for name, axes in leading)
            return InputError(
                f"{self.name}: leading axes do not broadcast together: {shown}; "
                "each must be equal or one."
            )
        if out is not None:
            return InputError(f"{self.name}: out= does not fit: {self._misfit(leading, out)}.")
        return problem

    def _misfit(self, leading: list[tuple[str, Shape]], out: Any) -> str:
        batch = np.broadcast_shapes(*(axes for _, axes in leading))
        wanted = [f"{batch + shape}" for shape in self.outputs.values()]
        given = out if isinstance(out, tuple) else (out,)
        shown = [
            f"{'' if x.flags.writeable else 'read-only '}{x.dtype} {x.shape}"
            if isinstance(x, np.ndarray)
            else type(x).__name__
            for x in given
        ]
        return (
            f"got {', '.join(shown) or 'nothing'}; expected writable arrays of {self.dtype}, "
            f"{', '.join(wanted)}"
        )


def expected(shape: Shape) -> str:
    return f"(..., {', '.join(map(str, shape))})" if shape else "(...)"
