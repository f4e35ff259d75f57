"""Derivatives of rollouts on a GPU, without one: their PTX is interpreted, and gives the
processor's bits."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

import appell
from appell.compile.gpu import driver, gpu_gradient
from appell.compile.gpu.device_arrays import DeviceArray
from appell.compile.native import fuses
from appell.control import ComputedTorque, Payload, quintic
from appell.errors import GpuError, InputError
from tests.compile.fake_gpu import FakeLibrary, there

pytestmark = pytest.mark.skipif(not fuses(), reason="only fused steps have the GPU's rounding")
Q = np.array([0.3, -0.2])


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """The library of a driver whose kernels are interpreted."""
    yield FakeLibrary.installed(monkeypatch)
    driver.driver.cache_clear()


@pytest.fixture(scope="module")
def arm():
    return appell.load("two_link")


@pytest.fixture(scope="module")
def closed_loop(arm):
    """A move of three steps with much that varies, three runs."""
    return {
        "law": ComputedTorque(arm, kp=100, kd=20), "trajectory": quintic(Q, Q + 0.1, 0.003),
        "q0": Q + [[0.01, 0.02], [0, 0], [1e9, 0]], "gains": {"kp": np.full(2, 90.0)},
        "payload": Payload([0.1, 0.2, 0.3]), "viscous": np.full((3, 2), 0.1), "delay": 1,
        "torque_limit": 20.0, "reduce": ["worst_error", "rms_error", "effort"],
    }  # fmt: skip


def same(found, ours, kinds):
    """Whether all results have the same bits, those of derivatives, too."""
    for name in ("q", "v", *ours.reductions):
        np.testing.assert_array_equal(getattr(found, name), getattr(ours, name), err_msg=name)
    for kind in kinds:
        assert set(getattr(found, kind)) == set(getattr(ours, kind))
        for name, x in getattr(ours, kind).items():
            np.testing.assert_array_equal(getattr(found, kind)[name], x, err_msg=name)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_tangent_has_the_processors_bits(arm, closed_loop, dtype):
    along = {"q0": np.eye(3, 2), "kp": [1.0, 2.0], "payload.mass": [1.0] * 3}
    how = {**closed_loop, "dtype": dtype, "tangent": along}
    found = appell.rollout(arm, target="cuda", **how)
    assert found.tangent["rms_error"].dtype == dtype
    same(found, appell.rollout(arm, **how), ["tangent"])


def test_directions_of_torques_may_be_on_the_gpu(arm):
    draw = np.random.default_rng(0)
    tau, way = draw.normal(size=(3, 2)), draw.normal(size=(2, 3, 2))
    how = {"q0": Q, "v0": np.zeros((2, 2)), "steps": 3, "tau": tau}
    ours = appell.rollout(arm, tangent={"tau": way, "q0": [1.0, 0.0]}, **how)
    card = {"tau": there(way), "q0": there(np.array([1.0, 0.0]))}
    found = appell.rollout(arm, tangent=card, target="cuda", **how)
    assert isinstance(found.tangent["q"], DeviceArray)
    np.testing.assert_array_equal(found.tangent["q"].get(), ours.tangent["q"])
    np.testing.assert_array_equal(found.tangent["v"].get(), ours.tangent["v"])


def test_directions_and_weights_of_other_runs_are_refused(arm):
    how = {"q0": np.tile(Q, (2, 1)), "steps": 1}
    for target in ("cpu", "cuda"):
        with pytest.raises(InputError, match="tangent: q0 is for 3 runs; expected one for all, or"):
            appell.rollout(arm, tangent={"q0": np.ones((3, 2))}, target=target, **how)
    with pytest.raises(InputError, match="gradient: q is for 3 runs; expected one for all, or 2"):
        appell.rollout(arm, gradient={"q": np.ones((3, 2))}, **how)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_gradient_has_the_processors_bits(arm, closed_loop, dtype):
    """Also of a run that blows up, and its neighbours do not notice."""
    how = {**closed_loop, "dtype": dtype, "gradient": {"rms_error": 1.0, "effort": 1e-3}}
    found = appell.rollout(arm, target="cuda", **how)
    assert set(found.gradient) >= {"q0", "kp", "payload.mass", "viscous", "torque_limit"}
    assert found.gradient["kp"].dtype == dtype
    assert np.isfinite(found.gradient["kp"][:2]).all()
    same(found, appell.rollout(arm, **how), ["gradient"])


def test_every_step_and_loops(arm):
    """Gradients with respect to torques of every step, of each run or the same in all; and those of
    a robot with loops."""
    tau = np.random.default_rng(1).normal(size=(2, 3, 2))
    for torques in (tau, tau[0]):
        how = {"q0": Q, "v0": np.zeros((2, 2)), "steps": 3, "tau": torques, "gradient": "q"}
        found = appell.rollout(arm, target="cuda", **how)
        assert found.gradient["tau"].shape == (2, 3, 2)
        same(found, appell.rollout(arm, **how), ["gradient"])
    five = appell.load("five_bar")
    how = {"q0": five.neutral(), "v0": [[0.1, 0.2], [0, 0]], "steps": 2, "gradient": "v"}
    same(appell.rollout(five, target="cuda", **how), appell.rollout(five, **how), ["gradient"])


def test_little_memory_gives_the_same_bits(arm, gpu, monkeypatch):
    """A block of threads takes one run after another, in segments between checkpoints."""
    q = np.random.default_rng(2).uniform(-1, 1, (300, 2))
    how = {"q0": q, "steps": 5, "gradient": "q", "by": "q0"}
    ours = appell.rollout(arm, **how)
    gpu.free = 1
    found = appell.rollout(arm, target="cuda", **how)
    assert gpu.launches[-1][0] == (1, 1)
    same(found, ours, ["gradient"])
    gpu.free = 2**30
    monkeypatch.setattr(gpu_gradient, "segments", lambda *x, **y: whole(*x))
    same(appell.rollout(arm, target="cuda", **how), ours, ["gradient"])
    assert gpu.launches[-1][0] == (3, 1)
    assert gpu.allocated() == 0


def whole(steps, widths, values, slot):
    """All steps as one segment."""
    first, each, last = widths
    return steps, (first + last + steps * each + values) * slot


def test_gradients_of_arrays_on_the_gpu_are_there(arm):
    q, weight = np.random.default_rng(3).uniform(-1, 1, (2, 3, 2))
    how = {"steps": 2, "by": "q0"}
    ours = appell.rollout(arm, q0=q, gradient={"q": weight, "v": 0.5}, **how).gradient["q0"]
    weights = {"q": there(weight), "v": there(np.array(0.5))}
    found = appell.rollout(arm, q0=there(q), gradient=weights, target="cuda", **how)
    assert isinstance(found.gradient["q0"], DeviceArray)
    assert isinstance(found.q, DeviceArray)
    np.testing.assert_array_equal(found.gradient["q0"].get(), ours)


def test_a_full_gpu_is_told(arm, gpu):
    gpu.fail["cuMemAlloc_v2"] = 2
    with pytest.raises(GpuError, match=r"rollout.*memory is full; give fewer"):
        appell.rollout(arm, steps=1, target="cuda", gradient="q")


def test_the_kernel_is_kept(arm, monkeypatch):
    how = {"q0": Q, "steps": 1, "target": "cuda", "gradient": "q", "by": "v0"}
    appell.rollout(arm, **how)
    monkeypatch.setattr("appell.compile.emit.sweep_ptx.emit_sweep_ptx", None)
    appell.rollout(appell.load("two_link"), **how)


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="there is no assembler of NVIDIA's")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_assembler_takes_it(tmp_path, monkeypatch, dtype):
    """The PUMA's gradient: few of its values wait in memory besides the frame."""
    monkeypatch.setattr(FakeLibrary, "_cuLaunchKernel", lambda *arguments: None)
    puma = appell.load("puma560")
    law, move = ComputedTorque(puma), quintic(np.zeros(6), np.ones(6), 1.0)
    how = {"reduce": "rms_error", "gradient": "rms_error", "by": "q0", "target": "cuda"}
    appell.rollout(puma, law, move, steps=1, dtype=dtype, **how)
    (kernel,) = (x for key, x in puma._kernels.items() if key[0] == "rollout")
    path = tmp_path / "gradient.ptx"
    path.write_bytes(kernel.ptx)
    made = subprocess.run(
        ["ptxas", "-v", "-arch=sm_90", str(path), "-o", str(tmp_path / "out")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert max(map(int, re.findall(r"(\d+) bytes spill stores", made.stderr))) < 500
