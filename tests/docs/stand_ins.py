"""What pages use that a machine may not have: a GPU, PyTorch arrays on it, SLURM, Kubernetes."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from appell.compile.gpu import driver
from appell.compile.gpu.device_arrays import DeviceArray
from benchmarks.unkind import Cluster
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


_STUDY = """
scenario = {robot = "planar_chain", task = {kind = "fall", until = 0.02}}
points = 4
[vary]
"start.v.joint1" = {uniform = [0, 1]}
"""


@contextmanager
def slurm_and_kubernetes(monkeypatch: Any) -> Iterator[None]:
    """A study.toml, and as much of dask_jobqueue and dask_kubernetes as docs/clusters.md uses: what
    they start is one worker of Dask on this machine."""
    Path("study.toml").write_text(_STUDY)
    cluster = Cluster(1)

    class SLURMCluster:
        def __init__(self, *, queue, account, cores, processes, memory, walltime, interface,
                     job_script_prologue):  # fmt: skip
            assert cores == processes  # of one thread each, as the page says
            self.jobs = 0

        def scale(self, *, jobs):
            self.jobs = jobs

        @property
        def scheduler_address(self):
            assert self.jobs > 0, "without jobs there are no workers"
            return cluster.address

    class KubeCluster:
        scheduler_address = cluster.address

        def __init__(self, *, name, image, n_workers, resources, worker_command):
            assert worker_command[:2] == ["dask", "worker"]

    jobqueue, operator = ModuleType("dask_jobqueue"), ModuleType("dask_kubernetes.operator")
    jobqueue.SLURMCluster = SLURMCluster  # type: ignore[attr-defined]
    operator.KubeCluster = KubeCluster  # type: ignore[attr-defined]
    for module in (jobqueue, ModuleType("dask_kubernetes"), operator):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    try:
        yield
    finally:
        cluster.close()
