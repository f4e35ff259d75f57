"""Compiled loops as NumPy generalised universal functions.

NumPy's C functions are reached through the table it exports to extension modules,
so no compiler is needed: broadcasting, ``out=``, casting and the release of the
interpreter's lock come from NumPy itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

Shape = tuple[int, ...]

_FROM_FUNC_AND_DATA_AND_SIGNATURE = 31  # its place in NumPy's table of ufunc functions


def gufunc(
    loop: int, dtype: str, inputs: Sequence[Shape], outputs: Sequence[Shape], name: str, doc: str
) -> Any:
    """A ufunc over core shapes. It lives as long as the process, and so must the loop."""
    count = len(inputs) + len(outputs)
    loops = (ctypes.c_void_p * 1)(loop)
    data = (ctypes.c_void_p * 1)(None)
    types = (ctypes.c_char * count)(*[bytes([np.dtype(dtype).num])] * count)
    signature = f"{_core(inputs)}->{_core(outputs)}".encode()
    texts = (name.encode(), doc.encode(), signature)
    ufunc = _constructor()(
        loops, data, types, 1, len(inputs), len(outputs), -1, texts[0], texts[1], 0, texts[2]
    )
    _alive.append((loops, data, types, texts, ufunc))
    return ufunc


_alive: list[Any] = []


def _core(shapes: Sequence[Shape]) -> str:
    return ",".join(f"({','.join(map(str, shape))})" for shape in shapes)


@cache
def _constructor() -> Any:
    table = np._core._multiarray_umath._UFUNC_API  # type: ignore[attr-defined]
    open_capsule = ctypes.pythonapi.PyCapsule_GetPointer
    open_capsule.restype, open_capsule.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    functions = ctypes.cast(open_capsule(table, None), ctypes.POINTER(ctypes.c_void_p))
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, pointer, pointer, pointer, number, number, number, number,
        text, text, number, text,
    )  # fmt: skip
    return prototype(functions[_FROM_FUNC_AND_DATA_AND_SIGNATURE])
