"""Derivatives of rollouts on a GPU, without one: their PTX is interpreted, and gives the
processor's bits."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.compile.gpu import driver
from appell.compile.gpu.device_arrays import DeviceArray
from appell.compile.native import fuses
from appell.control import ComputedTorque, Payload, quintic
from appell.errors import InputError
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
