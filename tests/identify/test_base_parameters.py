"""Base parameters: known counts, two ways that agree, and sums that say the same."""

from __future__ import annotations

import importlib.metadata
import re
from dataclasses import replace

import numpy as np
import pytest

import appell
from appell.identify import base_parameters, random_states
from appell.model.build import assemble
from appell.model.hinges import Mimic
from appell.model.inertia import Inertia
from appell.model.library.random import random_description, random_tree
from appell.robots.robot import Robot


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


# One rule, and the count is not called clear where it is not


def mimicking(seed: int, tilt: float = 0.0) -> Robot:
    """A chain of parallel joints, the third of which mimics the first, with tilted axes."""
    draw = np.random.default_rng(seed)
    links, hinges = random_description(
        5, seed, branching=0.3, prismatic=0.3, fixed=0.2, rotors=False, friction=False
    )
    moving = [h.name for h in hinges if h.joint]
    for i, h in enumerate(hinges):
        axis = np.array([0.0, 0.0, 1.0]) + tilt * draw.normal(size=3)
        changes = {"rotation": np.eye(3), "axis": axis} if tilt else {}
        if len(moving) > 2 and h.name == moving[2]:
            changes["mimic"] = Mimic(moving[0], float(draw.normal()), 0.3)
        hinges[i] = replace(h, **changes)
    return Robot(assemble("mimicking", links, hinges))


def own_rank(robot: Robot) -> tuple[int, float]:
    """From eight times the states, by the singular values of unit columns; and the ratio of those
    that stand beside 1e-9."""
    Y = robot.regressor(*random_states(robot, 600, 99)).reshape(-1, len(robot.parameters))
    size = np.linalg.norm(Y, axis=0)
    unit = Y[:, size > 1e-9 * size.max()] / size[size > 1e-9 * size.max()]
    s = np.linalg.svd(unit, compute_uv=False)
    count = int((s > 1e-9 * s[0]).sum())
    return count, s[count - 1] / max(s[count] if count < len(s) else 0.0, 1e-15 * s[0])


TILTS = (0.0, 1e-12, 1e-9, 1e-8, 1e-5)


def test_counts_are_ranks_and_say_where_they_are_not_clear():
    clear = 0
    for seed in range(12):
        for tilt in (TILTS[seed % 5], TILTS[(seed + 2) % 5]):  # each tilt with every other robot
            robot = mimicking(seed, tilt)
            base = base_parameters(robot)
            assert base.count == base.numerical.count == len(base.columns) == len(base.names)
            assert base.matrix.shape[0] == base.count
            assert ("not clear" in str(base)) == (not base.numerical.clear)
            clear += base.numerical.clear
            if base.numerical.clear:
                assert base.count == own_rank(robot)[0], (seed, tilt)
            # The columns that lead explain the others, but for what is taken for zero.
            Y = robot.regressor(*random_states(robot, 20, 7))
            there = Y[..., base.columns] @ (base.matrix @ robot.parameters)
            tau = Y @ robot.parameters
            assert np.abs(there - tau).max() < 1e-6 * np.abs(tau).max()
    assert 8 <= clear < 24


@pytest.mark.parametrize("k", [1e-6, 1e4])
def test_a_small_or_large_robot_has_the_base_parameters_of_one_alike(k):
    """Masses are compared with masses times lengths squared: no column is idle for its unit."""
    links, hinges = random_description(
        5, 3, branching=0.3, prismatic=0.3, fixed=0.2, rotors=False, friction=False
    )
    usual = base_parameters(Robot(assemble("usual", links, hinges)))
    powers = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    other = {
        name: Inertia.from_parameters(tuple(np.array(x.parameters, dtype=float) * k**powers))
        for name, x in links.items()
    }
    moved = [replace(h, position=k * h.position) for h in hinges]
    base = base_parameters(Robot(assemble("other", other, moved)))
    assert base.agree
    assert base.numerical.clear
    assert (base.count, base.columns) == (usual.count, usual.columns)
    units = np.tile(k**powers, len(usual.matrix[0]) // 10).astype(float)
    scaled = base.matrix * units / units[list(base.columns)][:, None]
    np.testing.assert_allclose(scaled, usual.matrix, rtol=0, atol=1e-8)
