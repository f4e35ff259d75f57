"""NVIDIA's driver, by ctypes: some twenty of its functions, and its errors explained.

The driver's own library is all that is needed: no toolkit, no package. A device's primary context
is used, which CuPy, PyTorch and JAX use as well, so that arrays are shared with them.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_char, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

from appell.errors import GpuError

_MAJOR, _MINOR = 75, 76  # numbers of attributes of a device
_ORDINAL = 9  # and of a pointer
_PTX, _ERROR_LOG, _ERROR_SIZE = 1, 5, 6  # kinds of input, and options, of the assembler
_DISABLE_TIMING = 2  # of an event
_DEVICE = 2  # a kind of memory
_NEEDED, _CARD = 10010, (7, 5)  # CUDA 10.1 and sm_75, whose PTX is emitted

# What the driver's error numbers mean, and what helps.
_CURES = {
    2: "the GPU's memory is full; give fewer states at a time, or free arrays (other libraries "
    "reserve memory: JAX with XLA_PYTHON_CLIENT_PREALLOCATE, CuPy's and PyTorch's pools)",
    3: "CUDA is not usable in this process: one that was forked after CUDA was used cannot use it; "
    "start processes by 'spawn' (multiprocessing.set_start_method)",
    46: "other processes have all GPUs in exclusive mode; wait, or change their compute mode",
    100: "there is no GPU that CUDA sees; look at nvidia-smi and at CUDA_VISIBLE_DEVICES",
    101: "there is no GPU of this number; look at nvidia-smi and at CUDA_VISIBLE_DEVICES",
    201: "the context of the GPU is gone; start the process anew",
    209: "the code was made for another GPU; delete the cache (appell.compile.cache.clear())",
    214: "the GPU's memory had an error that it could not correct; reset the GPU",
    218: "the driver could not assemble the code",
    222: "the driver is too old for this code; install one of CUDA 10.1 or newer",
    700: "a kernel read or wrote memory that is not there, so the GPU is lost to this process; an "
    "array may have been freed while it was used. Start the process anew",
    702: "a kernel was stopped because it took too long for a GPU that drives a screen; give fewer "
    "states at a time",
    716: "a kernel read or wrote at an address that no array has, so the GPU is lost to this "
    "process; an array may have been freed while it was used. Start the process anew",
    719: "a kernel failed, and the GPU is lost to this process; start it anew",
    802: "the GPUs' own network is not ready yet; wait, or start nvidia-fabricmanager",
    803: "the driver's library and its kernel module differ; restart the machine",
    804: "the driver is older than its library; update it",
}  # fmt: skip


@cache
def library() -> Any:
    """The driver's library."""
    names = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise GpuError(
        f"target 'cuda': NVIDIA's driver ({names[0]}) was not found. This machine has no NVIDIA "
        "GPU, or its driver is not installed, or a container was started without it (docker run "
        "--gpus all). Use target='cpu'."
    )


class Driver:
    """The driver, started."""

    def __init__(self, library: Any) -> None:
        self._library, self._process = library, os.getpid()
        self._devices: dict[int, Device] = {}
        self.call("cuInit", c_uint(0), what="starting CUDA")
        version = c_int()
        self.call("cuDriverGetVersion", byref(version))
        self.version = version.value
        if self.version < _NEEDED:
            raise GpuError(
                f"the driver is of CUDA {_dotted(self.version)}; expected {_dotted(_NEEDED)} or "
                "newer: update the driver, or use target='cpu'."
            )

    def call(self, name: str, *arguments: Any, what: str = "") -> None:
        """Call a function of the library; its error is raised as one that says the cure."""
        if self._process != os.getpid():
            raise GpuError(f"{what or name}: {_CURES[3]}.")
        status = getattr(self._library, name)(*arguments)
        if status:
            raise GpuError(f"{what or name}: {self._explained(status)}.")

    def _explained(self, status: int) -> str:
        text = c_char_p()
        self._library.cuGetErrorName(c_int(status), byref(text))
        name = (text.value or b"an unknown error").decode()
        return f"{_CURES.get(status, 'the driver refused it')} ({name}, {status})"

    def device(self, ordinal: int) -> Device:
        """The GPU of this number."""
        if ordinal not in self._devices:
            self._devices[ordinal] = Device(self, ordinal)
        return self._devices[ordinal]

    def device_of(self, pointer: int) -> int:
        """The number of the GPU on which this address is."""
        ordinal = c_int()
        self.call("cuPointerGetAttribute", byref(ordinal), c_int(_ORDINAL), c_uint64(pointer))
        return ordinal.value


@cache
def driver() -> Driver:
    """The driver of this machine."""
    return Driver(library())


@cache
def has_gpu() -> bool:
    """Whether this machine has a GPU that kernels can run on."""
    try:
        driver().device(0)
    except GpuError:
        return False
    return True


class Device:
    """A GPU: memory, code and launches in its primary context."""

    def __init__(self, driver: Driver, ordinal: int) -> None:
        self.driver, self.ordinal = driver, ordinal
        what, handle = f"GPU {ordinal}", c_int()
        driver.call("cuDeviceGet", byref(handle), c_int(ordinal), what=what)
        major, minor, name = c_int(), c_int(), (c_char * 256)()
        for number, into in ((_MAJOR, major), (_MINOR, minor)):
            driver.call("cuDeviceGetAttribute", byref(into), c_int(number), handle, what=what)
        driver.call("cuDeviceGetName", name, c_int(256), handle, what=what)
        self.capability, self.name = (major.value, minor.value), name.value.decode()
        if self.capability < _CARD:
            raise GpuError(
                f"GPU {ordinal}, {self.name}, has compute capability {major.value}.{minor.value}; "
                f"expected {_CARD[0]}.{_CARD[1]} or more: use a card of 2018 or newer, or "
                "target='cpu'."
            )
        self._context = c_void_p()
        driver.call("cuDevicePrimaryCtxRetain", byref(self._context), handle, what=what)

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this device's context the thread's own, and the earlier one again afterwards."""
        self.driver.call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self.driver.call("cuCtxPopCurrent_v2", byref(c_void_p()))

    def assemble(self, ptx: bytes) -> bytes:
        """Machine code for this device."""
        log = ctypes.create_string_buffer(8192)
        options = (c_int * 2)(_ERROR_LOG, _ERROR_SIZE)
        values = (c_void_p * 2)(ctypes.addressof(log), len(log))
        state, binary, size = c_void_p(), c_void_p(), c_size_t()
        call = self.driver.call
        call("cuLinkCreate_v2", c_uint(2), options, values, byref(state))
        try:
            text = ctypes.create_string_buffer(ptx)  # ends with a zero, as it must
            try:
                call(
                    "cuLinkAddData_v2", state, c_int(_PTX), text, c_size_t(len(text)), b"kernel",
                    c_uint(0), None, None, what="assembling a kernel",
                )  # fmt: skip
                call(
                    "cuLinkComplete", state, byref(binary), byref(size), what="assembling a kernel"
                )
            except GpuError as problem:
                said = log.value.decode(errors="replace").strip()
                raise GpuError(f"{problem} {said}".strip()) from None
            return ctypes.string_at(binary.value or 0, size.value)
        finally:
            call("cuLinkDestroy", state)

    def load(self, code: bytes, entry: str) -> c_void_p:
        """The function of this name in machine code, which stays loaded."""
        module, function = c_void_p(), c_void_p()
        self.driver.call("cuModuleLoadData", byref(module), code, what="loading a kernel")
        self.driver.call("cuModuleGetFunction", byref(function), module, entry.encode())
        return function

    def launch(
        self,
        function: c_void_p,
        grid: tuple[int, int],
        threads: int,
        stream: int,
        arguments: Sequence[Any],
        what: str,
    ) -> None:
        """Start a kernel; it is not waited for."""
        addresses = (c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        sizes = [c_uint(x) for x in (*grid, 1, threads, 1, 1, 0)]
        self.driver.call(
            "cuLaunchKernel", function, *sizes, c_void_p(stream), addresses, None, what=what
        )

    def allocate(self, size: int, what: str) -> int:
        """The address of so many bytes."""
        pointer = c_uint64()
        whole = f"{what} ({size / 2**20:.0f} MiB on GPU {self.ordinal})"
        self.driver.call("cuMemAlloc_v2", byref(pointer), c_size_t(max(size, 1)), what=whole)
        return pointer.value

    def free_memory(self) -> int:
        """Bytes that no process has."""
        free, whole = c_size_t(), c_size_t()
        self.driver.call("cuMemGetInfo_v2", byref(free), byref(whole))
        return free.value

    def free(self, pointer: int) -> None:
        """Give memory back, once what uses it is done."""
        self.driver.call("cuMemFree_v2", c_uint64(pointer))

    def upload(self, pointer: int, host: int, size: int, stream: int) -> None:
        self.driver.call(
            "cuMemcpyHtoDAsync_v2", c_uint64(pointer), c_void_p(host), c_size_t(size),
            c_void_p(stream), what="copying to the GPU",
        )  # fmt: skip

    def download(self, host: int, pointer: int, size: int, stream: int) -> None:
        self.driver.call(
            "cuMemcpyDtoHAsync_v2", c_void_p(host), c_uint64(pointer), c_size_t(size),
            c_void_p(stream), what="copying from the GPU",
        )  # fmt: skip

    def pack(self, to: int, pointer: int, step: int, width: int, rows: int, stream: int) -> None:
        """Copy rows that stand ``step`` bytes apart to where they follow each other."""
        copy = _Copy2D(
            source_type=_DEVICE, source_=pointer, source_pitch=step,
            target_type=_DEVICE, target_=to, target_pitch=width, width=width, height=rows,
        )  # fmt: skip
        what = "copying rows that do not begin at multiples of 16 bytes"
        self.driver.call("cuMemcpy2DAsync_v2", byref(copy), c_void_p(stream), what=what)

    def synchronise(self, stream: int, what: str) -> None:
        """Wait until all is done that the stream was given."""
        self.driver.call("cuStreamSynchronize", c_void_p(stream), what=what)

    def order(self, first: int, then: int) -> None:
        """Let one stream wait for what another has been given so far."""
        if first == then:
            return
        event = c_void_p()
        self.driver.call("cuEventCreate", byref(event), c_uint(_DISABLE_TIMING))
        try:
            self.driver.call("cuEventRecord", event, c_void_p(first))
            self.driver.call("cuStreamWaitEvent", c_void_p(then), event, c_uint(0))
        finally:
            self.driver.call("cuEventDestroy_v2", event)


class _Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D of the driver's header."""

    _fields_ = [
        (end + name, kind)
        for end in ("source_", "target_")
        for name, kind in (
            ("x", c_size_t), ("y", c_size_t), ("type", c_int), ("host", c_void_p), ("", c_uint64),
            ("array", c_void_p), ("pitch", c_size_t),
        )
    ] + [("width", c_size_t), ("height", c_size_t)]  # fmt: skip


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"
