"""A compiled equation on a GPU: called with arrays that are there, one state per thread."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile import cache
from appell.compile.gpu.device_arrays import (
    DeviceArray,
    View,
    device_number,
    library_of,
    made_like,
    on_gpu,
    span,
    stream_of,
    view,
)
from appell.compile.gpu.driver import Device, driver
from appell.compile.gpu.rows import ENTRY, THREADS, launches, merged, piece
from appell.compile.identity import identity, is_current
from appell.compile.kernel import Kernel, expected
from appell.errors import InputError

if TYPE_CHECKING:
    from appell.compile.tape import Tape

Shape = tuple[int, ...]


class GpuCode:
    """PTX, and the machine code that the driver made of it, per GPU."""

    def __init__(self, header: Mapping[str, Any], code: bytes) -> None:
        self.outputs = {k: tuple(shape) for k, shape in header["outputs"].items()}
        self.steps: int = header["steps"]
        self.ptx = code
        self._functions: dict[Device, Any] = {}
        self._lock = Lock()

    def function(self, device: Device) -> Any:
        """The kernel on a device; its machine code is kept on disk as other code is."""
        with self._lock:
            if device not in self._functions:
                key = identity(self.ptx, device.capability, device.driver.version)
                kept = cache.fetch(key)
                code = kept[1] if kept else device.assemble(self.ptx)
                if not kept and is_current():
                    cache.store(key, {}, code)
                self._functions[device] = device.load(code, ENTRY)
            return self._functions[device]


def compile_ptx(tape: Tape, dtype: str) -> tuple[dict[str, Any], bytes]:
    """The header and PTX of a tape, with the fused steps that processors use."""
    from appell.compile.emit.ptx import emit_ptx
    from appell.compile.fuse import fused

    return {"outputs": tape.outputs, "steps": len(tape)}, emit_ptx(fused(tape), dtype).encode()


class GpuKernel(Kernel):
    """``kernel(*inputs, out=None, stream=None)``: leading axes broadcast.

    Arrays of CuPy, PyTorch, JAX and others are read where they are, and results are arrays of the
    first one's library; work is given to the stream, or to the library's current one, and not
    waited for (with JAX it is). NumPy arrays are copied to GPU 0, and results back.
    """

    _code: GpuCode  # type: ignore[assignment]

    def _enter(self, code: Any) -> None:
        self._constants: dict[tuple[str, int], DeviceArray] = {}

    @property
    def ptx(self) -> bytes:
        """The code, as the driver assembles it."""
        return self._code.ptx

    def bare(self, *arguments: Any) -> Any:
        """The same as the kernel: on a GPU nothing is left out."""
        return self(*arguments)

    def single(self, otherwise: Any = None, into: bool = False) -> Any:
        """A function of the inputs: the kernel itself, or ``otherwise``."""
        return otherwise or (self if not into else lambda *x: self(*x[:-1], out=x[-1]))

    def __call__(self, *arguments: Any, out: Any = None, stream: Any = None, **named: Any) -> Any:
        values = self._bound(arguments, named)
        given = [
            x if on_gpu(x) else None
            for name, x in zip(self.inputs, values, strict=True)
            if x is not self.defaults.get(name)
        ]
        if not any(x is not None for x in given):
            return self._of_host(values, out, stream)
        example = next(x for x in given if x is not None)
        number = device_number(example)
        where = stream_of(stream, example, number)
        views = [
            self._seen(name, x, where, number) for name, x in zip(self.inputs, values, strict=True)
        ]
        device = driver().device(self._one_device(views))
        with device.current():
            return self._run(views, example, out, device, where)

    def _of_host(self, values: Sequence[Any], out: Any, stream: Any) -> Any:
        """The same for arrays of the host, which are copied there, and the results back."""
        device = driver().device(0)
        where = 0 if stream is None else stream_of(stream, None, 0)
        plain = [self._plain(x) for x in values]
        arrays = []
        for x, core in zip(plain, self.inputs.values(), strict=True):
            fits = isinstance(x, np.ndarray) and np.can_cast(x.dtype, self.dtype)
            if not fits or x.shape[max(x.ndim - len(core), 0) :] != core:
                raise self.explained(plain, None, TypeError(f"{self.name}: {type(x).__name__}"))
            arrays.append(np.ascontiguousarray(x, dtype=self.dtype).reshape(x.shape))
        with device.current():
            there = [DeviceArray(x.shape, x.dtype.name, device, where, self.name) for x in arrays]
            for x, y in zip(arrays, there, strict=True):
                device.upload(y.pointer, x.ctypes.data, x.nbytes, where)
            views = [self._seen(k, y, where, 0) for k, y in zip(self.inputs, there, strict=True)]
            results = self._run(views, there[0], None, device, where)
            many = results if isinstance(results, tuple) else (results,)
            back = tuple(np.empty(y.shape, y.dtype) for y in many)
            for x, y in zip(back, many, strict=True):
                device.download(x.ctypes.data, y.pointer, x.nbytes, where)
            device.synchronise(where, self.name)
        if out is None:
            return back if len(back) > 1 else back[0]
        targets = out if isinstance(out, tuple) else (out,)
        for target, result in zip(targets, back, strict=True):
            np.copyto(target, result)
        return out

    def _seen(self, name: str, x: Any, stream: int, number: int) -> View:
        """Where an input is, refused if it is not as this kernel reads it."""
        what, shape = f"{self.name}: {name}", self.inputs[name]
        if x is self.defaults.get(name) and x is not None:
            x = self._constant(name, number)
        if not on_gpu(x):
            raise InputError(
                f"{what} is in the host's memory ({type(x).__name__}), and other inputs are on a "
                "GPU; move it there first (cupy.asarray, torch.as_tensor(x, device='cuda'), "
                "jax.device_put), or give NumPy arrays only."
            )
        found = view(what, x, stream)
        if found.dtype != self.dtype.name:
            raise InputError(
                f"{what} has dtype {found.dtype}, and this kernel takes {self.dtype}; convert the "
                "array, or ask for kernel(..., dtype='float64'), or 'float32'."
            )
        n = len(found.shape) - len(shape)
        if n < 0 or found.shape[n:] != shape:
            raise InputError(f"{what} has shape {found.shape}; expected {expected(shape)}.")
        if prod(found.shape) and not _is_packed(found.strides[n:], shape, self.dtype.itemsize):
            raise InputError(
                f"{what}: the numbers of a state do not follow each other in memory (strides "
                f"{found.strides} bytes); make a contiguous copy first."
            )
        return found

    def _constant(self, name: str, number: int) -> DeviceArray:
        """A default value on a device."""
        if (name, number) not in self._constants:
            device = driver().device(number)
            host = np.ascontiguousarray(self.defaults[name], dtype=self.dtype)
            with device.current():
                there = DeviceArray(host.shape, host.dtype.name, device, 0, self.name)
                device.upload(there.pointer, host.ctypes.data, host.nbytes, 0)
                device.synchronise(0, self.name)
            self._constants[name, number] = there
        return self._constants[name, number]

    def _one_device(self, views: Sequence[View]) -> int:
        numbers = {name: x.device for name, x in zip(self.inputs, views, strict=True)}
        if len(set(numbers.values())) > 1:
            shown = ", ".join(f"{name} on {k}" for name, k in numbers.items())
            raise InputError(
                f"{self.name}: arrays are on several GPUs ({shown}); move them to one."
            )
        return views[0].device

    def _run(self, views: list[View], example: Any, out: Any, device: Device, stream: int) -> Any:
        cores = list(self.inputs.values())
        leading = [
            x.shape[: len(x.shape) - len(core)] for x, core in zip(views, cores, strict=True)
        ]
        try:
            batch = np.broadcast_shapes(*leading)
        except ValueError:
            shown = ", ".join(f"{k} {axes}" for k, axes in zip(self.inputs, leading, strict=True))
            raise InputError(
                f"{self.name}: leading axes do not broadcast together: {shown}; each must be "
                "equal or one."
            ) from None
        shapes = [batch + shape for shape in self.outputs.values()]
        if out is None:
            results = [
                made_like(example, shape, self.dtype.name, device, stream, self.name)
                for shape in shapes
            ]
            targets = [view(self.name, y, stream) for y in results]
        else:
            results = list(out) if isinstance(out, tuple) else [out]
            targets = self._targets(results, shapes, views, stream)
        kept = [self._aligned(k, x, device, stream) for k, x in enumerate(views)]
        strides = [_broadcast(x, axes, batch) for (x, _), axes in zip(kept, leading, strict=True)]
        function = self._code.function(device)
        widths = [prod(shape) * self.dtype.itemsize for shape in self.outputs.values()]
        for part in launches(batch, strides):
            values: list[Any] = [ctypes.c_int32(part.rows)]
            for (x, _), offset, step, across in zip(
                kept, part.offsets, part.steps, part.across, strict=True
            ):
                values += [ctypes.c_uint64(x.pointer + offset), ctypes.c_int32(step)]
                values += [ctypes.c_int64(across)]
            values += [
                ctypes.c_uint64(y.pointer + part.first * width)
                for y, width in zip(targets, widths, strict=True)
            ]
            grid = (-(-part.rows // THREADS), part.batches)
            device.launch(function, grid, THREADS, stream, values, self.name)
        if library_of(example) == "jax" or any(copy is not None for _, copy in kept):
            device.synchronise(stream, self.name)  # nobody else keeps what the kernel reads
        return tuple(results) if len(results) > 1 else results[0]

    def _targets(
        self, results: list[Any], shapes: list[Shape], inputs: Sequence[View], stream: int
    ) -> list[View]:
        """Where out= is, refused if it does not fit."""
        wanted = ", ".join(map(str, shapes))
        if len(results) != len(shapes) or not all(map(on_gpu, results)):
            raise InputError(
                f"{self.name}: out= does not fit: expected {len(shapes)} arrays on the GPU, "
                f"{wanted}."
            )
        targets = [view(f"{self.name}: out", y, stream) for y in results]
        for k, (y, shape) in enumerate(zip(targets, shapes, strict=True)):
            packed = _is_packed(y.strides, y.shape, self.dtype.itemsize)
            if y.shape != shape or y.dtype != self.dtype.name or not y.writable or not packed:
                raise InputError(
                    f"{self.name}: out= does not fit: got {y.dtype} {y.shape}; expected writable "
                    f"arrays of {self.dtype} in C order, {wanted}."
                )
            if y.pointer % piece(self.dtype.itemsize, prod(list(self.outputs.values())[k])):
                raise InputError(
                    f"{self.name}: out= begins at {y.pointer:#x}, no multiple of 16 bytes; give an "
                    "array of its own."
                )
            if any(_overlap(x, y) for x in (*inputs, *targets[:k])):
                raise InputError(
                    f"{self.name}: out= shares memory with an input or another output; give others."
                )
        return targets

    def _aligned(self, k: int, x: View, device: Device, stream: int) -> tuple[View, Any]:
        """An input whose rows begin where they can be read in pieces, and the copy if it is one."""
        width, core = prod(list(self.inputs.values())[k]), len(list(self.inputs.values())[k])
        size = self.dtype.itemsize
        unit = piece(size, width)
        n = len(x.shape) - core
        if not any(place % unit for place in (x.pointer, *x.strides[:n])):
            return x, None
        axes = merged(x.shape[:n], [x.strides[:n]])
        rows, (step,) = axes[-1] if axes else (1, (width * size,))
        if len(axes) > 1 or step < width * size:
            raise InputError(
                f"{self.name}: {list(self.inputs)[k]} begins at {x.pointer:#x} with strides "
                f"{x.strides} bytes, no multiples of {unit}; make a contiguous copy first."
            )
        copy = DeviceArray(x.shape, self.dtype.name, device, stream, self.name)
        device.pack(copy.pointer, x.pointer, step, width * size, rows, stream)
        return view(self.name, copy, stream), copy


def _broadcast(x: View, leading: Shape, batch: Shape) -> Shape:
    """An input's distances along the axes of the batch."""
    own = [0 if n == 1 else step for n, step in zip(leading, x.strides, strict=False)]
    return (*[0] * (len(batch) - len(leading)), *own)


def _is_packed(strides: Shape, shape: Shape, size: int) -> bool:
    """Whether the numbers follow each other in C order."""
    for n, step in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and step != size:
            return False
        size *= n
    return True


def _overlap(x: View, y: View) -> bool:
    """Whether two arrays may share memory."""
    (a, b), (c, d) = span(x), span(y)
    return prod(x.shape) > 0 and prod(y.shape) > 0 and a <= d and c <= b
