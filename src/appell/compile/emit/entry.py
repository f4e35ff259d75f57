"""One state from Python without NumPy's machinery: a compiled function that CPython calls.

For arrays exactly as the kernel wants them (its dtype, one state, contiguous) the
compiled code reads their memory, makes the result and returns it; anything else is
handed to a Python function. Objects' layouts are those of CPython's and NumPy's
binary interface, and are verified before use.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.gufunc import numpy_function

if TYPE_CHECKING:
    from appell.compile.tape import Tape

Shape = tuple[int, ...]

_NEW_ARRAY = 93  # PyArray_New's place in NumPy's table of functions
_FASTCALL = 0x80
_TABLE = ("array", "dtype", "new", "otherwise", "vectorcall", "num")

# Offsets in an ndarray object: type, data, number of axes, shape, dtype, flags.
_TYPE, _DATA, _AXES, _SHAPE, _DTYPE, _FLAGS = 8, 16, 24, 32, 56, 64
_CONTIGUOUS_AND_ALIGNED = 0x0101


@cache
def available() -> bool:
    """Whether objects are laid out as expected."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or hasattr(sys, "getobjects"):
        return False
    probe = np.arange(6.0).reshape(2, 3)
    at = id(probe)

    def pointer(offset: int) -> int | None:
        return ctypes.c_void_p.from_address(at + offset).value

    shape = pointer(_SHAPE)
    return (
        pointer(_TYPE) == id(np.ndarray)
        and pointer(_DATA) == probe.ctypes.data
        and ctypes.c_int.from_address(at + _AXES).value == 2
        and shape is not None
        and list((ctypes.c_int64 * 2).from_address(shape)) == [2, 3]
        and pointer(_DTYPE) == id(probe.dtype)
        and ctypes.c_int.from_address(at + _FLAGS).value & 0x0101 == _CONTIGUOUS_AND_ALIGNED
    )


def entry(
    address: int,
    name: str,
    dtype: np.dtype[Any],
    otherwise: Callable[..., Any],
    owner: Any,
) -> Any:
    """The compiled function ``call`` as a Python function that keeps its owner alive, and what
    the owner must keep in turn."""
    api = ctypes.pythonapi
    table = (ctypes.c_void_p * 6)(
        id(np.ndarray),
        id(dtype),
        numpy_function("_ARRAY_API", _NEW_ARRAY),
        id(otherwise),
        ctypes.cast(api.PyObject_Vectorcall, ctypes.c_void_p).value,
        dtype.num,
    )
    make_capsule = api.PyCapsule_New
    make_capsule.restype = ctypes.py_object
    make_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = make_capsule(ctypes.addressof(table), None, None)
    method = _MethodDef(name.encode(), address, _FASTCALL, None)
    make_function = api.PyCFunction_NewEx
    make_function.restype = ctypes.py_object
    make_function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    function = make_function(ctypes.addressof(method), capsule, owner)
    return function, (table, method, otherwise, dtype)


def emit_call(tape: Tape, real: Any, lanes: int) -> str:
    """The IR of ``call(self, args, nargs)``; self is a capsule that points to the table above."""
    inputs = list(tape.inputs.values())
    outputs = list(tape.outputs.values())
    if len(outputs) != 1 or not 1 <= len(outputs[0]) <= 3 or not all(inputs):
        return ""
    (result,) = outputs
    lines = [
        "define ptr @call(ptr %self, ptr %args, i64 %nargs) {",
        "entry:",
        "  %capsule = getelementptr i8, ptr %self, i64 16",
        "  %table = load ptr, ptr %capsule",
        *(
            line
            for k, what in enumerate(_TABLE)
            for line in (
                f"  %{what}.at = getelementptr ptr, ptr %table, i64 {k}",
                f"  %{what} = load {'i64' if what == 'num' else 'ptr'}, ptr %{what}.at",
            )
        ),
        f"  %enough = icmp eq i64 %nargs, {len(inputs)}",
        "  br i1 %enough, label %type0, label %slow",
    ]
    for k, shape in enumerate(inputs):
        lines += _checked(k, shape, "run" if k + 1 == len(inputs) else f"type{k + 1}")
    lines += ["run:", f"  %shape = alloca [{len(result)} x i64]"]
    for axis, size in enumerate(result):
        lines += [
            f"  %size{axis} = getelementptr i64, ptr %shape, i64 {axis}",
            f"  store i64 {size}, ptr %size{axis}",
        ]
    rows = []
    for k, shape in enumerate([*inputs, result]):
        width = prod(shape) * real.size
        rows.append(f"ptr %buffer{k}")
        lines.append(f"  %buffer{k} = alloca [{lanes * width} x i8], align 64")
        if k < len(inputs):
            lines += [
                f"  %data{k}.at = getelementptr i8, ptr %x{k}, i64 {_DATA}",
                f"  %data{k} = load ptr, ptr %data{k}.at",
                f"  call void @fill(ptr %buffer{k}, ptr %data{k}, i64 {prod(shape)})",
            ]
    last = len(inputs)
    lines += [
        "  %kind = trunc i64 %num to i32",
        f"  %y = call ptr %new(ptr %array, i32 {len(result)}, ptr %shape, i32 %kind, "
        "ptr null, ptr null, i32 0, i32 0, ptr null)",
        "  %none = icmp eq ptr %y, null",
        "  br i1 %none, label %failed, label %compute",
        "compute:",
        f"  call void @body({', '.join(rows)})",
        f"  %target.at = getelementptr i8, ptr %y, i64 {_DATA}",
        "  %target = load ptr, ptr %target.at",
        f"  call void @copy(ptr %target, ptr %buffer{last}, i64 {prod(result)})",
        "  ret ptr %y",
        "failed:",
        "  ret ptr null",
        "slow:",
        "  %z = call ptr %vectorcall(ptr %otherwise, ptr %args, i64 %nargs, ptr null)",
        "  ret ptr %z",
        "}",
    ]  # fmt: skip
    return "\n".join(lines)


def _checked(k: int, shape: Shape, then: str) -> list[str]:
    """Argument k is an ndarray of the table's dtype and of this shape, contiguous and aligned."""
    lines = [
        f"type{k}:",
        f"  %x{k}.at = getelementptr ptr, ptr %args, i64 {k}",
        f"  %x{k} = load ptr, ptr %x{k}.at",
        f"  %class{k}.at = getelementptr i8, ptr %x{k}, i64 {_TYPE}",
        f"  %class{k} = load ptr, ptr %class{k}.at",
        f"  %is{k} = icmp eq ptr %class{k}, %array",
        f"  br i1 %is{k}, label %axes{k}, label %slow",
        f"axes{k}:",
        f"  %axes{k}.at = getelementptr i8, ptr %x{k}, i64 {_AXES}",
        f"  %axes{k}.n = load i32, ptr %axes{k}.at",
        f"  %axes{k}.ok = icmp eq i32 %axes{k}.n, {len(shape)}",
        f"  %dtype{k}.at = getelementptr i8, ptr %x{k}, i64 {_DTYPE}",
        f"  %dtype{k} = load ptr, ptr %dtype{k}.at",
        f"  %dtype{k}.ok = icmp eq ptr %dtype{k}, %dtype",
        f"  %flags{k}.at = getelementptr i8, ptr %x{k}, i64 {_FLAGS}",
        f"  %flags{k} = load i32, ptr %flags{k}.at",
        f"  %flags{k}.both = and i32 %flags{k}, {_CONTIGUOUS_AND_ALIGNED}",
        f"  %flags{k}.ok = icmp eq i32 %flags{k}.both, {_CONTIGUOUS_AND_ALIGNED}",
        f"  %plain{k}.a = and i1 %axes{k}.ok, %dtype{k}.ok",
        f"  %plain{k} = and i1 %plain{k}.a, %flags{k}.ok",
        f"  br i1 %plain{k}, label %shape{k}, label %slow",
        f"shape{k}:",
        f"  %shape{k}.at = getelementptr i8, ptr %x{k}, i64 {_SHAPE}",
        f"  %shape{k}.p = load ptr, ptr %shape{k}.at",
    ]
    fits = "true"
    for axis, size in enumerate(shape):
        lines += [
            f"  %n{k}.{axis}.at = getelementptr i64, ptr %shape{k}.p, i64 {axis}",
            f"  %n{k}.{axis} = load i64, ptr %n{k}.{axis}.at",
            f"  %fit{k}.{axis} = icmp eq i64 %n{k}.{axis}, {size}",
            f"  %fits{k}.{axis} = and i1 {fits}, %fit{k}.{axis}",
        ]
        fits = f"%fits{k}.{axis}"
    return [*lines, f"  br i1 {fits}, label %{then}, label %slow"]


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )
