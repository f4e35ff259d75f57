"""Dynamics, impulses and derivatives with contacts are Pinocchio's."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from batches import AsWritten

import appell
from benchmarks.both import Both

# Relative to the largest entry, or to 1: rounding, and the conditions of M and of J M^-1 J^T, each
# up to 1e4 at these states.
CLOSE = 1e-8
ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
EXACT = pin.ProximalSettings(1e-14, 0.0, 1)
TREES = [(seed, base) for seed in range(3, 25) for base in ("fixed", "free")]


def error(found, expected):
    return np.abs(found - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1)


class Held:
    """A robot in Pinocchio that is held at frames: names, kinds, and points on them."""

    def __init__(self, both, *places):
        self.both, self.data = both, both.other.createData()
        self.models = pin.StdVec_RigidConstraintModel()
        self.datas = pin.StdVec_RigidConstraintData()
        for name, kind, point in places:
            frame = both.other.frames[both.links[name]]
            place = frame.placement * pin.SE3(np.eye(3), np.array(point, dtype=float))
            of = pin.ContactType.CONTACT_3D if kind == "point" else pin.ContactType.CONTACT_6D
            contact = pin.RigidConstraintModel(of, both.other, frame.parentJoint, place, ALIGNED)
            self.models.append(contact)
            self.datas.append(contact.createData())
        self.sizes = [3 if kind == "point" else 6 for _, kind, _ in places]
        pin.initConstraintDynamics(both.other, self.data, self.models, self.datas)

    def dynamics(self):
        """Accelerations and forces at the robot's state."""
        both, with_contacts = self.both, (self.models, self.datas, EXACT)
        a = pin.constraintDynamics(both.other, self.data, *both.there(both.tau), *with_contacts)
        f = [x.contact_force.vector[:n] for x, n in zip(self.datas, self.sizes, strict=True)]
        return a[both.iv], f

    def impulse(self, restitution):
        """Speeds after an impact."""
        both, data = self.both, self.data
        state = both.there()
        v = pin.impulseDynamics(
            both.other, data, *state, self.models, self.datas, restitution, EXACT
        )
        return v[both.iv]

    def derivatives(self):
        """Of accelerations by q, v and tau, and of forces by tau."""
        self.dynamics()
        other, data, iv = self.both.other, self.data, self.both.iv
        pin.computeConstraintDynamicsDerivatives(other, data, self.models, self.datas, EXACT)
        found = [x[iv][:, iv] for x in (data.ddq_dq, data.ddq_dv, data.ddq_dtau)]
        return [*found, data.dlambda_dtau[:, iv]]


def rows(robot, q, contact):
    return robot._touching("test", (contact,), q, np.zeros(robot.nv)).J


@pytest.mark.parametrize(("seed", "base"), TREES)
@pytest.mark.parametrize("kind", ["point", "fixed"])
def test_trees_of_every_kind_of_joint_on_contacts(seed, base, kind):
    both = Both.tree(seed, base)
    robot, link = AsWritten(both.robot.model), [*both.links][-1]
    point = np.random.default_rng(seed).normal(size=3)
    contact = appell.Contact(appell.Frame(link, point), kind)
    J = rows(robot, both.q, contact)
    if np.linalg.matrix_rank(J, tol=1e-2 * np.linalg.norm(J)) < len(J):
        return  # a link that cannot move in every direction: laws of physics have such
    held = Held(both, (link, kind, point))
    struck = robot.contact_impulse(both.q, both.v, contacts=[contact], restitution=0.3)
    assert error(struck.velocity, held.impulse(0.3)) < CLOSE
    if kind == "fixed":
        # Pinocchio's fixed contacts have no spatial acceleration, ours none of the origin: the same
        # where the contact is at rest.
        both.v = both.v - np.linalg.pinv(J) @ (J @ both.v)
    found = robot.contact_dynamics(both.q, both.v, both.tau, contacts=[contact])
    a, (f,) = held.dynamics()
    assert error(found.acceleration, a) < CLOSE
    assert error(found.forces[0], f) < CLOSE


@cache
def quadruped(name):
    return Both.real(name, "free")


@pytest.mark.parametrize("name", ["solo12", "anymal"])
@pytest.mark.filterwarnings("ignore")
def test_quadrupeds_on_their_feet(name):
    both = quadruped(name)
    feet = sorted(x for x in both.links if x.endswith("_FOOT"))
    assert len(feet) == 4
    for some in (feet[:3], feet[1:3]):
        found = both.robot.contact_dynamics(both.q, both.v, both.tau, contacts=some)
        a, f = Held(both, *((x, "point", (0, 0, 0)) for x in some)).dynamics()
        assert error(found.acceleration, a) < CLOSE
        assert error(np.array(found.forces), np.array(f)) < CLOSE


@pytest.mark.filterwarnings("ignore")
def test_derivatives_of_a_quadruped_on_two_feet():
    both = quadruped("solo12")
    feet = ["FL_FOOT", "HR_FOOT"]
    found = both.robot.contact_dynamics_derivatives(both.q, both.v, both.tau, contacts=feet)
    held = Held(both, *((x, "point", (0, 0, 0)) for x in feet))
    ours = [*found[:3], np.concatenate(found.df_dtau)]
    for x, y in zip(ours, held.derivatives(), strict=True):
        assert error(x, y) < CLOSE


@pytest.mark.filterwarnings("ignore")
def test_a_humanoid_on_two_fixed_feet():
    both = Both.real("talos", "free")
    robot = AsWritten(both.robot.model)
    feet = ("left_sole_link", "right_sole_link")
    contacts = [appell.Contact(x, "fixed") for x in feet]
    both.v = robot.contact_impulse(both.q, both.v, contacts=contacts).velocity
    found = robot.contact_dynamics(both.q, both.v, both.tau, contacts=contacts)
    a, f = Held(both, *((x, "fixed", (0, 0, 0)) for x in feet)).dynamics()
    assert error(found.acceleration, a) < CLOSE
    assert error(np.array(found.forces), np.array(f)) < CLOSE
