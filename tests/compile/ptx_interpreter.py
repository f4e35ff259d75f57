"""Runs the PTX that Appell emits, with NumPy: one element of an array per thread.

It knows the instructions that LLVM writes for our kernels and refuses all others. Registers are
words of 64 bits. Threads that part at a branch go on in the order of the program, the ones behind
first, and wait for each other at barriers. Every access to memory must hit what was allocated, at a
multiple of its size.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import operator
import re
import struct
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

_TAG = {"local": 1 << 60, "global": 0}  # of generic addresses
_SYMBOLS = 1 << 59  # where tables of the module are
_LIBRARY = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
_FMA = {"f64": _LIBRARY.fma, "f32": _LIBRARY.fmaf}
for _name, _kind in (("f64", ctypes.c_double), ("f32", ctypes.c_float)):
    _FMA[_name].restype, _FMA[_name].argtypes = _kind, [_kind] * 3

DTYPES = {
    "f64": np.float64, "f32": np.float32, "u64": np.uint64, "s64": np.int64, "b64": np.uint64,
    "u32": np.uint32, "s32": np.int32, "b32": np.uint32, "pred": np.bool_, "b8": np.uint8,
}  # fmt: skip


class Instruction(NamedTuple):
    guard: str
    opcode: str
    operands: list[Any]


class Function(NamedTuple):
    parameters: list[tuple[str, int]]
    code: list[Instruction]
    labels: dict[str, int]
    variables: dict[str, tuple[str, int]]  # their space and size


class Memory:
    """What was allocated, and nothing else."""

    def __init__(self) -> None:
        self.blocks: dict[int, np.ndarray] = {}

    def start(self, address: int) -> int:
        """Where what is at an address begins."""
        return max(x for x in self.blocks if x <= address)

    def pieces(self, addresses: np.ndarray, size: int) -> list[tuple[Any, np.ndarray, Any]]:
        """Blocks, the places in them of the bytes at some addresses, and of which addresses."""
        starts = np.array(sorted(self.blocks), np.int64)
        number = np.searchsorted(starts, addresses, side="right") - 1
        found = []
        for k in np.unique(number).tolist():
            those = np.flatnonzero(number == k)
            offsets = addresses[those] - starts[max(k, 0)]
            block = self.blocks[int(starts[k])] if k >= 0 else np.empty(0, np.uint8)
            wrong = (offsets + size > len(block)) | (addresses[those] % size != 0)
            if wrong.any():
                raise MemoryError(f"{size} bytes at {addresses[those][wrong][0]:#x}")
            found.append((block, offsets[:, None] + np.arange(size), those))
        return found


@lru_cache(maxsize=8)
def parse(text: str) -> tuple[dict[str, Function], dict[str, bytes]]:
    """The functions and the tables of a module."""
    text = re.sub(r"//[^\n]*", "", text)
    tables = {}
    for name, numbers in re.findall(r"(?m)^\.global [^;]*?\.b8 (\w+)\[\d+\] = \{([^}]*)\};", text):
        tables[name] = bytes(int(x) for x in numbers.split(","))
    text = re.sub(r"(?m)^\.global [^;]*;", "", text)
    functions = {}
    pattern = r"\.(?:entry|func)\s*(\([^)]*\))?\s*(\w+)\s*\(([^)]*)\)([^;{]*)\{"
    for found in re.finditer(pattern, text):
        depth, end = 1, found.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        functions[found[2]] = _function(found[3], text[found.end() : end - 1])
    return functions, tables


def _function(parameters: str, body: str) -> Function:
    taken = []
    for line in filter(None, map(str.strip, parameters.split(","))):
        sized = re.search(r"(\w+)\[(\d+)\]$", line)
        kind = re.search(r"\.([us]\d+|b\d+|f\d+)", line)
        assert sized or kind
        taken.append(
            (sized[1], int(sized[2])) if sized else (line.split()[-1], int(kind[1][1:]) // 8)
        )
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    variables = {}
    statements = re.split(r";|(?<=:)\s|^\s*\{\s*$|^\s*\}\s*$", body, flags=re.MULTILINE)
    for statement in map(str.strip, statements):
        declared = re.match(r"\.(local|shared|param) .*?\.b8\s+(\w+)\[(\d+)\]", statement)
        scalar = re.match(r"\.param \.b(\d+)\s+(\w+)", statement)
        if declared:
            variables[declared[2]] = declared[1], int(declared[3])
        elif scalar:
            variables[scalar[2]] = "param", int(scalar[1]) // 8
        elif statement.endswith(":"):
            labels[statement[:-1]] = len(code)
        elif statement and not statement.startswith((".reg", ".pragma", ".loc")):
            guard, opcode, rest = re.match(r"(?:@(\S+)\s+)?(\S+)\s*(.*)", statement, re.S).groups()
            code.append(Instruction(guard or "", opcode, _operands(rest)))
    return Function(taken, code, labels, variables)


def _operands(text: str) -> list[Any]:
    """Names and literals; a group in braces or parentheses is a list of them."""
    parts = re.findall(r"\{[^}]*\}|\([^)]*\)|\[[^\]]*\]|[^,\s][^,]*", text)
    return [
        [x.strip() for x in part[1:-1].split(",") if x.strip()] if part[0] in "{(" else part.strip()
        for part in parts
    ]


class Run:
    """One launch: all threads of all blocks."""

    def __init__(self, text: str, memory: Memory, grid: tuple[int, int], threads: int) -> None:
        self.functions, tables = parse(text)
        self.memory, n = memory, grid[0] * grid[1] * threads
        self.n, self.threads = n, threads
        block = np.arange(n) // threads
        self.special = {
            "%tid.x": np.arange(n) % threads, "%ctaid.x": block % grid[0],
            "%ctaid.y": block // grid[0],
        }  # fmt: skip
        self.block = block
        self.shared = np.zeros((grid[0] * grid[1], 0), np.uint8)
        self.local = np.zeros((n, 0), np.uint8)
        self.symbols: dict[str, int] = {}
        self.tables = np.frombuffer(b"".join(tables.values()), np.uint8)
        place = _SYMBOLS
        for name, content in tables.items():
            self.symbols[name] = place
            place += len(content)

    def start(self, entry: str, arguments: list[int]) -> None:
        """Run a kernel with parameters that are whole numbers."""
        function = self.functions[entry]
        assert len(arguments) == len(function.parameters)
        parameters = {
            name: np.tile(np.frombuffer(struct.pack("<Q", x % 2**64)[:size], np.uint8), (self.n, 1))
            for (name, size), x in zip(function.parameters, arguments, strict=True)
        }
        with np.errstate(all="ignore"):
            self.run(entry, parameters, np.ones(self.n, bool))

    def run(self, name: str, parameters: dict[str, np.ndarray], mask: np.ndarray) -> Any:
        frame = _Frame(self, self.functions[name], parameters)
        counter = np.where(mask, 0, len(frame.function.code))
        end = len(frame.function.code)
        waiting = np.zeros(self.n, bool)
        while (at := int(counter.min(where=~waiting, initial=end))) < end or waiting.any():
            if at == end:  # the others wait for nobody
                if not waiting.all():
                    raise RuntimeError("a warp waits for threads that have gone another way")
                waiting[:] = False
                continue
            now = (counter == at) & ~waiting
            counter[now] += 1
            if frame.function.code[at].opcode == "bar.warp.sync":
                waiting |= now
            else:
                frame.execute(frame.function.code[at], now, counter, end)
        return parameters.get("func_retval0")


class _Frame:
    """A call of a function, by all threads that take part."""

    def __init__(self, run: Run, function: Function, parameters: dict[str, np.ndarray]) -> None:
        self.run, self.function, self.n = run, function, run.n
        self.registers: dict[str, np.ndarray] = {}
        self.parameters = parameters
        for name, (space, size) in function.variables.items():
            if space == "local":
                run.symbols[name] = run.local.shape[1]
                run.local = np.pad(run.local, ((0, 0), (0, size)))
            elif space == "shared" and name not in run.symbols:
                run.symbols[name] = run.shared.shape[1]
                run.shared = np.pad(run.shared, ((0, 0), (0, size)))

    # Values

    def read(self, x: str, kind: str) -> np.ndarray:
        dtype = DTYPES[kind]
        if x.startswith("%") and x not in self.run.special:
            word = self.registers[x]
        elif x in self.run.special:
            word = self.run.special[x].astype(np.uint64)
        else:
            word = np.full(self.n, self.literal(x) % 2**64, np.uint64)
        if kind == "pred":
            return word.astype(bool)
        if np.dtype(dtype).itemsize == 8:
            return word.view(dtype)
        return word.astype(np.uint32).view(dtype)

    def literal(self, x: str) -> int:
        if x[:2] in ("0d", "0f"):
            return int(x[2:], 16)
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", x):
            return int(x, 0)
        if x in ("true", "false"):
            return int(x == "true")
        return self.run.symbols[x]

    def write(self, x: str, value: np.ndarray, mask: np.ndarray) -> None:
        value = np.ascontiguousarray(value)
        if value.dtype.itemsize == 8:
            word = value.view(np.uint64)
        elif value.dtype == np.bool_:
            word = value.astype(np.uint64)
        else:
            word = value.view(np.uint32).astype(np.uint64)
        if x == "_":
            return
        self.registers[x] = (
            word if mask.all() else np.where(mask, word, self.registers.get(x, np.uint64(0)))
        )

    # Instructions

    def execute(self, step: Instruction, mask: np.ndarray, counter: Any, end: int) -> None:
        if step.guard:
            wanted = self.read(step.guard.lstrip("!"), "pred")
            mask = mask & (~wanted if step.guard.startswith("!") else wanted)
        base, *words = step.opcode.split(".")
        operands = step.operands
        if base == "bra":
            counter[mask] = self.function.labels[operands[0]]
        elif base == "ret":
            counter[mask] = end
        elif base == "call":
            self.call(operands, mask)
        elif base in ("ld", "st"):
            self.access(base, words, operands, mask)
        elif base == "cvta":
            (*_, space), size = words[:-1], words[-1]
            sign = -1 if "to" in words else 1
            moved = self.read(operands[1], size) + np.uint64((sign * _TAG[space]) % 2**64)
            self.write(operands[0], moved, mask)
        elif step.opcode == "mov.b64" and isinstance(operands[1], list):
            low, high = (self.read(x, "u32").astype(np.uint64) for x in operands[1])
            self.write(operands[0], low | high << np.uint64(32), mask)
        elif step.opcode == "mov.b64" and isinstance(operands[0], list):
            word = self.read(operands[1], "u64")
            for x, shift in zip(operands[0], (0, 32), strict=True):
                half = (word >> np.uint64(shift)).astype(np.uint32)
                self.write(x, half, mask)
        else:
            self.compute(step.opcode, base, words, operands, mask)

    def compute(self, opcode: str, base: str, words: Any, operands: Any, mask: Any) -> None:
        target, *sources = operands
        kind = words[-1]
        if base == "cvt" and kind in ("u32", "s32", "u64", "s64") and words[0] in DTYPES:
            self.write(target, self.read(sources[0], kind).astype(DTYPES[words[0]]), mask)
            return
        if base == "selp":
            x, y = (self.read(s, kind) for s in sources[:2])
            self.write(target, np.where(self.read(sources[2], "pred"), x, y), mask)
            return
        if base == "setp" and len(words) == 2:
            x, y = (self.read(s, kind) for s in sources)
            self.write(target, _compared(words[0], x, y), mask)
            return
        how = ".".join([base, *words[:-1]])
        if how not in _TABLE or kind not in _TABLE[how][0]:
            raise NotImplementedError(f"{opcode} {operands}")
        kinds = [kind] * len(sources)
        if how == "mad.wide":
            kinds[2] = kind[0] + "64"
        if base in ("shl", "shr"):
            kinds[1] = "u32"
        if base == "bfe":
            kinds[1:] = ["u32", "u32"]
        values = [self.read(s, k) for s, k in zip(sources, kinds, strict=True)]
        self.write(target, _TABLE[how][1](*values), mask)

    def call(self, operands: list[Any], mask: np.ndarray) -> None:
        returned = operands[0] if isinstance(operands[0], list) else []
        name, *taken = operands[1:] if returned else operands
        function = self.run.functions[name]
        given = {
            formal: self.parameters[actual]
            for (formal, _), actual in zip(
                function.parameters, taken[0] if taken else [], strict=True
            )
        }
        for x in returned:
            size = self.function.variables[x][1]
            given["func_retval0"] = np.zeros((self.n, size), np.uint8)
        result = self.run.run(name, given, mask)
        for x in returned:
            self.parameters[x] = result

    def access(self, base: str, words: list[str], operands: list[Any], mask: np.ndarray) -> None:
        space, kind = words[0], words[-1]
        size = np.dtype(DTYPES[kind]).itemsize
        allowed = {"nc", "v2", "v4", kind, space}
        if space not in ("param", "global", "shared", "local") or not set(words) <= allowed:
            raise NotImplementedError(f"{base}.{'.'.join(words)}")
        values, address = operands if base == "ld" else operands[::-1]
        names = values if isinstance(values, list) else [values]
        start, _, offset = address[1:-1].partition("+")
        offset = int(offset or 0)
        total = size * len(names)
        if space == "param":
            cells = self.parameters.setdefault(
                start, np.zeros((self.n, self.function.variables.get(start, ("", 16))[1]), np.uint8)
            )
            rows, columns = np.arange(self.n), np.full(self.n, offset)
            views = [(cells, rows, columns)]
        else:
            there = (self.read(start, "u64") + np.uint64(offset % 2**64)).astype(np.int64)
        chosen = np.flatnonzero(mask)
        data = np.zeros((self.n, total), np.uint8)
        if base == "st":
            for k, x in enumerate(names):
                column = np.ascontiguousarray(self.read(x, kind)).view(np.uint8)
                data[:, k * size : (k + 1) * size] = column.reshape(self.n, size)
        if space in ("shared", "local"):
            cells = self.run.shared if space == "shared" else self.run.local
            rows = self.run.block if space == "shared" else np.arange(self.n)
            if (there[chosen] < 0).any() or (there[chosen] + total > cells.shape[1]).any():
                raise MemoryError(f"outside of {space} memory")
            if (there[chosen] % total).any():
                raise MemoryError(f"{total} bytes of {space} memory, not aligned")
            views = [(cells, rows, there)]
        if space == "global" and (there[chosen] >= _SYMBOLS).all():
            views = [(self.run.tables[None], np.zeros(self.n, int), there - _SYMBOLS)]
        elif space == "global":
            for block, places, those in self.run.memory.pieces(there[chosen], total):
                if base == "ld":
                    data[chosen[those]] = block[places]
                else:
                    block[places] = data[chosen[those]]
            views = []
        for cells, rows, columns in views:
            place = rows[chosen][:, None], columns[chosen][:, None] + np.arange(total)
            if base == "ld":
                data[chosen] = cells[place]
            else:
                cells[place] = data[chosen]
        if base == "ld":
            for k, x in enumerate(names):
                cut = np.ascontiguousarray(data[:, k * size : (k + 1) * size])
                self.write(x, cut.view(DTYPES[kind])[:, 0], mask)


def _compared(how: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    plain = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(how, how)
    if plain in ("num", "nan"):
        return (np.isnan(x) | np.isnan(y)) ^ (plain == "num")
    unordered = plain.endswith("u") and len(plain) == 3
    result = getattr(operator, plain[:2])(x, y)
    if x.dtype.kind == "f":
        none = np.isnan(x) | np.isnan(y)
        return result | none if unordered else result & ~none
    return result


def _fma(x: np.ndarray, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    """x y + c, rounded once, by the C library."""
    one = _FMA["f64" if x.dtype == np.float64 else "f32"]
    return np.array([*map(one, x.tolist(), y.tolist(), c.tolist())], x.dtype)


def _shifted(left: bool) -> Any:
    def shift(x: np.ndarray, by: np.ndarray) -> np.ndarray:
        bits = x.dtype.itemsize * 8
        most = np.minimum(by, bits - 1).astype(x.dtype)
        moved = x << most if left else x >> most
        filled = x >> x.dtype.type(bits - 1) if x.dtype.kind == "i" and not left else 0 * x
        return np.where(by < bits, moved, filled).astype(x.dtype)

    return shift


def _field(x: np.ndarray, first: np.ndarray, count: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    signed = x.dtype.kind == "i"
    values = []
    for a, b, c in zip(x.tolist(), first.tolist(), count.tolist(), strict=True):
        field = (a % 2**bits) >> b & 2**c - 1
        values.append(field - 2**c if signed and c and field >> (c - 1) else field)
    return np.array(values, x.dtype)


def _high(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    return np.array([a * b >> bits for a, b in pairs], x.dtype)


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.int64 if x.dtype.kind == "i" else np.uint64)


_REALS, _WHOLE = ("f64", "f32"), ("s32", "u32", "s64", "u64")
_BITS = ("b32", "b64")
_TABLE: dict[str, tuple[tuple[str, ...], Any]] = {
    "add.rn": (_REALS, operator.add), "sub.rn": (_REALS, operator.sub),
    "mul.rn": (_REALS, operator.mul), "div.rn": (_REALS, operator.truediv),
    "rcp.rn": (_REALS, lambda x: x.dtype.type(1) / x), "sqrt.rn": (_REALS, np.sqrt),
    "fma.rn": (_REALS, _fma), "abs": (_REALS, np.abs),
    "neg": ((*_REALS, *_WHOLE), lambda x: np.negative(x)),
    "max": ((*_REALS, *_WHOLE), np.fmax), "min": ((*_REALS, *_WHOLE), np.fmin),
    "mov": (("b64", "b32", "u64", "u32", "f64", "f32", "pred"), lambda x: x),
    "add": (_WHOLE, operator.add), "sub": (_WHOLE, operator.sub),
    "rem": (("u32",), np.remainder), "div": (("u32",), np.floor_divide),
    "mul.lo": (_WHOLE, operator.mul), "mul.hi": (("u32", "u64"), _high),
    "mul.wide": (("s32", "u32"), lambda x, y: _wide(x) * _wide(y)),
    "mad.lo": (_WHOLE, lambda x, y, z: x * y + z),
    "mad.wide": (("s32", "u32"), lambda x, y, z: _wide(x) * _wide(y) + z),
    "and": ((*_BITS, "pred"), operator.and_), "or": ((*_BITS, "pred"), operator.or_),
    "xor": ((*_BITS, "pred"), operator.xor), "not": ((*_BITS, "pred"), operator.invert),
    "shl": (_BITS, _shifted(True)), "shr": (_WHOLE, _shifted(False)),
    "bfe": (_WHOLE, _field),
    "clz": (_BITS, lambda x: np.array(
        [x.dtype.itemsize * 8 - k.bit_length() for k in x.tolist()], np.uint32)),
    "shf.l.wrap": (("b32",), lambda low, high, by: np.array(
        [((h << 32 | a) << (b % 32) >> 32) % 2**32
         for a, h, b in zip(low.tolist(), high.tolist(), by.tolist(), strict=True)], np.uint32)),
    "shf.r.wrap": (("b32",), lambda low, high, by: np.array(
        [((h << 32 | a) >> (b % 32)) % 2**32
         for a, h, b in zip(low.tolist(), high.tolist(), by.tolist(), strict=True)], np.uint32)),
}  # fmt: skip
