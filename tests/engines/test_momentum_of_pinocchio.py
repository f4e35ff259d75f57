"""Centre of mass, momentum, inertia and transmitted forces are Pinocchio's."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from both_engines import BothEngines, error

from appell.equations.motion.momentum import mass

CLOSE = 1e-10  # relative to the largest entry, or to 1: rounding
INVERTED = 1e-8  # and the condition of M
TREES = [(seed, base) for seed in range(12) for base in ("fixed", "free")]


@pytest.fixture(params=TREES, ids=lambda x: f"{x[1]} {x[0]}")
def both(request):
    return BothEngines(*request.param)


def test_centre_of_mass_and_its_jacobian_are_pinocchios(both):
    model, data, (q, v, *_), iv = both.other, both.data, both.there, both.iv
    pin.centerOfMass(model, data, q, v, True)
    assert error(both.ask("centre_of_mass", both.q), data.com[0]) < CLOSE
    assert error(both.ask("centre_of_mass_velocity", both.q, both.v), data.vcom[0]) < CLOSE
    J = pin.jacobianCenterOfMass(model, data, q)[:, iv]
    assert error(both.ask("centre_of_mass_jacobian", both.q), J) < CLOSE
    assert error(mass(both.robot.model), pin.computeTotalMass(model)) < CLOSE


def test_subtrees_have_pinocchios_centres(both):
    model, data, (q, v, *_), iv = both.other, both.data, both.there, both.iv
    pin.centerOfMass(model, data, q, v, True)
    pin.computeSubtreeMasses(model, data)
    other = model.createData()
    for link, k in both.links().items():
        joint = model.frames[k].parentJoint
        if joint == 0:
            continue  # fixed to the base, which Pinocchio does not count among the moving
        at = data.oMi[joint]
        here = both.robot.model.frame(link)
        assert error(mass(both.robot.model, here), data.mass[joint]) < CLOSE
        c = at.act(data.com[joint])
        assert error(both.ask("subtree_centre_of_mass", both.q, frame=link), c) < CLOSE
        J = pin.jacobianSubtreeCenterOfMass(model, other, q, joint)[:, iv]
        assert error(both.ask("subtree_centre_of_mass_jacobian", both.q, frame=link), J) < CLOSE
        found = both.ask("subtree_centre_of_mass_velocity", both.q, both.v, frame=link)
        assert error(found, J @ both.v[0]) < CLOSE


def test_momentum_its_matrix_and_rates_are_pinocchios(both):
    model, data, (q, v, a, _), iv = both.other, both.data, both.there, both.iv
    A = pin.ccrba(model, data, q, v)[:, iv].copy()
    assert error(both.ask("momentum_matrix", both.q), A) < CLOSE
    assert error(both.ask("momentum", both.q, both.v), data.hg.vector) < CLOSE
    dA = pin.dccrba(model, data, q, v)[:, iv].copy()
    found = both.ask("momentum_matrix_rate", both.q, both.v)
    assert error(found, dA) < CLOSE
    pin.computeCentroidalMomentumTimeVariation(model, data, q, v, a)
    rate = both.ask("momentum_rate", both.q, both.v, both.a)
    assert error(rate, data.dhg.vector) < CLOSE
    assert error(A @ both.a[0] + found @ both.v[0], rate) < CLOSE


def test_inverse_inertias_are_those_of_pinocchios_matrices(both):
    model, data, q = both.other, both.data, both.there[0]
    M = pin.crba(model, data, q)[both.iv][:, both.iv]
    inverse = np.linalg.inv(M)
    assert error(both.ask("inverse_mass_matrix", both.q), inverse) < INVERTED
    for link, k in [*both.links().items()][-1:]:
        J = pin.computeFrameJacobian(model, data, q, k, pin.LOCAL_WORLD_ALIGNED)[:, both.iv]
        mobility = J @ inverse @ J.T
        assert error(both.ask("operational_mobility", both.q, frame=link), mobility) < INVERTED
        if np.linalg.cond(mobility) < 1e6:
            found = both.ask("operational_inertia", both.q, frame=link)
            assert error(found @ mobility, np.eye(6)) < INVERTED


def test_regressors_are_pinocchios(both):
    model, data, (q, v, a, _) = both.other, both.data, both.there
    p = both.robot.parameters
    T = both.ask("kinetic_energy_regressor", both.q, both.v) @ p
    assert error(T, pin.computeKineticEnergy(model, data, q, v)) < CLOSE
    U = both.ask("potential_energy_regressor", both.q) @ p
    assert error(U, pin.computePotentialEnergy(model, data, q)) < CLOSE
    M = pin.crba(model, data, q)[both.iv][:, both.iv]
    Mv = both.ask("momentum_regressor", both.q, both.v) @ p
    assert error(Mv, M @ both.v[0]) < CLOSE
    pin.rnea(model, data, q, v, a)
    for link, k in both.links().items():
        expected = pin.frameBodyRegressor(model, data, k)
        found = both.ask("body_regressor", both.q, both.v, both.a, frame=link)
        assert error(found, expected) < CLOSE, link


def test_wrenches_in_joints_and_on_the_base_are_pinocchios(both):
    model, data, (q, v, a, _) = both.other, both.data, both.there
    pin.rnea(model, data, q, v, a)
    wrenches = both.ask("joint_wrenches", both.q, both.v, both.a)
    links = [body.name for body in both.robot.model.links.values()]
    for name, w in zip(links, wrenches, strict=True):
        frame = model.frames[both.links()[name]]
        expected = frame.placement.actInv(data.f[frame.parentJoint])
        assert error(w, expected.vector) < CLOSE, name
    on_base = pin.Force.Zero()
    for joint in range(1, model.njoints):
        if model.parents[joint] == 0:
            on_base = on_base + data.liMi[joint].act(data.f[joint])
    assert error(both.ask("base_wrench", both.q, both.v, both.a), on_base.vector) < CLOSE
