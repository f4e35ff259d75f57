"""Whole closed loops: the rollout beside what its parts add up to, MuJoCo's rollout and JAX.

    python -m benchmarks.rollouts ROUNDS          prints JSON; run by :mod:`benchmarks`
    python -m benchmarks.rollouts ROUNDS --write  and into benchmarks/results.json and docs/speed.md
    python -m benchmarks.rollouts memory          prints what ten million runs take; --write as well

All in one process, on one core, in turn; steps are those of the plant. Memory is that of a process
of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Job, timed
from benchmarks.report.text import gibibytes
from benchmarks.worker import ENVIRONMENT

RUNS, STEPS, DT, KP, KD = 1024, 250, 1e-3, 100.0, 20.0
LONG, FEWER = 1000, 256  # steps of a run with a gradient, and how many runs
FEW, SHORT = 4, 25  # runs by MuJoCo, steps by JAX: enough to be timed
MANY = 10_000_000  # runs whose memory is measured
OFTEN, BATCH = 20, 8192  # calls, and their states: the fastest of 256, 512, ... in the caches
ROOT = Path(__file__).parents[1]


def rollouts(rounds: int) -> list[dict[str, Any]]:
    """What was timed, and its times, from a fresh process; and the memory of many runs."""
    return [*_fresh(str(rounds)), memory(MANY // 50 if rounds < 3 else MANY)]


def memory(runs: int = MANY) -> dict[str, Any]:
    """The most memory that a process takes for so many runs, of which only reductions are kept."""
    return _fresh("memory", str(runs))


def _fresh(*arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.rollouts", *arguments],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def _taken(runs: int) -> dict[str, Any]:
    """What this process takes; a step is enough, steps take no memory."""
    import appell

    plain = appell.load("puma560")
    puma = plain.with_armature(dict.fromkeys(plain.joint_names, 1.0))  # motors, for the friction
    law = appell.control.ComputedTorque(puma, kp=KP, kd=KD)
    move = appell.control.quintic(np.zeros(6), np.ones(6), duration=1.0)
    draw = np.random.default_rng(0)
    q0, load, viscous = (draw.random(out=np.empty(x)) for x in ((runs, 6), runs, (runs, 6)))
    found = appell.rollout(
        puma, law, move, q0, steps=1, dt=DT, viscous=viscous, payload=appell.control.Payload(load),
        reduce="worst_error", final=False,
    )  # fmt: skip
    given = sum(x.nbytes for x in (q0, load, viscous))
    kept = sum(x.nbytes for x in found.reductions.values())
    note = (
        f"largest errors of {runs:,} runs, each with its own start, load and friction; of it "
        f"{gibibytes(given)} are these inputs, {gibibytes(kept)} the results"
    )
    return {"what": f"memory of {runs:,} runs", "bytes": _peak(), "note": note}


def _peak() -> int:
    """The most memory that this process has had, bytes."""
    import resource

    status = Path("/proc/self/status")
    if status.exists():  # maxrss would have what the parent took, too
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def jobs() -> Iterator[list[Job]]:
    import appell

    puma = appell.load("puma560")
    law = appell.control.ComputedTorque(puma, kp=KP, kd=KD)
    start, end = np.radians([90, 0, 90, 0, 0, 0]), np.radians([45, 30, 0, 45, 60, 90])
    move = appell.control.quintic(start, end, duration=STEPS * DT)
    draw = np.random.default_rng(0)
    q = start + 0.01 * draw.normal(size=(RUNS, 6))
    v = 0.01 * draw.normal(size=(RUNS, 6))
    plan = np.hstack([np.array(x) for x in move(np.arange(STEPS) * DT)])

    def ours(dtype: str = "float64", steps: int = STEPS, runs: int = RUNS, **more: Any) -> Any:
        q0, v0 = q[:runs], v[:runs]
        return appell.rollout(puma, law, move, q0, v0, steps=steps, dt=DT, dtype=dtype, **more)

    gains = {"kp": np.full((FEWER, 6), KP), "kd": np.full((FEWER, 6), KD)}

    def long(**more: Any) -> Any:
        return ours(steps=LONG, runs=FEWER, gains=gains, reduce=["effort"], **more)

    forward, torques = puma.kernel("forward_dynamics"), law.kernel()
    states, tau = [*draw.uniform(-1, 1, (3, BATCH, 6))], np.empty((BATCH, 6))

    def parts() -> None:
        for _ in range(OFTEN):
            for _ in range(4):
                forward(*states, out=tau)
            torques(*states[:2], *states, out=tau)

    yield [
        Job("rollout, float64", ours, RUNS * STEPS, f"{RUNS:,} runs of {STEPS} steps"),
        Job(
            "its kernels, called one by one",
            parts,
            OFTEN * BATCH,
            f"4 forward dynamics and 1 law of {BATCH:,} states, and nothing between",
        ),
        Job("rollout, float32", lambda: ours("float32"), RUNS * STEPS, "the same in float32"),
        *_mujoco(puma, ours, q[:FEW], v[:FEW], plan),
        *_jax(puma, law, ours, q, v, plan[:SHORT]),
    ]
    yield [
        Job("long rollout", long, FEWER * LONG, f"{FEWER} runs of {LONG:,} steps, gains by run"),
        Job(
            "long rollout with a gradient",
            lambda: long(gradient="effort", by=["q0", "v0", "kp", "kd"]),
            FEWER * LONG,
            "derivatives of the effort by the start and twelve gains, by a sweep back",
        ),
    ]
    yield list(_environments())


def _mujoco(puma: Any, ours: Any, q: Any, v: Any, plan: Any) -> Iterator[Job]:
    try:
        from benchmarks.peers.mujoco_rollout import MuJoCoRollout

        peer = MuJoCoRollout(puma, DT)
    except ImportError:
        return
    run = ours(runs=FEW, every=1)
    tau = run.path["tau"][:, 1:]
    expected = np.hstack([run.q, run.v])
    for what, job, note in (
        ("MuJoCo's rollout, under the same law", peer.under_law(q, v, plan, KP, KD),
         "the law a C callback over `mj_rne`, once a step"),
        ("MuJoCo's rollout, torques given", peer.given(q, v, tau), "no law: its torques are input"),
    ):  # fmt: skip
        if job is None:
            continue
        if np.abs(job() - expected).max() > 1e-7:
            raise RuntimeError(f"{what} leads elsewhere than ours: {job() - expected}")
        yield Job(what, job, FEW * STEPS, f"{note}; {FEW} runs, RK4, contacts off")


def _jax(puma: Any, law: Any, ours: Any, q: Any, v: Any, plan: Any) -> Iterator[Job]:
    try:
        from benchmarks.peers.jax_rollout import jax_rollout

        job = jax_rollout(puma, law, q, v, plan, DT)
    except ImportError:
        return
    run = ours(steps=SHORT)
    if np.abs(job() - np.hstack([run.q, run.v])).max() > 1e-9:
        raise RuntimeError("JAX leads elsewhere than ours")
    note = f"jit and scan, {RUNS:,} runs at once, XLA's fusion off"
    yield Job("JAX, our equations", job, RUNS * SHORT, note)


def _environments() -> Iterator[Job]:
    """A step of an arm of two links as an environment, frames of two steps of 0.01 s by RK4."""
    try:
        import gymnasium

        from appell.learning import VectorEnv
    except ImportError:
        return
    import appell

    count, often = 64, 50
    arm = appell.load("planar_chain", n=2)
    ours = VectorEnv(arm, count, torque_limit=1.0, dt=0.01, frame_skip=2)
    theirs = gymnasium.make_vec("Reacher-v5", count, vectorization_mode="sync")
    for what, env, note in (
        (f"{count} environments of a two-link arm", ours, "`VectorEnv`, an environment's step"),
        (f"{count} of Gymnasium's Reacher-v5", theirs, "MuJoCo, `SyncVectorEnv`: a Python loop"),
    ):
        env.reset(seed=0)
        action = 0.1 * np.random.default_rng(0).uniform(-1, 1, env.action_space.shape)

        def often_stepped(env: Any = env, action: Any = action) -> None:
            for _ in range(often):
                env.step(action)

        yield Job(what, often_stepped, count * often, note)


def main() -> None:
    what, *others = sys.argv[1:]
    if others[:1] == ["--write"]:
        _write(what)
    elif what == "memory":
        print(json.dumps(_taken(int(others[0]) if others else MANY)))
    else:
        print(json.dumps(list(timed(jobs(), int(what)))))


def _write(what: str) -> None:
    """Measure all, or the memory alone, and write it into the documents."""
    from benchmarks.report import RESULTS, write

    results = json.loads((ROOT / RESULTS).read_text())
    if what == "memory":
        timed_rows = [row for row in results["rollouts"] if "seconds" in row]
        results["rollouts"] = [*timed_rows, memory()]
    else:
        results["rollouts"] = rollouts(int(what))
    write(results, ROOT)


if __name__ == "__main__":
    main()
