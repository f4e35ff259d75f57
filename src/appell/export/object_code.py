"""``appell.export.object``: an equation as object code for another processor."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from appell.compile.emit.llvm import emit_function
from appell.compile.lower import REALS
from appell.errors import InputError
from appell.export.body import LENGTH, FunctionBody
from appell.export.code import Exported, guides
from appell.export.elf import is_elf, undefined
from appell.export.header import header
from appell.export.selftest import selftest
from appell.export.subject import subject
from appell.export.targets import TARGETS, Target, target_named
from appell.export.whole_folder import place_of, write


def object_code(
    what: Any,
    folder: str | Path,
    quantity: str | None = None,
    *,
    target: str,
    cpu: str = "",
    features: str = "",
    abi: str = "",
    name: str | None = None,
    dtype: Any = None,
    seed: int = 0,
    **options: Any,
) -> Exported:
    """Write a robot's equation, a law or a kernel as object code (ELF) with header, self-test and
    Makefile.

    No compiler is needed. The code refers to nothing outside itself; a processor without the
    instructions for that is refused.

    Args:
        what: A robot, a law or a kernel.
        folder: Where to write; one with other files in it is refused.
        quantity: Of a robot, as in ``robot.kernel``.
        target: "aarch64", "cortex-m7", "riscv64", "riscv32", "x86-64" (`TARGETS` has them), or an
            LLVM triple.
        cpu: As LLVM names it.
        features: As LLVM names them.
        abi: As LLVM names it.
        name: Of the C function; `usual_name` without it.
        dtype: "float64" or "float32"; float64, or the kernel's own, without it.
        seed: Draws the self-test's states.
        **options: As for `c`.

    Returns:
        An `Exported`: the files, and what they cost.

    Examples:
        >>> arm = appell.load("two_link")
        >>> done = appell.export.object(arm, tmp / "o", "gravity", target="aarch64")
        >>> done.target, any(file.suffix == ".o" for file in done.files)
        ('aarch64', True)
    """
    place = place_of(folder)
    chosen = target_named(target, cpu, features, abi)
    of = subject(what, quantity, name, dtype, options)
    text = emit_function(of.tape, of.dtype, of.name, of.constants, LENGTH)
    code = compiled(text, chosen, target)
    if not is_elf(code):
        raise InputError(f"target={target!r}: expected a little-endian processor with ELF files.")
    missing = undefined(code)
    if missing:
        smaller = "choose float32, " if of.dtype == "float64" else ""
        raise InputError(
            f"target={target!r}: this processor has no instruction for {', '.join(missing)} in "
            f"{of.dtype}; {smaller}name features that have it, such as +fma on x86-64, or export C."
        )
    stack = FunctionBody(of.tape, REALS[of.dtype], of.name).stack
    made_as = f"Object code for {chosen.cpu or target} ({chosen.triple})."
    files: dict[str, str | bytes] = {
        f"{of.name}.h": header(of, stack, made_as),
        f"{of.name}.o": code,
        f"{of.name}_test.c": selftest(of, seed),
        **guides("object.md", _built(of.name, chosen, target)),
    }
    written = write(place, of.name, files)
    return Exported(of.name, of.dtype, target, place, written, of.operations, stack)


def _built(name: str, target: Target, asked: str) -> dict[str, str]:
    """What the guides say of a processor and its compiler."""
    known = f"CC = {target.compiler}\n" if target.compiler else ""
    by = f"`{target.compiler}`" if known else "the compiler that `make CC=...` names"
    processor = f"{target.cpu or asked} ({target.triple})"
    return {"NAME": name, "CODE": f"{name}.o", "COMPILER": known, "PROCESSOR": processor, "BY": by}


def compiled(text: str, target: Target, asked: str) -> bytes:
    """The object file of a module of LLVM IR."""
    import llvmlite.binding as llvm

    if target not in TARGETS.values():
        _refuse_unknown(target, asked)
    _initialise()
    try:
        machine = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu,
            features=target.features,
            opt=3,
            reloc=target.reloc,
            codemodel=target.model,
            abiname=target.abi,
        )
    except RuntimeError as problem:
        raise InputError(f"target={asked!r}: LLVM does not know it: {problem}") from None
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    code: bytes = machine.emit_object(module)
    return code


_TRIAL = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
triple, cpu, features, abi = sys.argv[1:]
target = llvm.Target.from_triple(triple)
machine = target.create_target_machine(cpu=cpu, features=features, abiname=abi)
machine.emit_object(llvm.parse_assembly("define double @f(double %x) { ret double %x }"))
"""


def _refuse_unknown(target: Target, asked: str) -> None:
    """LLVM ends the whole process where it does not know a processor: try it in another one."""
    told = [target.triple, target.cpu, target.features, target.abi]
    done = subprocess.run([sys.executable, "-c", _TRIAL, *told], capture_output=True, text=True)
    said = done.stderr.strip().splitlines()
    if done.returncode or said:
        why = said[-1] if said else f"it ends with status {done.returncode}"
        raise InputError(
            f"target={asked!r}, cpu={target.cpu!r}, features={target.features!r}, "
            f"abi={target.abi!r}: LLVM does not take them: {why}"
        )


@cache
def _initialise() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
