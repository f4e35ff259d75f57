"""Appell's kernels on a GPU: are they right, and how fast are they?

python -m benchmarks.gpu                     on a machine with an NVIDIA GPU, some minutes
python -m benchmarks.gpu --only gradients    a part of it alone: first, kernels, rollouts, ...
python -m benchmarks --again                 writes docs/speed.md anew, with these results

It needs Appell and the GPU's driver, and writes benchmarks/gpu.json. Where CuPy, PyTorch or JAX are
installed, arrays are exchanged with them as well.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from functools import partial
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from math import prod
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import appell
from appell.compile.gpu.device_arrays import DeviceArray
from appell.compile.gpu.driver import Device, driver
from benchmarks.fresh import new_process
from benchmarks.gpu_gradients import gradient_speeds, same_gradients
from benchmarks.gpu_rollouts import DT, exchanged_rollout, same_bits
from benchmarks.gpu_rollouts import speeds as rollout_speeds
from benchmarks.gpu_sweeps import sweeps

ROOT = Path(__file__).parents[1]
STATES = 2**24
REPEATS, LAUNCHES = 15, 10  # so often, so many in a row
TURNS = 7  # of kernel and copy
PROCESSES = 7  # that are started for the first result
TIMED = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
DTYPES = ("float32", "float64")
ROBOTS: dict[str, dict[str, Any]] = {
    "puma560": {}, "stanford_arm": {}, "random_tree": {"n": 12, "seed": 1}, "free_chain": {"n": 4},
    "five_bar": {},
}  # fmt: skip
EQUAL = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "forward_dynamics_derivatives")
LIBRARIES = ("cupy", "torch", "jax")
# Bounds for an H200.
MOST_SECONDS = {"float32": 0.15}  # of a million runs of one second
LEAST_STEPS = {"float32": 8.5e9, "float64": 4.2e9}  # of rollouts, per second
LEAST_BY_JAX = 5.0  # times as fast as JAX on the same card
LEAST_SHARE = 0.93  # of the copy's bandwidth, by inverse dynamics
MOST_FIRST = {"compiled": 2.0, "from the cache": 0.5}  # seconds to the first result

_BEFORE = """
from time import perf_counter
start = perf_counter()
import numpy
numpy_there = perf_counter()
import appell
robot = appell.load("puma560")
loaded = perf_counter()
from appell.compile.gpu.driver import driver
driver().device(0)
context = perf_counter()
"""
_TOLD = "print(numpy_there - start, loaded - numpy_there, context - loaded"
_FIRST_KERNEL = f"""{_BEFORE}
kernel = robot.kernel("forward_dynamics", target="cuda")
made = perf_counter()
kernel(*numpy.ones((3, 4, 6)))
end = perf_counter()
{_TOLD}, made - context, end - made)
"""
_FIRST_ROLLOUT = f"""{_BEFORE}
law = appell.control.ComputedTorque(robot, kp=100, kd=20)
move = appell.control.quintic(numpy.zeros(6), numpy.ones(6), 1.0)
appell.rollout(robot, law, move, numpy.zeros((4, 6)), reduce="worst_error", target="cuda")
end = perf_counter()
{_TOLD}, end - context)
"""
STEPS = ("import numpy", "import appell, load the robot", "start CUDA", "kernel", "first call")
ROLLOUT_STEPS = (*STEPS[:3], "law, kernel and first rollout")


def main() -> None:
    """Run everything, or the parts that ``--only`` names, and tell it. What is run replaces what
    was written down of it before."""
    parser = argparse.ArgumentParser(description="Appell's kernels on a GPU.")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="run these parts alone")
    chosen = parser.parse_args().only
    device = driver().device(0)
    path = ROOT / "benchmarks" / "gpu.json"
    results: dict[str, Any] = json.loads(path.read_text()) if chosen else {}
    results |= {
        "date": datetime.now(timezone.utc).date().isoformat(), "card": device.name,
        "driver": f"CUDA {driver().version // 1000}.{driver().version % 1000 // 10}",
        "states": STATES, "cores": len(os.sched_getaffinity(0)),
    }  # fmt: skip
    told("card", device.name)
    for name in chosen or PARTS:
        for part, found in PARTS[name](device):
            results[part] = found
        path.write_text(json.dumps(results, indent=1) + "\n")
    wrong = not_the_same(results)
    for check in checks(results):
        told("bound", check)
    told(_verdict(not wrong), f"{len(wrong)} results differ from the processor's")
    sys.exit(1 if wrong else 0)


Part = Iterator[tuple[str, Any]]


def first(device: Device) -> Part:
    """The first result in a new process."""
    for what, code in (("first call", _FIRST_KERNEL), ("first rollout", _FIRST_ROLLOUT)):
        yield what, {name: told(f"{what}, {name}", x) for name, x in first_results(code)}
    yield (
        "processes", f"the median of {PROCESSES} processes; Python's modules were compiled before"
    )  # fmt: skip


def kernels(device: Device) -> Part:
    """Batches of one quantity: bits, bandwidth, long tapes."""
    yield "equal", [told("SHA-256", x) for x in equal()]
    measured = [told("speed", x) for x in speeds(device)]
    yield "copy", {x["dtype"]: x["copy"] for x in measured if x["quantity"] == TIMED[0]}
    yield "speed", measured
    yield "long", [told("long tape", x) for x in long_tapes(device)]


def rollouts(device: Device) -> Part:
    yield "same rollouts", [told("SHA-256 of a rollout", x) for x in same_bits()]
    yield "rollouts", [told("rollouts", x) for x in rollout_speeds(device)]


def gradients(device: Device) -> Part:
    yield "same gradients", [told("SHA-256 of a gradient", x) for x in same_gradients()]
    yield "gradients", [told("gradients", x) for x in gradient_speeds(device)]


def others(device: Device) -> Part:
    """Sweeps, and arrays of other libraries."""
    yield "sweeps", [told("sweep", x) for x in sweeps()]
    yield "libraries", told("arrays of", dict(exchanged()))


PARTS: dict[str, Callable[[Device], Part]] = {
    "first": first, "kernels": kernels, "rollouts": rollouts, "gradients": gradients,
    "others": others,
}  # fmt: skip


def not_the_same(results: dict[str, Any]) -> list[Any]:
    """What differs from the processor's results."""
    compared = [*results["equal"], *results["same rollouts"], *results["same gradients"]]
    wrong = [x for x in (*compared, *results["sweeps"]) if not x["same"]]
    return wrong + [y for x in results["libraries"].values() for y in x.values() if y != "same"]


def checks(results: dict[str, Any]) -> Iterator[str]:
    """The bounds for an H200 beside the figures; of another card it is no fault to be slower."""
    for x in results["rollouts"]:
        what = f"{x['runs']:,} runs of {x['steps'] * DT:g} s in {x['dtype']}"
        if x["dtype"] in MOST_SECONDS:
            yield _at_most(what, x["seconds"], MOST_SECONDS[x["dtype"]])
        rate, least = x["steps per second"] / 1e9, LEAST_STEPS[x["dtype"]] / 1e9
        yield _at_least(f"{what}, G steps per second", rate, least)
        yield _at_least(f"{what}, times as fast as JAX", x["by jax"], LEAST_BY_JAX)
    for x in results["speed"]:
        if x["quantity"] == "inverse_dynamics":
            what = f"inverse dynamics in {x['dtype']}, share of the copy's bandwidth"
            yield _at_least(what, x["share"], LEAST_SHARE)
    for kind in ("first call", "first rollout"):
        for name, bound in MOST_FIRST.items():
            yield _at_most(f"{kind} in a new process, {name}", sum(results[kind][name]), bound)


def _at_most(what: str, seconds: float, bound: float) -> str:
    return f"{_verdict(seconds < bound)} {what}: {seconds:.3f} s, at most {bound} s"


def _at_least(what: str, figure: float, bound: float) -> str:
    return f"{_verdict(figure >= bound)} {what}: {figure:.3g}, at least {bound:.3g}"


def _verdict(holds: bool) -> str:
    return "PASS" if holds else "FAIL"


def told(what: str, x: Any) -> Any:
    print(f"{what}: {x}", flush=True)
    return x


def first_results(code: str, rounds: int = PROCESSES) -> Iterator[tuple[str, list[float]]]:
    """Seconds of the steps of a new process that runs ``code``, without and with its kernels in the
    cache: those of the process whose sum is the median."""
    with tempfile.TemporaryDirectory() as folder:

        def once() -> list[float]:
            out = new_process(["-c", code], APPELL_CACHE=folder, CUDA_CACHE_DISABLE="1")
            return [float(x) for x in out.split()]

        once()  # compiles modules, and the system keeps what it read
        for name in ("compiled", "from the cache"):
            runs = []
            for _ in range(rounds):
                if name == "compiled":
                    for path in Path(folder).iterdir():
                        path.unlink()
                runs.append(once())
            yield name, sorted(runs, key=sum)[rounds // 2]


def equal(n: int = 10_000) -> Iterator[dict[str, Any]]:
    """Whether the GPU's bits are the processor's."""
    rng = np.random.default_rng(1)
    for name, options in ROBOTS.items():
        robot = appell.load(name, **options)
        for quantity in EQUAL:
            for dtype in DTYPES:
                kernel = robot.kernel(quantity, dtype=dtype)
                x = [rng.uniform(-2, 2, (n, *s)).astype(dtype) for s in kernel.inputs.values()]
                x[0][::1000, 0] = 1e7  # a far angle
                sums = [
                    _sum(k(*x))
                    for k in (kernel, robot.kernel(quantity, dtype=dtype, target="cuda"))
                ]
                yield {
                    "robot": name, "quantity": quantity, "dtype": dtype, "sha256": sums[1],
                    "same": sums[0] == sums[1],
                }  # fmt: skip


def _sum(results: Any) -> str:
    digest = sha256()
    for y in results if isinstance(results, tuple) else (results,):
        digest.update(np.where(np.isnan(y), y.dtype.type(np.nan), y).tobytes())
    return digest.hexdigest()


def speeds(device: Device) -> Iterator[dict[str, Any]]:
    """States a second of the PUMA 560, and the share of the bandwidth, read and written, of the
    driver's copy of as many bytes. Kernel and copy take turns, since a card that has worked for
    half a second may be slower; medians."""
    robot = appell.load("puma560")
    for quantity in TIMED:
        for dtype in DTYPES:
            kernel = robot.kernel(quantity, dtype=dtype, target="cuda")
            run, moved = _kernel(device, kernel, STATES)
            copy = _copy(device, moved // 2)
            turns = [(_timed(device, run), _timed(device, copy)) for _ in range(TURNS)]
            seconds, copied = (median(x) for x in zip(*turns, strict=True))
            yield {
                "quantity": quantity, "dtype": dtype, "states per second": STATES / seconds,
                "bytes per second": moved / seconds, "copy": moved / copied,
                "share": median(y / x for x, y in turns),
            }  # fmt: skip


def _copy(device: Device, size: int) -> Callable[[], Any]:
    """The driver's copy of so many bytes."""
    x, y = (DeviceArray((size,), "uint8", device) for _ in range(2))
    _fill(device, x, size)

    def run() -> None:
        pointers = (ctypes.c_uint64(y.pointer), ctypes.c_uint64(x.pointer), ctypes.c_size_t(size))
        driver().call("cuMemcpyDtoDAsync_v2", *pointers, None)

    return run


def long_tapes(device: Device) -> Iterator[dict[str, Any]]:
    """Tapes that are cut into functions: time to compile, to assemble, and to run."""
    for n in (12, 24):
        robot = appell.load("random_tree", n=n, seed=2)
        start = perf_counter()
        kernel = robot.kernel("forward_dynamics_derivatives", target="cuda")
        made = perf_counter()
        kernel(*(np.zeros(shape) for shape in kernel.inputs.values()))
        assembled = perf_counter() - made
        states = 2**18
        run, _ = _kernel(device, kernel, states)
        seconds = _timed(device, run)
        yield {
            "robot": f"random tree, {n} joints", "steps": kernel.steps, "compiled": made - start,
            "assembled": assembled, "states per second": states / seconds,
        }  # fmt: skip


def exchanged() -> Iterator[tuple[str, dict[str, str]]]:
    """For each library: whether its arrays go into a kernel and into a rollout and come out, with
    the processor's bits."""
    robot = appell.load("puma560")
    x = np.random.default_rng(2).uniform(-2, 2, (3, 1000, 6))
    expected = robot.inverse_dynamics(*x)
    runs = exchanged_rollout(np.asarray, "cpu")
    for name in LIBRARIES:
        if find_spec(name) is None:
            continue
        library: Any = import_module(name)
        if name == "jax":
            library.config.update("jax_enable_x64", True)
        put = partial(library.as_tensor, device="cuda") if name == "torch" else None
        put = put or (library.numpy.asarray if name == "jax" else library.asarray)
        kind = type(put(x[0]))
        result = robot.inverse_dynamics(*map(put, x))
        found = exchanged_rollout(put, "cuda")
        yield (
            name,
            {
                "inverse dynamics": _same(kind, name, [(result, expected)]),
                "rollout": _same(kind, name, [(found[k], y) for k, y in runs.items()]),
            },
        )


def _same(kind: type, library: str, pairs: list[tuple[Any, Any]]) -> str:
    """Whether arrays are of this kind, and equal to NumPy's."""
    same = all(
        type(x) is kind and np.array_equal(_on_host(library, x), expected) for x, expected in pairs
    )
    return "same" if same else "different"


def _on_host(library: str, x: Any) -> Any:
    return x.get() if library == "cupy" else np.asarray(x.cpu() if library == "torch" else x)


def _kernel(device: Device, kernel: Any, states: int) -> tuple[Callable[[], Any], int]:
    """A launch, and the bytes it moves at least."""
    inputs = [
        DeviceArray((states, *shape), kernel.dtype.name, device) for shape in kernel.inputs.values()
    ]
    outputs = tuple(
        DeviceArray((states, *shape), kernel.dtype.name, device)
        for shape in kernel.outputs.values()
    )
    moved = 0
    for y in (*inputs, *outputs):
        size = prod(y.shape) * y.dtype.itemsize
        moved += size
        _fill(device, y, size, y.dtype)
    return lambda: kernel(*inputs, out=outputs), moved


def _fill(device: Device, array: DeviceArray, size: int, dtype: Any = np.float64) -> None:
    """Random numbers, the same again after some megabytes."""
    numbers = np.random.default_rng(3).uniform(-3, 3, 2**21).astype(dtype)
    with device.current():
        for k in range(0, size, numbers.nbytes):
            part = min(numbers.nbytes, size - k)
            device.upload(array.pointer + k, numbers.ctypes.data, part, 0)
        device.synchronise(0, "filling")


def _timed(device: Device, run: Callable[[], Any]) -> float:
    """Seconds of a run, by the device's own clock: the median of some rows of runs."""
    call, elapsed = driver().call, ctypes.c_float()
    first, second = ctypes.c_void_p(), ctypes.c_void_p()
    with device.current():
        for event in (first, second):
            call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        times = []
        for _ in range(REPEATS + 3):
            call("cuEventRecord", first, None)
            for _ in range(LAUNCHES):
                run()
            call("cuEventRecord", second, None)
            call("cuEventSynchronize", second)
            call("cuEventElapsedTime", ctypes.byref(elapsed), first, second)
            times.append(elapsed.value / 1e3 / LAUNCHES)
    return median(times[3:])


if __name__ == "__main__":
    main()
