"""Processors that object code is made for."""

from __future__ import annotations

from typing import NamedTuple

from appell.errors import InputError


class Target(NamedTuple):
    """A processor, as LLVM knows it."""

    triple: str
    cpu: str = ""
    features: str = ""
    abi: str = ""
    reloc: str = "pic"
    model: str = "small"
    compiler: str = ""  # of C for it, with its options


_RISCV = "+m,+a,+f,+d,+c"

TARGETS = {
    "aarch64": Target(
        "aarch64-unknown-none-elf", "generic", compiler="aarch64-linux-gnu-gcc"
    ),
    "cortex-m7": Target(
        "thumbv7em-unknown-none-eabihf", "cortex-m7", "+fp-armv8d16", reloc="static",
        compiler="arm-none-eabi-gcc -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard -mthumb "
        "--specs=rdimon.specs",  # what it prints goes to the debugger
    ),
    "riscv64": Target(
        "riscv64-unknown-none-elf", "generic-rv64", _RISCV, "lp64d", model="medium",
        compiler="riscv64-linux-gnu-gcc -march=rv64gc -mabi=lp64d",
    ),
    "riscv32": Target(
        "riscv32-unknown-none-elf", "generic-rv32", _RISCV, "ilp32d", reloc="static",
        model="medium",
        compiler="riscv64-unknown-elf-gcc -march=rv32gc -mabi=ilp32d -mcmodel=medany",
    ),
    "x86-64": Target("x86_64-unknown-none-elf", "x86-64-v3", compiler="cc"),
}  # fmt: skip


def target_named(name: str, cpu: str, features: str, abi: str) -> Target:
    """One of the table, or an LLVM triple with a processor and its features."""
    for option, text in {"target": name, "cpu": cpu, "features": features, "abi": abi}.items():
        if not isinstance(text, str):
            raise InputError(
                f"{option}={text!r}: expected a text; targets are {', '.join(TARGETS)}."
            )
    if name in TARGETS:
        if cpu or features or abi:
            raise InputError(
                f"target={name!r} has its processor; cpu, features and abi go with an LLVM triple."
            )
        return TARGETS[name]
    if name.count("-") < 2:
        raise InputError(
            f"target={name!r}: expected {', '.join(TARGETS)}, or an LLVM triple such as "
            "'armv8r-none-eabihf' with cpu='cortex-r52'."
        )
    parts = name.split("-")
    if len(parts) == 3:  # LLVM's own library does not see that the vendor is left out
        parts.insert(1, "unknown")
    return Target("-".join(parts), cpu, features, abi)
