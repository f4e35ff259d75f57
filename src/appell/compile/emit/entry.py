"""States from Python without NumPy's machinery: a compiled function that CPython calls.

For arrays exactly as the kernel wants them (its dtype, one state or one batch, contiguous) the
compiled code reads their memory, makes the result, or writes into a given array, and returns
it; anything else is handed to a Python function, and so are batches that take long. Objects'
layouts are those of CPython's and NumPy's binary interface, and are verified before use.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.gufunc import core, numpy_function

if TYPE_CHECKING:
    from appell.compile.tape import Tape

Shape = tuple[int, ...]

_NEW_ARRAY = 93  # PyArray_New's place in NumPy's table of functions
_FASTCALL = 0x80
_TABLE = (
    "array", "dtype", "new", "otherwise", "vectorcall", "num", "data", "keep", "into",
    "release", "regain",
)  # fmt: skip
_NUMBERS = ("num", "into")  # the others are pointers

# Operations of a batch that is computed here: a hundred microseconds on a fast processor, after
# which other threads may be worth their cost; and those of one that is computed with the
# interpreter's lock held: ten. Results beyond as many bytes may be written faster in another way.
_HERE, _HELD, _LARGE = 2_500_000, 250_000, 2 << 20

# Offsets in an ndarray object: type, data, number of axes, shape, dtype, flags.
_TYPE, _DATA, _AXES, _SHAPE, _DTYPE, _FLAGS = 8, 16, 24, 32, 56, 64
_CONTIGUOUS_AND_ALIGNED, _WRITABLE = 0x0101, 0x0400


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
    data: Any,
    into: bool = False,
) -> Any:
    """The compiled function ``call`` as a Python function that keeps its owner alive, and what
    the owner must keep in turn. ``data`` is what the loop is given; ``into``: the last argument is
    the array to write into."""
    api = ctypes.pythonapi
    table = (ctypes.c_void_p * len(_TABLE))(
        id(np.ndarray),
        id(dtype),
        numpy_function("_ARRAY_API", _NEW_ARRAY),
        id(otherwise),
        ctypes.cast(api.PyObject_Vectorcall, ctypes.c_void_p).value,
        dtype.num,
        ctypes.addressof(data),
        ctypes.cast(api.Py_IncRef, ctypes.c_void_p).value,
        into,
        ctypes.cast(api.PyEval_SaveThread, ctypes.c_void_p).value,
        ctypes.cast(api.PyEval_RestoreThread, ctypes.c_void_p).value,
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
    return function, (table, method, otherwise, dtype, data)


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
                f"  %{what} = load {'i64' if what in _NUMBERS else 'ptr'}, ptr %{what}.at",
            )
        ),
        f"  %wanted = add i64 %into, {len(inputs)}",
        "  %enough = icmp eq i64 %nargs, %wanted",
        "  %makes = icmp eq i64 %into, 0",
        "  br i1 %enough, label %look, label %slow",
        "look:",  # at the first argument: is it one state, or many?
        "  %first = load ptr, ptr %args",
        f"  %kind.at = getelementptr i8, ptr %first, i64 {_TYPE}",
        "  %kind.first = load ptr, ptr %kind.at",
        "  %plain = icmp eq ptr %kind.first, %array",
        "  br i1 %plain, label %count, label %slow",
        "count:",
        f"  %axes.at = getelementptr i8, ptr %first, i64 {_AXES}",
        "  %axes = load i32, ptr %axes.at",
        f"  %one = icmp eq i32 %axes, {len(inputs[0])}",
        "  %single = and i1 %one, %makes",
        "  br i1 %single, label %type0, label %many.type0",
        *_one(inputs, result, real, lanes),
        *_many(tape, inputs, result, real, lanes),
        "failed:",
        "  ret ptr null",
        "slow:",
        "  %z = call ptr %vectorcall(ptr %otherwise, ptr %args, i64 %nargs, ptr null)",
        "  ret ptr %z",
        "}",
    ]
    return "\n".join(lines)


def _one(inputs: list[Shape], result: Shape, real: Any, lanes: int) -> list[str]:
    """One state: in all lanes."""
    lines: list[str] = []
    for k, shape in enumerate(inputs):
        lines += _checked(k, shape, "", "run" if k + 1 == len(inputs) else f"type{k + 1}")
    lines += ["run:", *_new("one", result)]
    rows = []
    for k, shape in enumerate([*inputs, result]):
        width = prod(shape) * real.size
        rows.append(f"ptr %buffer{k}")
        lines.append(f"  %buffer{k} = alloca [{lanes * width} x i8], align 64")
        if k < len(inputs):
            lines += [
                *_data(f"%data{k}", f"%x{k}"),
                f"  call void @fill(ptr %buffer{k}, ptr %data{k}, i64 {prod(shape)})",
            ]
    return [
        *lines,
        f"  call void @body({', '.join(rows)})",
        *_data("%target", "%one.y"),
        f"  call void @copy(ptr %target, ptr %buffer{len(inputs)}, i64 {prod(result)})",
        "  ret ptr %one.y",
    ]


def _many(tape: Tape, inputs: list[Shape], result: Shape, real: Any, lanes: int) -> list[str]:
    """A batch along one axis: by the loop that NumPy calls, with the strides it would give."""
    shapes = [core(shape) for shape in (*inputs, result)]
    steps = max(len(tape), 1)
    most = max(lanes, min(_HERE // steps, _LARGE // (prod(result) * real.size)))
    lines: list[str] = []
    for k, shape in enumerate(inputs):
        then = "many.run" if k + 1 == len(inputs) else f"many.type{k + 1}"
        lines += _checked(k, shape, "many.", then, most)
    strides = [prod(shape) * real.size for shape in shapes]
    for shape in shapes:
        strides += [prod(shape[axis + 1 :]) * real.size for axis in range(len(shape))]
    lines += [
        "many.run:",
        "  br i1 %makes, label %many.make, label %many.type" + str(len(inputs)),
        *_into(inputs, result, real, most),
        "many.make:",
        *_new("many", result, "%many.n0"),
        "  br label %many.ready",
        "many.ready:",
        f"  %results = phi ptr [%many.y, %many.compute], [%many.x{len(inputs)}, %many.given]",
        f"  %pointers = alloca [{len(shapes)} x ptr]",
        f"  %strides = alloca [{len(strides)} x i64]",
        "  %count.at = alloca i64",
        "  store i64 %many.n0, ptr %count.at",
    ]
    for k in range(len(shapes)):
        array = f"%many.x{k}" if k < len(inputs) else "%results"
        lines += [
            *_data(f"%start{k}", array),
            f"  %pointer{k} = getelementptr ptr, ptr %pointers, i64 {k}",
            f"  store ptr %start{k}, ptr %pointer{k}",
        ]
    for k, stride in enumerate(strides):
        lines += [
            f"  %stride{k} = getelementptr i64, ptr %strides, i64 {k}",
            f"  store i64 {stride}, ptr %stride{k}",
        ]
    run = "  call void @loop(ptr %pointers, ptr %count.at, ptr %strides, ptr %data)"
    return [
        *lines,
        f"  %held = icmp ule i64 %many.n0, {_HELD // steps}",
        "  br i1 %held, label %many.held, label %many.released",
        "many.held:",
        run,
        "  ret ptr %results",
        "many.released:",
        "  %thread = call ptr %release()",
        run,
        "  call void %regain(ptr %thread)",
        "  ret ptr %results",
    ]


def _into(inputs: list[Shape], result: Shape, real: Any, most: int) -> list[str]:
    """The last argument: an array for the results, writable, and apart from all inputs."""
    place = len(inputs)
    x, apart = f"%many.x{place}", "%writable"
    lines = [
        *_checked(place, result, "many.", "many.apart", most),
        "many.apart:",
        f"  %write = and i32 {x}.flags, {_WRITABLE}",
        "  %writable = icmp ne i32 %write, 0",
    ]
    for k, shape in enumerate((*inputs, result)):
        lines += [
            *_data(f"%from{k}", f"%many.x{k}"),
            f"  %size{k} = mul i64 %many.n0, {prod(shape) * real.size}",
            f"  %to{k} = getelementptr i8, ptr %from{k}, i64 %size{k}",
        ]
    for k in range(place):
        lines += [
            f"  %before{k} = icmp ule ptr %to{k}, %from{place}",
            f"  %after{k} = icmp ule ptr %to{place}, %from{k}",
            f"  %beside{k} = or i1 %before{k}, %after{k}",
            f"  %apart{k} = and i1 {apart}, %beside{k}",
        ]
        apart = f"%apart{k}"
    return [
        *lines,
        f"  br i1 {apart}, label %many.given, label %slow",
        "many.given:",
        f"  call void %keep(ptr {x})",
        "  br label %many.ready",
    ]


def _new(name: str, shape: Shape, leading: str = "") -> list[str]:
    """A new array, with a leading axis if there is one; the code ends where there is no memory."""
    sizes = [*([leading] if leading else []), *map(str, shape)]
    lines = [f"  %{name}.shape = alloca [{len(sizes)} x i64]"]
    for axis, size in enumerate(sizes):
        lines += [
            f"  %{name}.size{axis} = getelementptr i64, ptr %{name}.shape, i64 {axis}",
            f"  store i64 {size}, ptr %{name}.size{axis}",
        ]
    return [
        *lines,
        f"  %{name}.kind = trunc i64 %num to i32",
        f"  %{name}.y = call ptr %new(ptr %array, i32 {len(sizes)}, ptr %{name}.shape, "
        f"i32 %{name}.kind, ptr null, ptr null, i32 0, i32 0, ptr null)",
        f"  %{name}.none = icmp eq ptr %{name}.y, null",
        f"  br i1 %{name}.none, label %failed, label %{name}.compute",
        f"{name}.compute:",
    ]


def _data(name: str, array: str) -> list[str]:
    """Where an array's numbers are."""
    return [
        f"  {name}.at = getelementptr i8, ptr {array}, i64 {_DATA}",
        f"  {name} = load ptr, ptr {name}.at",
    ]


def _checked(k: int, shape: Shape, way: str, then: str, most: int = 0) -> list[str]:
    """Argument k is an ndarray of the table's dtype and of this shape, contiguous and aligned; of
    ``most`` states at most, as many as the first has, where there are many."""
    x, axes = f"%{way}x{k}", len(shape) + bool(most)
    lines = [
        f"{way}type{k}:",
        f"  {x}.at = getelementptr ptr, ptr %args, i64 {k}",
        f"  {x} = load ptr, ptr {x}.at",
        f"  {x}.class.at = getelementptr i8, ptr {x}, i64 {_TYPE}",
        f"  {x}.class = load ptr, ptr {x}.class.at",
        f"  {x}.is = icmp eq ptr {x}.class, %array",
        f"  br i1 {x}.is, label %{way}axes{k}, label %slow",
        f"{way}axes{k}:",
        f"  {x}.axes.at = getelementptr i8, ptr {x}, i64 {_AXES}",
        f"  {x}.axes = load i32, ptr {x}.axes.at",
        f"  {x}.axes.ok = icmp eq i32 {x}.axes, {axes}",
        f"  {x}.dtype.at = getelementptr i8, ptr {x}, i64 {_DTYPE}",
        f"  {x}.dtype = load ptr, ptr {x}.dtype.at",
        f"  {x}.dtype.ok = icmp eq ptr {x}.dtype, %dtype",
        f"  {x}.flags.at = getelementptr i8, ptr {x}, i64 {_FLAGS}",
        f"  {x}.flags = load i32, ptr {x}.flags.at",
        f"  {x}.flags.both = and i32 {x}.flags, {_CONTIGUOUS_AND_ALIGNED}",
        f"  {x}.flags.ok = icmp eq i32 {x}.flags.both, {_CONTIGUOUS_AND_ALIGNED}",
        f"  {x}.plain = and i1 {x}.axes.ok, {x}.dtype.ok",
        f"  {x}.usual = and i1 {x}.plain, {x}.flags.ok",
        f"  br i1 {x}.usual, label %{way}shape{k}, label %slow",
        f"{way}shape{k}:",
        f"  {x}.shape.at = getelementptr i8, ptr {x}, i64 {_SHAPE}",
        f"  {x}.shape = load ptr, ptr {x}.shape.at",
    ]
    fits = "true"
    wanted: list[int | str] = [*([f"%{way}n0"] if most else []), *shape]
    for axis, size in enumerate(wanted):
        lines += [
            f"  {x}.n{axis}.at = getelementptr i64, ptr {x}.shape, i64 {axis}",
            f"  {x}.n{axis} = load i64, ptr {x}.n{axis}.at",
        ]
        if most and axis == 0 and k == 0:
            lines += [
                f"  %{way}n0 = add i64 {x}.n0, 0",
                f"  {x}.fit0 = icmp ule i64 %{way}n0, {most}",
            ]
        else:
            lines.append(f"  {x}.fit{axis} = icmp eq i64 {x}.n{axis}, {size}")
        lines.append(f"  {x}.fits{axis} = and i1 {fits}, {x}.fit{axis}")
        fits = f"{x}.fits{axis}"
    return [*lines, f"  br i1 {fits}, label %{then}, label %slow"]


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )
