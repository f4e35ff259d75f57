"""Energy: what it is, where it comes from, and that none is lost."""

from __future__ import annotations

import numpy as np
from cases import Case, assert_equal, cases, times
from hypothesis import given


@given(cases())
def test_kinetic_energy_is_half_v_m_v(case: Case):
    momentum = times(case.robot.mass_matrix(case.q), case.v)
    half = np.einsum("si,si->s", case.v, momentum) / 2
    assert_equal(case.robot.kinetic_energy(case.q, case.v), half)


@given(cases())
def test_gravity_is_the_gradient_of_potential_energy(case: Case):
    gradient = case.robot.kernel("potential_energy", wrt="q")(case.q)
    assert_equal(case.robot.gravity(case.q), gradient)


@given(cases())
def test_power_is_the_rate_of_energy(case: Case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    by_q, by_v = robot.kernel("kinetic_energy", wrt=("q", "v"))(q, v)
    rate = ((by_q + robot.gravity(q)) * v + by_v * a).sum(-1)
    power = robot.inverse_dynamics(q, v, a) * v
    assert_equal(rate, power.sum(-1), size=power)


@given(cases())
def test_work_along_a_motion_is_the_energy_gained(case: Case):
    robot = case.robot
    start, speed, curve = case.q[0], case.v[0], case.a[0]

    def motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        s = t[:, None]
        return start + speed * s + curve * s**2 / 2, speed + curve * s, curve + 0 * s

    # Gauss's quadrature with 24 nodes is exact to rounding for motions as smooth as these.
    nodes, weights = np.polynomial.legendre.leggauss(24)
    q, v, a = motion((nodes + 1) / 8)
    work = (weights / 8) @ (robot.inverse_dynamics(q, v, a) * v).sum(-1)
    q, v, _ = motion(np.array([0.0, 0.25]))
    energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    assert_equal(work, energy[1] - energy[0], size=energy)
