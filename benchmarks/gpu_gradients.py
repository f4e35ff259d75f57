"""Gradients of rollouts on a GPU: the processor's bits, and their cost beside the rollout's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import appell
from appell.compile.gpu.device_arrays import DeviceArray
from appell.compile.gpu.driver import Device
from appell.control import Noise, Payload
from benchmarks.gpu_rollouts import puma, starts

RUNS, STEPS = 2**20, 1000
PART, TIMES = 64, 3  # the processor does one run in so many, so often
_DTYPES = ("float32", "float64")


def cases() -> Iterator[tuple[str, Any, tuple[Any, ...], dict[str, Any]]]:
    """Rollouts with gradients, small enough for a processor."""
    robot, law, move = puma()
    gains = {"kp": np.full(6, 100.0), "kd": np.full(6, 20.0)}
    watched = {"gains": gains, "reduce": ["rms_error"], "gradient": "rms_error"}
    yield "PUMA under computed torque", robot, (law, move, starts(10_000)), watched
    rough: dict[str, Any] = {
        "noise": Noise(q=1e-4, v=1e-3, tau=0.1, seed=3), "delay": 2, "viscous": 0.1,
        "coulomb": 0.05, "slip": 0.1, "torque_limit": 80.0, "reduce": ["effort"],
        "payload": Payload(np.linspace(0, 3, 2_000)), "gradient": "effort",
    }  # fmt: skip
    yield "the same with noise, delay, friction, limits, loads", robot, (law, move), rough
    five = appell.load("five_bar")
    speeds = np.random.default_rng(4).uniform(-0.5, 0.5, (2_000, five.nv))
    ends = {"gradient": {"q": 1.0, "v": 0.1}, "viscous": 0.1}
    yield "five-bar", five, (None, None, five.neutral(), speeds), ends


def same_gradients() -> Iterator[dict[str, Any]]:
    """Whether the GPU's gradients are the processor's, and along a direction, too."""
    for what, robot, arguments, options in cases():
        for dtype in _DTYPES:
            yield {"what": f"gradient, {what}", "dtype": dtype} | _compared(
                robot, arguments, dtype, options
            )
    robot, law, move = puma()
    along = {"tangent": {"q0": np.ones(6)}, "reduce": ["rms_error"]}
    for dtype in _DTYPES:
        yield {"what": "tangent, PUMA under computed torque", "dtype": dtype} | _compared(
            robot, (law, move, starts(10_000)), dtype, along
        )


def _compared(robot: Any, arguments: Any, dtype: str, options: dict[str, Any]) -> dict[str, Any]:
    sums = [
        _sum(appell.rollout(robot, *arguments, steps=200, dtype=dtype, target=x, **options))
        for x in ("cpu", "cuda")
    ]
    return {"sha256": sums[1], "same": sums[0] == sums[1]}


def _sum(found: Any) -> str:
    digest = sha256()
    slopes = (*found.gradient.values(), *found.tangent.values())
    for y in (found.q, found.v, *found.reductions.values(), *slopes):
        digest.update(np.where(np.isnan(y), y.dtype.type(np.nan), y).tobytes())
    return digest.hexdigest()


def gradient_speeds(device: Device) -> Iterator[dict[str, Any]]:
    """Seconds of the gradient of a million runs of one second, with respect to starts and gains,
    and those of the rollout alone; and of the processor's gradient, on all its cores: the median of
    a part of the runs, as if it did all at the same rate."""
    for dtype in _DTYPES:
        yield {"dtype": dtype, "runs": RUNS, "steps": STEPS} | _speed(device, dtype)


def _speed(device: Device, dtype: str) -> dict[str, Any]:
    robot, law, move = puma()
    host = starts(RUNS).astype(dtype)
    with device.current():
        there = DeviceArray(host.shape, dtype, device)
        device.upload(there.pointer, host.ctypes.data, host.nbytes, 0)
        device.synchronise(0, "gradient")

    def timed(q0: Any, target: str = "cuda", **how: Any) -> list[float]:
        return _seconds(
            device,
            lambda: appell.rollout(
                robot, law, move, q0, steps=STEPS, reduce="rms_error", dtype=dtype, target=target,
                gains={"kp": np.full(6, 100.0)}, **how,
            ),
        )  # fmt: skip

    back: dict[str, Any] = {"gradient": "rms_error", "by": ["q0", "kp"]}
    alone, seconds = min(timed(there)), min(timed(there, **back))
    along = min(timed(there, tangent={"q0": np.ones(6)}))
    processor = median(timed(host[: RUNS // PART], "cpu", **back)) * PART
    return {
        "rollout": alone, "seconds": seconds, "cost": seconds / alone,
        "runs per second": RUNS / seconds, "steps per second": RUNS * STEPS / seconds,
        "tangent": along, "cost of a tangent": along / alone, "processor": processor,
        "processor's part": PART, "processor's times": TIMES,
    }  # fmt: skip


def _seconds(device: Device, run: Callable[[], Any]) -> list[float]:
    """Seconds of some calls, each to its last result, after one that compiles."""
    run()
    times = []
    for _ in range(TIMES):
        start = perf_counter()
        run()
        with device.current():
            device.synchronise(0, "gradient")
        times.append(perf_counter() - start)
    return times
