"""PTX without a GPU: the kernels are interpreted, and give the bits of the processor's."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

import appell
from appell.compile.emit import ptx
from appell.compile.fuse import fused
from appell.compile.gpu import driver
from appell.compile.make import kernel_of
from appell.compile.native import fuses
from appell.maths import scalar
from tests.compile.fake_gpu import FakeLibrary
from tests.compile.ptx_interpreter import Memory, Run

pytestmark = pytest.mark.skipif(not fuses(), reason="only fused steps have the GPU's rounding")


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """The library of a driver whose kernels are interpreted."""
    yield FakeLibrary.installed(monkeypatch)
    driver.driver.cache_clear()


def same(kernel, on_gpu, states):
    ours, theirs = on_gpu(*states), kernel(*states)
    for x, y in zip(_many(ours), _many(theirs), strict=True):
        np.testing.assert_array_equal(x, y)


def _many(results):
    return results if isinstance(results, tuple) else (results,)


def _states(kernel, dtype, n=3):
    rng = np.random.default_rng(4)
    return [rng.uniform(-3, 3, (n, *shape)).astype(dtype) for shape in kernel.inputs.values()]


QUANTITIES = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy", "poses"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_the_gpu_gives_the_processors_bits(quantity, dtype):
    robot = appell.load("puma560")
    kernel = robot.kernel(quantity, dtype=dtype)
    states = _states(kernel, dtype, n=41)  # one warp, and a part of another
    states[0][7, 1], states[0][8, 2] = 1e12, -3e9  # far angles
    same(kernel, robot.kernel(quantity, dtype=dtype, target="cuda"), states)


def test_nan_reaches_the_results_as_on_the_processor():
    robot = appell.load("puma560")
    q, v, a = np.random.default_rng(1).uniform(-1, 1, (3, 6, 6))
    q[0, 0], q[1, 3], v[2, 2], a[3, 5] = np.nan, np.inf, np.nan, np.inf  # q[0] is not read
    ours = robot.kernel("inverse_dynamics", target="cuda")(q, v, a)
    np.testing.assert_array_equal(ours, robot.inverse_dynamics(q, v, a))
    assert np.isnan(ours[:3]).any(axis=1).all()


def test_a_free_base_and_balls():
    robot = appell.load("free_chain", n=2)
    q = np.array([robot.random(np.random.default_rng(k)) for k in range(5)])
    v, a = np.random.default_rng(3).uniform(-1, 1, (2, 5, robot.nv))
    same(robot.inverse_dynamics, robot.kernel("inverse_dynamics", target="cuda"), (q, v, a))


def test_a_closed_robot():
    robot = appell.load("five_bar")
    kernel = robot.kernel("inverse_dynamics")
    same(kernel, robot.kernel("inverse_dynamics", target="cuda"), _states(kernel, "float64"))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_elementary_functions(dtype):
    """All operations that tapes have, the rare branches of their routines included."""

    def equation(x, y):
        (a, b), (c,) = x, y
        return [
            scalar.sin(a), scalar.cos(b), scalar.atan2(a, b), np.exp(a), np.log(abs(b)),
            scalar.sqrt(abs(a)), scalar.sign(b), np.tanh(a), 1 / c, abs(c), a**b,
        ]  # fmt: skip

    kernels = [
        kernel_of("all", equation, {"x": (2,), "y": (1,)}, {"z": (11,)}, dtype=dtype, target=target)
        for target in ("cpu", "cuda")
    ]
    special = [0.0, -0.0, 1.0, -1.0, 1e-300, 1e30, -1e9, np.inf, -np.inf, np.nan, 3.0, -2.5]
    with np.errstate(over="ignore", under="ignore"):
        x = np.array(np.meshgrid(special, special)).reshape(2, -1).T.astype(dtype)
    y = x[:, :1] + np.asarray(1.5, dtype)
    same(*kernels, (x, y))


def test_a_law_with_its_gains_as_inputs():
    robot = appell.load("puma560")
    law = appell.control.ComputedTorque(robot, kp=100, kd=20)
    kernel, on_gpu = law.kernel(gains=True), law.kernel(gains=True, target="cuda")
    states = _states(kernel, "float64")[:5]
    np.testing.assert_array_equal(on_gpu(*states), kernel(*states))
    np.testing.assert_array_equal(
        on_gpu(*states, kp=np.full(6, 9.0)), kernel(*states, kp=np.full(6, 9.0))
    )


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "mass_matrix"])
def test_a_tape_that_is_cut_into_functions(monkeypatch, quantity):
    """Values wait in local memory, results are written in several parts, inputs are not staged."""
    monkeypatch.setattr(ptx, "LENGTH", 60)
    monkeypatch.setattr(ptx, "ROOM", 0)
    monkeypatch.setattr(ptx, "MOST", 8)
    monkeypatch.setattr("appell.compile.plan.WINDOWS", 3)
    robot = appell.load("random_tree", n=5, seed=1)
    kernel = robot.kernel(quantity)
    same(kernel, robot.kernel(quantity, target="cuda"), _states(kernel, "float64", n=34))


def test_ptx_rounds_every_step_by_itself():
    """Only instructions with .rn, which the driver's assembler may not fuse or replace; nothing is
    flushed to zero, and no approximation is used."""
    robot = appell.load("panda")
    for dtype in ("float64", "float32"):
        for quantity in ("inverse_dynamics", "forward_dynamics"):
            tape = fused(robot.kernel(quantity).tape())
            text = ptx.emit_ptx(tape, dtype)
            found = set(
                re.findall(r"\b((?:add|sub|mul|fma|div|sqrt|rcp|mad)\.[\w.]*f(?:32|64))\b", text)
            )
            assert found
            assert all(re.fullmatch(r"\w+\.rn\.f(32|64)", x) for x in found), found
            assert "approx" not in text
            assert "ftz" not in text
            steps = tape.counts["fma"] + tape.counts["fms"] + tape.counts["fnma"]
            assert text.count("fma.rn.") >= steps


def test_the_interpreter_refuses_what_it_does_not_know():
    text = (
        ".visible .entry k()\n{\nadd.f64 %rd1, 0d0000000000000000, 0d0000000000000000;\nret;\n}\n"
    )
    with pytest.raises(NotImplementedError, match=re.escape("add.f64")):
        Run(text, Memory(), (1, 1), 32).start("k", [])


@pytest.mark.usefixtures("nothing_kept")
def test_a_wrong_instruction_is_seen(monkeypatch):
    """Additions that are subtractions: the interpreted kernel differs."""
    emitted = ptx.emit_ptx
    monkeypatch.setattr(ptx, "emit_ptx", lambda *x: emitted(*x).replace("add.rn.f64", "sub.rn.f64"))
    robot = appell.load("puma560")
    q, v, a = np.random.default_rng(1).uniform(-1, 1, (3, 4, 6))
    ours = robot.kernel("inverse_dynamics", target="cuda")(q, v, a)
    assert not np.array_equal(ours, robot.inverse_dynamics(q, v, a))


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="NVIDIA's assembler is not at hand")
@pytest.mark.parametrize("robot", ["puma560", "panda", "five_bar"])
def test_ptxas_takes_it(robot, tmp_path):
    kernel = appell.load(robot).kernel("forward_dynamics", target="cuda")
    path = tmp_path / "kernel.ptx"
    path.write_bytes(kernel.ptx)
    command = ["ptxas", "-arch=sm_90", "-v", str(path), "-o", str(tmp_path / "kernel.cubin")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert max(map(int, re.findall(r"(\d+) bytes spill stores", said))) == 0
