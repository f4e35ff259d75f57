"""docs/capabilities.md: what it calls natural or awkward runs as it is written there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import appell
from appell.compile.gpu import driver
from tests.docs.stand_ins import gpu_and_torch

PAGE = Path(__file__).parents[2] / "docs" / "capabilities.md"
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (natural|awkward|no) \| ?(.*?) ?\|$", re.MULTILINE)
ROWS = {int(n): (what, verdict, how) for n, what, verdict, how in ROW.findall(PAGE.read_text())}
CODE = re.compile(r"`([^`]+)`")
SHOWN = [n for n, (_, verdict, how) in ROWS.items() if verdict != "no" and "`" in how]

URDF = """<robot name="rod"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 0.3"/>
<mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="pin" type="continuous"><parent link="base"/><child link="rod"/>
<axis xyz="0 1 0"/></joint>
{more}</robot>"""
FOLLOWER = """<link name="end"><inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0"
iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="elbow" type="continuous"><parent link="rod"/>
<child link="end"/><axis xyz="0 1 0"/><mimic joint="pin" multiplier="-1"/></joint>"""


def arm() -> appell.Robot:
    """Of three joints."""
    build = appell.Builder("arm")
    for name, length in (("column", 0.4), ("upper", 0.5), ("forearm", 0.4)):
        build.link(name, appell.inertia.box(2, (0.1, 0.1, length), com=(0, 0, length / 2)))
    build.joint("waist", "revolute", "world", "column", axis="z", limits=(-3, 3))
    build.joint("shoulder", "revolute", "column", "upper", pose=(0, 0, 0.4), axis="y")
    build.joint("elbow", "revolute", "upper", "forearm", pose=(0, 0, 0.5), axis="y")
    return build.robot().with_frame("hand", "forearm", (0, 0, 0.4))


def biped() -> appell.Robot:
    """A free body on two legs of one joint each."""
    build = appell.Builder("biped", base="free")
    build.link("trunk", appell.inertia.box(5, (0.3, 0.4, 0.2)))
    for side, y in (("left", 0.15), ("right", -0.15)):
        build.link(side, appell.inertia.box(1, (0.05, 0.05, 0.4), com=(0, 0, -0.2)))
        build.joint(f"{side}_hip", "revolute", "trunk", side, pose=(0, y, -0.1), axis="y")
    return build.robot()


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the code on the page finds."""
    import casadi
    import jax
    import sympy

    jax.config.update("jax_enable_x64", True)
    from appell.robots.closed import Loop, Place

    robot, legged = arm(), biped()
    ql = legged.neutral()
    return {
        "Loop": Loop, "Place": Place, "np": np, "appell": appell, "control": appell.control,
        "casadi": casadi, "sympy": sympy, "jax": jax, "jnp": jax.numpy,
        "robot": robot, "legged": legged, "loop": appell.load("four_bar"),
        "q": np.array([0.3, 0.5, -0.7]), "v": np.array([0.1, -0.2, 0.3]),
        "a": np.array([0.4, 0.1, -0.2]), "tau": np.array([0.5, 1.0, -0.5]),
        "ql": ql, "vl": 0.1 * np.ones(legged.nv), "al": 0.2 * np.ones(legged.nv),
        "text": URDF.format(more=""), "mimicking": URDF.format(more=FOLLOWER),
        "folder": str(tmp_path_factory.mktemp("page")),
    }  # fmt: skip


def test_all_rows_are_there_and_most_are_natural():
    assert [*ROWS] == list(range(1, 131))
    assert sum(verdict == "natural" for _, verdict, _ in ROWS.values()) >= 105
    for row, what in {33: "viewers", 115: "rollouts of many robots", 119: "GPU"}.items():
        assert ROWS[row][:2] == (what, "natural")


@pytest.mark.filterwarnings("ignore::appell.UrdfWarning")
@pytest.mark.parametrize("row", SHOWN)
def test_it_runs(row, names, monkeypatch):
    code = CODE.findall(ROWS[row][2])[0]
    if '"cuda"' in code:
        gpu_and_torch(monkeypatch)
    numbers = eval(code, dict(names))
    driver.driver.cache_clear()
    for x in numbers if isinstance(numbers, tuple) else (numbers,):
        if isinstance(x, np.ndarray):
            assert np.isfinite(x).all()


def test_names_beside_those_of_other_libraries_are_there():
    """The right columns of docs/coming_from.md."""
    text = (PAGE.parent / "coming_from.md").read_text()
    right = [line.split("|")[2] for line in text.splitlines() if line.startswith("|")]
    named = {re.match(r"[\w.]*", code)[0] for cell in right for code in CODE.findall(cell)}
    options = {"viscous", "coulomb", "coulomb_backwards", "actuated", "passive", "run.resume"}
    options |= {"forces", "friction"}
    for name in named - options:
        last = name.split(".")[-1]
        assert any(hasattr(x, last) for x in (appell, appell.Robot, appell.control)), name
