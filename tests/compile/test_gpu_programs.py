"""Rollouts on a GPU, without one: their PTX is interpreted, and gives the processor's bits."""

from __future__ import annotations

import re
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

import appell
from appell.compile.emit import program_ptx
from appell.compile.gpu import driver
from appell.compile.gpu.device_arrays import DeviceArray
from appell.compile.native import fuses
from appell.control import ComputedTorque, Noise, Payload, TrackingIntegral, quintic
from appell.errors import GpuError, InputError
from tests.compile.fake_gpu import FakeLibrary, there

pytestmark = pytest.mark.skipif(not fuses(), reason="only fused steps have the GPU's rounding")


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """The library of a driver whose kernels are interpreted."""
    yield FakeLibrary.installed(monkeypatch)
    driver.driver.cache_clear()


@pytest.fixture
def not_run(gpu, monkeypatch):
    """Kernels are made and not run."""
    monkeypatch.setattr(FakeLibrary, "_cuLaunchKernel", lambda *arguments: None)


@pytest.fixture(scope="module")
def arm():
    return appell.load("two_link")


def same(robot, *arguments, **how):
    ours = appell.rollout(robot, *arguments, **how)
    theirs = appell.rollout(robot, *arguments, target="cuda", **how)
    for name in ("q", "v", *ours.reductions):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name), err_msg=name)
    for name, x in ours.path.items():
        np.testing.assert_array_equal(theirs.path[name], x, err_msg=name)
    return theirs


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_closed_loop_has_the_processors_bits(arm, dtype):
    q = np.array([0.3, -0.2])
    law, move = TrackingIntegral(arm), quintic(q, q + 0.1, 0.005)
    found = same(
        arm, law, move, q + [[0.01, 0.02], [0, 0], [1e9, 0]], every=2, dtype=dtype,
        reduce=["worst_error", "rms_error", "peak_torque", "settling_time", "effort"],
    )  # fmt: skip
    assert found.q.dtype == dtype


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit_midpoint"])
def test_other_integrators_and_everything_that_varies(arm, integrator):
    q = np.array([0.3, -0.2])
    law, move = ComputedTorque(arm, kp=100, kd=20), quintic(q, q + 0.1, 0.003)
    same(
        arm, law, move, q, runs=3, integrator=integrator, substeps=2, delay=[0, 1, 2],
        noise=Noise(q=1e-3, v=1e-2, tau=0.1, seed=5), encoder=4096, torque_limit=20.0,
        viscous=0.1, gains={"kp": [[50.0] * 2, [100.0] * 2, [200.0] * 2]},
        parameters={"mass": arm.system.values("mass") * np.array([[0.9], [1.0], [1.1]])},
    )  # fmt: skip


def test_torques_of_every_step_and_walls(arm):
    tau = np.random.default_rng(0).normal(size=(3, 4, 2))
    walls = appell.walls.Plane((0, 1, 0), -0.1)
    same(arm, None, None, [0.3, -0.2], steps=4, tau=tau, walls=walls, mu=0.3, every=1)


def test_loops_and_a_free_base():
    five = appell.load("five_bar")
    same(five, None, None, five.neutral(), [[0.1, 0.2], [0, 0]], steps=2)
    free = appell.load("free_chain", n=1)
    speeds = np.random.default_rng(0).normal(size=(2, free.nv))
    same(free, None, None, free.neutral(), speeds, steps=2)


def test_a_blown_up_run_leaves_the_others_alone(arm):
    v = np.zeros((3, 2))
    v[1] = 1e200
    found = same(arm, None, None, [0.1, 0.2], v, steps=3)
    assert found.failed.tolist() == [False, True, False]


def test_arrays_on_the_gpu_are_answered_there(arm):
    q = np.random.default_rng(1).uniform(-1, 1, (5, 2))
    found = appell.rollout(arm, None, None, there(q), steps=3, target="cuda")
    assert isinstance(found.q, DeviceArray)
    assert found.failed_at.shape == (5,)
    np.testing.assert_array_equal(found.q.get(), appell.rollout(arm, None, None, q, steps=3).q)


# What may differ from run to run, given(array) for two runs or for all.
GIVEN = {
    "q0": lambda x: {"q0": x([[0.3, -0.2], [0.31, -0.2]])},
    "v0": lambda x: {"v0": x([[0.1, 0.0], [0.0, 0.1]])},
    "gains": lambda x: {"gains": {"kp": x([[50.0, 60.0], [70.0, 80.0]])}},
    "mass": lambda x: {"parameters": {"mass": x([[1.0, 1.1], [1.2, 1.3]])}},
    "com": lambda x: {"parameters": {"com": x(np.full((2, 2, 3), 0.1))}},
    "viscous": lambda x: {"viscous": x([[0.01, 0.02], [0.03, 0.04]])},
    "viscous of all joints": lambda x: {"viscous": x(0.01)},
    "coulomb": lambda x: {"coulomb": x([[0.001, 0.002], [0.003, 0.004]]), "slip": 1.0},
    "torque_limit": lambda x: {"torque_limit": x([[9.0, 8.0], [7.0, 6.0]])},
    "torque_limit of all runs": lambda x: {"torque_limit": x([3.0, 2.0])},
    "torque_limit of all joints": lambda x: {"torque_limit": x(2.0)},
    "encoder": lambda x: {"encoder": x([[1000.0, 4096.0], [777.0, 500.0]])},
    "encoder of all joints": lambda x: {"encoder": x(3000.0)},
    "delay": lambda x: {"delay": x([0, 2])},
    "delay of all runs": lambda x: {"delay": x(1)},
    "noise": lambda x: {"noise": Noise(q=x([[1e-3, 2e-3], [0.0, 0.0]]), tau=x(0.1), seed=2)},
    "external": lambda x: {"external": x([[1.0, 2.0], [3.0, 4.0]])},
    "external of every step": lambda x: {"external": x(np.arange(12.0).reshape(2, 3, 2))},
    "tolerance": lambda x: {"tolerance": x([[0.1, 0.1], [1e-9, 1e-9]]), "reduce": "settling_time"},
    "ids": lambda x: {"ids": x([7, 3]), "noise": Noise(q=1e-3), "runs": 2},
    "payload": lambda x: {
        "payload": Payload(x([0.1, 0.2]), com=x([0.0, 0.0, 0.1]), inertia=x(np.full((2, 3), 0.01))),
        "parameters": {"mass": x([1.0, 2.0])},
    },
    "trajectory": lambda x: {"trajectory": x([0.3, -0.1]), "steps": 3},
}  # fmt: skip


@pytest.mark.parametrize("what", GIVEN)
def test_whatever_differs_may_be_on_the_gpu(arm, what):
    q = np.array([0.3, -0.2])
    law = ComputedTorque(arm, kp=100, kd=20)
    always = {"trajectory": quintic(q, q + 0.1, 0.003)}
    host, card = (GIVEN[what](x) for x in (np.array, there))
    found = appell.rollout(arm, law, target="cuda", **{**always, **card})
    ours = appell.rollout(arm, law, **{**always, **host})
    for name in ("q", "v", *ours.reductions):
        np.testing.assert_array_equal(getattr(found, name).get(), getattr(ours, name), name)
    assert found.failed.tolist() == ours.failed.tolist()


def test_torques_without_a_law_may_be_on_the_gpu(arm):
    tau = np.random.default_rng(0).normal(size=(2, 3, 2))
    for given in (tau, tau[0], tau[0, 0]):
        how = {"q0": [0.3, -0.2], "steps": 3}
        found = appell.rollout(arm, tau=there(given), target="cuda", **how)
        np.testing.assert_array_equal(found.q.get(), appell.rollout(arm, tau=given, **how).q)


def test_singular_configurations_are_told_of_runs_on_the_gpu():
    five = appell.load("five_bar")
    speeds = np.array([[0.1, 0.2], [0.0, 0.0]])
    found = appell.rollout(five, None, None, five.neutral(), there(speeds), steps=2, target="cuda")
    assert found.failed.tolist() == [False, False]


@pytest.mark.parametrize("what", GIVEN)
def test_arrays_on_the_gpu_are_refused_by_the_processor(arm, what):
    with pytest.raises(InputError, match=r"rollout: (.*) is on a GPU .*target='cuda'") as told:
        appell.rollout(arm, **{"steps": 3, **GIVEN[what](there)})
    assert {*str(told.value).partition(" is on")[0].split(": ")} & {*what.split(), "parameters"}


def test_arrays_that_do_not_fit_are_told(arm):
    q = np.array([[0.3, -0.2]])
    bare = SimpleNamespace(__cuda_array_interface__=there(q).__cuda_array_interface__)
    with pytest.raises(InputError, match=r"q0 is a SimpleNamespace.*cupy\.asarray"):
        appell.rollout(arm, q0=bare, steps=1, target="cuda")
    with pytest.raises(InputError, match=r"q0 has dtype float32.*float64"):
        appell.rollout(arm, q0=there(q.astype("f")), steps=1, target="cuda")
    with pytest.raises(InputError, match=r"delay = .*expected whole numbers"):
        appell.rollout(arm, q0=q, delay=there(np.array([0.5])), steps=1, target="cuda")


def test_what_cannot_be_is_told(arm, gpu, monkeypatch):
    with pytest.raises(InputError, match="expected one of cpu, cuda"):
        appell.rollout(arm, steps=1, target="gpu")
    gpu.fail["cuMemAlloc_v2"] = 2
    with pytest.raises(GpuError, match="rollout"):
        appell.rollout(arm, steps=1, target="cuda")
    FakeLibrary.installed(monkeypatch, devices=0)
    with pytest.raises(GpuError, match="no"):
        appell.rollout(arm, steps=1, target="cuda")


@pytest.mark.usefixtures("nothing_kept")
def test_a_crowded_program_has_the_processors_bits(arm, monkeypatch):
    monkeypatch.setattr(program_ptx, "_CROWDED", 0)
    same(appell.Robot(arm.model), None, None, [[0.3, -0.2], [0.1, 0.2]], steps=3)


def closed_loop(robot, dtype):
    """The PTX of a robot under computed torque."""
    law, move = ComputedTorque(robot), quintic(np.zeros(robot.nv), np.ones(robot.nv), 1.0)
    appell.rollout(robot, law, move, steps=1, reduce="worst_error", target="cuda", dtype=dtype)
    (program,) = (x for key, x in robot._kernels.items() if key[0] == "rollout" and key[3] == dtype)
    return program.ptx


@pytest.mark.usefixtures("not_run")
def test_more_values_than_registers_are_told_to_the_assembler():
    puma, panda = appell.load("puma560"), appell.load("panda")
    crowded = [
        b".minnctapersm 1" in closed_loop(robot, dtype)
        for robot in (puma, panda)
        for dtype in ("float32", "float64")
    ]
    assert crowded == [False, False, False, True]


@pytest.mark.usefixtures("not_run")
@pytest.mark.skipif(shutil.which("ptxas") is None, reason="there is no assembler of NVIDIA's")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("robot", "spilled"), [("puma560", 0), ("panda", 500)])
def test_the_assembler_takes_it(tmp_path, robot, spilled, dtype):
    """The PUMA's loop without a spill, and the Panda's in float32; in float64 its values are more
    than the registers, and few of them wait in memory."""
    path = tmp_path / "rollout.ptx"
    path.write_bytes(closed_loop(appell.load(robot), dtype))
    made = subprocess.run(
        ["ptxas", "-v", "-arch=sm_90", str(path), "-o", str(tmp_path / "out")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = max(map(int, re.findall(r"(\d+) bytes spill stores", made.stderr)))
    assert found <= (spilled if dtype == "float64" else 0)
