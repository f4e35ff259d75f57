"""Gradients of compiled programs on a GPU: values and adjoints, one run per thread."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from appell.compile import cache
from appell.compile.gpu.device_arrays import DeviceArray, view
from appell.compile.gpu.driver import Device
from appell.compile.gpu.gpu_program import WHAT, ProgramCode, placed
from appell.compile.gpu.rows import THREADS, WARP
from appell.compile.identity import identity, is_current
from appell.compile.make import LOCK
from appell.compile.native import machine
from appell.compile.program import Program, hoisted
from appell.compile.progress import told
from appell.compile.sweep import order, rows_of, segments, swept

SHARE = 2  # one part in so many of the free memory is for trails and checkpoints
MOST = 16 * 2**30  # bytes: with these a large GPU has more threads than it runs at a time


class GpuGradient(ProgramCode):
    """``gradient(runs, inputs, table, series, steps, seeds, stream=None, like=None)``: as that of a
    processor, with arrays as those of a program on a GPU.

    It waits for its results: trails and checkpoints are in memory that is freed then.
    """

    def __init__(
        self, program: Program, dtype: str, ptx: bytes, cached: bool, layout: Mapping[str, Any]
    ) -> None:
        super().__init__(program, dtype, ptx, cached)
        self.by, self.of = tuple(layout["by"]), tuple(layout["of"])
        self._widths, self._values = layout["widths"], layout["values"]

    def __call__(
        self,
        runs: int,
        inputs: Mapping[str, Any],
        table: Any,
        series: Mapping[str, Any],
        steps: int,
        seeds: Mapping[str, Any],
        stream: Any = None,
        like: Any = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        p = self.program
        read = {"input": inputs, "series": series, "seed": seeds}
        given = (like, *(x for group in read.values() for x in group.values()))
        example, device, where = placed(given, stream)
        shapes = {x: self._shape(x, runs, steps) for x in self.by}
        alive: list[Any] = []
        with device.current():
            outputs = {
                y: self._made((runs, p.widths[y]), example, device, where) for y in p.outputs
            }
            gradients = {x: self._made(s, example, device, where) for x, s in shapes.items()}
            written = {"output": outputs, "gradient": gradients}
            addresses: list[int] = []
            for what, name, axes in order(p, self.by, self.of):
                if what in read:
                    found = self._sent(read[what][name], device, where, alive, axes - 1, name)
                else:
                    found = self._strides(view(name, written[what][name], where), axes - 1, name)
                addresses += [number.value for number in found]
            (rows,) = self._sent(table, device, where, alive)
            self._run(runs, steps, rows.value, addresses, device, where)
            if example is None:
                return self._to_host(outputs, device, where), self._to_host(
                    gradients, device, where
                )
            return outputs, gradients

    def _run(
        self, runs: int, steps: int, table: int, addresses: list[int], device: Device, stream: int
    ) -> None:
        """Launch as many threads as the memory has room for, and wait for them."""
        slot = WARP * self.dtype.itemsize
        segment, room = segments(steps, self._widths, self._values, slot, budget=0)
        per_block = max(room, 1) * THREADS // WARP
        fitting = max(1, min(device.free_memory() // SHARE, MOST) // per_block)
        needed = max(1, -(-runs // THREADS))
        blocks = -(-needed // -(-needed // fitting))  # so that all have as many runs
        memory = DeviceArray((blocks * per_block,), "uint8", device, stream, f"{WHAT}: gradient")
        head = [0, runs, steps, segment, table, memory.pointer, blocks * THREADS, room]
        host = np.array([*head, *addresses], np.uint64)
        numbers = DeviceArray(host.shape, "uint64", device, stream, WHAT)
        device.upload(numbers.pointer, host.ctypes.data, host.nbytes, stream)
        function = self._code.function(device)
        arguments = [ctypes.c_uint64(numbers.pointer)]
        device.launch(function, (blocks, 1), THREADS, stream, arguments, WHAT)
        device.synchronise(stream, WHAT)

    def _shape(self, name: str, runs: int, steps: int) -> tuple[int, ...]:
        """Of a gradient."""
        p = self.program
        if name in p.inputs:
            return runs, p.widths[name]
        return runs, rows_of(p, name, steps), p.widths[name]


def gradient_for_gpu(
    program: Program, by: Collection[str], of: Collection[str], dtype: str, what: str
) -> GpuGradient:
    """The kernel that runs a program and takes adjoints back, from the cache or made anew."""
    with LOCK:
        ready = hoisted(program)
        key = identity("gradient", "cuda", dtype, machine(), tuple(by), tuple(of), repr(ready))
        found = None if cache.is_off() else cache.fetch(key)
        if found is not None:
            header, ptx = found
            return GpuGradient(ready, dtype, ptx, True, header)
        from appell.compile.emit.program import framed
        from appell.compile.emit.sweep_ptx import emit_sweep_ptx

        with told(what):
            sweep = swept(ready, by, of, fuse=True)
            ptx = emit_sweep_ptx(sweep, dtype).encode()
        header = {"by": list(by), "of": list(of), "widths": list(sweep.widths)}
        header |= {"values": framed(ready).room}
        if is_current():
            cache.store(key, header, ptx)
        return GpuGradient(ready, dtype, ptx, False, header)
