"""Derivatives of integrate and difference: Pinocchio's, and differences."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from both_engines import BothEngines, error

import appell

# Coefficients of small angles lose digits, at most one or two; inverses near half a turn one.
CLOSE = 1e-12
FIRST, SECOND = pinocchio.ARG0, pinocchio.ARG1


@pytest.fixture(params=[(k, base) for k in range(12) for base in ("fixed", "free")], ids=str)
def both(request):
    return BothEngines(*request.param)


@pytest.mark.parametrize("size", [1e-7, 0.05, 0.2, 1.0, 4.0])
def test_of_integrate_they_are_pinocchios(both, size):
    dv, there = size * both.v[0], size * both.there[1]
    ours = both.robot.integrate_derivatives(both.q[0], dv)
    for found, which in zip(ours, (FIRST, SECOND), strict=True):
        expected = pinocchio.dIntegrate(both.other, both.there[0], there, which)
        assert error(found, expected[np.ix_(both.iv, both.iv)]) < CLOSE


@pytest.mark.parametrize("size", [1e-7, 0.05, 0.2, 1.0])
def test_of_difference_they_are_pinocchios(both, size):
    q = both.robot.integrate(both.q[0], size * both.v[0])
    there = pinocchio.integrate(both.other, both.there[0], size * both.there[1])
    ours = both.robot.difference_derivatives(both.q[0], q)
    for found, which in zip(ours, (FIRST, SECOND), strict=True):
        expected = pinocchio.dDifference(both.other, both.there[0], there, which)
        # Its own inverse of a motion loses digits at small angles.
        bound = 1e-9 if size < 1e-3 else 1e-11
        assert error(found, expected[np.ix_(both.iv, both.iv)]) < bound


def test_they_are_slopes_and_take_batches(both):
    robot, draw, h = both.robot, np.random.default_rng(1), 1e-6
    q1, q2 = robot.random(draw, 3), robot.random(draw, 3)
    dv = robot.difference(q1, q2)
    x = h * draw.normal(size=(3, robot.nv))

    def times(A):
        return np.einsum("nij,nj->ni", A, x)

    by_q, by_dv = robot.integrate_derivatives(q1, dv)
    here = robot.integrate(q1, dv)
    moved = robot.difference(here, robot.integrate(robot.integrate(q1, x), dv))
    changed = robot.difference(here, robot.integrate(q1, dv + x))
    # Errors of the second order in h, by displacements of some metres and radians.
    assert np.abs(moved - times(by_q)).max() < 1e-4 * h
    assert np.abs(changed - times(by_dv)).max() < 1e-4 * h
    by_1, by_2 = robot.difference_derivatives(q1, q2)
    near = np.abs(dv).max(axis=1) < 2.8  # beyond half a turn a difference jumps
    from_1 = robot.difference(robot.integrate(q1, x), q2) - dv
    from_2 = robot.difference(q1, robot.integrate(q2, x)) - dv
    assert np.abs(from_1 - times(by_1))[near].max(initial=0) < 1e-3 * h
    assert np.abs(from_2 - times(by_2))[near].max(initial=0) < 1e-3 * h


def test_of_joints_on_a_line_they_are_ones_in_the_dtype_given():
    arm = appell.load("two_link")
    q, dv = np.zeros((4, 1, 2), dtype=np.float32), np.ones((3, 2), dtype=np.float32)
    by_q, by_dv = arm.integrate_derivatives(q, dv)
    assert by_q.shape == by_dv.shape == (4, 3, 2, 2)
    assert by_q.dtype == np.float32
    assert (by_q == np.eye(2)).all()
    by_1, by_2 = arm.difference_derivatives(q, dv)
    assert (by_1 == -np.eye(2)).all()
    assert (by_2 == np.eye(2)).all()
    with pytest.raises(appell.InputError, match=r"dv has shape \(3,\)"):
        arm.integrate_derivatives([0, 0], [1, 2, 3])
    with pytest.raises(appell.InputError, match="has loops"):
        appell.load("four_bar").difference_derivatives(q, q)
