"""Compiled loops as NumPy generalised universal functions.

NumPy's C functions are reached through the table it exports to extension modules,
so no compiler is needed: broadcasting, ``out=``, casting and the release of the
interpreter's lock come from NumPy itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

Shape = tuple[int, ...]

_FROM_FUNC_AND_DATA_AND_SIGNATURE = 31  # its place in NumPy's table of ufunc functions


def gufunc(
    loop: int,
    data: Any,
    dtype: str,
    inputs: Sequence[Shape],
    outputs: Sequence[Shape],
    name: str,
    doc: str,
) -> tuple[Any, Any]:
    """A ufunc over core shapes, whose loop is given the data, and what must live as long as it
    does (the loop besides)."""
    count = len(inputs) + len(outputs)
    loops = (ctypes.c_void_p * 1)(loop)
    given = (ctypes.c_void_p * 1)(ctypes.addressof(data))
    types = (ctypes.c_char * count)(*[bytes([np.dtype(dtype).num])] * count)
    signature = f"{_core(inputs)}->{_core(outputs)}".encode()
    texts = (name.encode(), doc.encode(), signature)
    ufunc = _constructor()(
        loops, given, types, 1, len(inputs), len(outputs), -1, texts[0], texts[1], 0, texts[2]
    )
    return ufunc, (loops, given, data, types, texts)


def _core(shapes: Sequence[Shape]) -> str:
    return ",".join(f"({','.join(map(str, shape))})" for shape in shapes)


def core(shape: Shape) -> Shape:
    """The shape as compiled code sees it: more than two axes are one."""
    return shape if len(shape) <= 2 else (prod(shape),)


def numpy_function(table: str, place: int) -> int:
    """The address of a function that NumPy exports to extension modules."""
    umath: Any = import_module("numpy._core._multiarray_umath")
    open_capsule = ctypes.pythonapi.PyCapsule_GetPointer
    open_capsule.restype = ctypes.c_void_p
    open_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]
    start = open_capsule(getattr(umath, table), None)
    address = ctypes.cast(start, ctypes.POINTER(ctypes.c_void_p))[place]
    assert address is not None
    return address


@cache
def _constructor() -> Any:
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, pointer, pointer, pointer, number, number, number, number,
        text, text, number, text,
    )  # fmt: skip
    return prototype(numpy_function("_UFUNC_API", _FROM_FUNC_AND_DATA_AND_SIGNATURE))
