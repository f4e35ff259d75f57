"""Machine code that runs wherever it is put, so that a warm start needs no LLVM.

A kernel's object file (ELF, x86-64) refers to itself, its constants and its own functions,
and may call functions of the C library, such as fma on a processor that has no such
instruction. Laid out as one image with those references resolved, it needs no linker: loading
it is copying it into memory that may be executed, and writing the addresses of what it calls.
Where an object file is anything else, there is no image, and LLVM loads it.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

_RELATIVE = (2, 4)  # R_X86_64_PC32 and R_X86_64_PLT32: a target's distance, in four bytes
_CALL = 4  # R_X86_64_PLT32, of which the target may be a jump to where the function really is
_JUMP = b"\xff\x25\x00\x00\x00\x00"  # to the address that the next eight bytes hold
_X86_64 = 62
_ALLOCATED, _WRITABLE = 2, 1  # section flags
_SYMBOLS, _RELOCATIONS = 2, 4  # section types


class Image(NamedTuple):
    """Machine code, where in it each function begins, and where it wants the addresses of those
    functions that it calls."""

    code: bytes
    entries: dict[str, int]
    calls: dict[str, int]


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


def image(obj: bytes, names: tuple[str, ...]) -> Image | None:
    """The object file as an image with the entries of these names, or None if it cannot be one."""
    if obj[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", obj, 18)[0] != _X86_64:
        return None
    sections = _sections(obj)
    place, size = _layout(obj, sections)
    if place is None:
        return None
    memory = bytearray(size)
    for k, at in place.items():
        s = sections[k]
        memory[at : at + s.size] = obj[s.offset : s.offset + s.size]
    symbols = _symbols(obj, sections, place)
    jumps: dict[str, int] = {}
    for relocations in (s for s in sections if s.kind == _RELOCATIONS and s.info in place):
        if not _resolve(obj, relocations, place[relocations.info], symbols, jumps, memory):
            return None
    entries = {name: at for name, at in symbols if name in names and at is not None}
    return Image(bytes(memory), entries, {name: at + len(_JUMP) for name, at in jumps.items()})


def load_image(code: bytes, calls: Mapping[str, int]) -> tuple[int, Any]:
    """The address at which an image now stands, and what keeps it there."""
    memory = mmap.mmap(-1, len(code))
    memory[:] = code
    for name, at in calls.items():
        struct.pack_into("<Q", memory, at, c_function(name))
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    pages = -(-len(code) // mmap.PAGESIZE) * mmap.PAGESIZE
    if protect(address, pages, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise OSError(ctypes.get_errno(), "the system does not let this memory be executed")
    return address, memory


def c_function(name: str) -> int:
    """The address of a function of the C library."""
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    if not hasattr(library, name):
        library = ctypes.CDLL("libm.so.6")
    return int(ctypes.cast(library[name], ctypes.c_void_p).value or 0)


def _sections(obj: bytes) -> list[_Section]:
    (start,) = struct.unpack_from("<Q", obj, 40)
    size, count = struct.unpack_from("<HH", obj, 58)
    return [
        _Section(*struct.unpack_from("<IIQQQQIIQQ", obj, start + k * size)) for k in range(count)
    ]


def _layout(obj: bytes, sections: list[_Section]) -> tuple[dict[int, int] | None, int]:
    """Where each section with code or constants goes; None if one would be written to."""
    (names,) = struct.unpack_from("<H", obj, 62)
    place: dict[int, int] = {}
    end = 0
    for k, s in enumerate(sections):
        at = sections[names].offset + s.name
        name = obj[at : obj.index(b"\0", at)]
        if not s.flags & _ALLOCATED or not s.size or name == b".eh_frame":
            continue
        if s.flags & _WRITABLE:
            return None, 0
        end = -(-end // s.align) * s.align
        place[k] = end
        end += s.size
    return place, end


def _symbols(
    obj: bytes, sections: list[_Section], place: dict[int, int]
) -> list[tuple[str, int | None]]:
    """Name and place of every symbol; no place if it is not in the image."""
    (table,) = (s for s in sections if s.kind == _SYMBOLS)
    strings = sections[table.link].offset
    found: list[tuple[str, int | None]] = []
    for k in range(table.size // 24):
        name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", obj, table.offset + 24 * k)
        text = obj[strings + name : obj.index(b"\0", strings + name)].decode()
        found.append((text, place[section] + value if section in place else None))
    return found


def _resolve(
    obj: bytes,
    relocations: _Section,
    base: int,
    symbols: list[tuple[str, int | None]],
    jumps: dict[str, int],
    memory: bytearray,
) -> bool:
    """Write the distances that code needs, and add a jump for each function that is elsewhere;
    False if anything else is."""
    for k in range(relocations.size // 24):
        offset, info, addend = struct.unpack_from("<QQq", obj, relocations.offset + 24 * k)
        kind, (name, target) = info & 0xFFFFFFFF, symbols[info >> 32]
        if target is None and kind == _CALL:
            target = jumps.get(name)
            if target is None:
                memory += bytes(-len(memory) % 16)
                target = jumps[name] = len(memory)
                memory += _JUMP + bytes(8)
        if kind not in _RELATIVE or target is None:
            return False
        at = base + offset
        struct.pack_into("<i", memory, at, target + addend - at)
    return True
