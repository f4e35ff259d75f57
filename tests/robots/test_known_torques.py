"""External forces in laws, in identification and in the reactions of loops."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.control import Adaptive, ComputedTorque
from appell.errors import InputError

ARM = appell.load("two_link").with_springs({"joint2": (8.0, 0.5)})
LOOP = appell.load("five_bar")


def states(robot, count=40):
    return robot.states_to_check(count, np.random.default_rng(1))


@pytest.mark.parametrize("axes", ["base", "local"])
@pytest.mark.parametrize("robot", [ARM, LOOP], ids=str)
def test_a_law_compensates_measured_forces(robot, axes):
    """Where there is no error, tau = M a + C v + g - J^T w, in one state and in batches."""
    q, v, a = states(robot)
    link = robot.link_names[-1]
    w = np.random.default_rng(2).normal(size=(len(q), 6))
    expected = robot.inverse_dynamics(q, v, a, forces={link: w}, axes=axes)
    size = np.abs(expected).max()
    for law in (ComputedTorque(robot), Adaptive(robot)):
        tau, _ = law(q, v, q, v, a, forces={link: w}, axes=axes)
        np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-10 * size)
        tau, _ = law(q[0], v[0], q[0], v[0], a[0], forces={link: w[0]}, axes=axes)
        np.testing.assert_allclose(tau, expected[0], rtol=0, atol=1e-10 * size)


@pytest.mark.parametrize("robot", [ARM, LOOP], ids=str)
def test_identification_with_a_measured_wrench(robot):
    q, v, a = states(robot, 200)
    link = robot.link_names[-1]
    w = np.random.default_rng(3).normal(size=(len(q), 6))
    tau = robot.inverse_dynamics(q, v, a, forces={link: w})
    other = robot.with_parameters(1.2 * robot.parameters)
    fit = appell.identify.fit(other, q, v, a, tau, forces={link: w}, check=False)
    size = np.abs(tau).max()
    assert fit.residuals.max() < 1e-9 * size
    found = fit.predict(q, v, a, forces={link: w})
    np.testing.assert_allclose(found, tau, rtol=0, atol=1e-8 * size)
    blind = appell.identify.fit(other, q, v, a, tau, check=False)
    assert blind.residuals.max() > 1e-4 * size
    data = appell.identify.Data(np.arange(200.0), q, v, a, tau)
    checked = appell.identify.validate(fit, data, forces={link: w})
    assert checked.errors.rms.max() < 1e-8 * size
    across = appell.identify.cross_validate(other, data, folds=2, forces={link: w}, check=False)
    assert across.max() < 1e-6 * size


def test_what_is_wrong_with_them_is_said():
    q, v, a = states(ARM)
    tau = ARM.inverse_dynamics(q, v, a)
    for forces, says in (
        ({"link2": np.ones((3, 6))}, r"shape \(3, 6\); expected \(6,\) or \(40, 6\)"),
        ({"link2": [1, 2]}, r"shape \(2,\)"),
        ([1], "wrenches by frame"),
        ({"hand": np.ones(6)}, "no frame 'hand'"),
    ):
        with pytest.raises(InputError, match=says):
            appell.identify.fit(ARM, q, v, a, tau, forces=forces)
    with pytest.raises(InputError, match="not blocks"):
        appell.identify.fit(ARM, [(q, v, a, tau)], forces={"link2": np.ones(6)})


def test_reactions_hold_external_forces():
    """Closed loops at these reactions balance all joints, not only the independent ones."""
    q, v, a = states(LOOP, 5)
    link, w = LOOP.link_names[-1], np.random.default_rng(4).normal(size=6)
    tau = LOOP.inverse_dynamics(q, v, a, forces={link: w})
    r = LOOP.reactions(q, v, tau, forces={link: w})
    tree = appell.Robot(LOOP.model)
    needed = tree.inverse_dynamics(
        q, LOOP.speeds(q, v), LOOP.accelerations(q, v, a), forces={link: w}
    )
    needed[:, list(LOOP.mechanism.actuated)] -= tau
    given = np.einsum("nrv,nr->nv", LOOP.assembly.rows(q), r)
    np.testing.assert_allclose(given, needed, rtol=0, atol=1e-9 * np.abs(needed).max())
