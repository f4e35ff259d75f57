"""A compiled program on a GPU: one run per thread."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from appell.compile import cache
from appell.compile.fuse import fused
from appell.compile.gpu.device_arrays import (
    DeviceArray,
    device_number,
    library_of,
    made_like,
    on_gpu,
    stream_of,
    view,
)
from appell.compile.gpu.driver import Device, driver
from appell.compile.gpu.gpu_kernel import GpuCode
from appell.compile.gpu.rows import THREADS
from appell.compile.identity import identity, is_current
from appell.compile.make import LOCK
from appell.compile.native import machine
from appell.compile.program import Program, fitted, hoisted
from appell.compile.progress import told
from appell.errors import InputError

WHAT = "rollout"


class ProgramCode:
    """The code of a program, or of its way back, and how it is given arrays."""

    def __init__(self, program: Program, dtype: str, ptx: bytes, cached: bool) -> None:
        self.program, self.dtype, self.cached = program, np.dtype(dtype), cached
        self._code = GpuCode({"outputs": {}, "steps": len(program)}, ptx)

    @property
    def ptx(self) -> bytes:
        """The code, as the driver assembles it."""
        return self._code.ptx

    def _sent(
        self,
        x: Any,
        device: Device,
        stream: int,
        alive: list[Any],
        axes: int = 0,
        name: str = "table",
    ) -> list[Any]:
        """An array's address and strides, where the GPU reads it."""
        if not on_gpu(x):
            host = np.ascontiguousarray(x, self.dtype)
            there = DeviceArray(host.shape, self.dtype.name, device, stream, WHAT)
            device.upload(there.pointer, host.ctypes.data, host.nbytes, stream)
            alive += [host, there]
            x = there
        found = view(f"{WHAT}: {name}", x, stream)
        if found.dtype != self.dtype.name:
            raise InputError(
                f"{WHAT}: {name} has dtype {found.dtype}, and this one computes with {self.dtype}; "
                "convert the array, or ask for another dtype."
            )
        if found.device != device.ordinal:
            raise InputError(
                f"{WHAT}: {name} is on GPU {found.device}, other arrays on {device.ordinal}; move "
                "them to one."
            )
        return self._strides(found, axes, name)

    def _strides(self, found: Any, axes: int, name: str) -> list[Any]:
        size = self.dtype.itemsize
        if found.shape and found.shape[-1] > 1 and found.strides[-1] != size:
            raise InputError(
                f"{WHAT}: {name}: the numbers of a run do not follow each other in memory; make a "
                "contiguous copy first."
            )
        leading = found.strides[:-1]
        strides = (*(0 for _ in range(axes - len(leading))), *leading)
        return [ctypes.c_uint64(found.pointer), *map(ctypes.c_int64, strides[:axes])]

    def _made(self, shape: tuple[int, ...], example: Any, device: Device, stream: int) -> Any:
        if example is None:
            return DeviceArray(shape, self.dtype.name, device, stream, WHAT)
        return made_like(example, shape, self.dtype.name, device, stream, WHAT)

    def _to_host(self, group: Mapping[str, Any], device: Device, stream: int) -> dict[str, Any]:
        """NumPy copies of results, once they are computed."""
        found = {name: np.empty(x.shape, self.dtype) for name, x in group.items()}
        for name, x in found.items():
            device.download(x.ctypes.data, group[name].pointer, x.nbytes, stream)
        device.synchronise(stream, WHAT)
        return found


class GpuProgram(ProgramCode):
    """``program(runs, inputs, table, series, steps, every, stream=None, like=None)``: as that of a
    processor.

    Arrays of CuPy, PyTorch and JAX are read where they are, and results are then arrays of the same
    library, that of ``like`` if there is one; NumPy's are copied there. Without an array on the GPU
    the results are NumPy's.
    """

    def __call__(
        self,
        runs: int,
        inputs: Mapping[str, Any],
        table: Any,
        series: Mapping[str, Any],
        steps: int,
        every: int = 1,
        stream: Any = None,
        like: Any = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        p = self.program
        example, device, where = placed((like, *inputs.values(), *series.values()), stream)
        kept_shapes = {x: (runs, 1 + steps // every, p.widths[x]) for x in p.kept}
        out_shapes = {x: (runs, p.widths[x]) for x in p.outputs}
        alive: list[Any] = []
        with device.current():
            arguments: list[Any] = [ctypes.c_int32(x) for x in (runs, steps, every)]
            arguments.append(self._sent(table, device, where, alive)[0])
            for name in p.inputs:
                arguments += self._sent(inputs[name], device, where, alive, 1, name)
            for name in p.series:
                arguments += self._sent(series[name], device, where, alive, 2, name)
            kept = {x: self._made(s, example, device, where) for x, s in kept_shapes.items()}
            outputs = {x: self._made(s, example, device, where) for x, s in out_shapes.items()}
            for group, axes in ((kept, 2), (outputs, 1)):
                for name, y in group.items():
                    arguments += self._strides(view(name, y, where), axes, name)
            function = self._code.function(device)
            grid = (-(-runs // THREADS), 1)
            device.launch(function, grid, THREADS, where, arguments, WHAT)
            if example is None:
                return self._to_host(kept, device, where), self._to_host(outputs, device, where)
            if alive or library_of(example) == "jax":
                device.synchronise(where, WHAT)  # nobody else keeps what the kernel reads
            return kept, outputs


def placed(arrays: Iterable[Any], stream: Any) -> tuple[Any, Device, int]:
    """The first array that is on a GPU, or None, the GPU to compute on, and the stream there."""
    example = next((x for x in arrays if on_gpu(x)), None)
    number = 0 if example is None else device_number(example)
    where = 0 if example is None and stream is None else stream_of(stream, example, number)
    return example, driver().device(number), where


def compiled_for_gpu(program: Program, dtype: str, what: str) -> GpuProgram:
    """The program's kernel for GPUs, from the cache or made anew."""
    with LOCK:
        ready = fitted(hoisted(program), fused)
        key = identity("program", "cuda", dtype, machine(), repr(ready))
        found = None if cache.is_off() else cache.fetch(key)
        if found is not None:
            return GpuProgram(ready, dtype, found[1], True)
        from appell.compile.emit.program_ptx import emit_program_ptx

        with told(what):
            ptx = emit_program_ptx(ready, dtype).encode()
        if is_current():
            cache.store(key, {}, ptx)
        return GpuProgram(ready, dtype, ptx, False)
