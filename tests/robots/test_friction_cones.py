"""Inverse dynamics of robots that touch: the smallest forces, within cones of friction."""

from __future__ import annotations

import numpy as np
import pytest
from batches import AsWritten
from four_legs import FEET, close, solo, standing
from scipy.optimize import minimize

import appell


def test_a_standing_robot_carries_its_weight_within_cones():
    robot = solo()
    q = standing(robot)
    still = np.zeros(robot.nv)
    found = robot.contact_inverse_dynamics(q, still, still, contacts=FEET, mu=0.5)
    assert np.abs(found.residual).max() < 1e-9
    close(sum(found.forces), np.array([0, 0, 9.81 * robot.mass()]), 1e-9)
    for f in found.forces:
        assert np.hypot(f[0], f[1]) <= 0.5 * f[2]
    assert np.array_equal(found.tau[:6], np.zeros(6))
    a = robot.contact_dynamics(q, still, found.tau, contacts=FEET).acceleration
    assert np.abs(a).max() < 1e-8


@pytest.mark.parametrize("mu", [0.15, 0.3])
def test_forces_are_the_smallest_within_their_cones(mu):
    """A sideways push of the base that some feet cannot give alone."""
    robot = solo()
    q = np.stack([standing(robot)] * 3)
    a = np.zeros((3, robot.nv))
    a[:, 0], a[1, 5], a[2, 4] = 0.8 * 9.81 * mu, 3.0, 2.0
    v = np.zeros_like(a)
    found = robot.contact_inverse_dynamics(q, v, a, contacts=FEET, mu=mu)
    f = np.stack(found.forces, axis=1)
    across = np.hypot(f[..., 0], f[..., 1])
    assert (across <= mu * f[..., 2] * (1 + 1e-9)).all()
    assert np.abs(found.residual).max() < 1e-6
    assert (across >= mu * f[..., 2] * (1 - 1e-4)).any()  # some feet are at their bounds
    # Another solver: SciPy's, of the same problem.
    needed = robot.inverse_dynamics(q, v, a)
    J = np.concatenate([robot.jacobian(q, x)[:, :3] for x in FEET], axis=1)
    for k in range(3):
        A, b = J[k].T[:6], needed[k, :6]
        best = minimize(
            lambda x: x @ x / 2,
            f[k].ravel(),
            jac=lambda x: x,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
            constraints=[
                {"type": "eq", "fun": lambda x, A=A, b=b: A @ x - b, "jac": lambda x, A=A: A},
                {
                    "type": "ineq",
                    "fun": lambda x: mu * x[2::3] - np.sqrt(x[::3] ** 2 + x[1::3] ** 2 + 1e-18),
                },
            ],
        )
        assert best.x @ best.x >= (1 - 1e-6) * (f[k].ravel() @ f[k].ravel())


def test_what_no_forces_within_the_cones_can_do_is_told():
    robot = solo()
    q, still = standing(robot), np.zeros(robot.nv)
    a = still.copy()
    a[0] = 2 * 9.81  # faster than friction of 0.5 can push
    found = robot.contact_inverse_dynamics(q, still, a, contacts=FEET, mu=0.5)
    assert np.abs(found.residual).max() > 1.0
    # It misses least: no step within the cones makes the residual smaller.
    J = np.concatenate([robot.jacobian(q, x)[:3] for x in FEET])
    A, f = J.T[:6], np.concatenate(found.forces)
    assert np.linalg.norm(found.residual) < np.linalg.norm(robot.inverse_dynamics(q, still, a)[:6])
    draw = np.random.default_rng(0)
    for _ in range(200):
        g = (f + draw.normal(size=12)).reshape(4, 3)
        inside = (np.hypot(g[:, 0], g[:, 1]) <= 0.5 * g[:, 2]).all()
        if inside:
            missed = found.residual - A @ (g.ravel() - f)
            assert np.linalg.norm(missed) >= np.linalg.norm(found.residual) * (1 - 1e-9)
    # A robot in the air has no force at all.
    found = robot.contact_inverse_dynamics(q, still, still, contacts=[], mu=0.5)
    close(found.residual, robot.gravity(q)[:6])


def test_a_grip_may_pull_while_feet_only_push():
    robot = solo()
    q, still = standing(robot), np.zeros(robot.nv)
    feet = [appell.Contact(x, mu=0.3) for x in FEET[:1]]
    grip = appell.Contact("base_link", "fixed")
    found = robot.contact_inverse_dynamics(q, still, still, contacts=[*feet, grip])
    assert np.abs(found.residual).max() < 1e-8
    f = found.forces[0]
    assert np.hypot(f[0], f[1]) <= 0.3 * f[2] * (1 + 1e-9)
    with pytest.raises(appell.InputError, match="a fixed contact has no cone"):
        robot.contact_inverse_dynamics(q, still, still, contacts=[*feet, grip], mu=0.3)


def test_passive_joints_are_the_bases_or_those_that_are_named():
    robot = solo()
    q, still = standing(robot), np.zeros(robot.nv)
    knee = robot.joint_names[-1]
    found = robot.contact_inverse_dynamics(
        q, still, still, contacts=FEET, passive=[*robot.joint_names[:6], knee]
    )
    assert found.residual.shape == (7,)
    assert found.tau[-1] == 0
    assert np.abs(found.residual).max() < 1e-9
    whole = robot.contact_inverse_dynamics(q, still, still, contacts=FEET, passive=["free", knee])
    assert np.array_equal(whole.tau, found.tau)
    with pytest.raises(appell.InputError, match=r"passive names joint 'wing'.*whole joints: free"):
        robot.contact_inverse_dynamics(q, still, still, contacts=FEET, passive=["wing"])


def test_on_a_fixed_base_contacts_need_not_press():
    robot = AsWritten(appell.load("two_link").model)
    ones = np.ones(2)
    found = robot.contact_inverse_dynamics(ones, ones, ones, contacts=[robot.link_names[-1]])
    assert np.array_equal(found.forces[0], np.zeros(3))
    assert found.residual.shape == (0,)
    close(found.tau, robot.inverse_dynamics(ones, ones, ones))


# Grips and opposing contacts


def block(mass=2.0):
    """A free box that two fingers may hold."""
    build = appell.Builder("block", base="free")
    build.link("box", appell.inertia.box(mass, (0.2, 0.2, 0.2)))
    return AsWritten(build.robot().model)


def fingers():
    return [appell.Contact(appell.Frame("box", (-x, 0, 0)), normal=(x, 0, 0)) for x in (0.1, -0.1)]


@pytest.mark.parametrize("mu", [10.0, 0.5, 1e-2, 1e-4, 1e-6])
def test_a_grip_holds_however_little_it_rubs(mu):
    """Each finger presses with half the weight by mu; what is missing is rounding of that."""
    robot = block()
    still = np.zeros(6)
    found = robot.contact_inverse_dynamics(robot.neutral(), still, still, contacts=fingers(), mu=mu)
    weight = 9.81 * robot.mass()
    assert np.abs(found.residual).max() < 1e-14 * weight * (1 + 1 / mu)
    for sign, f in zip((1, -1), found.forces, strict=True):
        close(f / weight, np.array([sign / (2 * mu), 0, 0.5]))
        assert np.hypot(f[1], f[2]) <= mu * sign * f[0] * (1 + 1e-9)


@pytest.mark.parametrize("mu", [0.5, 1e-3])
def test_what_fingers_cannot_do_costs_no_further_force(mu):
    """No grip at two points turns a box about the line between them: asked for that too, it holds
    by the same forces, and the moment is missing."""
    robot = block()
    still, a = np.zeros(6), np.zeros(6)
    a[3] = 1.0
    q = robot.neutral()
    held = robot.contact_inverse_dynamics(q, still, still, contacts=fingers(), mu=mu)
    found = robot.contact_inverse_dynamics(q, still, a, contacts=fingers(), mu=mu)
    for f, g in zip(found.forces, held.forces, strict=True):
        close(f, g)
    close(found.residual, robot.inverse_dynamics(q, still, a) * [0, 0, 0, 1, 0, 0])


def test_contacts_that_oppose_each_other_do_not_press_where_it_helps_nothing():
    """A point on each side of a foot that stands alone, where the body would tip."""
    robot = solo()
    q, still = standing(robot), np.zeros(robot.nv)
    sides = [appell.Contact(FEET[0], normal=(0, 0, x), mu=0.6) for x in (1, -1)]
    once = robot.contact_inverse_dynamics(q, still, still, contacts=sides[:1])
    both = robot.contact_inverse_dynamics(q, still, still, contacts=sides)
    assert np.abs(once.residual).max() > 1.0
    close(np.linalg.norm(both.residual), np.linalg.norm(once.residual))
    close(both.forces[0], once.forces[0], 1e-7)
    close(both.forces[1], np.zeros(3), 1e-7)


def test_forces_that_miss_least_are_the_smallest_of_these():
    """Two points cannot give any motion; each of them named twice, they share the same forces."""
    draw = np.random.default_rng(0)
    robot = block()
    still = np.zeros(6)
    a = draw.normal(size=6) + [40.0, 0, 0, 0, 0, 0]  # faster than they can push sideways
    some = [appell.Contact(appell.Frame("box", p), mu=0.4) for p in draw.normal(size=(2, 3)) / 9]
    found = robot.contact_inverse_dynamics(robot.neutral(), still, a, contacts=some)
    twice = robot.contact_inverse_dynamics(robot.neutral(), still, a, contacts=some * 2)
    assert np.abs(found.residual).max() > 1.0
    close(twice.residual, found.residual, 1e-6)
    for f, g in zip(twice.forces, found.forces * 2, strict=True):  # the smallest share alike
        close(2 * f, g, 1e-6)


def test_contacts_that_move_no_passive_joint_press_on_nothing():
    robot = AsWritten(appell.load("puma560").model)
    zero = np.zeros(6)
    for mu in (None, 0.5):
        found = robot.contact_inverse_dynamics(
            zero, zero, zero, contacts=[robot.link_names[0]], mu=mu, passive=robot.joint_names[1:2]
        )
        assert np.array_equal(found.forces[0], np.zeros(3))
        close(found.residual, robot.gravity(zero)[1:2])


@pytest.mark.parametrize("mu", [None, 0.5])
@pytest.mark.parametrize("contacts", [FEET, FEET[:1], []])
def test_batches_may_be_empty(mu, contacts):
    robot = solo()
    q, v = np.empty((0, robot.nq)), np.empty((0, robot.nv))
    found = robot.contact_inverse_dynamics(q, v, v, contacts=contacts, mu=mu)
    assert found.tau.shape == (0, robot.nv)
    assert found.residual.shape == (0, 6)
    assert all(f.shape == (0, 3) for f in found.forces)


@pytest.mark.parametrize("mu", [None, 0.15])
def test_a_state_that_is_nan_spoils_no_others_forces(mu):
    robot = solo()
    q = np.stack([standing(robot)] * 3)
    v, a = np.zeros((2, 3, robot.nv))
    a[:, 0] = 1.0
    expected = robot.contact_inverse_dynamics(q, v, a, contacts=FEET, mu=mu)
    for x, bad in ((q, (1, 8)), (v, (1, 2)), (a, (1, 2))):
        kept, x[bad] = x[bad], np.nan
        found = robot.contact_inverse_dynamics(q, v, a, contacts=FEET, mu=mu)
        x[bad] = kept
        assert np.isnan(found.residual[1]).any()
        assert np.isnan(found.forces[0][1]).any()
        close(found.tau[::2], expected.tau[::2])
