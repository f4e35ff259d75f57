"""The inner loop of a NumPy gufunc, in LLVM IR.

``loop`` hands contiguous rows to ``body`` as they are, and copies rows with other
strides, and the last few, through a small buffer. Where its data ask for it, wide results go from
the buffer to memory by ``stream``, past the caches, which need not read first what is overwritten.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from appell.compile.gufunc import core
from appell.compile.tape import Tape

if TYPE_CHECKING:
    from appell.compile.lower import Real

_ALL_EXCEPTIONS = 61 if platform.machine().lower() in ("x86_64", "amd64") else 31  # C's fenv.h

_NEAR = 32 << 10  # bytes
_ALIGNED = 16  # bytes: where NumPy's arrays begin


def streams(tape: Tape, real: Real, lanes: int) -> bool:
    """Whether results may ``stream``: where more is written than read, and the buffers of one pass
    stay in the nearest cache."""
    read, written = (sum(map(prod, x.values())) for x in (tape.inputs, tape.outputs))
    return read < written <= _NEAR // (lanes * real.size)


def emit_loop(tape: Tape, real: Real, lanes: int) -> str:
    """``loop`` and what it needs."""
    parts = [
        _loop(tape, real, lanes),
        _copy(real, "pack"),
        _copy(real, "unpack"),
        _fill(real, lanes),
        _STREAM,
    ]
    return "\n".join(parts)


def _loop(tape: Tape, real: Real, lanes: int) -> str:
    """The gufunc's inner loop: char **args, intp *dims, intp *steps, void *data."""
    shapes = [core(shape) for shape in (*tape.inputs.values(), *tape.outputs.values())]
    n_in, n_all = len(tape.inputs), len(shapes)
    head: list[str] = []
    work: list[str] = []
    after: list[str] = []
    axis = n_all
    streaming = "%streaming" if streams(tape, real, lanes) else "false"
    for k, shape in enumerate(shapes):
        past = "false" if k < n_in else streaming
        width = prod(shape)
        row = width * real.size
        d0, d1 = (*shape, 1, 1)[:2]
        head += [
            f"%base{k}.at = getelementptr ptr, ptr %args, i64 {k}",
            f"%base{k} = load ptr, ptr %base{k}.at",
            *_stride(f"%step{k}", k),
            *_core_stride(f"%s0.{k}", axis, len(shape) > 0, real),
            *_core_stride(f"%s1.{k}", axis + 1, len(shape) > 1, real),
            f"%tight0.{k} = icmp eq i64 %step{k}, {row}",
            f"%tight1.{k} = icmp eq i64 %s0.{k}, {d1 * real.size}",
            f"%tight2.{k} = icmp eq i64 %s1.{k}, {real.size}",
            f"%tight3.{k} = and i1 %tight0.{k}, %tight1.{k}",
            f"%tight{k} = and i1 %tight3.{k}, %tight2.{k}",
            f"%buffer{k} = alloca [{lanes * width} x {real.name}], align 64",
        ]  # fmt: skip
        axis += len(shape)
        strides = f"i64 %step{k}, i64 {d0}, i64 %s0.{k}, i64 {d1}, i64 %s1.{k}"
        work += [
            f"  %moved{k} = mul i64 %k, %step{k}",
            f"  %at{k} = getelementptr i8, ptr %base{k}, i64 %moved{k}",
            f"  %whole{k} = and i1 %full, %tight{k}",
            f"  %direct{k} = select i1 {past}, i1 false, i1 %whole{k}",
            f"  %row{k} = select i1 %direct{k}, ptr %at{k}, ptr %buffer{k}",
        ]
        move = "pack" if k < n_in else "unpack"
        (work if k < n_in else after).extend(
            [
                f"  br i1 %direct{k}, label %next{k}, label %copy{k}",
                f"copy{k}:",
                *(
                    [
                        f"  br i1 %full, label %pack{k}, label %fill{k}",
                        f"fill{k}:",
                        f"  call void @pack(ptr %buffer{k}, ptr %at{k}, i64 1, {strides})",
                        f"  call void @fill(ptr %buffer{k}, ptr %buffer{k}, i64 {width})",
                        f"  br label %pack{k}",
                        f"pack{k}:",
                    ]
                    if k < n_in
                    else [
                        f"  br i1 {past}, label %past{k}, label %unpack{k}",
                        f"past{k}:",
                        f"  call void @stream(ptr %at{k}, ptr %buffer{k}, i64 {lanes * row})",
                        f"  br label %next{k}",
                        f"unpack{k}:",
                    ]
                ),
                f"  call void @{move}(ptr %buffer{k}, ptr %at{k}, i64 %count, {strides})",
                f"  br label %next{k}",
                f"next{k}:",
            ]
        )
    rows = ", ".join(f"ptr %row{k}" for k in range(n_all))
    if streams(tape, real, lanes):
        head += _past(range(n_in, n_all))
        work = ["  %streaming = and i1 %full, %past", *work]
        fence = ["  fence seq_cst"]  # before another thread is told that results are there
    else:
        fence = []
    return "\n".join(
        [
            "define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) {",
            "entry:",
            "  %n = load i64, ptr %dims",
            *(f"  {line}" for line in head),
            "  br label %loop",
            "loop:",
            "  %k = phi i64 [0, %entry], [%k.next, %latch]",
            "  %left = sub i64 %n, %k",
            "  %done = icmp sle i64 %left, 0",
            "  br i1 %done, label %exit, label %work",
            "work:",
            f"  %full = icmp sge i64 %left, {lanes}",
            f"  %count = select i1 %full, i64 {lanes}, i64 %left",
            *work,
            f"  call void @body({rows})",
            *after,
            "  br label %latch",
            "latch:",
            f"  %k.next = add i64 %k, {lanes}",
            "  br label %loop",
            "exit:",
            *fence,
            # Lanes that are thrown away raise flags: NumPy is not to warn of them.
            "  %clear = load ptr, ptr %data",
            f"  call i32 %clear(i32 {_ALL_EXCEPTIONS})",
            "  ret void",
            "}",
        ]
    )


def _past(outputs: Sequence[int]) -> list[str]:
    """Whether results go past the caches: where this is asked for, and they lie one after another
    and begin where as many bytes do as NumPy aligns them to."""
    lines = [
        "%flag.at = getelementptr i64, ptr %data, i64 1",
        "%flag = load i64, ptr %flag.at",
        "%asked = icmp ne i64 %flag, 0",
    ]
    so_far = "%asked"
    for k in outputs:
        lines += [
            f"%address{k} = ptrtoint ptr %base{k} to i64",
            f"%over{k} = and i64 %address{k}, {_ALIGNED - 1}",
            f"%even{k} = icmp eq i64 %over{k}, 0",
            f"%fits{k} = and i1 %even{k}, %tight{k}",
            f"%all{k} = and i1 {so_far}, %fits{k}",
        ]
        so_far = f"%all{k}"
    return [*lines, f"%past = and i1 {so_far}, true"]


# Whole lines of 64 bytes go past the caches, in order; what is before the first and after the last
# is shared with other rows and goes through them: a line written in both ways costs twice.
_STREAM = """
define internal void @stream(ptr %to, ptr %from, i64 %size) noinline {
entry:
  %address = ptrtoint ptr %to to i64
  %negative = sub i64 0, %address
  %over = and i64 %negative, 63
  %short = icmp slt i64 %size, %over
  %before = select i1 %short, i64 %size, i64 %over
  %rest = sub i64 %size, %before
  %lines = and i64 %rest, -64
  %after = add i64 %before, %lines
  br label %head
head:
  %h = phi i64 [0, %entry], [%h.more, %head.copy]
  %h.go = icmp slt i64 %h, %before
  br i1 %h.go, label %head.copy, label %middle
head.copy:
  %h.a = getelementptr i8, ptr %from, i64 %h
  %h.b = getelementptr i8, ptr %to, i64 %h
  %h.x = load <2 x i64>, ptr %h.a, align 16
  store <2 x i64> %h.x, ptr %h.b, align 16
  %h.more = add i64 %h, 16
  br label %head
middle:
  %m = phi i64 [%before, %head], [%m.more, %middle.copy]
  %m.go = icmp slt i64 %m, %after
  br i1 %m.go, label %middle.copy, label %tail
middle.copy:
  %m.a = getelementptr i8, ptr %from, i64 %m
  %m.b = getelementptr i8, ptr %to, i64 %m
  %m.c = getelementptr i8, ptr %m.a, i64 32
  %m.d = getelementptr i8, ptr %m.b, i64 32
  %m.x = load <4 x i64>, ptr %m.a, align 16
  %m.y = load <4 x i64>, ptr %m.c, align 16
  store <4 x i64> %m.x, ptr %m.b, align 32, !nontemporal !2
  store <4 x i64> %m.y, ptr %m.d, align 32, !nontemporal !2
  %m.more = add i64 %m, 64
  br label %middle
tail:
  %t = phi i64 [%after, %middle], [%t.more, %tail.copy]
  %t.go = icmp slt i64 %t, %size
  br i1 %t.go, label %tail.copy, label %exit
tail.copy:
  %t.a = getelementptr i8, ptr %from, i64 %t
  %t.b = getelementptr i8, ptr %to, i64 %t
  %t.x = load <2 x i64>, ptr %t.a, align 16
  store <2 x i64> %t.x, ptr %t.b, align 16
  %t.more = add i64 %t, 16
  br label %tail
exit:
  ret void
}"""


def _stride(name: str, index: int) -> list[str]:
    return [
        f"{name}.at = getelementptr i64, ptr %steps, i64 {index}",
        f"{name} = load i64, ptr {name}.at",
    ]


def _core_stride(name: str, index: int, there: bool, real: Real) -> list[str]:
    return _stride(name, index) if there else [f"{name} = add i64 0, {real.size}"]


def _copy(real: Real, name: str) -> str:
    """Rows of up to two core dimensions to (pack) or from (unpack) a contiguous buffer."""
    source, target = ("%far", "%near") if name == "pack" else ("%near", "%far")
    return f"""
define internal void @{name}(ptr %buffer, ptr %rows, i64 %count, i64 %step,
    i64 %d0, i64 %s0, i64 %d1, i64 %s1) noinline {{
entry:
  br label %row
row:
  %r = phi i64 [0, %entry], [%r.next, %row.end]
  %to = phi ptr [%buffer, %entry], [%to.i, %row.end]
  %r.done = icmp sge i64 %r, %count
  br i1 %r.done, label %exit, label %line
line:
  %i = phi i64 [0, %row], [%i.next, %line.end]
  %to.i = phi ptr [%to, %row], [%to.j, %line.end]
  %i.done = icmp sge i64 %i, %d0
  br i1 %i.done, label %row.end, label %item
item:
  %j = phi i64 [0, %line], [%j.next, %item.next]
  %to.j = phi ptr [%to.i, %line], [%to.next, %item.next]
  %j.done = icmp sge i64 %j, %d1
  br i1 %j.done, label %line.end, label %item.next
item.next:
  %a = mul i64 %r, %step
  %b = mul i64 %i, %s0
  %c = mul i64 %j, %s1
  %ab = add i64 %a, %b
  %abc = add i64 %ab, %c
  %far = getelementptr i8, ptr %rows, i64 %abc
  %near = getelementptr i8, ptr %to.j, i64 0
  %x = load {real.name}, ptr {source}, align 1
  store {real.name} %x, ptr {target}, align 1
  %to.next = getelementptr i8, ptr %to.j, i64 {real.size}
  %j.next = add i64 %j, 1
  br label %item
line.end:
  %i.next = add i64 %i, 1
  br label %line
row.end:
  %r.next = add i64 %r, 1
  br label %row
exit:
  ret void
}}"""


def _fill(real: Real, lanes: int) -> str:
    """``copy`` a row; ``fill`` all lanes with one, so that those that no state uses compute
    nothing that could overflow."""
    return f"""
define internal void @copy(ptr %to, ptr %from, i64 %n) noinline {{
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%more, %next]
  %a = getelementptr {real.name}, ptr %from, i64 %i
  %b = getelementptr {real.name}, ptr %to, i64 %i
  %x = load {real.name}, ptr %a
  store {real.name} %x, ptr %b
  %more = add i64 %i, 1
  %go = icmp slt i64 %more, %n
  br i1 %go, label %next, label %exit
exit:
  ret void
}}
define internal void @fill(ptr %buffer, ptr %row, i64 %n) noinline {{
entry:
  br label %lane
lane:
  %i = phi i64 [0, %entry], [%next, %lane]
  %offset = mul i64 %i, %n
  %at = getelementptr {real.name}, ptr %buffer, i64 %offset
  call void @copy(ptr %at, ptr %row, i64 %n)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, {lanes}
  br i1 %more, label %lane, label %exit
exit:
  ret void
}}"""
