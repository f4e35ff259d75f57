"""Single figures: times of jobs that no peer does alike, each the median of some rounds.

    python -m benchmarks.figures ROUNDS

Prints JSON; run by :mod:`benchmarks` in a process of its own, on one core.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import DOP853

from benchmarks.exported import stepping
from benchmarks.measure import spread
from benchmarks.peers.common import call_by_call
from benchmarks.real_robots import pairs

STATES, CALLS, LONG = 20_000, 1_000, 20.0  # s, after which three rounds are enough


def figures(rounds: int) -> list[dict[str, Any]]:
    """What was timed, and its times, from a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.figures", str(rounds)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def measured(rounds: int) -> Iterator[dict[str, Any]]:
    yield from timed(
        (
            jobs
            for group in (
                [[_flight()], _steps()],
                _real(rounds < 3),
                _closed(),
                _control(),
                _identify(rounds < 3),
            )
            for jobs in group
        ),
        rounds,
    )


def timed(groups: Iterable[list[Job]], rounds: int) -> Iterator[dict[str, Any]]:
    """Times of jobs on one core, each group's in turn."""
    import appell

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    appell.set_threads(1)
    for jobs in groups:
        taken: list[list[float]] = [[] for _ in jobs]
        for job in jobs:
            job.run()  # compiles
        begun = perf_counter()
        for k in range(rounds):
            if k >= 3 and perf_counter() - begun > LONG:
                break
            for job, seconds in zip(jobs, taken, strict=True):
                start = perf_counter()
                job.run()
                seconds.append((perf_counter() - start) / job.times)
        for job, seconds in zip(jobs, taken, strict=True):
            ratio = spread(np.divide(seconds, taken[0])) if job is not jobs[0] else None
            found = {"what": job.what, "seconds": spread(seconds), "note": job.note}
            yield found | ({"ratio": ratio} if ratio else {})


class Job(NamedTuple):
    """Something to time; ``run`` does it ``times`` times. Jobs listed together take turns, and
    the later ones are compared with the first."""

    what: str
    run: Callable[[], Any]
    times: int
    note: str


def _flight() -> Job:
    from appell.papers import shafei2018

    def job() -> Any:
        shafei2018.flight.cache_clear()
        return shafei2018.flight(formulation=None)  # by the default

    run = job()
    change = np.abs(run.energy - run.energy[0]).max()
    note = f"1.5 s with {len(run.impacts)} impacts; energy kept to {change:.0e} J"
    return Job("simulation of the ten-link tree (Shafei 2018)", job, 1, note)


def _steps() -> list[Job]:
    """What the own stepper is for: the same steps by SciPy's class, with the same right-hand side.
    Both make the polynomial of each step, as a simulation needs it."""
    import appell
    from appell.simulation.flow import flow
    from appell.simulation.path import NODES
    from appell.simulation.stepper import steps

    puma, tau = appell.load("puma560"), np.zeros(6)
    motion, begin, end = flow(puma), np.append(np.full(6, 0.3), np.zeros(6)), 2.0
    accuracy = {"rtol": 3e-13, "atol": 1e-13}

    def rate(t: float, y: Any) -> Any:
        return motion(y[:6], y[6:], tau)

    def ours() -> list[Any]:
        stepper, pieces = steps("DOP853", rate, 0.0, begin, end, **accuracy), []
        while stepper.t < end:
            stepper.step()
            pieces.append(stepper.piece().y)
        return pieces

    def theirs() -> list[Any]:
        solver, pieces = DOP853(rate, 0.0, begin, end, **accuracy), []
        while solver.status == "running":
            solver.step()
            times = solver.t_old + (solver.t - solver.t_old) * NODES
            pieces.append(solver.dense_output()(times).T)
        return pieces

    count = len(ours())
    if not np.allclose(ours()[-1], theirs()[-1], rtol=0, atol=1e-9):
        raise RuntimeError("SciPy's DOP853 leads elsewhere than ours")
    return [
        Job("DOP853 of the falling PUMA", ours, count, "a step, with its polynomial"),
        Job("the same by SciPy's class", theirs, count, "a step, the same to rounding"),
    ]


def _real(quick: bool) -> Iterator[list[Job]]:
    """One state of robots from files, beside Pinocchio."""
    for k, (what, ours, theirs) in enumerate(pairs()):
        if quick and k:
            return
        yield [
            Job(what, _often(ours), CALLS, "one state, from Python"),
            Job("the same by Pinocchio", _often(theirs), CALLS, "one state, from Python"),
        ]


def _often(call: Callable[[], Any]) -> Callable[[], None]:
    def job() -> None:
        for _ in range(CALLS):
            call()

    return job


def _closed() -> Iterator[list[Job]]:
    import appell

    draw = np.random.default_rng(0)
    wrist = appell.load("agile_wrist")
    q = draw.uniform(-0.3, 0.3, (STATES, 3))
    v, a = draw.normal(size=(2, STATES, 3))
    inverse = partial(wrist.inverse_dynamics, q, v, a)
    yield [Job("Agile Wrist, inverse dynamics", inverse, STATES, "a state")]
    stewart = appell.load("stewart_gough").unchecked()
    pose = np.tile(np.eye(4), (STATES, 1, 1))
    pose[:, :3, 3] = [0, 0, 0.7] + draw.uniform(-0.05, 0.05, (STATES, 3))
    Q = stewart.inverse_kinematics(pose)
    V, A = draw.normal(size=(2, STATES, 6))
    note = "a state, unchecked"
    inverse = partial(stewart.inverse_dynamics, Q, V, A)
    forward = partial(stewart.forward_dynamics, Q, V, A)
    yield [Job("Stewart-Gough platform, inverse dynamics", inverse, STATES, note)]
    yield [
        Job("Stewart-Gough platform, forward dynamics", forward, STATES, note),
        *_pinocchio_loops(stewart, Q[:CALLS], V[:CALLS], A[:CALLS]),
    ]


def _pinocchio_loops(closed: Any, q: Any, v: Any, tau: Any) -> Iterator[Job]:
    """Pinocchio's constrained dynamics of the same states, if it is here and agrees."""
    try:
        from benchmarks.peers.loops import Loops
    except ImportError:
        return
    theirs, speeds = Loops(closed), closed.speeds(q, v)
    force = np.zeros((len(q), closed.model.nv))
    force[:, list(closed.mechanism.actuated)] = tau
    ours = closed.accelerations(q, v, closed.forward_dynamics(q, v, tau))
    found = [theirs.accelerations(*state) for state in zip(q, speeds, force, strict=True)]
    if np.abs(found - ours).max() > 1e-7 * np.abs(ours).max():
        raise RuntimeError("Pinocchio's constrained dynamics differs from ours")
    calls = [theirs.prepared(*state) for state in zip(q, speeds, force, strict=True)]

    def job() -> None:
        for call in calls:
            call()

    note = "a state, `constraintDynamics` call by call"
    yield Job("the same by Pinocchio", job, len(calls), note)


def _control() -> Iterator[list[Job]]:
    import appell

    puma = appell.load("puma560")
    law = appell.control.ComputedTorque(puma, kp=100, kd=20)
    kernel = law.kernel()
    draw = np.random.default_rng(0)
    states = draw.uniform(-1, 1, (5, STATES, 6))
    many = partial(kernel, *states)
    yield [Job("computed torque of the PUMA", many, STATES, "a state of many")]
    one = [x[0] for x in states]

    def often() -> None:
        for _ in range(CALLS):
            law(*one)

    note = "one state from Python; 3 ms in Lee 1982, 0.225 and 0.061 ms in Valera 2003"
    yield [Job("computed torque of the PUMA", often, CALLS, note)]
    exported = stepping(law, one, 100 * CALLS)
    if exported is not None:
        note = "exported C, one step; 0.225 and 0.061 ms in Valera 2003"
        yield [Job("computed torque of the PUMA", exported, 100 * CALLS, note)]
    poses = puma.forward_kinematics(draw.uniform(-1, 1, (STATES, 6)))
    solve = appell.control.closed_form(puma)
    what, note = "closed-form inverse kinematics of the PUMA", "a pose, all eight branches"
    yield [Job(what, partial(solve, poses), STATES, note)]


def _identify(quick: bool) -> Iterator[list[Job]]:
    """The regressor in blocks, as a fit takes them, beside Pinocchio's in a loop; a whole fit."""
    import appell
    from appell.identify.base.entries import entries as entries_of

    puma = appell.load("puma560")
    draw = np.random.default_rng(0)
    block, blocks = 512, 40
    q, v, a = draw.uniform(-3, 3, (3, block, 6))
    Y = np.empty((block, 6, 60))

    def ours() -> None:
        for _ in range(blocks):
            puma.regressor(q, v, a, out=Y)

    base = appell.identify.base_parameters(puma)
    entries = entries_of(puma, base.columns, friction=False, rotors=False).of

    def of_base() -> None:
        for _ in range(blocks):
            entries(q, v, a)

    note = f"a state, in blocks of {block}"
    yield [
        Job("regressor of the PUMA", ours, block * blocks, note),
        Job(
            f"regressor of its {base.count} base parameters",
            of_base,
            block * blocks,
            f"{note}, the entries that are not zero",
        ),
        *_pinocchio_regressor(puma, (q, v, a)),
    ]
    samples = 20_000 if quick else 1_000_000
    states = draw.uniform(-1, 1, (3, samples, 6))
    tau = puma.inverse_dynamics(*states)
    fit = partial(appell.identify.fit, puma, *states, tau, friction=True)
    note = f"{samples:,} samples, one thread"
    yield [Job("fit of 48 base parameters of the PUMA", fit, 1, note)]


def _pinocchio_regressor(robot: Any, states: Any) -> Iterator[Job]:
    try:
        from benchmarks.peers.pinocchio import Pinocchio

        peer = Pinocchio()
    except ImportError:
        return
    model = peer.model(robot.model)
    call = partial(peer.pin.computeJointTorqueRegressor, model, model.createData())
    job = call_by_call(call, states)
    if not np.allclose(job(), robot.regressor(*states)):
        raise RuntimeError("Pinocchio's regressor differs from ours")
    note = "a state, `computeJointTorqueRegressor` in a loop"
    yield Job("the same by Pinocchio, all parameters", job, len(states[0]), note)


if __name__ == "__main__":
    print(json.dumps(list(measured(int(sys.argv[1])))))
