"""A program and its way back in PTX: one run per thread, the sweep of a processor with one lane.

The frame is in the thread's local memory. Trails and checkpoints are in global memory: those of the
threads of a warp are interleaved, number by number, so that the warp reads and writes whole lines.
A thread takes one run after another, each so many further on as there are threads: the memory is
that of the threads, however many runs there are.
"""

from __future__ import annotations

from typing import ClassVar

from appell.compile.emit.memory import Memory
from appell.compile.emit.program_ptx import DECLARED, GLOBAL
from appell.compile.emit.ptx import assembled
from appell.compile.emit.sweep import HEAD, SweepBlock, SweepMain, emit_sweep
from appell.compile.gpu.rows import ENTRY, THREADS, WARP
from appell.compile.instructions import Lines
from appell.compile.plan import Plan
from appell.compile.sweep import Sweep
from appell.compile.tape import Tape

GPU_HEAD = (*HEAD, "threads", "room")  # how many threads there are; bytes of a warp's trails
_GPU = Memory("ptr addrspace(5)", GLOBAL, "addrspace(1) ", ", !invariant.load !1", WARP)
_BLOCKS = {"float32": 4, "float64": 2}  # at a time: with 128 and 255 registers per thread
_LONGEST = 4000  # steps of a function: longer ones take NVIDIA's assembler too long


def emit_sweep_ptx(sweep: Sweep, dtype: str) -> str:
    """The PTX of the kernel, whose parameter is the address of an array of whole numbers: those of
    GPU_HEAD, then those of a processor's sweep."""
    text = emit_sweep(sweep, dtype, 1, _Block, _Main)
    return assembled(f"{DECLARED}\n{text}", THREADS, _BLOCKS[dtype])


class _Block(SweepBlock):
    memory = _GPU
    length = _LONGEST

    def planned(self, tape: Tape) -> Plan:
        """More values wait than there are registers: so few as possible."""
        return Plan(tape, self.length, windows=2**31, stored=self.early, registers=0)

    def constant(self, x: float) -> str:
        return Lines.constant(self, x)


class _Main(SweepMain):
    memory = _GPU
    names_of_head: ClassVar[tuple[str, ...]] = GPU_HEAD

    def entry(self) -> tuple[str, str, str]:
        local, size = self.memory.frame, self.real.size
        self.lines += [
            f"define ptx_kernel void @{ENTRY}({GLOBAL} %args) nounwind {{",
            "entry:",
            f"  %frame.any = alloca [{self.room} x {self.real.name}], align 16",
            "  %index.any = alloca i64, align 8",
            f"  %frame = addrspacecast ptr %frame.any to {local}",
            f"  %index = addrspacecast ptr %index.any to {local}",
        ]
        thread = self.new("call i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
        block = self.new("call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()")
        before = self.new(f"mul i32 {block}, {THREADS}")
        number = self.new(f"zext i32 {self.new(f'add i32 {before}, {thread}')} to i64")
        start = self.new(f"add i64 {self.head('first')}, {number}")
        warp, lane = self.new(f"udiv i64 {number}, {WARP}"), self.new(f"urem i64 {number}, {WARP}")
        memory = self.moved(self.pointer(self.head("memory")), warp, self.head("room"))
        return start, self.head("threads"), self.moved(memory, lane, str(size))
