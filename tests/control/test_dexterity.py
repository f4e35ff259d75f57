"""Manipulability, and Jacobians in rates of angles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell
from appell.control import analytical_jacobian, manipulability


@pytest.fixture(scope="module")
def puma():
    return appell.load("puma560")


def test_manipulability_is_yoshikawas_measure(puma):
    q = puma.random(0, (2, 3))
    J = puma.jacobian(q)
    expected = np.sqrt(np.linalg.det(J @ np.swapaxes(J, -1, -2)))
    np.testing.assert_allclose(manipulability(puma, q), expected, rtol=1e-6, atol=1e-12)
    J = J[..., :3, :]
    expected = np.sqrt(np.linalg.det(J @ np.swapaxes(J, -1, -2)))
    found = manipulability(puma, q, mask=(1, 1, 1, 0, 0, 0))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert manipulability(puma, [0.3, 0.2, 0.9, 0.4, 0.0, 0.2]) < 1e-12  # a wrist in line
    assert manipulability(appell.load("two_link"), [0.1, 0.2]) == 0


@pytest.mark.parametrize("angles", ["xyz", "zyx", "ZYX", "ZYZ", "XYX", "XZY"])
def test_rates_of_angles_are_their_differences(puma, angles):
    q, h = puma.random(1, 4), 1e-6
    J = analytical_jacobian(puma, q, angles=angles)

    def measured(x):
        T = puma.forward_kinematics(x)
        turns = Rotation.from_matrix(T[:, :3, :3]).as_euler(angles)
        return np.concatenate([T[:, :3, 3], turns], axis=-1)

    for k, d in enumerate(h * np.eye(6)):
        slope = (measured(q + d) - measured(q - d)) / (2 * h)
        np.testing.assert_allclose(J[..., k], slope, rtol=1e-6, atol=1e-7)


def test_angles_without_rates_are_refused(puma):
    for bad in ("xyZ", "xxy", "ab", None, "xy"):
        with pytest.raises(appell.InputError, match="expected a sequence"):
            analytical_jacobian(puma, np.zeros(6), angles=bad)
    build = appell.Builder("one")
    build.link("l", mass=1.0, inertia=(0.1, 0.1, 0.1))
    build.joint("j", "revolute", "world", "l", axis="y")
    robot = build.robot()
    with pytest.raises(appell.InputError, match="the first and the third axis"):
        analytical_jacobian(robot, [np.pi / 2])
    assert analytical_jacobian(robot, [0.3])[4, 0] == pytest.approx(1.0)
    with pytest.raises(appell.InputError, match="0 and 1"):
        manipulability(robot, [0.3], mask=[3] * 6)


def test_a_state_that_is_none_spoils_its_own_answer_only(puma):
    q = puma.random(4, 5)
    bad = q.copy()
    bad[2, 1] = np.nan
    for measure in (manipulability, analytical_jacobian):
        answers = measure(puma, bad)
        assert np.isnan(answers[2]).all()
        np.testing.assert_array_equal(np.delete(answers, 2, 0), np.delete(measure(puma, q), 2, 0))
        assert len(measure(puma, q[:0])) == 0
        with pytest.raises(appell.InputError, match="a NoneType is no robot"):
            measure(None, q)
    assert np.isnan(manipulability(appell.load("two_link"), [np.nan, 0.0]))
