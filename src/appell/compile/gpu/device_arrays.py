"""Arrays on a GPU, whichever library's they are: read, made, and handed on without a copy.

An array says where it is by DLPack (``__dlpack__``) or by ``__cuda_array_interface__``. Results are
made by the library of the arguments, which is CuPy, PyTorch or JAX; for any other the result is a
`DeviceArray`, which others take by ``__cuda_array_interface__``. It has no DLPack capsule:
whoever takes one calls a function when done with it, which cannot be written in Python, as it may
be called while an exception is on its way.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from math import prod
from typing import Any, NamedTuple

import numpy as np

from appell.compile.gpu.driver import Device, driver
from appell.errors import GpuError, InputError

Shape = tuple[int, ...]
_GPU, _MANAGED = 2, 13  # DLPack's kinds of device
_NAMES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_LEGACY = 1  # the default stream, as both protocols call it


class View(NamedTuple):
    """Where an array is."""

    pointer: int
    shape: Shape
    strides: Shape  # bytes
    dtype: str
    device: int
    writable: bool
    alive: Any  # what keeps the memory


def on_gpu(x: Any) -> bool:
    """Whether it is an array on a GPU."""
    if type(x) is np.ndarray:
        return False
    place = getattr(x, "__dlpack_device__", None)
    if place is not None and not isinstance(x, np.ndarray | np.generic):
        return int(place()[0]) in (_GPU, _MANAGED)
    return hasattr(x, "__cuda_array_interface__")


def dtype_of(x: Any) -> str:
    """The name of an array's dtype."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        dtype = np.dtype(x.__cuda_array_interface__["typestr"])
    return str(dtype).rpartition(".")[2]


def library_of(x: Any) -> str:
    """The library whose array it is."""
    name = type(x).__module__.partition(".")[0]
    return "jax" if name == "jaxlib" else name


def device_number(x: Any) -> int:
    """The number of the GPU that an array is on."""
    if hasattr(x, "__dlpack_device__"):
        return int(x.__dlpack_device__()[1])
    pointer = x.__cuda_array_interface__["data"][0]
    return driver().device_of(pointer) if pointer else 0


def view(what: str, x: Any, stream: int) -> View:
    """Where an array is, once this stream may use it."""
    if library_of(x) == "torch":  # its own attributes are read ten times as fast
        return _of_torch(what, x, stream)
    if not hasattr(x, "__dlpack__"):
        return _by_interface(x, stream)
    try:
        capsule = x.__dlpack__(stream=stream or _LEGACY)
    except (BufferError, TypeError, ValueError, RuntimeError) as problem:
        raise InputError(f"{what}: the array cannot be shared: {problem}") from None
    tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    shape = tuple(tensor.shape[: tensor.axes])
    kind = f"{_NAMES.get(tensor.code, 'unknown')}{tensor.bits}"
    strides = _packed(shape, tensor.bits // 8)
    if tensor.strides:
        strides = tuple(k * tensor.bits // 8 for k in tensor.strides[: tensor.axes])
    pointer = (tensor.data or 0) + tensor.offset
    return View(pointer, shape, strides, kind, tensor.number, True, capsule)


def _of_torch(what: str, x: Any, stream: int) -> View:
    if x.requires_grad:
        raise InputError(f"{what} requires a gradient, which kernels do not give; use x.detach().")
    number, size = x.device.index, x.element_size()
    now = stream_of(None, x, number)
    if now != stream:
        device = driver().device(number)
        with device.current():
            device.order(now, stream)
    strides = tuple(k * size for k in x.stride())
    return View(x.data_ptr(), tuple(x.shape), strides, dtype_of(x), number, True, x)


def _by_interface(x: Any, stream: int) -> View:
    about = x.__cuda_array_interface__
    pointer, read_only = about["data"]
    dtype = np.dtype(about["typestr"])
    shape = tuple(about["shape"])
    strides = about.get("strides") or _packed(shape, dtype.itemsize)
    number = device_number(x)
    if about.get("stream"):
        device = driver().device(number)
        with device.current():
            device.order(_handle(about["stream"]), stream)
    return View(pointer, shape, tuple(strides), dtype.name, number, not read_only, x)


def on_host(what: str, x: Any) -> Any:
    """A NumPy copy of an array on a GPU, once it is computed; anything else as it is."""
    if not on_gpu(x):
        return x
    found = view(what, x, 0)
    try:
        dtype = np.dtype(found.dtype)
    except TypeError:  # one that NumPy does not have; other packages may add it, of kind "V"
        dtype = np.dtype("V1")
    if dtype.kind not in "biuf":
        raise InputError(f"{what} has dtype {found.dtype}; expected real numbers.")
    if not prod(found.shape):
        return np.empty(found.shape, dtype)
    low, high = span(found)
    memory = np.empty(high + dtype.itemsize - low, np.uint8)
    device = driver().device(found.device)
    with device.current():
        device.download(memory.ctypes.data, low, memory.nbytes, 0)
        device.synchronise(0, what)
    there: Any = np.ndarray(found.shape, dtype, memory, found.pointer - low, found.strides)
    return np.ascontiguousarray(there).reshape(found.shape)


def span(x: View) -> tuple[int, int]:
    """Where the first and the last number of an array that has some are in memory."""
    moved = [(n - 1) * step for n, step in zip(x.shape, x.strides, strict=True)]
    low = x.pointer + sum(min(k, 0) for k in moved)
    return low, x.pointer + sum(max(k, 0) for k in moved)


def stream_of(stream: Any, example: Any, device: int) -> int:
    """The stream to use: the one given, or that on which the library of an array works now."""
    if stream is None:
        library = sys.modules.get(library_of(example))
        name = library_of(example)
        if name == "torch":
            return int(library.cuda.current_stream(device).cuda_stream)  # type: ignore[union-attr]
        if name == "cupy":
            return int(library.cuda.get_current_stream().ptr)  # type: ignore[union-attr]
        return 0
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):  # of PyTorch, of CuPy, of others
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, int) and not isinstance(stream, bool) and stream >= 0:
        return stream
    raise InputError(
        f"stream = {stream!r}; expected a stream of CuPy or PyTorch, an object with "
        "__cuda_stream__, or the stream's address as a whole number."
    )


def made_like(
    example: Any, shape: Shape, dtype: str, device: Device, stream: int, what: str
) -> Any:
    """An array for a stream to write to, of the library of another."""
    name = library_of(example)
    try:
        if name == "torch":
            return example.new_empty(shape, dtype=getattr(sys.modules["torch"], dtype))
        if name == "cupy":
            cupy = sys.modules["cupy"]
            with cupy.cuda.Device(device.ordinal):
                return cupy.empty(shape, dtype)
        if name == "jax":  # an array of zeros that nobody else has seen
            return sys.modules["jax"].numpy.zeros(shape, dtype, device=example.device)
    except Exception as problem:
        if "memory" not in str(problem).lower():
            raise
        raise GpuError(
            f"{what}: {name} has no memory for {shape} numbers of {dtype}; give fewer states at a "
            f"time, or free arrays. It said: {problem}"
        ) from None
    return DeviceArray(shape, dtype, device, stream, what)


class DeviceArray:
    """Memory of a GPU in C order, which CuPy, PyTorch, Numba and others take without a copy
    (``cupy.asarray(x)``, ``torch.as_tensor(x, device="cuda")``); ``x.get()`` is a NumPy copy."""

    def __init__(
        self, shape: Shape, dtype: str, device: Device, stream: int = 0, what: str = "array"
    ) -> None:
        self.shape, self.dtype, self.device = shape, np.dtype(dtype), device
        self.stream = stream  # that may still write to it
        with device.current():
            self.pointer = device.allocate(prod(shape) * self.dtype.itemsize, what)

    def __del__(self) -> None:
        owner = hasattr(self, "pointer") and not hasattr(self, "base")
        if owner and not sys.is_finalizing():
            with suppress(GpuError), self.device.current():  # a lost GPU has no memory to free
                self.device.free(self.pointer)

    def reshape(self, *shape: int) -> DeviceArray:
        """The same memory, seen as another shape.

        Args:
            *shape: Its axes; one may be -1.

        Returns:
            An array of the same memory.
        """
        known = prod(n for n in shape if n >= 0)
        whole = tuple(prod(self.shape) // max(known, 1) if n < 0 else n for n in shape)
        if prod(whole) != prod(self.shape):
            raise InputError(f"an array of shape {self.shape} has no shape {shape}.")
        other = object.__new__(type(self))
        other.__dict__.update(vars(self), shape=whole, base=self)
        return other

    def get(self) -> Any:
        """A copy in the host's memory, a NumPy array."""
        return on_host("array", self)

    @property
    def ndim(self) -> int:
        """How many axes."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype} {self.shape} on GPU {self.device.ordinal}>"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.pointer, False),
            "strides": None, "stream": self.stream or _LEGACY, "version": 3,
        }  # fmt: skip


def _handle(stream: int | None) -> int:
    """A stream as the driver calls it: both protocols have 1 for the default one."""
    return 0 if stream in (None, _LEGACY) else int(stream or 0)


def _packed(shape: Shape, size: int) -> Shape:
    """The strides of C order."""
    return tuple(size * prod(shape[k + 1 :]) for k in range(len(shape)))


class _Tensor(ctypes.Structure):
    """DLManagedTensor of dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("number", ctypes.c_int32),
        ("axes", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
        ("owner", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    )  # fmt: skip


# A prototype of its own: others set theirs on the shared function.
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
