"""Base parameters: known counts, two ways that agree, and sums that say the same."""

from __future__ import annotations

import importlib.metadata
import re

import numpy as np
import pytest

import appell
from appell.identify import base_parameters, random_states
from appell.model.library.random import random_tree
from appell.robot import Robot


def khalil_dombre(revolute: int, prismatic: int, vertical: bool) -> int:
    """The bound 7 n_r + 4 n_p - 3 - sigma_1 - 2 n_g0 of Gautier and Khalil 1990, that general
    serial robots reach whose first joint is revolute (sigma_1 = 1) and, or not, vertical."""
    return 7 * revolute + 4 * prismatic - 3 - 1 - 2 * vertical


def check(robot, base, seed=7):
    """The sums give the torques of any parameters, and fewer do not."""
    states = random_states(robot, 30, seed)
    Y = robot.regressor(*states, friction=base.friction, rotors=base.rotors)
    p = np.random.default_rng(seed).normal(size=Y.shape[-1])
    tau = Y @ p
    assert (
        np.abs(Y[..., list(base.columns)] @ (base.matrix @ p) - tau).max()
        < 1e-9 * np.abs(tau).max()
    )
    assert np.array_equal(base.matrix[:, list(base.columns)], np.eye(base.count))
    s = np.linalg.svd(Y[..., list(base.columns)].reshape(-1, base.count), compute_uv=False)
    assert s[-1] > 1e-7 * s[0]


def test_the_puma_has_the_36_base_parameters_of_the_literature():
    puma = appell.load("puma560")
    base = base_parameters(puma)
    assert base.count == base.structural == base.numerical.count == khalil_dombre(6, 0, True) == 36
    assert base.agree
    assert base.numerical.gap > 1e10
    check(puma, base)
    # Khalil and Dombre 2002, table 9.3: these act on nothing, and mass moves inwards.
    assert set(base.idle) == {
        *("m1", "mx1", "my1", "mz1", "Ixx1", "Ixy1", "Iyy1", "Ixz1", "Iyz1", "m2", "mz2")
    }
    text = dict(zip(base.names, base.grouping, strict=True))
    assert text["mx2"] == "mx2 + 0.432 m3 + 0.432 m4 + 0.432 m5 + 0.432 m6"
    assert text["Ixx6"] == "Ixx6 - Iyy6"
    assert "36 base parameters of 60" in str(base)


def test_of_the_pumas_36_the_data_of_table_7_leave_16_that_are_not_zero():
    puma = appell.load("puma560")
    base = base_parameters(puma)
    assert int((np.abs(base.matrix @ puma.parameters) > 1e-12).sum()) == 16


def test_the_stanford_arm_reaches_the_bound_with_a_prismatic_joint():
    arm = appell.load("stanford_arm")
    base = base_parameters(arm)
    assert base.count == base.structural == khalil_dombre(5, 1, True) == 33


@pytest.mark.parametrize(
    ("file", "joints", "count"),
    [
        ("ur_description/urdf/ur5_robot.urdf", 6, 36),
        ("panda_description/urdf/panda.urdf", 7, 43),  # Gaz et al. 2019
    ],
)
def test_real_arms_have_the_published_numbers(file, joints, count, tmp_path):
    files = importlib.metadata.files("example-robot-data") or ()
    (path,) = (f for f in files if f.as_posix().endswith(f"robots/{file}"))
    text = path.read_text()
    text = re.sub(r"<mimic[^>]*/>", "", text.replace('type="prismatic"', 'type="fixed"'))
    (tmp_path / "arm.urdf").write_text(text)  # the fingers of the hand are held
    arm = appell.load(str(tmp_path / "arm.urdf"))
    assert arm.nv == joints
    base = base_parameters(arm)
    assert base.count == base.structural == khalil_dombre(joints, 0, True) == count


@pytest.mark.parametrize("seed", range(8))
def test_rules_and_rank_agree_on_random_trees(seed):
    robot = Robot(
        random_tree(
            2 + seed % 3, seed, branching=0.4, prismatic=0.4, fixed=0.3, rotors=seed % 2 == 0
        )
    )
    if seed % 4 == 1:
        robot = robot.with_gravity((0, 0, 0))
    base = base_parameters(robot, friction=True, rotors=seed % 3 == 0)
    assert base.structural == base.numerical.count == base.count
    check(robot, base)


def test_parallel_axes_and_gravity_count():
    """A planar chain's joints feel only what happens in its plane."""
    flat = appell.load("two_link")
    assert base_parameters(flat).count == base_parameters(flat).structural == 6
    weightless = base_parameters(flat.with_gravity((0, 0, 0)))
    assert weightless.count == weightless.structural == 4  # Izz1 + l^2 m2, mx2, my2, Izz2


def test_free_bases_and_closed_robots_have_base_parameters_too():
    free = Robot(random_tree(3, 1, branching=0, prismatic=0, fixed=0, rotors=False, base="free"))
    base = base_parameters(free)
    assert base.count == base.structural
    check(free, base)
    loop = appell.load("four_bar")
    base = base_parameters(loop)
    assert base.structural is None
    assert 0 < base.count < len(loop.parameters)
    check(loop, base)


def test_bad_options_are_refused():
    with pytest.raises(appell.InputError, match="samples=0"):
        base_parameters(appell.load("two_link"), samples=0)
