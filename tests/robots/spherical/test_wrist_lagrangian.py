"""M, C v and g of the Agile Wrist against Lagrange's equations of its points."""

from __future__ import annotations

import numpy as np
import pytest
import wrist_energies as lagrange

import appell

N = 15
CLOSE = 1e-9  # what is asked; rounding leaves some 1e-15
CASES = [(0, "---"), (1, "+++"), (2, "-+-"), (3, "++-")]


@pytest.fixture(params=CASES, ids=lambda case: f"wrist{case[0]}{case[1]}", scope="module")
def case(request):
    """A wrist of ours, random states within its reach, and what Lagrange says of them."""
    numbers = lagrange.drawn(*request.param)
    wrist = appell.load("agile_wrist", **numbers.options())
    draw = np.random.default_rng(request.param[0])
    q = draw.uniform(-1.2, 1.2, (500, 3))
    q = q[wrist.singularity(q) > 0.1][:N]
    v, a = draw.normal(size=(2, N, 3)) * 3
    return wrist, numbers, (q, v, a), lagrange.answers(numbers, q, v, a)


def near(ours, expected):
    np.testing.assert_allclose(ours, expected, rtol=0, atol=CLOSE)


def test_inertia_matrix(case):
    wrist, _, (q, *_), expected = case
    assert np.abs(expected.M).max() > 1e-3
    near(wrist.mass_matrix(q), expected.M)


def test_gravity(case):
    wrist, _, (q, *_), expected = case
    assert np.abs(expected.g).max() > 0.1
    for formulation in ("quasi_speeds", "gibbs_jacobian"):
        near(wrist.kernel("gravity", formulation=formulation)(q), expected.g)


@pytest.mark.parametrize("formulation", [None, "printed"])
def test_coriolis_forces(case, formulation):
    wrist, _, (q, v, _), expected = case
    C = wrist.coriolis_matrix(q, v, formulation=formulation)
    assert np.abs(expected.bias - expected.g).max() > 1e-2
    near((C @ v[..., None])[..., 0], expected.bias - expected.g)


def test_all_forces(case):
    wrist, _, state, expected = case
    for formulation in ("quasi_speeds", "gibbs_jacobian"):
        near(wrist.kernel("generalised_forces", formulation=formulation)(*state), expected.Q)
        near(wrist.kernel("bias", formulation=formulation)(*state[:2]), expected.bias)
        tau = wrist.kernel("inverse_dynamics", formulation=formulation)(*state)
        near(np.einsum("nij,ni->nj", wrist.actuator_jacobian(state[0]), tau), expected.Q)


def test_energies(case):
    wrist, _, (q, v, _), expected = case
    near(wrist.kinetic_energy(q, v), expected.T)
    near(wrist.potential_energy(q), expected.U)


def test_inertia_rate_minus_twice_coriolis_is_skew(case):
    wrist, _, (q, v, _), expected = case
    ours, printed = (
        expected.dM - 2 * wrist.coriolis_matrix(q, v, formulation=name)
        for name in (None, "printed")
    )
    assert np.abs(ours + np.swapaxes(ours, 1, 2)).max() < CLOSE
    # The printed one is not, though it does no work.
    assert np.abs(printed + np.swapaxes(printed, 1, 2)).max() > 1e-4
    assert np.abs(np.einsum("ni,nij,nj->n", v, printed, v)).max() < CLOSE


def test_links_lie_between_the_axes(case):
    wrist, numbers, (q, *_), expected = case
    u, w, v = np.moveaxis(expected.axes, 2, 0)
    for i, (a1, a2) in enumerate(zip(numbers.alpha1, numbers.alpha2, strict=True)):
        first = wrist.forward_kinematics(q, f"first{i + 1}")[:, :3, :3]
        second = wrist.forward_kinematics(q, f"second{i + 1}")[:, :3, :3]
        near(first[..., 2], u[:, i])
        near(first @ [0, -np.sin(a1), np.cos(a1)], w[:, i])
        near(second[..., 2], w[:, i])
        near(second @ [0, -np.sin(a2), np.cos(a2)], v[:, i])


def test_angles_turn_as_the_axes_do(case):
    """w turns about u with theta', and the second link's v about w with psi' besides."""
    wrist, _, (q, v, a), expected = case
    u, w, _ = np.moveaxis(expected.axes, 2, 0)
    moving = wrist.joint_motion(q, v, a)
    near(moving.dtheta[..., None] * np.cross(u, w), expected.rates[:, :, 1])
    near(np.einsum("nij,nj->ni", wrist.actuator_jacobian(q), v), moving.dtheta)
    near(np.einsum("nij,nj->ni", wrist.passive_jacobian(q), v), moving.dpsi)
    h = 1e-4
    poses = [q + k * h * v + h * h / 2 * k * k * a for k in (-1, 0, 1)]
    angles = [np.stack(wrist.inverse_kinematics(x)) for x in poses]
    turned = [(x - angles[1] + np.pi) % (2 * np.pi) - np.pi for x in angles]
    slope, curve = (turned[2] - turned[0]) / (2 * h), (turned[2] + turned[0]) / h**2
    scale = np.abs(np.stack([moving.ddtheta, moving.ddpsi])).max()
    np.testing.assert_allclose(slope, [moving.dtheta, moving.dpsi], rtol=0, atol=1e-5 * scale)
    np.testing.assert_allclose(curve, [moving.ddtheta, moving.ddpsi], rtol=0, atol=1e-4 * scale)
