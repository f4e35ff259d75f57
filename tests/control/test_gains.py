"""Gains with which errors do not vanish: Lee 1982, after equation 4.3."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import appell
from appell.control import (
    ComputedTorque,
    Feedforward,
    GainWarning,
    PDGravity,
    PointToPoint,
    Tracking,
    TrackingIntegral,
    track,
)
from appell.errors import InputError

ARM = appell.load("two_link")
CHAIN = appell.load("planar_chain", n=3)
ROTATION = [[1.0, 4.0], [-4.0, 1.0]]  # positive definite, and it turns errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ComputedTorque(ARM, kd=0), r"kd does not damp errors of joint1, joint2"),
        (lambda: ComputedTorque(ARM, kd=[5, 0]), r"kd does not damp errors of joint2: they swing"),
        (lambda: ComputedTorque(ARM, kp=0), r"kp is not positive definite: errors of joint1, jo"),
        (lambda: ComputedTorque(ARM, kp=[0, 9]), r"definite: errors of joint1 need not vanish"),
        (lambda: ComputedTorque(ARM, kp=[[1, 1], [1, 1]]), "kp is not positive definite"),
        (lambda: ComputedTorque(ARM, kp=100, kd=[[1, 1], [1, 1]]), "kd does not damp errors of jo"),
        (lambda: ComputedTorque(ARM, kp=[[9, 1], [0, 9]]), "matrix kp is not symmetric"),
        (lambda: ComputedTorque(ARM, kd=[[9, 1], [0, 9]]), "matrix kd is not symmetric"),
        (lambda: Tracking(ARM, kd=0), "Tracking: kd does not damp"),
        (lambda: PointToPoint(ARM, kp=0), "PointToPoint: kp is not positive"),
        (lambda: TrackingIntegral(ARM, kp=30, kd=2, ki=60), "swings for ever, as ki is as large"),
        (lambda: TrackingIntegral(ARM, kd=0, ki=0), "kd does not damp errors"),
    ],
)
def test_gains_that_the_paper_excludes_are_warned_of(make, message):
    with pytest.warns(GainWarning, match=message) as told:
        make()
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ComputedTorque(ARM, kp=ROTATION, kd=0.1), r"errors grow as exp\(1\.\d+ t\)"),
        (lambda: TrackingIntegral(ARM, kp=30, kd=2, ki=61), "ki < kp kd for each joint"),
        (lambda: TrackingIntegral(ARM, kp=30, kd=0, ki=1), "ki < kp kd for each joint"),
        (lambda: TrackingIntegral(ARM, kp=30, kd=2, ki=[1, 100]), "errors grow"),
    ],
)
def test_gains_with_which_errors_grow_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: ComputedTorque(ARM),
        lambda: ComputedTorque(ARM, kp=1e6, kd=1e-3),
        lambda: ComputedTorque(ARM, kp=[[9, 1], [1, 4]], kd=[[9, 1], [1, 4]]),
        # Damping of the first joint alone reaches the others by the coupled springs.
        lambda: ComputedTorque(CHAIN, kp=[[4, 1, 0], [1, 4, 1], [0, 1, 4]], kd=[2, 0, 0]),
        lambda: TrackingIntegral(ARM),
        lambda: TrackingIntegral(ARM, ki=0),
        lambda: TrackingIntegral(ARM, kp=30, kd=2, ki=59),
        lambda: PDGravity(ARM, kp=0, kd=0),  # in N m: of other conditions
    ],
)
def test_gains_with_which_errors_vanish_are_taken(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make()


def test_springs_that_are_equal_do_not_reach_a_joint_without_damping():
    with pytest.warns(GainWarning, match="damp errors of joint2, joint3: they swing"):
        ComputedTorque(CHAIN, kp=4, kd=[2, 0, 0])


def test_errors_do_what_the_warning_says():
    with pytest.warns(GainWarning, match="joint2"):
        law = ComputedTorque(ARM, kp=100, kd=[20, 0])
    run = track(ARM, law, [0.0, 0.0], q0=[0.1, 0.1], until=5.0, period=1e-3)
    last = np.abs(run.error[-1000:]).max(axis=0)
    assert last[0] < 1e-3  # sampled, the law lets the swing of joint 2 through to joint 1
    assert last[1] > 0.09


@given(st.integers(0, 2**32 - 1))
def test_the_conditions_tell_whether_errors_vanish(seed):
    """Beside the roots of the errors' equation, for symmetric gains of any rank."""
    draw = np.random.default_rng(seed)
    n = 3

    def matrix(rank):
        A = draw.integers(-3, 4, (n, rank)).astype(float)
        return A @ A.T

    Kv, Kp = matrix(draw.integers(0, n + 1)), matrix(draw.integers(2, n + 2))
    dynamics = np.block([[np.zeros((n, n)), np.eye(n)], [-Kp, -Kv]])
    vanish = np.linalg.eigvals(dynamics).real.max() < -1e-7
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ComputedTorque(CHAIN, kp=Kp, kd=Kv)
    assert (not told) == vanish


def test_the_former_name_of_a_gain_is_taken_with_a_warning():
    for kind in (ComputedTorque, PDGravity, Feedforward):
        with pytest.warns(DeprecationWarning, match=rf"{kind.__name__}: kv is now called kd"):
            law = kind(ARM, kp=100, kv=[20, 21])
        np.testing.assert_array_equal(law.kd, [20, 21])
        with pytest.warns(DeprecationWarning, match="kv is now called kd"):
            np.testing.assert_array_equal(law.kv, law.kd)
        with pytest.raises(appell.InputError, match="give kd alone"):
            kind(ARM, kp=100, kd=20, kv=20)
