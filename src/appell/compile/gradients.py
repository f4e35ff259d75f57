"""Gradients of compiled programs: values and adjoints of many runs in one call."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from appell.compile import cache
from appell.compile.identity import identity, is_current
from appell.compile.make import LOCK
from appell.compile.native import compile_module, fuses, lanes, machine
from appell.compile.program import Program, hoisted
from appell.compile.programs import Addresses, ProgramKernel
from appell.compile.progress import told
from appell.compile.sweep import order, reads, rows_of, segments, swept

BUDGET = 32 * 2**20  # bytes of trail for each thread
ALIGNED = 64  # bytes, as memory over lanes has to be


class GradientKernel(ProgramKernel):
    """A program and its way back in machine code."""

    def __init__(
        self, program: Program, dtype: str, code: Any, cached: bool, layout: Mapping[str, Any]
    ) -> None:
        super().__init__(program, dtype, code, cached)
        self.by, self.of = tuple(layout["by"]), tuple(layout["of"])
        self._widths, self._values = layout["widths"], layout["values"]

    def __call__(  # type: ignore[override]
        self,
        runs: int,
        inputs: Mapping[str, Any],
        table: Any,
        series: Mapping[str, Any],
        steps: int,
        seeds: Mapping[str, Any],
        budget: int = BUDGET,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The outputs, each (runs, width), and the gradients of each run's objective.

        Inputs, table and series are those of the program's own kernel. The objective is the sum of
        all outputs y in ``of``, each number times its seed: ``seeds[y]`` is the derivative of the
        objective with respect to y, (runs, width) or (width,). The gradients are, by name, (runs,
        width) for inputs and (runs, steps, width) for series and tables; (runs, steps + 1, width)
        for a table that is read after the last step. A table's gradients are those that it would
        have if each run had its own: their sum over the runs is that of the table itself.

        ``budget`` is the number of bytes that a thread may use for the trail of the steps. If more
        steps are asked for than fit, they are computed once more, in segments; the results have the
        same bits.
        """
        p = self.program
        outputs = {y: np.empty((runs, p.widths[y]), self.dtype) for y in p.outputs}
        gradients = {x: np.empty(self._shape(x, runs, steps), self.dtype) for x in self.by}
        columns, rows = sum(p.tables.values()), steps + any(reads(p.last, x) for x in p.tables)
        table = np.ascontiguousarray(table, self.dtype)
        if p.tables and (table.ndim != 2 or len(table) < rows or table.shape[1] != columns):
            raise ValueError(f"the table has the shape {table.shape}, expected {(rows, columns)}")
        held = {}
        for what, group in (("input", inputs), ("series", series), ("seed", seeds)):
            names = {"input": p.inputs, "series": p.series, "seed": self.of}[what]
            for x in names:
                shape = (runs, steps, p.widths[x]) if what == "series" else (runs, p.widths[x])
                held[what, x] = self._array(group[x], x, shape)
        held |= {("output", y): x for y, x in outputs.items()}
        held |= {("gradient", y): x for y, x in gradients.items()}
        addresses = Addresses(self.dtype)
        for what, name, axes in order(p, self.by, self.of):
            addresses.add(held[what, name], axes)
        slot = self._lanes * self.dtype.itemsize
        segment, room = segments(steps, self._widths, self._values, slot, budget)
        free: list[Any] = []  # memory of trails that no thread uses now

        def compute(start: int, end: int) -> None:
            try:
                memory = free.pop()
            except IndexError:
                memory = np.empty(room + ALIGNED, np.uint8)
            at = -(-memory.ctypes.data // ALIGNED) * ALIGNED
            with addresses.of(start, end) as numbers:
                self._compute(start, end, steps, segment, table.ctypes.data, at, *numbers)
            free.append(memory)

        self._shared(runs, steps, compute)
        return outputs, gradients

    def _shape(self, name: str, runs: int, steps: int) -> tuple[int, ...]:
        """Of a gradient."""
        p = self.program
        if name in p.inputs:
            return runs, p.widths[name]
        return runs, rows_of(p, name, steps), p.widths[name]

    def _array(self, x: Any, name: str, shape: tuple[int, ...]) -> Any:
        """An array; the number of runs may be left out."""
        found = np.asarray(x)
        if found.shape not in (shape, shape[1:]):
            raise ValueError(f"{name} has the shape {found.shape}, expected {shape} or {shape[1:]}")
        return found


def gradient_kernel(
    program: Program, by: Collection[str], of: Collection[str], dtype: str, what: str
) -> GradientKernel:
    """The kernel that runs a program and takes adjoints back, from the cache or made anew.

    ``by`` are names of inputs, tables and series, ``of`` names of outputs; ``what`` is told where
    making it takes long. Runs, steps and arrays are given to the kernel
    (:meth:`GradientKernel.__call__`). Outputs that are not in ``of`` are computed, too.
    """
    with LOCK:
        ready = hoisted(program)
        fuse = fuses()
        key = identity("gradient", dtype, machine(), fuse, tuple(by), tuple(of), repr(ready))
        found = None if cache.is_off() else cache.fetch(key)
        if found is not None:
            header, binary = found
            return GradientKernel(ready, dtype, (header["entries"], binary), True, header)
        from appell.compile.emit.program import framed
        from appell.compile.emit.sweep import emit_sweep

        with told(what):
            sweep = swept(ready, by, of, fuse)
            code = compile_module(emit_sweep(sweep, dtype, lanes(dtype)))
        header = {"entries": code[0], "by": list(by), "of": list(of)}
        header |= {"widths": list(sweep.widths), "values": framed(ready).room}
        if is_current():
            cache.store(key, header, code[1])
        return GradientKernel(ready, dtype, code, False, header)
