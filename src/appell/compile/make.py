"""From an equation to its kernel: identified and found, or else recorded and compiled.

Only this module knows of identities, of the lock and of the cache. It is imported early and imports
the rest late, while it holds the lock: a process that forks must not be in the middle of that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel
    from appell.compile.tape import Tape

Shapes = Mapping[str, tuple[int, ...]]

# No thread compiles while the process forks, so a child finds this lock, and LLVM's, free.
LOCK = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
    )

# Code of living kernels by its identity.
_IN_USE: WeakValueDictionary[str, Any] = WeakValueDictionary()


def kernel_of(
    name: str,
    equation: Callable[..., Any] | Tape,
    inputs: Shapes,
    outputs: Shapes,
    *,
    wrt: Sequence[str] = (),
    along: Mapping[str, Callable[..., Any]] | None = None,
    recorder: Callable[..., Tape] | None = None,
    dtype: str = "float64",
    target: str = "cpu",
    defaults: Mapping[str, Any] | None = None,
    doc: str = "",
    origin: tuple[Any, ...] | None = None,
) -> Kernel:
    """The kernel of ``equation(*inputs)``, or of its Jacobians with respect to the inputs ``wrt``
    (``along`` directions: see `appell.compile.record.record`).

    Its code is that of a kernel in use, or was kept on disk, if the same equation was compiled
    before: one made of Appell's own functions and of plain values. Any other equation is recorded
    first, and has the code of the same recording.

    ``recorder(equation, inputs, outputs, wrt)`` makes the tape of what is no function of scalars.
    ``target`` is "cpu" or "cuda".
    ``defaults`` are values of inputs that may be left out of a call; ``origin``, a function and its
    arguments, makes the kernel again where it is unpickled.
    """
    with LOCK:
        from appell.compile.identity import Unidentified, identity
        from appell.compile.native import machine

        start = perf_counter()
        job = equation, dict(inputs), dict(outputs), tuple(wrt), along, recorder
        key = recorded = None
        with suppress(Unidentified):
            key = identity(dtype, target, machine(), job)
        if key is None:
            recorded = _recorded(*job)
            key = identity(dtype, target, machine(), repr(recorded))

        def tape() -> Tape:
            return _recorded(*job) if recorded is None else recorded

        code, cached = _code(key, tape, dtype, target, f"compiling {doc or name}")
        kernel: Kernel = _target(target)[0](
            code, name, dtype, inputs, tape, defaults or {}, doc, origin
        )
        kernel.cached, kernel.seconds_to_compile = cached, perf_counter() - start
        return kernel


def _recorded(
    equation: Any, inputs: Shapes, outputs: Shapes, wrt: Any, along: Any, recorder: Any
) -> Tape:
    with LOCK:
        from appell.compile.record import record
        from appell.compile.tape import Tape

        if isinstance(equation, Tape):
            return equation
        if recorder is None:
            return record(equation, inputs, outputs, wrt, along)
        tape: Tape = recorder(equation, inputs, outputs, wrt)
        return tape


def _target(target: str) -> tuple[Any, Any, Any]:
    """The classes of a target's kernels and of their code, and its compiler."""
    if target == "cuda":
        from appell.compile.gpu.gpu_kernel import GpuCode, GpuKernel, compile_ptx

        return GpuKernel, GpuCode, compile_ptx
    from appell.compile.kernel import Code, Kernel, compile_tape

    return Kernel, Code, compile_tape


def _code(
    key: str, tape: Callable[[], Tape], dtype: str, target: str, what: str
) -> tuple[Any, bool]:
    """The code, and whether it was there before; ``what`` is told where it takes long."""
    from appell.compile import cache
    from appell.compile.identity import is_current

    _, holder, compiler = _target(target)
    code = None if cache.is_off() else _IN_USE.get(key)
    if code is not None:
        return code, True
    kept = cache.fetch(key)
    if kept:
        header, binary = kept
    else:
        from appell.compile.progress import told

        with told(what):
            header, binary = compiler(tape(), dtype)
    if not kept and is_current():
        cache.store(key, header, binary)
    code = holder(header, binary)
    if not cache.is_off():
        _IN_USE[key] = code
    return code, kept is not None
