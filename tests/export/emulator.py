"""Runs object files of other processors in an emulator (Unicorn), with a linker of few lines.

Sections are put into memory one after another, and what the code refers to is written into its
instructions as the processors' ELF supplements say.
"""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import unicorn
import unicorn.arm64_const as arm64
import unicorn.arm_const as arm
import unicorn.riscv_const as riscv
from elftools.elf.elffile import ELFFile

CODE, DATA, STACK, END = 0x100000, 0x400000, 0x800000, 0x900000
ROOM = 0x100000
PAINT = 0xA5

MACHINES = {
    "aarch64": (unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM, None),
    "cortex-m7": (unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB, arm.UC_CPU_ARM_CORTEX_M7),
    "riscv64": (unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV64, None),
    "riscv32": (unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32, None),
}


class Emulated:
    """An exported function on its processor: ``f(*inputs)`` for one state at a time."""

    def __init__(self, path: Any, target: str, name: str, dtype: str) -> None:
        self.target, self.dtype = target, np.dtype(dtype)
        memory, symbols = linked(path.read_bytes())
        self.entry = symbols[name]
        kind, mode, cpu = MACHINES[target]
        self.uc = unicorn.Uc(kind, mode)
        if cpu is not None:
            self.uc.ctl_set_cpu_model(cpu)
        self.uc.mem_map(CODE, END + 0x1000 - CODE)
        self.uc.mem_write(CODE, bytes(memory))
        self.uc.mem_write(STACK - ROOM, bytes([PAINT]) * ROOM)
        self.allow_floats()

    def allow_floats(self) -> None:
        if self.target == "aarch64":
            access = self.uc.reg_read(arm64.UC_ARM64_REG_CPACR_EL1)
            self.uc.reg_write(arm64.UC_ARM64_REG_CPACR_EL1, access | 3 << 20)
        elif self.target == "cortex-m7":
            self.uc.reg_write(arm.UC_ARM_REG_FPEXC, 1 << 30)
        else:
            status = self.uc.reg_read(riscv.UC_RISCV_REG_MSTATUS)
            self.uc.reg_write(riscv.UC_RISCV_REG_MSTATUS, status | 1 << 13)

    def __call__(self, inputs: list[np.ndarray], outputs: list[tuple[int, ...]]) -> list[Any]:
        at, addresses = DATA, []
        for x in inputs:
            data = np.ascontiguousarray(x, self.dtype).tobytes()
            self.uc.mem_write(at, data)
            addresses.append(at)
            at += -(-len(data) // 64) * 64
        places = []
        for shape in outputs:
            size = int(np.prod(shape, dtype=int)) * self.dtype.itemsize
            self.uc.mem_write(at, b"\xff" * size)
            places.append((at, size, shape))
            addresses.append(at)
            at += -(-size // 64) * 64
        self.call(addresses)
        return [
            np.frombuffer(self.uc.mem_read(at, size), self.dtype).reshape(shape)
            for at, size, shape in places
        ]

    def call(self, addresses: list[int]) -> None:
        """As each processor's calling convention says, returning to an address where it stops."""
        uc, stop = self.uc, END
        if self.target == "cortex-m7":
            more = addresses[4:]
            sp = STACK - (4 * len(more) + 7) // 8 * 8
            for k, x in enumerate(more):
                uc.mem_write(sp + 4 * k, struct.pack("<I", x))
            for k, x in enumerate(addresses[:4]):
                uc.reg_write(arm.UC_ARM_REG_R0 + k, x)
            uc.reg_write(arm.UC_ARM_REG_SP, sp)
            uc.reg_write(arm.UC_ARM_REG_LR, stop | 1)
        elif self.target == "aarch64":
            more = addresses[8:]
            sp = STACK - (8 * len(more) + 15) // 16 * 16
            for k, x in enumerate(more):
                uc.mem_write(sp + 8 * k, struct.pack("<Q", x))
            for k, x in enumerate(addresses[:8]):
                uc.reg_write(arm64.UC_ARM64_REG_X0 + k, x)
            uc.reg_write(arm64.UC_ARM64_REG_SP, sp)
            uc.reg_write(arm64.UC_ARM64_REG_LR, stop)
        else:
            word = 8 if self.target == "riscv64" else 4
            more = addresses[8:]
            sp = STACK - (word * len(more) + 15) // 16 * 16
            for k, x in enumerate(more):
                uc.mem_write(sp + word * k, x.to_bytes(word, "little"))
            for k, x in enumerate(addresses[:8]):
                uc.reg_write(riscv.UC_RISCV_REG_A0 + k, x)
            uc.reg_write(riscv.UC_RISCV_REG_SP, sp)
            uc.reg_write(riscv.UC_RISCV_REG_RA, stop)
        uc.emu_start(self.entry, stop)

    def stack_used(self) -> int:
        """Bytes below the stack's start that were ever written."""
        stack = np.frombuffer(bytes(self.uc.mem_read(STACK - ROOM, ROOM)), np.uint8)
        return ROOM - int(np.argmax(stack != PAINT)) if (stack != PAINT).any() else 0


def linked(obj: bytes) -> tuple[bytearray, dict[str, int]]:
    """Memory from CODE on, and where the symbols stand in it."""
    elf = ELFFile(io.BytesIO(obj))
    place, memory = {}, bytearray()
    for k, section in enumerate(elf.iter_sections()):
        if section["sh_flags"] & 2 and section["sh_size"] and not section.name.startswith(".ARM"):
            memory += bytes(-len(memory) % max(section["sh_addralign"], 1))
            place[k] = CODE + len(memory)
            memory += section.data()
    table = elf.get_section_by_name(".symtab")
    symbols = [
        place.get(s["st_shndx"], 0) + s["st_value"] if isinstance(s["st_shndx"], int) else None
        for s in table.iter_symbols()
    ]
    names = {s.name: x for s, x in zip(table.iter_symbols(), symbols, strict=True)}
    patch = {"EM_AARCH64": _aarch64, "EM_ARM": _arm, "EM_RISCV": _riscv}[elf["e_machine"]]
    for section in elf.iter_sections():
        if section["sh_type"] in ("SHT_REL", "SHT_RELA") and section["sh_info"] in place:
            base = place[section["sh_info"]]
            entries = [
                (
                    base + r["r_offset"],
                    r["r_info_type"],
                    symbols[r["r_info_sym"]],
                    r["r_addend"] if r.is_RELA() else 0,
                )
                for r in section.iter_relocations()
            ]
            patch(memory, entries)
    return memory, names


Entries = list[tuple[int, int, Any, int]]


def _word(memory: bytearray, at: int) -> int:
    return struct.unpack_from("<I", memory, at - CODE)[0]


def _put(memory: bytearray, at: int, word: int) -> None:
    struct.pack_into("<I", memory, at - CODE, word & 0xFFFFFFFF)


def _aarch64(memory: bytearray, entries: Entries) -> None:
    scale = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}
    for at, kind, target, addend in entries:
        x, word = target + addend, _word(memory, at)
        if kind == 275:  # the page, relative
            pages = (x >> 12) - (at >> 12)
            _put(memory, at, word | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5)
        elif kind in scale:  # the place in the page
            _put(memory, at, word | (x & 0xFFF) >> scale[kind] << 10)
        elif kind in (282, 283):  # a call
            _put(memory, at, word | (x - at) >> 2 & 0x3FFFFFF)
        else:
            raise NotImplementedError(f"AArch64 relocation {kind}")


def _arm(memory: bytearray, entries: Entries) -> None:
    for at, kind, x, _ in entries:
        upper, lower = struct.unpack_from("<HH", memory, at - CODE)
        if kind in (47, 48):  # the lower or upper half of an address; here the addend is in place
            old = (
                (upper & 15) << 12 | (upper >> 10 & 1) << 11 | (lower >> 12 & 7) << 8 | lower & 255
            )
            value = (x + old if kind == 47 else (x + old) >> 16) & 0xFFFF
            upper = upper & 0xFBF0 | value >> 12 | (value >> 11 & 1) << 10
            lower = lower & 0x8F00 | (value >> 8 & 7) << 12 | value & 255
        elif kind in (10, 30):  # a call or jump, relative to four bytes on
            distance = (x & ~1) - (at + 4)
            s = distance >> 24 & 1
            j1, j2 = (1 ^ (distance >> k & 1) ^ s for k in (23, 22))
            upper = 0xF000 | s << 10 | distance >> 12 & 0x3FF
            lower = lower & 0xD000 | j1 << 13 | j2 << 11 | distance >> 1 & 0x7FF
        else:
            raise NotImplementedError(f"ARM relocation {kind}")
        struct.pack_into("<HH", memory, at - CODE, upper, lower)


def _riscv(memory: bytearray, entries: Entries) -> None:
    high = {at: x + addend - at for at, kind, x, addend in entries if kind == 23}
    for at, kind, x, addend in entries:
        word = _word(memory, at)
        if kind == 51:  # may be relaxed
            continue
        if kind == 23:  # the distance's upper bits
            _put(memory, at, word & 0xFFF | (x + addend - at + 0x800) & 0xFFFFF000)
        elif kind == 24:  # and the lower ones of what the symbol marks
            _put(memory, at, word & 0xFFFFF | (high[x] & 0xFFF) << 20)
        elif kind == 25:
            low = high[x] & 0xFFF
            _put(memory, at, word & 0x1FFF07F | (low >> 5) << 25 | (low & 31) << 7)
        elif kind in (18, 19):  # a call, in two instructions
            distance = x + addend - at
            _put(memory, at, word & 0xFFF | (distance + 0x800) & 0xFFFFF000)
            _put(memory, at + 4, _word(memory, at + 4) & 0xFFFFF | (distance & 0xFFF) << 20)
        else:
            raise NotImplementedError(f"RISC-V relocation {kind}")
