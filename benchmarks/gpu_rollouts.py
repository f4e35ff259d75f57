"""Rollouts on a GPU: the processor's bits, steps a second, and JAX with the very same tapes."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import appell
from appell.compile.gpu.device_arrays import DeviceArray
from appell.compile.gpu.driver import Device
from appell.compile.program import TURN, Loop, Part, Program, tapes
from appell.compile.tape import Tape
from appell.control import ComputedTorque, Noise, Payload, quintic

RUNS, STEPS, DT = 2**20, 1000, 1e-3
PART, TIMES = 16, 3  # the processor does one run in so many, so often
START = np.array([1.5, 0.0, 1.5, 0.0, 0.0, 0.0])
WAY = np.array([-0.8, 0.5, -1.5, 0.8, 1.0, 1.5])


def puma() -> tuple[Any, Any, Any]:
    """The arm, its law, and a move of two seconds."""
    robot = appell.load("puma560")
    return robot, ComputedTorque(robot, kp=100, kd=20), quintic(START, START + WAY, 2.0)


def starts(runs: int) -> Any:
    return START + 1e-3 * np.random.default_rng(0).random((runs, 6))


def cases() -> Iterator[tuple[str, Any, tuple[Any, ...], dict[str, Any]]]:
    """Rollouts of every kind, small enough for a processor."""
    robot, law, move = puma()
    everything = {"reduce": ["worst_error", "rms_error", "peak_torque", "settling_time"]}
    yield "PUMA under computed torque", robot, (law, move, starts(10_000)), everything
    rough: dict[str, Any] = {
        "noise": Noise(q=1e-4, v=1e-3, tau=0.1, seed=3), "delay": 2, "encoder": 4096,
        "torque_limit": 80.0, "viscous": 0.1, "payload": Payload(np.linspace(0, 3, 2_000)),
    }  # fmt: skip
    yield "the same with noise, delay, encoders, limits, loads", robot, (law, move), rough
    chain = appell.load("planar_chain")
    floor = {"walls": appell.walls.Plane((0, 1, 0), -1.5), "restitution": 0.6}
    q = np.random.default_rng(1).uniform(-0.5, 0.5, (2_000, 3))
    yield "a chain over a floor", chain, (None, None, q), floor
    five = appell.load("five_bar")
    yield "five-bar", five, (None, None, np.tile(five.neutral(), (2_000, 1))), {}
    free = appell.load("free_chain", n=4)
    speeds = np.random.default_rng(2).normal(size=(2_000, free.nv))
    yield "a free chain", free, (None, None, free.neutral(), speeds), {}


def same_bits() -> Iterator[dict[str, Any]]:
    """Whether the GPU's runs are the processor's."""
    for what, robot, arguments, options in cases():
        for dtype in ("float32", "float64"):
            sums = [
                _sum(appell.rollout(robot, *arguments, steps=200, dtype=dtype, target=x, **options))
                for x in ("cpu", "cuda")
            ]
            yield {"what": what, "dtype": dtype, "sha256": sums[1], "same": sums[0] == sums[1]}


def _sum(found: Any) -> str:
    digest = sha256()
    for y in (found.q, found.v, *found.reductions.values()):
        digest.update(np.where(np.isnan(y), y.dtype.type(np.nan), y).tobytes())
    return digest.hexdigest()


def exchanged_rollout(put: Any, target: str) -> dict[str, Any]:
    """Results of a small rollout whose arguments are arrays that ``put`` makes of NumPy's: read
    where they are, or copied to the host first (loads, delays)."""
    robot, law, move = puma()
    draw = np.random.default_rng(5)
    runs = 500
    found = appell.rollout(
        robot, law, move, put(starts(runs)), steps=100, reduce=["worst_error", "success"],
        gains={"kp": put(draw.uniform(50, 150, (runs, 6)))},
        parameters={"com": put(np.tile(robot.system.values("com"), (runs, 1, 1)))},
        viscous=put(draw.uniform(0, 0.01, (runs, 6))), encoder=put(np.full((runs, 6), 4096.0)),
        noise=Noise(q=put(draw.uniform(0, 1e-4, (runs, 6))), seed=1),
        torque_limit=put(draw.uniform(50, 90, (runs, 6))), delay=put(draw.integers(0, 3, runs)),
        payload=Payload(put(draw.uniform(0, 2, runs))), target=target,
    )  # fmt: skip
    return {"q": found.q, "v": found.v, **found.reductions, "failed": found.failed}


def speeds(device: Device, rounds: int = 5) -> Iterator[dict[str, Any]]:
    """Seconds of a million runs of one second, from the call to the last result, and of JAX's with
    the same tapes, in turns; and of the processor's, on all its cores: the median of a part of the
    runs, as if it did all at the same rate."""
    robot, law, move = puma()
    for dtype in ("float32", "float64"):
        host = starts(RUNS).astype(dtype)

        def ours(there: Any, runs: int = RUNS, target: str = "cuda", dtype: str = dtype) -> Any:
            return appell.rollout(
                robot, law, move, there, steps=STEPS, reduce="worst_error", dtype=dtype,
                target=target,
            )  # fmt: skip

        with device.current():
            there = DeviceArray(host.shape, dtype, device)
            device.upload(there.pointer, host.ctypes.data, host.nbytes, 0)
            device.synchronise(0, "rollout")
        program = _program(robot, dtype, ours, there)
        theirs = _jax(program, host, move, dtype)
        times: dict[str, list[float]] = {"seconds": [], "jax": []}
        for _ in range(rounds):
            start = perf_counter()
            found = ours(there)
            with device.current():
                device.synchronise(0, "rollout")
            times["seconds"].append(perf_counter() - start)
            times["jax"].append(theirs())
        few = RUNS // PART
        ours(host[:few], target="cpu")
        alone = []
        for _ in range(TIMES):
            start = perf_counter()
            ours(host[:few], target="cpu")
            alone.append(perf_counter() - start)
        best = {name: min(x) for name, x in times.items()}
        yield {
            "dtype": dtype, "runs": len(found.q), "steps": STEPS, **best,
            "processor": median(alone) * PART, "processor's part": PART, "processor's times": TIMES,
            "steps per second": RUNS * STEPS / best["seconds"],
            "by jax": best["jax"] / best["seconds"],
        }  # fmt: skip


def _program(robot: Any, dtype: str, ours: Any, there: Any) -> Program:
    ours(there)
    key = [k for k in robot._kernels if k[0] == "rollout" and k[3] == dtype and k[4] == "cuda"]
    program: Program = robot._kernels[key[0]].program
    return program


def _jax(program: Program, host: Any, move: Any, dtype: str) -> Any:
    """Seconds of the same runs by JAX: its tapes as operations on arrays, its loops as JAX's."""
    import jax

    jax.config.update("jax_enable_x64", True)
    t = np.arange(STEPS + 1) * DT
    columns = dict(zip(("qd", "vd", "ad"), move(t), strict=True)) | {"t": t[:, None]}
    table = jax.numpy.asarray(
        np.concatenate([columns[name] for name in program.tables], axis=1).astype(dtype)
    )
    run = jax.jit(lambda q0, table: _run_jax(program, q0, table, dtype))
    q0 = jax.numpy.asarray(host)
    jax.block_until_ready(run(q0, table))

    def timed() -> float:
        start = perf_counter()
        jax.block_until_ready(run(q0, table))
        return perf_counter() - start

    return timed


def _run_jax(program: Program, q0: Any, table: Any, dtype: str) -> Any:
    import jax
    from jax import numpy as jnp

    n = len(q0)
    given = {"q0": q0.T, "v0": jnp.zeros((6, n), dtype), "tolerance": jnp.zeros((6, n), dtype)}
    fixed = {name: given[name] for name in program.inputs}
    written = {x for tape in tapes((*program.first, *program.each)) for x in tape.outputs}
    values = {x: jnp.zeros((program.widths[x], n), dtype) for x in sorted(written)}
    starts = np.cumsum([0, *program.tables.values()])
    places = dict(zip(program.tables, starts, strict=False))

    def done(parts: tuple[Part, ...], values: Any, row: Any, turn: Any = None) -> Any:
        for part in parts:
            if isinstance(part, Loop):
                rows = jnp.asarray(np.array(part.rows, dtype))

                def again(k: Any, values: Any, part: Any = part, rows: Any = rows) -> Any:
                    return done(part.body, values, row, rows[k])

                values = jax.lax.fori_loop(0, len(part.rows), again, values)
            else:
                values = {**values, **computed(part, values, row, turn)}
        return values

    def computed(tape: Tape, values: Any, row: Any, turn: Any) -> Any:
        names = list(tape.inputs)

        def read(operand: int, element: int) -> Any:
            name = names[operand]
            if name == TURN:
                return turn[element]
            if name in places:
                return row[places[name] + element]
            return (values[name] if name in values else fixed[name])[element]

        known: list[Any] = []
        for step in tape.steps:
            operands = [known[k] for k in step.operands]
            if step.op == "constant":
                known.append(np.array(step.a, dtype))
            elif step.op == "input":
                known.append(read(step.a, step.b))
            else:
                known.append(_OPERATIONS[step.op](jnp, *operands))
        return {
            name: jnp.stack([jnp.broadcast_to(known[k], (n,)) for k in row])
            for name, row in zip(tape.outputs, tape.results, strict=True)
            if row
        }

    values = done(program.first, values, table[0])
    values = jax.lax.fori_loop(0, STEPS, lambda k, v: done(program.each, v, table[k]), values)
    values = done(program.last, values, table[STEPS])
    return [values[name] for name in program.outputs]


_OPERATIONS: dict[str, Any] = {
    "add": lambda _, x, y: x + y, "sub": lambda _, x, y: x - y, "mul": lambda _, x, y: x * y,
    "div": lambda _, x, y: x / y, "neg": lambda _, x: -x, "inv": lambda _, x: 1 / x,
    "abs": lambda jnp, x: abs(x), "sin": lambda jnp, x: jnp.sin(x),
    "cos": lambda jnp, x: jnp.cos(x), "sqrt": lambda jnp, x: jnp.sqrt(x),
    "fma": lambda _, x, y, c: x * y + c, "fms": lambda _, x, y, c: x * y - c,
    "fnma": lambda _, x, y, c: c - x * y,
    "choose": lambda jnp, x, y, a, b: jnp.where(x < y, a, b),
}  # fmt: skip
