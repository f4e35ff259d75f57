"""A driver without a GPU: its memory is the host's, and its kernels are interpreted.

It has the functions of NVIDIA's library that Appell calls, with their arguments, and fails on
demand.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from typing import Any

import numpy as np

from appell.compile.gpu import driver
from appell.compile.gpu.device_arrays import DeviceArray
from tests.compile.ptx_interpreter import Memory, Run, parse


class FakeLibrary:
    """``fail["cuMemAlloc_v2"] = 2`` lets a function answer with an error."""

    def __init__(self, version: int = 13000, devices: int = 1, capability: int = 9) -> None:
        self.version, self.devices, self.capability = version, devices, capability
        self.memory = Memory()
        self.free = 2**30  # bytes, as the library tells
        self.fail: dict[str, int] = {}
        self.calls: Counter[str] = Counter()
        self.launches: list[tuple[tuple[int, int], int, int]] = []  # grid, threads, stream
        self.contexts: list[int] = []
        self._arrays: dict[int, Any] = {}
        self._device_of: dict[int, int] = {}
        self._modules: list[bytes] = []
        self._binary: Any = None

    @classmethod
    def installed(cls, monkeypatch: Any, **options: Any) -> FakeLibrary:
        """One in the place of NVIDIA's, for a test."""
        fake = cls(**options)
        monkeypatch.setattr(driver, "library", lambda: fake)
        driver.driver.cache_clear()
        return fake

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        function = getattr(type(self), f"_{name.removesuffix('_v2')}")

        def call(*arguments: Any) -> int:
            self.calls[name] += 1
            if name in self.fail:
                return self.fail[name]
            return function(self, *arguments) or 0

        return call

    def allocated(self) -> int:
        return len(self._arrays)

    def _cuInit(self, flags: Any) -> int:
        return 0 if self.devices else 100

    def _cuDriverGetVersion(self, version: Any) -> None:
        version._obj.value = self.version

    def _cuGetErrorName(self, status: Any, text: Any) -> None:
        text._obj.value = f"CUDA_ERROR_{status.value}".encode()

    def _cuDeviceGet(self, handle: Any, ordinal: Any) -> int:
        handle._obj.value = ordinal.value
        return 0 if ordinal.value < self.devices else 101

    def _cuDeviceGetAttribute(self, into: Any, number: Any, handle: Any) -> None:
        into._obj.value = {75: self.capability, 76: 0}[number.value]

    def _cuDeviceGetName(self, name: Any, size: Any, handle: Any) -> None:
        name.value = b"fake"

    def _cuDevicePrimaryCtxRetain(self, context: Any, handle: Any) -> None:
        context._obj.value = 1000 + handle.value

    def _cuCtxPushCurrent(self, context: Any) -> None:
        self.contexts.append(context.value)

    def _cuCtxPopCurrent(self, context: Any) -> None:
        self.contexts.pop()

    def _cuPointerGetAttribute(self, into: Any, number: Any, pointer: Any) -> None:
        into._obj.value = self._device_of[self.memory.start(pointer.value)]

    def _cuMemAlloc(self, pointer: Any, size: Any) -> int:
        if size.value > 2**30:
            return 2
        memory = np.full(size.value + 256, 0xFF, np.uint8)  # NaN, until it is written
        start = memory.ctypes.data + -memory.ctypes.data % 256
        block = memory[start - memory.ctypes.data :][: size.value]
        self.memory.blocks[start] = block
        self._arrays[start], self._device_of[start] = memory, self.contexts[-1] - 1000
        pointer._obj.value = start
        return 0

    def _cuMemGetInfo(self, free: Any, whole: Any) -> None:
        free._obj.value, whole._obj.value = self.free, 2**30

    def _cuMemFree(self, pointer: Any) -> None:
        del self.memory.blocks[pointer.value], self._arrays[pointer.value]

    def _cuMemcpyHtoDAsync(self, to: Any, host: Any, size: Any, stream: Any) -> None:
        ctypes.memmove(to.value, host.value or 0, size.value)

    def _cuMemcpyDtoHAsync(self, host: Any, pointer: Any, size: Any, stream: Any) -> None:
        ctypes.memmove(host.value or 0, pointer.value, size.value)

    def _cuMemcpy2DAsync(self, about: Any, stream: Any) -> None:
        x = about._obj
        for k in range(x.height):
            ctypes.memmove(x.target_ + k * x.target_pitch, x.source_ + k * x.source_pitch, x.width)

    def _cuStreamSynchronize(self, stream: Any) -> None: ...

    def _cuEventCreate(self, event: Any, flags: Any) -> None: ...

    def _cuEventRecord(self, event: Any, stream: Any) -> None: ...

    def _cuStreamWaitEvent(self, stream: Any, event: Any, flags: Any) -> None: ...

    def _cuEventDestroy(self, event: Any) -> None: ...

    def _cuLinkCreate(self, count: Any, options: Any, values: Any, state: Any) -> None:
        state._obj.value = 1

    def _cuLinkAddData(self, state: Any, kind: Any, text: Any, *_: Any) -> None:
        self._binary = ctypes.create_string_buffer(b"CUBIN" + text.value)

    def _cuLinkComplete(self, state: Any, binary: Any, size: Any) -> None:
        binary._obj.value = ctypes.addressof(self._binary)
        size._obj.value = len(self._binary) - 1

    def _cuLinkDestroy(self, state: Any) -> None: ...

    def _cuModuleLoadData(self, module: Any, code: bytes) -> int:
        if not code.startswith(b"CUBIN"):
            return 200
        self._modules.append(code[5:])
        module._obj.value = len(self._modules)
        return 0

    def _cuModuleGetFunction(self, function: Any, module: Any, name: bytes) -> None:
        function._obj.value = module.value

    def _cuLaunchKernel(self, function: Any, *arguments: Any) -> None:
        gx, gy, _, threads, *_ = (x.value for x in arguments[:7])
        stream, addresses = arguments[7], arguments[8]
        text = self._modules[function.value - 1].decode()
        (entry,) = (name for name in parse(text)[0] if name == "appell_kernel")
        sizes = [size for _, size in parse(text)[0][entry].parameters]
        kinds = {4: ctypes.c_int32, 8: ctypes.c_int64}
        values = [
            kinds[size].from_address(at).value for size, at in zip(sizes, addresses, strict=True)
        ]
        self.launches.append(((gx, gy), threads, stream.value or 0))
        Run(text, self.memory, (gx, gy), threads).start(entry, values)


def there(x: Any) -> DeviceArray:
    """A copy of a NumPy array on the GPU."""
    x = np.array(x, order="C")
    device = driver.driver().device(0)
    with device.current():
        array = DeviceArray(x.shape, x.dtype.name, device)
        device.upload(array.pointer, x.ctypes.data, x.nbytes, 0)
    return array
