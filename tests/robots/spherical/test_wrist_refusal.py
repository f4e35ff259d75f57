"""Poses that the Agile Wrist refuses, and how near it is to them."""

from __future__ import annotations

import numpy as np
import pytest

import appell


@pytest.fixture(scope="module")
def wrist():
    return appell.load("agile_wrist")


def test_a_pose_out_of_reach_is_refused_by_limb():
    short = appell.load("agile_wrist", alpha1=(1.4, 0.5, 1.4), alpha2=(1.2, 0.5, 1.2))
    q, v = np.zeros((2, 3))
    # u and v are 90 degrees apart at the start, and the links of limb 2 span 57.3.
    message = r"inverse_dynamics: q = \[0.0, 0.0, 0.0\]: limb 2 does not reach: .* 90 degrees apart"
    with pytest.raises(
        appell.InputError, match=message + r".*span 0 to 57.3; .*back by 33 degrees"
    ):
        short.inverse_dynamics(q, v, v)
    with pytest.raises(appell.InputError, match=r"^forward_dynamics_derivatives: .*limb 2 does"):
        short.forward_dynamics_derivatives(q, v, v)
    for method in (short.mass_matrix, short.gravity, short.inverse_kinematics):
        with pytest.raises(appell.InputError, match="limb 2 does not reach"):
            method(q)
    with pytest.raises(appell.InputError, match=r"q\[1, 0\] = .*limb 2 does not reach"):
        short.gravity(np.array([[reached(short)], [q]]))
    assert np.isnan(short.kernel("gravity")(q)).all()
    assert short.singularities(q).limbs[1] < 0 < short.singularities(q).limbs[0]
    assert short.singularity(q) < 0


def reached(wrist):
    """Some pose that all limbs reach."""
    return wrist.regular_states(1, np.random.default_rng(0))[0]


def test_overwritten_poses_are_still_explained():
    short = appell.load("agile_wrist", alpha1=0.5, alpha2=0.5)
    q = np.zeros((2, 3))
    with pytest.raises(appell.InputError, match=r"q\[0\] = \[0.0, 0.0, 0.0\]: limb 1 does not"):
        short.inverse_dynamics(q, q, q, out=q)


def test_a_stretched_limb_is_refused():
    stretched = appell.load("agile_wrist", alpha1=np.pi / 4, alpha2=np.pi / 4 + 1e-10)
    q = np.zeros(3)
    with pytest.raises(appell.InputError, match="limb 1 is stretched or folded, a singularity"):
        stretched.inverse_dynamics(q, q, q)
    assert 0 < stretched.singularity(q) < 1e-4
    bold = appell.load("agile_wrist", alpha1=np.pi / 4, alpha2=np.pi / 4 + 1e-10, margin=0)
    assert np.isfinite(bold.inverse_kinematics(q).theta).all()


def test_a_platform_that_is_not_held_is_refused(wrist):
    """Between two poses on either side, the actuators' rows become dependent."""
    draw = np.random.default_rng(0)
    spanned = wrist.kernel("singularities")
    while True:
        low, high = wrist.regular_states(2, draw)
        along = low + np.linspace(0, 1, 200)[:, None] * (high - low)
        ends = spanned(low)[1] * spanned(high)[1]
        if ends < 0 and (wrist.singularities(along).limbs > 0.05).all():
            break
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if spanned(low)[1] * spanned(middle)[1] < 0 else (middle, high)
    assert wrist.singularity(low) < 1e-10
    assert np.linalg.svd(wrist.actuator_jacobian(low))[1].min() < 1e-9
    with pytest.raises(
        appell.InputError, match=r"singular: no torques .* the normals .* lie in a plane"
    ):
        wrist.inverse_dynamics(low, [0, 0, 0], [0, 0, 0])
    assert np.isfinite(wrist.generalised_forces(low, [1, 1, 1], [1, 1, 1])).all()


def test_where_euler_angles_fail_torques_do_not(wrist):
    sideways = appell.load("agile_wrist", alpha1=1.5, alpha2=1.5)
    q = np.array([0.3, np.pi / 2, 0.2])
    assert sideways.singularities(q).limbs.min() > 0.05
    assert sideways.singularities(q).platform > 0.05
    assert sideways.singularity(q) < 1e-15
    assert np.isfinite(sideways.inverse_dynamics(q, [1, 1, 1], [1, 1, 1])).all()
    with pytest.raises(appell.InputError, match="q2 is at 90 degrees, where the Euler angles fail"):
        sideways.forward_dynamics(q, [1, 1, 1], [1, 1, 1])


def test_distances_are_numbers_everywhere(wrist):
    q = np.random.default_rng(0).uniform(-4, 4, (2000, 3))
    distance = wrist.singularity(q)
    assert np.isfinite(distance).all()
    assert (distance < 0).any()
    assert distance.max() <= 1
    torques = wrist.kernel("inverse_dynamics")(q, q, q)
    far = distance > wrist.model.margin
    assert np.isfinite(torques[far]).all()
    assert np.isnan(torques[wrist.singularities(q).limbs.min(axis=-1) < 0]).all()


def test_a_nan_goes_through(wrist):
    draw = np.random.default_rng(3)
    q, (v, a) = wrist.regular_states(13, draw), draw.normal(size=(2, 13, 3))
    v[4, 1] = np.nan
    torques = wrist.inverse_dynamics(q, v, a)
    assert np.isnan(torques[4]).any()
    assert np.isfinite(np.delete(torques, 4, axis=0)).all()
    assert np.isnan(wrist.gravity([np.nan, 0, 0])).all()
