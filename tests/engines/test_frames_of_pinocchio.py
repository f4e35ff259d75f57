"""Frames move as Pinocchio's do, in either axes, and external forces act as they do there."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from both_engines import BothEngines, error

CLOSE = 1e-10  # relative to the largest entry, or to 1: rounding
AXES = {"base": pin.LOCAL_WORLD_ALIGNED, "local": pin.LOCAL}


TREES = [(seed, base) for seed in range(12) for base in ("fixed", "free")]


@pytest.fixture(params=TREES, ids=lambda x: f"{x[1]} {x[0]}")
def both(request):
    return BothEngines(*request.param)


def test_velocities_accelerations_and_jacobians_are_pinocchios(both):
    model, data, (q, v, a, _) = both.other, both.data, both.there
    pin.forwardKinematics(model, data, q, v, a)
    pin.updateFramePlacements(model, data)
    pin.computeJointJacobiansTimeVariation(model, data, q, v)
    state = both.q, both.v, both.a
    for link, k in both.links().items():
        for axes, there in AXES.items():
            options = {"frame": link, "axes": axes}
            for quantity, expected in {
                "velocity": pin.getFrameVelocity(model, data, k, there).vector,
                "acceleration": pin.getFrameClassicalAcceleration(model, data, k, there).vector,
                "spatial_acceleration": pin.getFrameAcceleration(model, data, k, there).vector,
                "jacobian": pin.getFrameJacobian(model, data, k, there)[:, both.iv],
                "jacobian_rate": pin.getFrameJacobianTimeVariation(model, data, k, there)[
                    :, both.iv
                ],
            }.items():
                inputs = len(both.robot.system.quantities[quantity].inputs)
                found = both.ask(quantity, *state[:inputs], **options)
                assert error(found, expected) < CLOSE, (quantity, axes, link)


def test_all_poses_at_once_are_pinocchios(both):
    pin.framesForwardKinematics(both.other, both.data, both.there[0])
    found = both.ask("poses", both.q)
    known = both.links()
    for link, T in zip(both.robot.link_names, found, strict=True):
        there = both.data.oMf[known[link]].homogeneous if link in known else np.eye(4)
        assert error(T, there) < CLOSE, link


def test_poses_and_jacobians_relative_to_a_frame_are_those_of_its_own_base(both):
    names = [*both.links()]
    of, to = names[-1], names[len(names) // 2]
    pin.framesForwardKinematics(both.other, both.data, both.there[0])
    at = {x: both.data.oMf[k] for x, k in both.links().items()}
    seen = both.ask("forward_kinematics", both.q, frame=of, relative_to=to)
    assert error(seen, (at[to].inverse() * at[of]).homogeneous) < CLOSE
    # Pinocchio's velocity of one frame less that of the other, both in the first one's axes.
    pin.forwardKinematics(both.other, both.data, *both.there[:2])
    V = {x: pin.getFrameVelocity(both.other, both.data, both.links()[x]) for x in (of, to)}
    expected = V[of] - (at[of].inverse() * at[to]).act(V[to])
    found = both.ask("velocity", both.q, both.v, frame=of, relative_to=to, axes="local")
    assert error(found, expected.vector) < CLOSE


@pytest.mark.parametrize("axes", AXES)
def test_forces_and_accelerations_under_external_wrenches_are_pinocchios(both, axes):
    model, data, (q, v, a, tau) = both.other, both.data, both.there
    pin.framesForwardKinematics(model, data, q)
    links = both.links()
    if not links:
        return
    chosen = [*links][-2:]
    on = pin.StdVec_Force()
    on.extend(pin.Force.Zero() for _ in range(model.njoints))
    for link in chosen:
        frame = model.frames[links[link]]
        w = both.wrench[0].copy()
        if axes == "base":
            R = data.oMf[links[link]].rotation
            w = np.concatenate([R.T @ w[:3], R.T @ w[3:]])
        joint = frame.parentJoint
        on[joint] = on[joint] + frame.placement.act(pin.Force(w))
    wrenches = [both.wrench] * len(chosen)
    options = {"forces": tuple(chosen), "axes": axes}
    found = both.ask("inverse_dynamics", both.q, both.v, both.a, *wrenches, **options)
    assert error(found, pin.rnea(model, data, q, v, a, on)[both.iv]) < CLOSE
    found = both.ask("forward_dynamics", both.q, both.v, both.tau, *wrenches, **options)
    expected = pin.aba(model, data, q, v, tau, on)[both.iv]
    assert error(found, expected) < 1e-8  # M's condition
