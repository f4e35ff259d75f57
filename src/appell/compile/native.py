"""Object code for this machine, and its way into the process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Machine:
    """What object code depends on."""

    triple: str
    cpu: str
    features: str
    llvm: str

    def lanes(self, dtype: str) -> int:
        """How many states at a time: a register's worth, and at least four."""
        width = 64 if "+avx512f" in self.features else 32 if "+avx2" in self.features else 16
        return max(4, width // np.dtype(dtype).itemsize)


@cache
def machine() -> Machine:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    version = ".".join(map(str, llvm.llvm_version_info))
    return Machine(llvm.get_process_triple(), llvm.get_host_cpu_name(), features, version)


def compile_module(text: str) -> bytes:
    """Object code of a module of LLVM IR."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    code: bytes = _target_machine().emit_object(module)
    return code


def load(code: bytes) -> tuple[dict[str, int], Any]:
    """The addresses of ``loop`` and ``call`` (0 if absent), and what keeps them there."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return {name: engine.get_function_address(name) for name in ("loop", "call")}, engine


def _target_machine() -> Any:
    import llvmlite.binding as llvm

    _initialise()
    here = machine()
    # Constants are then reached relative to the code, in one instruction.
    return llvm.Target.from_triple(here.triple).create_target_machine(
        cpu=here.cpu, features=here.features, opt=3, jit=True, reloc="pic", codemodel="small"
    )


@cache
def _initialise() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
