"""Exported C through gcc, called for many states."""

from __future__ import annotations

import ctypes
import subprocess
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


def gcc(*arguments: str) -> str:
    done = subprocess.run(["gcc", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def shared(source: Path, *flags: str, others: tuple[Path, ...] = ()) -> ctypes.CDLL:
    """A library of a source file, in its folder."""
    library = source.parent / f"{source.stem}_{abs(hash(flags))}.so"
    gcc(*STRICT, *flags, "-shared", "-fPIC", *map(str, (source, *others)), "-o", str(library))
    return ctypes.CDLL(str(library))


class Compiled:
    """An exported function, over batches: ``f(*inputs)`` gives its outputs."""

    def __init__(self, library: ctypes.CDLL, name: str, kernel: Any) -> None:
        self.function = getattr(library, name)
        self.function.restype = None
        self.kernel, self.library = kernel, library

    def __call__(self, *inputs: Any) -> list[np.ndarray]:
        kernel = self.kernel
        rows = [
            np.ascontiguousarray(x, kernel.dtype).reshape(-1, prod(shape))
            for x, shape in zip(inputs, kernel.inputs.values(), strict=True)
        ]
        n = len(rows[0])
        outputs = [np.full((n, prod(s)), 7e7, kernel.dtype) for s in kernel.outputs.values()]
        for k in range(n):
            self.function(*(ctypes.c_void_p(x[k].ctypes.data) for x in (*rows, *outputs)))
        return [
            y.reshape(n, *shape) for y, shape in zip(outputs, kernel.outputs.values(), strict=True)
        ]


def states(kernel: Any, count: int, seed: int = 0) -> list[np.ndarray]:
    """Random ones; parameters are near their own values."""
    draw = np.random.default_rng(seed)
    drawn = []
    for name, shape in kernel.inputs.items():
        x = draw.uniform(-3, 3, (count, *shape))
        if name == "period":
            x = np.abs(x) + 1e-3
        if name in kernel.defaults:
            x = kernel.defaults[name] * (1 + 0.05 * x)
        drawn.append(x.astype(kernel.dtype))
    return drawn


def results(kernel: Any, inputs: list[np.ndarray]) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        made = kernel(*inputs)
    return list(made) if isinstance(made, tuple) else [made]


def same_bits(x: np.ndarray, y: np.ndarray) -> None:
    """Every bit, signs of zero too; NaN is NaN, whatever its bits."""
    np.testing.assert_array_equal(np.isnan(x), np.isnan(y))
    whole = f"u{x.dtype.itemsize}"
    a, b = (np.where(np.isnan(z), 0, z).astype(z.dtype).view(whole) for z in (x, y))
    np.testing.assert_array_equal(a, b)
