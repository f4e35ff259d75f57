"""Configurations of every kind of robot: what one function does, another undoes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import appell
from appell.model import configuration
from appell.model.limits import limits

TREES = ["puma560", "stanford_arm", "two_link", "free_chain"]
HOLONOMIC = ["four_bar", "five_bar", "planar_3rrr", "delta", "stewart_gough"]
FREE = appell.load("free_chain")


def same(robot, q, expected, bound):
    """Equal coordinates, up to the sign of a free base's quaternion."""
    if getattr(robot.model, "free", False):
        q = q.copy()
        q[..., 3:7] *= np.sign((q[..., 3:7] * expected[..., 3:7]).sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(q, expected, rtol=0, atol=bound)


@pytest.mark.parametrize("name", [*TREES, *HOLONOMIC, "agile_wrist"])
def test_displacements_lead_there_and_back(name):
    robot = appell.load(name)
    closed = name in HOLONOMIC
    q1, q2 = robot.random(1, (2, 4))
    dv = robot.difference(q1, q2)
    assert dv.shape == (4, robot.nv)
    # Of loops, what an assembly may leave open.
    bound = 1e-9 if closed else 1e-13
    same(robot, robot.integrate(q1, dv), q2, bound)
    np.testing.assert_allclose(robot.difference(q2, q2), 0, atol=1e-15)
    np.testing.assert_allclose(robot.distance(q1, q2), np.linalg.norm(dv, axis=-1))
    np.testing.assert_allclose(robot.distance(q2, q1), robot.distance(q1, q2), rtol=1e-7)
    same(robot, robot.interpolate(q1, q2, 0.0), q1, bound)
    same(robot, robot.interpolate(q1, q2, 1.0), q2, bound)
    half = robot.interpolate(q1, q2, 0.5)
    np.testing.assert_allclose(robot.difference(q1, half), dv / 2, atol=1e-9)
    same(robot, robot.normalise(q1), q1, 1e-12)
    same(robot, robot.normalise(robot.neutral()), robot.neutral(), 1e-12)


@pytest.mark.parametrize("name", HOLONOMIC)
def test_loops_stay_closed_and_the_independent_joints_move_as_told(name):
    robot = appell.load(name)
    q = robot.random(3)
    dv = np.random.default_rng(4).uniform(-0.05, 0.05, (3, robot.nv))
    there = robot.integrate(q, dv)
    assert np.abs(robot.closure(there)).max() < 1e-10
    np.testing.assert_allclose(robot.difference(q, there), dv, atol=1e-12)
    h = 1e-5
    rate = configuration.difference(
        robot.model, robot.integrate(q, -h * dv), robot.integrate(q, h * dv)
    )
    np.testing.assert_allclose(rate / (2 * h), robot.speeds(q, dv), atol=1e-8)


def test_where_loops_cannot_close_is_refused():
    robot = appell.load("planar_3rrr")
    with pytest.raises(appell.InputError, match=r"cannot move x, y, turn by \[3.0, 0.0, 0.0\]"):
        robot.integrate(robot.neutral(), [3.0, 0.0, 0.0])


def test_wheels_move_but_have_no_difference():
    robot = appell.load("differential_drive")
    q = robot.neutral()
    dv = np.full(robot.nv, 0.3)
    there = robot.integrate(q, dv)
    assert np.abs(there - q).max() > 0.1
    with pytest.raises(appell.InputError, match="depends on the path"):
        robot.difference(q, there)
    with pytest.raises(appell.InputError, match="depends on the path"):
        robot.interpolate(q, there, 0.5)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(-10, 10), min_size=6, max_size=6),
    st.floats(1e-200, 1e200),
    st.integers(0, 2**32 - 1),
)
def test_a_free_base_comes_where_its_displacement_leads(twist, length, seed):
    """Whatever the quaternion's length; turns of more than half a turn come the shorter way."""
    q = FREE.random(seed)
    dv = np.concatenate([twist, np.zeros(FREE.nv - 6)])
    there = FREE.integrate(q, dv)
    assert np.linalg.norm(there[3:7]) == pytest.approx(1, abs=1e-15)
    long = np.concatenate([q[:3], length * q[3:7], q[7:]])
    same(FREE, FREE.integrate(long, dv), there, 1e-13)
    back = FREE.difference(long, there)
    assert np.linalg.norm(back[3:6]) <= np.pi + 1e-12
    same(FREE, FREE.integrate(q, back), there, 1e-12)
    # A screw about one axis: half of it twice is all of it.
    same(FREE, FREE.integrate(FREE.integrate(q, dv / 2), dv / 2), there, 1e-12)


def test_quaternions_go_the_shorter_way_at_constant_speed():
    q1, q2 = FREE.random(0), FREE.random(1)
    path = FREE.interpolate(q1, q2, np.linspace(0, 1, 11))
    other = FREE.interpolate(q1, np.concatenate([q2[:3], -q2[3:7], q2[7:]]), np.linspace(0, 1, 11))
    np.testing.assert_allclose(path, other, atol=1e-14)
    cosines = np.abs((path[1:, 3:7] * path[:-1, 3:7]).sum(axis=-1))
    np.testing.assert_allclose(cosines, cosines[0], rtol=1e-14)
    total = np.arccos(abs(q1[3:7] @ q2[3:7]))
    assert 10 * np.arccos(cosines[0]) == pytest.approx(total, rel=1e-10)


def test_random_orientations_are_uniform():
    """Means and covariance of the axes of rotations drawn uniformly: 0, and 1/3 of each square."""
    q = FREE.random(0, 40_000)
    x, y, z, w = q[:, 3:7].T
    R = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)])
    assert np.abs(R.mean(axis=1)).max() < 0.02  # 7 standard deviations
    assert np.abs(R @ R.T / len(q) - np.eye(3) / 3).max() < 0.02


FOLLOWERS = """<robot name="followers"><link name="base"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
  iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
  iyz="0"/></inertial></link>
  <joint name="leads" type="revolute"><parent link="base"/><child link="a"/>
  <limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
  <joint name="follows" type="revolute"><parent link="a"/><child link="b"/>
  <limit lower="{}" upper="0.5" effort="1" velocity="1"/>
  <mimic joint="leads" multiplier="-2" offset="0.1"/></joint></robot>"""


def test_random_keeps_to_the_limits_of_joints_that_follow(tmp_path):
    path = tmp_path / "followers.urdf"
    path.write_text(FOLLOWERS.format(-0.3))
    robot = appell.load(path)
    q = robot.random(0, 1000)
    assert max(limit.beyond(q).max() for limit in limits(robot.model)) <= 0
    # -0.3 <= 0.1 - 2 q <= 0.5, which is narrower than the leader's own.
    assert q.min() == pytest.approx(-0.2, abs=0.01)
    assert q.max() == pytest.approx(0.2, abs=0.01)
    path.write_text(FOLLOWERS.format(0.3).replace('lower="-1"', 'lower="0.5"'))
    with pytest.raises(appell.ModelError, match="leaves no position"):
        appell.load(path).random(0)


def test_random_draws_one_or_many_from_a_seed_or_a_generator():
    robot = appell.load("puma560")
    assert robot.random().shape == (6,)
    assert robot.random(0, 0).shape == (0, 6)
    assert robot.random(0, (2, 3)).shape == (2, 3, 6)
    generator = np.random.default_rng(7)
    first = robot.random(generator, 2)
    np.testing.assert_array_equal(first, robot.random(7, 2))
    assert (robot.random(generator, 2) != first).all()
    for count in (-1, 1.5, True, "many", (2, None)):
        with pytest.raises(appell.InputError, match="count="):
            robot.random(0, count)
    with pytest.raises(appell.InputError, match="rng='a'"):
        robot.random("a")


@pytest.mark.parametrize("name", [*TREES, "stewart_gough"])
def test_batches_broadcast_and_float32_stays(name):
    robot = appell.load(name)
    q1, q2 = robot.random(0, (2, 3)), robot.random(1)
    dv = robot.difference(q1, q2)
    assert dv.shape == (2, 3, robot.nv)
    assert robot.integrate(q2, 0.1 * dv).shape == (2, 3, robot.nq)
    assert robot.distance(q1, q2).shape == (2, 3)
    assert robot.interpolate(q2, q1[0], [[0.0], [0.1]]).shape == (2, 3, robot.nq)
    small = [x.astype(np.float32) for x in (q1[0], q2, dv[0])]
    assert robot.difference(*small[:2]).dtype == np.float32
    assert robot.distance(*small[:2]).dtype == np.float32
    assert robot.integrate(small[0], small[2]).dtype == np.float32
    assert robot.interpolate(*small[:2], np.float32(0.5)).dtype == np.float32
    assert robot.integrate(small[0], dv[0]).dtype == np.float64
    same(robot, robot.integrate(small[0], small[2]), np.tile(q2, (3, 1)), 2e-5)


def test_nan_goes_through_and_stays_in_its_state():
    q, dv = FREE.random(0, 3), np.zeros((3, FREE.nv))
    q[1, 4], dv[2, 1] = np.nan, np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        there = FREE.integrate(q, dv)
        away = FREE.difference(q[0], q)
        none = FREE.normalise(np.zeros(FREE.nq))
    assert np.isfinite(there[0]).all()
    assert np.isnan(there[1, 3:7]).all()
    assert not np.isfinite(there[2, :3]).any()
    assert np.isfinite(away[[0, 2]]).all()
    assert np.isnan(away[1, :6]).all()
    assert np.isnan(none[3:7]).all()  # no rotation has a quaternion of length zero


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([0.0] * 5, [0.0] * 6), r"integrate: q has shape \(5,\); expected real numbers, \(..., 6"),
        (([0.0] * 6, None), "dv is missing"),
        (([0.0] * 6, [1j] * 6), "dv is list of complex128"),
        (([0.0] * 6, ["a"] * 6), "expected real numbers"),
        (([0.0] * 6, [[0.0], [0.0, 1.0]]), "dv is ragged"),
        ((np.ma.masked_array(np.zeros(6)), [0.0] * 6), "q is MaskedArray"),
        ((np.zeros((2, 6)), np.zeros((3, 6))), r"do not broadcast together: q \(2,\), dv \(3,\)"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(arguments, match):
    with pytest.raises(appell.InputError, match=match):
        appell.load("puma560").integrate(*arguments)


def test_closed_robots_are_drawn_within_their_limits():
    for name in HOLONOMIC:
        robot = appell.load(name)
        q = robot.random(0, 20)
        for limit in limits(robot.model):
            assert limit.beyond(q).max() <= 0, (name, str(limit))
        assert np.abs(robot.closure(q)).max() < 1e-10
        assert q.std(axis=0).max() > 0.01
