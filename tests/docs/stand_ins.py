"""What pages use that a machine may not have: a GPU, and PyTorch arrays on it."""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from appell.compile.gpu import driver
from appell.compile.gpu.device_arrays import DeviceArray
from tests.compile.fake_gpu import FakeLibrary

_ROWS = 4  # of a batch, at most: kernels are interpreted


def gpu_and_torch(monkeypatch: Any) -> None:
    """A driver whose kernels are interpreted, and as much of PyTorch as docs/gpu.md uses."""
    FakeLibrary.installed(monkeypatch)
    torch = ModuleType("torch")
    torch.float64, torch.float32 = "float64", "float32"  # type: ignore[attr-defined]
    torch.rand, torch.empty_like = _rand, _empty_like  # type: ignore[attr-defined]
    torch.cuda = SimpleNamespace(Stream=lambda: SimpleNamespace(cuda_stream=7))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)


def _rand(shape: tuple[int, ...], *, dtype: str, device: str) -> list[DeviceArray]:
    """The arrays along the first axis, each on the GPU, with fewer rows."""
    assert device == "cuda"
    count, rows, columns = shape
    numbers = np.random.default_rng(0).random((count, min(rows, _ROWS), columns)).astype(dtype)
    return [_on_gpu(x) for x in numbers]


def _empty_like(array: DeviceArray) -> DeviceArray:
    return DeviceArray(array.shape, array.dtype.name, array.device)


def _on_gpu(x: Any) -> DeviceArray:
    array = DeviceArray(x.shape, x.dtype.name, driver.driver().device(0))
    ctypes.memmove(array.pointer, np.ascontiguousarray(x).ctypes.data, x.nbytes)
    return array
