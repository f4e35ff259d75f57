"""Every robot of the library answers every method of the contract, or says why it does not."""

from __future__ import annotations

import numpy as np
import pytest
from batches import stacked

import appell
from appell.errors import InputError
from appell.robots.registry import makers
from appell.robots.selfcheck import gradient, rate

ROBOTS = [*makers()]


def states(robot, count=3):
    """Where the robot can be; its kernels refuse nothing."""
    return robot.states_to_check(count, np.random.default_rng(7))


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    return appell.load(request.param)


def test_every_quantity_has_the_shapes_that_the_systems_sizes_say(robot):
    q, v, a = states(robot)
    d = robot.system.size("d")
    for quantity, inputs in (
        ("mass_matrix", (q,)),
        ("coriolis_matrix", (q, v)),
        ("gravity", (q,)),
        ("bias", (q, v)),
        ("kinetic_energy", (q, v)),
        ("potential_energy", (q,)),
        ("gibbs_function", (q, v, a)),
        ("generalised_forces", (q, v, a)),
        ("forward_dynamics", (q, v, *([np.ones((3, d))] if d else []))),
    ):
        result = robot.kernel(quantity)(*inputs)
        axes = next(iter(robot.system.quantities[quantity].outputs.values()))
        assert result.shape == (3, *(robot.system.size(x) for x in axes)), quantity
        assert np.isfinite(result).all(), quantity
    frame = robot.link_names[-1]
    assert robot.kernel("forward_kinematics", frame=frame)(q).shape == (3, 4, 4)
    assert robot.kernel("jacobian", frame=frame)(q).shape == (3, 6, robot.nv)


def test_every_formulation_gives_the_same_forces_and_accelerations(robot):
    q, v, a = states(robot)
    d = robot.system.size("d")
    tau = [np.ones((3, d))] if d else []
    for quantity, inputs in (("generalised_forces", (q, v, a)), ("forward_dynamics", (q, v, *tau))):
        expected = robot.kernel(quantity)(*inputs)
        for name in robot.system.quantities[quantity].formulations:
            if name == "articulated_body" and robot.model.mimics:
                continue
            # Uncompiled: compiling each of them takes seconds.
            equation = robot.equation(quantity, formulation=name)
            found = stacked(equation(*(list(x.T) for x in inputs)), 3)
            # Rounding of sums over the bodies; accelerations lose the digits of M's condition.
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_forces_follow_from_parameters_given_as_inputs(robot):
    q, v, a = states(robot)
    expected = robot.kernel("generalised_forces")(q, v, a)
    kernel = robot.kernel("generalised_forces", parameters=("mass", "gravity"))
    size = np.abs(expected).max()
    np.testing.assert_allclose(kernel(q, v, a), expected, rtol=0, atol=1e-10 * size)
    heavier = kernel(q, v, a, gravity=2 * kernel.defaults["gravity"])
    in_field = expected + robot.kernel("gravity")(q)
    np.testing.assert_allclose(heavier, in_field, rtol=0, atol=1e-10 * size)


def test_first_derivatives_are_those_of_finite_differences(robot):
    """Along what the loops allow; relative to the largest entry."""
    q, v, a = states(robot, 2)
    along, n = robot.displaced, robot.nv
    d = robot.system.size("d")
    tau = [np.full((2, d), 0.3)] if d else []
    for quantity, others in (("generalised_forces", (v, a)), ("forward_dynamics", (v, *tau))):
        value = robot.kernel(quantity)
        found = robot.kernel(f"{quantity}_derivatives")(q, *others)
        # rate() halves its step where functions bend: 1e-4 rad here, so that h^4 is nothing.
        by_q = 100 * gradient(lambda x: value(x, *others), lambda x, e: along(x, 0.01 * e), q, n)  # noqa: B023
        close(found[0], by_q)
        for k, x in enumerate(others):
            moved = [
                rate(
                    lambda y: value(q, *others[:k], y, *others[k + 1 :]),  # noqa: B023
                    lambda y, e: y + e,
                    x,
                    np.broadcast_to(e, x.shape),
                )
                for e in np.eye(x.shape[-1])
            ]
            close(found[k + 1], np.stack(moved, axis=-1))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * max(np.abs(expected).max(), 1))


def test_regressors_give_the_actuators_forces(robot):
    q, v, a = states(robot)
    if robot.system.size("d") < robot.nv:
        with pytest.raises(InputError, match="no forces of these give every motion"):
            robot.kernel("regressor")
        return
    tau = robot.kernel("inverse_dynamics")(q, v, a)
    Y = robot.kernel("regressor")(q, v, a)
    np.testing.assert_allclose(Y @ robot.parameters, tau, rtol=0, atol=1e-9 * np.abs(tau).max())


def test_every_robot_flies_and_keeps_its_energy(robot):
    q, v, _ = states(robot, 1)
    run = appell.simulate(robot, q[0], 0.2 * v[0], until=0.05, stops=False)
    assert run.stopped is None
    # The integrator's tolerance, 1e-9 of what moves, over few steps.
    assert np.ptp(run.energy) <= 1e-6 * max(np.abs(run.energy).max(), np.ptp(run.kinetic), 1e-3)


def test_configurations_lead_from_one_to_another(robot):
    q, _, _ = states(robot, 2)
    d = np.full(robot.nv, 1e-3)
    moved = robot.integrate(q, d)
    assert moved.shape == q.shape
    assert robot.neutral().shape == (robot.nq,)
    assert robot.random(1, 2).shape == (2, robot.nq)
