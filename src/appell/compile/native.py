"""Object code for this machine, and its way into the process."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy as np

from appell.compile.image import image, load_image

ENTRIES = ("loop", "call")


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
        return platform.machine(), processor, status.st_size, status.st_mtime_ns
    except (OSError, ValueError):
        import llvmlite.binding as llvm

        return (platform.machine(), *_host(), llvm.llvm_version_info)


def lanes(dtype: str) -> int:
    """How many states at a time: a register's worth, and at least four."""
    _, features = _host()
    width = 64 if "+avx512f" in features else 32 if "+avx2" in features else 16
    return max(4, width // np.dtype(dtype).itemsize)


def fuses() -> bool:
    """Whether the processor multiplies and adds in one instruction."""
    return platform.machine().lower() in ("aarch64", "arm64") or "+fma" in _host()[1].split(",")


def compile_module(text: str) -> tuple[dict[str, int] | None, bytes]:
    """Machine code of a module of LLVM IR: an image with its entries, or else an object file."""
    import llvmlite.binding as llvm

    machine = _target_machine()
    module = llvm.parse_assembly(text)
    module.verify()
    obj: bytes = machine.emit_object(module)
    found = image(obj, ENTRIES) if os.name == "posix" else None
    return (found.entries, found.code) if found else (None, obj)


def load(entries: dict[str, int] | None, code: bytes) -> tuple[dict[str, int], Any]:
    """The addresses of ``loop`` and ``call`` (0 if absent), and what keeps them there."""
    if entries is not None:
        start, memory = load_image(code)
        return {name: start + entries[name] if name in entries else 0 for name in ENTRIES}, memory
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return {name: engine.get_function_address(name) for name in ENTRIES}, engine


@cache
def clearing() -> Any:
    """The C library's feclearexcept, in the table that loops find it by."""
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    if not hasattr(library, "feclearexcept"):
        library = ctypes.CDLL("libm.so.6")
    address = ctypes.cast(library.feclearexcept, ctypes.c_void_p).value
    return (ctypes.c_void_p * 1)(address)


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

    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def _initialise() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
