"""The Agile Wrist's angles, branches and assemblies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell

N = 13
BRANCHES = ["".join(x) for x in itertools.product("+-", repeat=3)]


def printed_angles(wrist, q, sign):
    """theta by (34), psi by (35) and (36) with arccos, as printed but for the errata."""
    found = []
    for limb in wrist.model.limbs:
        base = Rotation.from_euler("ZX", [limb.lam, limb.gamma - np.pi]).as_matrix()
        fixed = Rotation.from_euler("ZX", [limb.eta, -limb.beta]).as_matrix()[:, 2]
        v = Rotation.from_euler("ZYX", q).as_matrix() @ fixed
        alpha1, alpha2 = (link.alpha for link in limb.links)
        s1, c1 = np.sin(alpha1), np.cos(alpha1)
        C = np.diag([s1, -s1, c1]) @ base.T @ v
        a, b, c = C[1], C[0], np.cos(alpha2) - C[2]
        theta = np.arctan2(b, a) + sign * np.arctan2(np.sqrt(a * a + b * b - c * c), c)
        w = base @ [s1 * np.sin(theta), -s1 * np.cos(theta), c1]
        n1, n2 = np.cross(base[:, 2], w) / abs(s1), np.cross(w, v) / abs(np.sin(alpha2))
        found.append((theta, np.arccos(n1 @ n2)))
    return np.array(found).T


def apart(x, y):
    return np.abs((np.asarray(x) - y + np.pi) % (2 * np.pi) - np.pi).max()


def test_angles_are_those_of_the_paper(wrist, states):
    for q in states[0]:
        theta, psi = wrist.inverse_kinematics(q)
        printed = printed_angles(wrist, q, -1)
        assert apart(theta, printed[0]) < 1e-12
        assert apart(psi, printed[1]) < 1e-12
        theta, psi = wrist.inverse_kinematics(q, branch="+")
        printed = printed_angles(wrist, q, 1)
        assert apart(theta, printed[0]) < 1e-12
        assert apart(-psi, printed[1]) < 1e-12  # arccos has only the other branch's sign


@pytest.mark.parametrize("branch", BRANCHES)
def test_each_limb_has_two_branches(wrist, states, branch):
    other = wrist.with_branch(branch)
    q, v, a = states
    theta, psi = other.inverse_kinematics(q)
    np.testing.assert_array_equal(theta, wrist.inverse_kinematics(q, branch=branch).theta)
    plus, minus = (wrist.inverse_kinematics(q, branch=sign).theta for sign in "+-")
    for i, sign in enumerate(branch):
        np.testing.assert_array_equal(theta[:, i], (plus if sign == "+" else minus)[:, i])
        assert (np.sign(psi[:, i]) == (-1 if sign == "+" else 1)).all()
    # Poses found for these angles, from nearby, are the ones they came from.
    back = other.direct_kinematics(theta, q + 1e-3 * v)
    np.testing.assert_allclose(back, q, rtol=0, atol=1e-11)
    assert other.singularity(q).shape == (N,)
    regular = other.singularity(q) > 0.05  # branches differ in the platform's singularities
    tau = other.inverse_dynamics(*(x[regular] for x in states))
    np.testing.assert_allclose(
        other.forward_dynamics(q[regular], v[regular], tau), a[regular], rtol=0, atol=1e-8
    )


def turned_between(q, other):
    """The angle of the turn between two poses."""
    return (Rotation.from_euler("ZYX", q).inv() * Rotation.from_euler("ZYX", other)).magnitude()


def test_all_assemblies_close_the_loops(wrist, states):
    for q in states[0][:5]:
        theta = wrist.inverse_kinematics(q).theta
        found = wrist.assemblies(theta)
        assert len(found) in (2, 4, 6, 8)
        assert any(turned_between(pose.q, q) < 1e-9 for pose in found)
        for pose in found:
            on = wrist.with_branch(pose.branch)
            assert apart(on.inverse_kinematics(pose.q).theta, theta) < 1e-9


def test_direct_kinematics_says_why_it_fails(wrist):
    q = np.array([0.1, 0.2, 0.3])
    theta = wrist.inverse_kinematics(q).theta
    short = appell.load("agile_wrist", alpha2=0.2)
    assert short.assemblies([0.0, 2.0, 4.0]) == []
    with pytest.raises(appell.InputError, match=r"do not close.*start nearer"):
        short.direct_kinematics([0.0, 2.0, 4.0], q)
    with pytest.raises(appell.InputError, match=r"on the branch '---' and the robot on '\+--'"):
        wrist.with_branch("+--").direct_kinematics(theta, q)
    with pytest.raises(appell.InputError, match="expected finite angles"):
        wrist.direct_kinematics([1.0, 2.0], q)
    with pytest.raises(appell.InputError, match="expected finite angles"):
        wrist.direct_kinematics([np.nan] * 3, q)
