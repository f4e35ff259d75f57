"""Object code for this machine, and its way into the process."""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy as np

from appell.compile.image import c_function, image, load_image
from appell.errors import InputError

ENTRIES = ("loop", "call")

# Levels of x86-64: LLVM's name of a processor, and what it must have.
_LEVELS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sse2": ("x86-64", ()),
    "avx2": ("x86-64-v3", ("avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe")),
    "avx512": ("x86-64-v4", ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "fma")),
}


@cache
def machine() -> tuple[Any, ...]:
    """What object code depends on besides its source: this processor, and LLVM.

    On Linux both are known without importing LLVM: by the processor's features as the
    kernel lists them, and by the library file.
    """
    try:
        with Path("/proc/cpuinfo").open("rb") as file:
            first = file.read(8192).partition(b"\n\n")[0]
        wanted = (b"model name", b"flags", b"Features", b"CPU part")
        processor = b"\n".join(line for line in first.splitlines() if line.startswith(wanted))
        package = PathFinder.find_spec("llvmlite")
        where = Path((package and package.origin) or "").parent
        (library,) = (where / "binding").glob("libllvmlite.*")
        status = library.stat()
        return platform.machine(), processor, status.st_size, status.st_mtime_ns, simd()
    except (OSError, ValueError):
        import llvmlite.binding as llvm

        return (platform.machine(), *_host(), llvm.llvm_version_info)


def simd() -> str:
    """The instructions that $APPELL_SIMD asks for, "" for all that the processor has.

    It makes code as other processors run it, to compare the results.
    """
    asked = os.environ.get("APPELL_SIMD", "").lower()
    if asked and asked not in _LEVELS:
        raise InputError(
            f"APPELL_SIMD = {asked!r}; expected {', '.join(_LEVELS)}, or nothing for all that this "
            "processor has."
        )
    return asked


def lanes(dtype: str) -> int:
    """How many states at a time: a register's worth, and at least four."""
    _, features = _host()
    width = 64 if "+avx512f" in features else 32 if "+avx2" in features else 16
    return max(4, width // np.dtype(dtype).itemsize)


def fuses() -> bool:
    """Whether the processor multiplies and adds in one instruction."""
    return platform.machine().lower() in ("aarch64", "arm64") or "+fma" in _host()[1].split(",")


def processor() -> str:
    """What the last digits of results depend on, of the processor, in words."""
    features = _host()[1].split(",")
    levels = (("+avx512f", "AVX-512"), ("+avx2", "AVX2"), ("+avx", "AVX"))
    own = [level for feature, level in levels if feature in features]
    return " with ".join([platform.machine(), *own[:1]])


def compile_module(text: str) -> tuple[dict[str, int] | None, bytes]:
    """Machine code of a module of LLVM IR: an image with its entries and the places of addresses
    that it wants, or else an object file."""
    import llvmlite.binding as llvm

    machine = _target_machine()
    module = llvm.parse_assembly(text)
    module.verify()
    obj: bytes = machine.emit_object(module)
    found = image(obj, ENTRIES) if os.name == "posix" else None
    return (found.entries | found.calls, found.code) if found else (None, obj)


def load(entries: dict[str, int] | None, code: bytes) -> tuple[dict[str, int], Any]:
    """The addresses of ``loop`` and ``call`` (0 if absent), and what keeps them there."""
    if entries is not None:
        calls = {name: at for name, at in entries.items() if name not in ENTRIES}
        start, memory = load_image(code, calls)
        return {name: start + entries[name] if name in entries else 0 for name in ENTRIES}, memory
    import llvmlite.binding as llvm

    # All sections of the object in one block: code reaches its constants by distances of four
    # bytes, and in a large process LLVM's own choice of places ends it where these do not suffice.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(), use_lmm=True)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return {name: engine.get_function_address(name) for name in ENTRIES}, engine


@cache
def loop_data(past_caches: bool) -> Any:
    """The table that loops are given: the C library's feclearexcept, and whether they write their
    results past the caches, where they can."""
    return (ctypes.c_void_p * 2)(c_function("feclearexcept"), past_caches)


def _target_machine() -> Any:
    import llvmlite.binding as llvm

    _initialise()
    cpu, features = _host()
    # Constants are then reached relative to the code, in one instruction.
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=cpu, features=features, opt=3, jit=True, reloc="pic", codemodel="small"
    )


@cache
def _host() -> tuple[str, str]:
    import llvmlite.binding as llvm

    own = llvm.get_host_cpu_features()
    asked = simd()
    if not asked:
        return llvm.get_host_cpu_name(), own.flatten()
    cpu, needed = _LEVELS[asked]
    missing = [name for name in needed if not own.get(name)]
    if missing or platform.machine().lower() not in ("x86_64", "amd64"):
        raise InputError(
            f"APPELL_SIMD = {asked!r}: this processor ({platform.machine()}) lacks "
            f"{', '.join(missing) or 'these instructions'}; unset it."
        )
    return cpu, ",".join(f"+{name}" for name in needed)


@cache
def _initialise() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
