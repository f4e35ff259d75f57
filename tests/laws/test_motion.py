"""The equations of motion hold together: M a + C v + g = tau, in all the ways it can be said."""

from __future__ import annotations

import numpy as np
import pytest
from batches import evaluate
from cases import Case, assert_equal, cases, times
from hypothesis import given

from appell.equations.quantities import QUANTITIES

OTHER_FORMULATIONS = [
    (quantity, formulation)
    for quantity, asked in QUANTITIES.items()
    for formulation in list(asked.formulations)[1:]
    if formulation not in ("body", "momentum")  # other matrices C: test_coriolis_factors
]


@given(cases())
def test_forces_are_inertia_coriolis_and_gravity(case: Case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    parts = times(robot.mass_matrix(q), a) + times(robot.coriolis_matrix(q, v), v)
    assert_equal(parts + robot.gravity(q), robot.inverse_dynamics(q, v, a))


@given(cases())
def test_bias_is_the_force_without_acceleration(case: Case):
    robot, q, v = case.robot, case.q, case.v
    bias = robot.bias(q, v)
    assert_equal(bias, robot.inverse_dynamics(q, v, 0 * v))
    assert_equal(times(robot.coriolis_matrix(q, v), v), bias - robot.gravity(q), size=bias)


@given(cases())
def test_the_mass_matrix_is_symmetric_to_the_last_bit_and_positive_definite(case: Case):
    M = case.robot.mass_matrix(case.q)
    np.testing.assert_array_equal(M, np.swapaxes(M, -1, -2))
    assert np.linalg.eigvalsh(M).min() > 0


@given(cases(joints=6))
def test_the_rate_of_the_mass_matrix_less_twice_coriolis_is_skew(case: Case):
    dM = case.robot.kernel("mass_matrix", wrt="q")(case.q)
    C = case.robot.coriolis_matrix(case.q, case.v)
    skew = np.einsum("sijk,sk->sij", dM, case.v) - 2 * C
    assert_equal(skew, -np.swapaxes(skew, -1, -2), size=C)


@given(cases(joints=6))
def test_coriolis_is_half_the_derivative_of_the_bias_by_speed(case: Case):
    slope = case.robot.kernel("bias", wrt="v")(case.q, case.v)
    assert_equal(2 * case.robot.coriolis_matrix(case.q, case.v), slope)


@given(cases())
def test_forces_are_the_gradient_of_the_gibbs_function(case: Case):
    state = case.q, case.v, case.a
    gradient = case.robot.kernel("gibbs_function", wrt="a")(*state)
    assert_equal(gradient, case.robot.inverse_dynamics(*state))


@given(cases())
def test_the_mass_matrix_is_the_hessian_of_the_gibbs_function(case: Case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    b, zero = a[::-1], np.zeros_like(a)
    # Of a quadratic function, b . H a is a difference of four values, whatever their size.
    values = [robot.gibbs_function(q, v, x) for x in (a + b, a, b, zero)]
    mixed = values[0] - values[1] - values[2] + values[3]
    expected = np.einsum("si,sij,sj->s", a, robot.mass_matrix(q), b)
    assert_equal(mixed, expected, size=values[0])


@given(cases())
def test_forward_dynamics_undoes_inverse_dynamics(case: Case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    found = robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, a))
    # Measured as forces: accelerations carry the error times the condition of M.
    M = robot.mass_matrix(q)
    assert_equal(times(M, found), times(M, a))


@given(cases())
def test_forces_are_linear_in_the_inertial_parameters(case: Case):
    state = case.q, case.v, case.a
    Y = case.robot.regressor(*state)
    assert_equal(Y @ case.robot.parameters, case.robot.inverse_dynamics(*state))


@pytest.mark.parametrize(("quantity", "formulation"), OTHER_FORMULATIONS)
@given(case=cases())
def test_every_formulation_gives_the_same(case: Case, quantity, formulation):
    q, v, tau = case.q, case.v, 10 * case.a
    arguments = (q, v, tau)[: len(QUANTITIES[quantity].inputs)]
    first = next(iter(QUANTITIES[quantity].formulations))
    one = evaluate(case.robot.model, quantity, *arguments, formulation=first)
    other = evaluate(case.robot.model, quantity, *arguments, formulation=formulation)
    assert_equal(other, one)


@given(cases(joints=5))
def test_derivatives_of_inverse_dynamics_are_those_of_the_recorded_equation(case: Case):
    state = case.q, case.v, case.a
    recorded = case.robot.kernel("inverse_dynamics", wrt=("q", "v", "a"))(*state)
    for written, differentiated in zip(
        case.robot.inverse_dynamics_derivatives(*state), recorded, strict=True
    ):
        assert_equal(written, differentiated)


@given(cases(joints=5))
def test_derivatives_of_forward_dynamics_are_those_of_the_recorded_equation(case: Case):
    state = case.q, case.v, 10 * case.a
    recorded = case.robot.kernel("forward_dynamics", wrt=("q", "v", "tau"))(*state)
    for written, differentiated in zip(
        case.robot.forward_dynamics_derivatives(*state), recorded, strict=True
    ):
        assert_equal(written, differentiated)


@given(cases(joints=6))
def test_the_jacobian_is_the_rate_of_the_pose(case: Case):
    link = case.hinges[-1].child
    T = case.robot.forward_kinematics(case.q, link)
    dT = case.robot.kernel("forward_kinematics", frame=link, wrt="q")(case.q)
    rate = np.einsum("sijk,sk->sij", dT, case.v)
    velocity = times(case.robot.jacobian(case.q, link), case.v)
    assert_equal(velocity[:, :3], rate[:, :3, 3])
    W = rate[:, :3, :3] @ np.swapaxes(T[:, :3, :3], -1, -2)  # the skew tensor of w
    w = np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=-1)
    assert_equal(velocity[:, 3:], w)
