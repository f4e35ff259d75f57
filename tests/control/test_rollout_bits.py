"""A run is the same to the last bit however many threads, lanes and other runs there are."""

from __future__ import annotations

import threading
from hashlib import sha256

import numpy as np
import pytest

import appell
from appell.compile import gradients, programs
from appell.compile.measured import Choice
from appell.compile.programs import ProgramKernel
from appell.control import Noise, TrackingIntegral, quintic

RUNS, STEPS = 2001, 60  # not a multiple of the lanes, and many slices


@pytest.fixture(autouse=True)
def _all_cores_again():
    yield
    appell.set_threads()


@pytest.fixture
def workers(monkeypatch):
    """The threads that computed slices since it was cleared. Where there may be several, none
    goes on before another one has begun, and all that may help are asked to."""
    seen = set()
    another = threading.Condition()
    compute = ProgramKernel._compute

    def watched(kernel, *numbers):
        if "q" not in kernel.program.outputs:  # no rollout: what friction does at the start
            return compute(kernel, *numbers)
        with another:
            seen.add(threading.get_ident())
            another.notify_all()
            if programs.threads() > 1:
                assert another.wait_for(lambda: len(seen) > 1, timeout=60)
        return compute(kernel, *numbers)

    monkeypatch.setattr(ProgramKernel, "_compute", watched)
    monkeypatch.setattr(Choice, "pick", lambda choice: choice._ways[-1])
    return seen


def closed_loops(robot, dtype, rows=slice(None), **how):
    """Many runs under a law with a state, with noise, sensors, drives and friction."""
    start = np.full(robot.nq, 0.3)
    draw = np.random.default_rng(0)
    q0 = (start + 0.01 * draw.normal(size=(RUNS, robot.nq)))[rows]
    return appell.rollout(
        robot, TrackingIntegral(robot), quintic(start, start + 0.3, 0.1), q0, steps=STEPS,
        ids=np.arange(RUNS)[rows], noise=Noise(q=1e-3, v=1e-3, tau=0.1), viscous=0.1, delay=1,
        torque_limit=100.0, dtype=dtype, **how,
    )  # fmt: skip


def watched(robot, dtype, rows=slice(None)):
    reductions = ["worst_error", "rms_error", "energy", "settling_time"]
    return closed_loops(robot, dtype, rows, encoder=4096, reduce=reductions, every=STEPS // 2)


def sloped(robot, dtype, rows=slice(None)):
    how = {"reduce": "effort", "gradient": "effort", "by": ["q0", "viscous"]}
    return closed_loops(robot, dtype, rows, **how)


def arrays(found):
    groups = (found.reductions, found.path, found.gradient)
    return [found.q, found.v, *(x for group in groups for x in group.values())]


def digest(found):
    made = sha256()
    assert not found.failed.any()
    assert all(x.any() for x in arrays(found))
    for x in arrays(found):
        made.update(np.ascontiguousarray(x).tobytes())
    return made.hexdigest()


@pytest.mark.parametrize("kind", [watched, sloped])
def test_bits_do_not_depend_on_threads(workers, kind):
    robot = appell.load("planar_chain")
    sums = {}
    for count in (1, 2, 5):
        appell.set_threads(count)
        workers.clear()
        sums[count] = digest(kind(robot, "float64"))
        assert (len(workers) > 1) == (count > 1)
    assert len(set(sums.values())) == 1


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", [watched, sloped])
def test_bits_do_not_depend_on_the_number_of_lanes(monkeypatch, workers, kind, dtype):
    appell.set_threads(2)
    sums = set()
    for count in (4, 8, 16):
        for module in (programs, gradients):
            monkeypatch.setattr(module, "lanes", lambda _, count=count: count)
        workers.clear()
        robot = appell.load("planar_chain", n=2)
        sums.add(digest(kind(robot, dtype)))
        assert len(workers) > 1
        kernels = [x for key, x in robot._kernels.items() if key[0] == "rollout"]
        assert [x._lanes for x in kernels] == [count]
    assert len(sums) == 1


@pytest.mark.parametrize("kind", [watched, sloped])
def test_bits_do_not_depend_on_the_place_among_other_runs(kind):
    robot = appell.load("planar_chain")
    whole = arrays(kind(robot, "float64"))
    rows = np.random.default_rng(1).permutation(RUNS)[:333]
    for part, x in zip(arrays(kind(robot, "float64", rows)), whole, strict=True):
        np.testing.assert_array_equal(part, x[rows])
