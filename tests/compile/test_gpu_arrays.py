"""The host's side of GPU kernels, over a driver that interprets them: arrays, launches, errors."""

from __future__ import annotations

import ctypes
import os
from types import SimpleNamespace

import numpy as np
import pytest

import appell
from appell.compile.gpu import device_arrays, driver
from appell.compile.gpu.device_arrays import DeviceArray
from appell.compile.gpu.rows import launches
from appell.compile.native import fuses
from appell.errors import GpuError, InputError
from tests.compile.fake_gpu import FakeLibrary

pytestmark = pytest.mark.skipif(not fuses(), reason="only fused steps have the GPU's rounding")


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """The library of a driver whose kernels are interpreted."""
    yield FakeLibrary.installed(monkeypatch, devices=2)
    driver.driver.cache_clear()


@pytest.fixture
def robot():
    return appell.load("two_link")


def device(x, number=0):
    """A copy of a NumPy array on the GPU."""
    array = DeviceArray(x.shape, x.dtype.name, driver.driver().device(number))
    ctypes.memmove(array.pointer, np.ascontiguousarray(x).ctypes.data, x.nbytes)
    return array


def host(x):
    """A copy of an array on the GPU."""
    found = device_arrays.view("x", x, 0)
    result = np.empty(found.shape, found.dtype)
    ctypes.memmove(result.ctypes.data, found.pointer, result.nbytes)
    return result


class Capsule:
    """An array that has __dlpack__ only; ctypes makes the structure of dlpack.h."""

    def __init__(self, base):
        self.base, self.streams = base, []

    def __dlpack_device__(self):
        return 2, self.base.device.ordinal

    def __dlpack__(self, *, stream):
        self.streams.append(stream)
        x, n = self.base, len(self.base.shape)
        shape = (ctypes.c_int64 * n)(*x.shape)
        self.tensor = device_arrays._Tensor(
            data=x.pointer - 16, device=2, number=x.device.ordinal, axes=n, code=2, lanes=1,
            bits=8 * x.dtype.itemsize, shape=shape, offset=16,
        )  # fmt: skip
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
        )
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


class Unusual(Capsule):
    """Numbers that NumPy does not have."""

    def __dlpack__(self, *, stream):
        capsule = super().__dlpack__(stream=stream)
        self.tensor.code, self.tensor.bits = 4, 16
        return capsule


class Interface:
    """An array that has __cuda_array_interface__ only, of any strides."""

    def __init__(self, base, array, strides=None, offset=0, read_only=False, dtype=None):
        self.base = base
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": dtype or array.dtype.str, "version": 3,
            "data": (base.pointer + offset, read_only), "strides": strides,
        }  # fmt: skip


def states(robot, n=5, dtype="float64"):
    return np.random.default_rng(2).uniform(-1, 1, (3, n, robot.nv)).astype(dtype)


def test_a_method_answers_in_kind(robot, gpu):
    q, v, a = states(robot)
    result = robot.inverse_dynamics(*map(device, (q, v, a)))
    assert isinstance(result, DeviceArray)
    assert gpu.calls["cuMemcpyDtoHAsync_v2"] == gpu.calls["cuMemcpyHtoDAsync_v2"] == 0
    np.testing.assert_array_equal(host(result), robot.inverse_dynamics(q, v, a))


def test_dlpack_is_read_on_the_kernels_stream(robot):
    q, v, a = states(robot)
    arrays = [Capsule(device(x)) for x in (q, v, a)]
    result = robot.kernel("inverse_dynamics", target="cuda")(*arrays, stream=9)
    np.testing.assert_array_equal(host(result), robot.inverse_dynamics(q, v, a))
    assert [x.streams for x in arrays] == [[9]] * 3


def test_float32_answers_in_float32(robot):
    q, v, a = states(robot, dtype="float32")
    result = robot.inverse_dynamics(*map(device, (q, v, a)))
    assert result.dtype == np.float32
    np.testing.assert_array_equal(host(result), robot.inverse_dynamics(q, v, a))


def test_leading_axes_broadcast(robot, gpu):
    q, v, a = states(robot, n=12)
    shapes = (
        [(4, 1, 2), (1, 3, 2), (2,)],
        [(2, 1, 2, 2), (3, 1, 2), (2, 1, 1, 2)],
        [(2,), (2,), (2,)],
    )
    for three in shapes:
        some = [x.ravel()[: np.prod(n)].reshape(n) for x, n in zip((q, v, a), three, strict=True)]
        result = robot.inverse_dynamics(*map(device, some))
        np.testing.assert_array_equal(host(result), robot.inverse_dynamics(*some))


def test_launches_cover_a_batch_once(monkeypatch):
    from appell.compile.gpu import rows

    monkeypatch.setattr(rows, "_ROWS", 5)
    monkeypatch.setattr(rows, "_BATCHES", 2)
    rng = np.random.default_rng(0)
    for _ in range(50):
        batch = tuple(rng.integers(1, 5, rng.integers(0, 5)).tolist())
        strides = [tuple(rng.integers(-40, 40, len(batch)).tolist()) for _ in range(2)]
        places = {}
        for part in launches(batch, strides):
            for b in range(part.batches):
                for r in range(part.rows):
                    at = part.first + b * part.rows + r
                    assert at not in places
                    three = zip(part.offsets, part.across, part.steps, strict=True)
                    places[at] = tuple(x + b * y + r * z for x, y, z in three)
        wanted = [
            tuple(sum(k * s for k, s in zip(place, x, strict=True)) for x in strides)
            for place in np.ndindex(*batch)
        ]
        assert [places[k] for k in range(len(places))] == wanted
    assert list(launches((3, 0), [(8, 8)])) == []
    monkeypatch.undo()
    (far,) = launches((3,), [(2**31,)])
    assert (far.batches, far.rows, far.across) == (3, 1, (2**31,))


def test_columns_of_a_wider_array(robot, gpu):
    """Rows apart from each other are read where they are; those that begin anywhere are packed."""
    whole = np.random.default_rng(1).uniform(-1, 1, (7, 9))
    base = device(whole)
    for first in (0, 1):
        cut = [whole[:, k : k + 2] for k in (first, first + 2, first + 4)]
        views = [Interface(base, x, (72, 8), 8 * (first + 2 * k)) for k, x in enumerate(cut)]
        result = robot.inverse_dynamics(*views)
        np.testing.assert_array_equal(host(result), robot.inverse_dynamics(*cut))
    assert gpu.calls["cuMemcpy2DAsync_v2"] == 6  # 72 is no multiple of 16


def test_out_is_written_and_given_back(robot):
    q, v, a = states(robot)
    out = device(np.zeros_like(q))
    assert robot.inverse_dynamics(*map(device, (q, v, a)), out=out) is out
    np.testing.assert_array_equal(host(out), robot.inverse_dynamics(q, v, a))


def test_numpy_arrays_go_there_and_back(robot, gpu):
    q, v, a = states(robot)
    kernel = robot.kernel("inverse_dynamics", target="cuda")
    out = np.empty_like(q)
    assert kernel(q, v, a.tolist(), out=out) is out
    np.testing.assert_array_equal(out, robot.inverse_dynamics(q, v, a))
    assert kernel(q[:0], v[:0], a[:0]).shape == (0, 2)
    with pytest.raises(InputError, match=r"q has shape \(5, 1\)"):
        kernel(q[:, :1], v, a)
    with pytest.raises(InputError, match="complex"):
        kernel(q + 1j, v, a)


def test_copies_in_the_hosts_memory(robot):
    whole = np.random.default_rng(1).uniform(-1, 1, (7, 9))
    base = device(whole)
    np.testing.assert_array_equal(base.get(), whole)
    np.testing.assert_array_equal(base.reshape(9, 7).get(), whole.reshape(9, 7))
    some = Interface(base, whole[1::2, 6:1:-2], (144, -16), 72 + 48)
    np.testing.assert_array_equal(device_arrays.on_host("x", some), whole[1::2, 6:1:-2])
    assert device(np.empty((0, 3))).get().shape == (0, 3)
    assert device(np.array(3)).get() == 3
    assert device_arrays.on_host("x", whole) is whole
    with pytest.raises(InputError, match="x has dtype bfloat16"):
        device_arrays.on_host("x", Unusual(base))


def test_streams(robot, gpu):
    q, v, a = map(device, states(robot))
    kernel = robot.kernel("inverse_dynamics", target="cuda")
    protocol = SimpleNamespace(__cuda_stream__=lambda: (0, 55))
    torch_like, cupy_like = SimpleNamespace(cuda_stream=77), SimpleNamespace(ptr=88)
    for stream, number in ((None, 0), (5, 5), (protocol, 55), (torch_like, 77), (cupy_like, 88)):
        result = kernel(q, v, a, stream=stream)
        assert gpu.launches[-1][2] == number
    assert result.__cuda_array_interface__["stream"] == 88
    waits = gpu.calls["cuStreamWaitEvent"]
    kernel(result, v, a, stream=88)
    assert gpu.calls["cuStreamWaitEvent"] == waits + 2  # for v and a, made on the default stream
    with pytest.raises(InputError, match="stream"):
        kernel(q, v, a, stream="mine")


def test_memory_is_given_back(robot, gpu):
    before = gpu.allocated()
    q, v, a = map(device, states(robot))
    result = robot.inverse_dynamics(q, v, a)
    del q, v, a
    assert gpu.allocated() == before + 1
    del result
    assert gpu.allocated() == before


def test_machine_code_is_kept(robot, gpu, monkeypatch, tmp_path):
    from appell.compile import cache

    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    for _ in range(2):
        appell.Robot(robot.model).kernel("gravity", target="cuda")(np.zeros(2))
    assert gpu.calls["cuLinkComplete"] == 1
    assert len(list(tmp_path.iterdir())) == 2  # PTX and machine code


def test_contexts_are_left_as_they_were(robot, gpu):
    robot.inverse_dynamics(*map(device, states(robot)))
    assert gpu.contexts == []


REFUSED = {
    "host and GPU": (lambda q, v, a: (device(q), v, a), "v is in the host's memory"),
    "dtype": (lambda q, v, a: (device(q), device(v), device(a.astype("f"))), "a has dtype float32"),
    "whole numbers": (
        lambda q, v, a: [Interface(device(x), x, dtype="<i8") for x in (q, v, a)], "int64",
    ),
    "shape": (lambda q, v, a: (device(q), device(v), device(a[:, :1])), "a has shape"),
    "axes": (lambda q, v, a: (device(q), device(v[:3]), device(a)), "do not broadcast"),
    "several GPUs": (lambda q, v, a: (device(q), device(v), device(a, 1)), "a on 1"),
    "not contiguous": (
        lambda q, v, a: (Interface(device(q), q, (8, 40)), device(v), device(a)), "contiguous copy",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_arrays_are_refused(robot, case):
    make, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        robot.inverse_dynamics(*make(*states(robot)))


def test_out_that_does_not_fit_is_refused(robot):
    q, v, a = states(robot)
    given = [device(x) for x in (q, v, a)]
    wrong = {
        "shares memory": given[0],
        "does not fit": device(q[:3]),
        "arrays on the GPU": np.empty_like(q),
        "writable": Interface(device(q), q, read_only=True),
        "no multiple of 16": Interface(device(np.zeros(30)), q, offset=8),
    }
    for message, out in wrong.items():
        with pytest.raises(InputError, match=message):
            robot.inverse_dynamics(*given, out=out)


FAILURES = {
    ("cuInit", 100): "no GPU",
    ("cuDeviceGet", 101): "no GPU of this number",
    ("cuDevicePrimaryCtxRetain", 46): "exclusive",
    ("cuMemAlloc_v2", 2): r"memory is full.*fewer states",
    ("cuLinkAddData_v2", 222): "driver is too old",
    ("cuLaunchKernel", 719): "start it anew",
    ("cuStreamSynchronize", 700): "lost to this process",
    ("cuCtxPushCurrent_v2", 12345): r"refused it \(CUDA_ERROR_12345",
}


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("failure", FAILURES)
def test_the_drivers_errors_say_the_cure(robot, gpu, failure):
    name, status = failure
    gpu.fail[name] = status
    with pytest.raises(GpuError, match=FAILURES[failure]):
        robot.kernel("inverse_dynamics", target="cuda")(*states(robot))


def test_no_driver(robot, monkeypatch):
    monkeypatch.undo()
    driver.driver.cache_clear()
    driver.library.cache_clear()

    def absent(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", absent)
    with pytest.raises(GpuError, match=r"driver .* was not found.*target='cpu'"):
        robot.kernel("inverse_dynamics", target="cuda")(*states(robot))


def test_a_driver_that_is_too_old(robot, monkeypatch):
    FakeLibrary.installed(monkeypatch, version=9020)
    with pytest.raises(GpuError, match=r"CUDA 9\.2; expected 10\.1"):
        robot.kernel("inverse_dynamics", target="cuda")(*states(robot))


def test_a_card_that_is_too_old(robot, monkeypatch):
    FakeLibrary.installed(monkeypatch, capability=6)
    with pytest.raises(GpuError, match=r"capability 6\.0; expected 7\.5"):
        robot.kernel("inverse_dynamics", target="cuda")(*states(robot))


def test_a_forked_process_is_told(robot, monkeypatch):
    robot.kernel("gravity", target="cuda")(np.zeros(2))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(GpuError, match="spawn"):
        robot.kernel("gravity", target="cuda")(np.zeros(2))


def test_other_targets_are_refused(robot):
    with pytest.raises(InputError, match="target = 'rocm'; expected one of cpu, cuda"):
        robot.kernel("gravity", target="rocm")
