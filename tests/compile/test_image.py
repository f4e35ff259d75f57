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


OLD_PROCESSOR = """
import os, platform
if platform.machine().lower() in ("x86_64", "amd64"):
    os.environ["APPELL_SIMD"] = "sse2"  # no instruction that multiplies and adds
import numpy as np
import appell
from appell.compile import kernel, native

def load(entries, code):
    assert entries is not None or os.name != "posix" or platform.machine() != "x86_64"
    assert "fma" in (entries or ()) or native.fuses()
    return native.load(entries, code)

kernel.load = load
print(*appell.load("puma560").inverse_dynamics(*np.linspace(-1, 1, 18).reshape(3, 6)))
"""


def test_code_that_calls_the_c_library_is_an_image_too(fresh, expected):
    # Products and sums are rounded apart there.
    np.testing.assert_allclose(fresh(OLD_PROCESSOR), expected, rtol=1e-12)


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
