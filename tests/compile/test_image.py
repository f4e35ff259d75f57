"""Ways into the process: an image, LLVM's loader, and without the short way for one state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import appell
from appell.compile import kernel, native
from appell.compile.image import image, load_image

pytestmark = pytest.mark.usefixtures("nothing_kept")

STATE = np.linspace(-1, 1, 18).reshape(3, 6)


@pytest.fixture(scope="module")
def expected():
    return appell.load("puma560").inverse_dynamics(*STATE)


def test_llvm_loads_code_that_is_no_image(monkeypatch, expected):
    monkeypatch.setattr(native, "image", lambda *_: None)
    robot = appell.load("puma560")
    np.testing.assert_array_equal(robot.inverse_dynamics(*STATE), expected)
    np.testing.assert_array_equal(robot.inverse_dynamics(*STATE[:, None])[0], expected)


def test_one_state_goes_through_numpy_where_objects_are_laid_out_otherwise(monkeypatch, expected):
    monkeypatch.setattr(kernel, "available", lambda: False)
    robot = appell.load("puma560")
    np.testing.assert_array_equal(robot.inverse_dynamics(*STATE), expected)


@pytest.mark.parametrize("obj", [b"", b"garbage", b"\x7fELF\x01\x01" + bytes(60)])
def test_what_is_no_object_file_of_this_kind_has_no_image(obj):
    assert image(obj, ("loop",)) is None


def test_code_in_memory_cannot_be_written():
    """Memory that can be executed is not writable: each is asked for apart."""
    address, _memory = load_image(b"\xc3" * 64, {})
    lines = Path("/proc/self/maps").read_text().splitlines()
    (mine,) = (
        line
        for line in lines
        if int(line.split("-")[0], 16) <= address < int(line.split("-")[1].split()[0], 16)
    )
    assert mine.split()[1].startswith("r-x")
