"""The closed form of inverse kinematics is written once: on every kind of scalar it is the same."""

from __future__ import annotations

import casadi
import jax.numpy as jnp
import numpy as np
import pytest
import sympy

import appell
from appell.compile.count import count
from appell.compile.record import record
from appell.control.kinematics.closed_form import spherical_arm
from appell.control.kinematics.spherical_wrist import BRANCHES, inverse_kinematics

ROBOT = appell.load("puma560")
ARM = spherical_arm(ROBOT).arm
POSE = ROBOT.forward_kinematics([0.3, -0.9, 2.5, 0.4, 0.8, 0.2])


@pytest.fixture(scope="module")
def expected():
    q, beyond = inverse_kinematics(ARM, POSE.tolist())
    assert np.shape(q) == (len(BRANCHES), 6)
    assert max(beyond) < 1e-15
    assert np.abs(ROBOT.forward_kinematics(q) - POSE).max() < 1e-14
    return np.array(q)


def test_on_arrays(expected):
    q, _ = inverse_kinematics(ARM, POSE[..., None] * np.ones(3))
    assert np.shape(q) == (8, 6, 3)
    assert np.abs(np.array(q) - expected[..., None]).max() < 1e-14


def test_on_casadi(expected):
    x = casadi.SX.sym("pose", 4, 4)
    q, _ = inverse_kinematics(ARM, [[x[i, j] for j in range(4)] for i in range(4)])
    function = casadi.Function("f", [x], [casadi.vertcat(*(casadi.hcat(row) for row in q))])
    assert np.abs(np.array(function(POSE)) - expected).max() < 1e-14


def test_on_sympy(expected):
    numbers = [[sympy.Float(float(x), 30) for x in row] for row in POSE]
    q, _ = inverse_kinematics(ARM, numbers)
    assert np.abs(np.array(q, dtype=float) - expected).max() < 1e-13


def test_on_jax_in_single_precision(expected):
    q, _ = inverse_kinematics(ARM, [[jnp.asarray(x) for x in row] for row in POSE])
    assert np.abs(np.array(q, dtype=float) - expected).max() < 1e-4


def test_it_takes_20_arctangents():
    """2 for q1, 2 for q3, 4 for q2 and 12 for the wrist: what is flipped costs none."""
    tape = record(
        lambda pose: inverse_kinematics(ARM, pose),
        {"pose": (4, 4)},
        {"q": (8, 6), "beyond": (4,)},
    )
    operations = count(tape)
    assert operations.arctangents == 20
    assert operations.sines_and_cosines == 0
    assert operations.square_roots == 6
