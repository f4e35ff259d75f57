"""How a target writes accesses to memory, and the functions that copy values there."""

from __future__ import annotations

from typing import NamedTuple

from appell.compile.lower import Real


class Memory(NamedTuple):
    """The types of pointers, and how slots of trails lie."""

    frame: str = "ptr"  # to the values of a run
    arrays: str = "ptr"  # to what the caller gave, to trails and to loops' numbers
    section: str = ""  # where loops' numbers are
    fixed: str = ""  # what is said of a load of a number that never changes
    beside: int = 0  # threads whose trails are interleaved; 0: a trail's slot is the frame's


PROCESSOR = Memory()


def copies(real: Real, lanes: int, memory: Memory = PROCESSOR) -> str:
    """``gather`` and ``scatter``: numbers of each lane's run, from memory and back."""
    T, F, A = real.name, memory.frame, memory.arrays
    texts = []
    for name, source, target in (
        ("gather", f"{A} %far", f"{F} %near"),
        ("scatter", f"{F} %near", f"{A} %far"),
    ):
        texts.append(f"""
define internal void @{name}({F} %slots, {A} %base, i64 %stride, i64 %width, {F} %index) noinline {{
entry:
  br label %lane
lane:
  %l = phi i64 [0, %entry], [%l.next, %lane.end]
  %index.l = getelementptr i64, {F} %index, i64 %l
  %run = load i64, {F} %index.l
  %distance = mul i64 %run, %stride
  %row = getelementptr i8, {A} %base, i64 %distance
  %first = getelementptr {T}, {F} %slots, i64 %l
  br label %item
item:
  %j = phi i64 [0, %lane], [%j.next, %item]
  %far = getelementptr {T}, {A} %row, i64 %j
  %skip = mul i64 %j, {lanes}
  %near = getelementptr {T}, {F} %first, i64 %skip
  %x = load {T}, {source}, align {real.size}
  store {T} %x, {target}, align {real.size}
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %width
  br i1 %j.more, label %item, label %lane.end
lane.end:
  %l.next = add i64 %l, 1
  %l.more = icmp slt i64 %l.next, {lanes}
  br i1 %l.more, label %lane, label %exit
exit:
  ret void
}}""")
    return "\n".join(texts)


def vectors(real: Real, lanes: int, memory: Memory = PROCESSOR) -> str:
    """``saved`` and ``restored``: slots of the frame to a checkpoint and back; ``zero``."""
    V, align = f"<{lanes} x {real.name}>", lanes * real.size
    apart = {memory.frame: 1, memory.arrays: memory.beside or 1}  # vectors from slot to slot
    texts = []
    for name, to, source in (
        ("saved", memory.arrays, memory.frame),
        ("restored", memory.frame, memory.arrays),
        ("zero", memory.frame, ""),
    ):
        parameters = [f"{to} %to", *([f"{source} %from"] if source else []), "i64 %count"]
        read, value = "", "zeroinitializer"
        if source:
            read = f"""
  %from.k = mul i64 %j, {apart[source]}
  %from.j = getelementptr {V}, {source} %from, i64 %from.k
  %x = load {V}, {source} %from.j, align {align}"""
            value = "%x"
        texts.append(f"""
define internal void @{name}({", ".join(parameters)}) noinline {{
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %item, label %exit
item:
  %j = phi i64 [0, %entry], [%j.next, %item]{read}
  %to.k = mul i64 %j, {apart[to]}
  %to.j = getelementptr {V}, {to} %to, i64 %to.k
  store {V} {value}, {to} %to.j, align {align}
  %j.next = add i64 %j, 1
  %more = icmp slt i64 %j.next, %count
  br i1 %more, label %item, label %exit
exit:
  ret void
}}""")
    return "\n".join(texts)
