"""Code for the processor at hand, or as for another one that $APPELL_SIMD names."""

from __future__ import annotations

import platform

import llvmlite.binding as llvm
import numpy as np
import pytest

import appell
from appell.compile import native

REGISTERS = {"sse2": 16, "avx2": 32, "avx512": 64}  # bytes


def possible(level: str) -> bool:
    own = llvm.get_host_cpu_features()
    return platform.machine().lower() in ("x86_64", "amd64") and all(
        own.get(name) for name in native._LEVELS[level][1]
    )


@pytest.fixture
def asked(monkeypatch):
    """Ask for a level, for this test."""

    def ask(level: str) -> None:
        monkeypatch.setenv("APPELL_SIMD", level)
        native._host.cache_clear()
        native.machine.cache_clear()

    yield ask
    monkeypatch.undo()
    native._host.cache_clear()
    native.machine.cache_clear()


def test_each_level_has_its_lanes_its_code_and_its_place_in_the_cache(asked):
    q, v, a = np.random.default_rng(1).uniform(-2, 2, (3, 37, 6))
    model = appell.load("puma560").model
    asked("")
    expected = appell.Robot(model).inverse_dynamics(q, v, a)
    identities = {native.machine()}
    levels = [level for level in REGISTERS if possible(level)]
    for level in levels:
        asked(level)
        assert native.lanes("float64") == max(4, REGISTERS[level] // 8)
        assert native.lanes("float32") == REGISTERS[level] // 4
        robot = appell.Robot(model)
        # Of sums of a few hundred terms of 100 N m at most, fused or not.
        assert np.abs(robot.inverse_dynamics(q, v, a) - expected).max() < 1e-11
        identities.add(native.machine())
    assert len(identities) == 1 + len(levels)


def test_levels_that_are_unknown_or_not_there_are_refused(asked, monkeypatch):
    asked("mmx")
    with pytest.raises(appell.InputError, match="APPELL_SIMD = 'mmx'; expected sse2, avx2, avx512"):
        native.machine()
    monkeypatch.setitem(native._LEVELS, "avx512", ("x86-64-v4", ("avx512f", "avx4096")))
    asked("avx512")
    with pytest.raises(appell.InputError, match=r"this processor .* lacks .*avx4096; unset it"):
        native.lanes("float64")
