"""What rounding left is zero, and nothing else is: numbers are compared with their own kind."""

from __future__ import annotations

import numpy as np
import pytest

from appell.maths.rounding import sized
from appell.maths.scalar import snap
from appell.maths.vector import Symmetric, Vector
from appell.model.axes import as_rotation, as_vector, from_rpy
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING, Inertia, snapped
from appell.model.model import Joint
from appell.model.regroup import regrouped
from appell.robots.robot import Robot


def spinning(inertia: Inertia, offset=(0.0, 0.0, 0.3), **hinge) -> Robot:
    """A body on a joint along z, held through a fixed joint ``offset`` away."""
    hinges = [
        Hinge("turn", "base", "axle", Joint("turn"), np.eye(3), np.zeros(3), **hinge),
        Hinge("weld", "axle", "body", None, np.eye(3), np.array(offset)),
    ]
    return Robot(assemble("spinning", {"base": NOTHING, "axle": NOTHING, "body": inertia}, hinges))


@pytest.mark.parametrize("radius", [1e-3, 3e-8, 1e-9, 1e-12, 1e-20])
@pytest.mark.parametrize("mass", [1e-6, 1.0, 1e4])
def test_moments_of_inertia_far_below_the_mass_in_numbers_are_kept(radius, mass):
    """Kilograms are no measure of kg m^2: a gyration radius of nanometres is no rounding."""
    moment = mass * radius**2
    body = Inertia(mass, Vector(0, 0, 0), Symmetric(moment, 0, moment, 0, 0, moment))
    robot = spinning(body)
    np.testing.assert_allclose(robot.mass_matrix([0.3]), [[moment]], rtol=1e-14)
    np.testing.assert_allclose(robot.forward_dynamics([0.3], [0.0], [moment]), [1], rtol=1e-14)


@pytest.mark.parametrize("thickness", [1e-3, 1e-8, 1e-9])
def test_a_needle_keeps_the_moment_about_its_own_axis(thickness):
    thin = thickness**2
    needle = Inertia(1.0, Vector(0, 0, 0.5), Symmetric(0.3, 0, 0.3, 0, 0, thin))
    robot = spinning(needle)
    np.testing.assert_allclose(robot.mass_matrix([0.3]), [[thin]], rtol=1e-14)


@pytest.mark.parametrize("off", [1e-6, 1e-12, 1e-17])
def test_a_needle_slightly_off_its_axis_feels_its_weight(off):
    """The first moment is small beside the needle's length, but not beside its thickness."""
    thin = 100 * off**2
    needle = Inertia(1.0, Vector(off, 0, 0.5), Symmetric(0.3, 0, 0.3, -0.5 * off, 0, thin))
    robot = spinning(needle, offset=(0, 0, 0)).with_gravity((0, -9.81, 0))
    np.testing.assert_allclose(robot.gravity([0.0]), [9.81 * off], rtol=1e-13)


def test_what_cancels_is_zero_and_what_drawing_programs_leave_is_zero():
    assert (sized(0.3) - sized(0.1) - sized(0.2)).rounded == 0 != 0.3 - 0.1 - 0.2
    assert (sized(1e-30) * 2).rounded == 2e-30
    noisy = Inertia(2.0, Vector(0.1, 3e-18, 0), Symmetric(0.2, 1e-18, 0.25, -2e-17, 0, 0.1))
    exact = snapped(noisy)
    assert [x == 0 for x in exact.moment] == [False, True, True]
    assert (exact.tensor.xy, exact.tensor.xz) == (0, 0)
    # A mass at its joint, seen from a link's frame that is elsewhere and turned.
    R, s = as_rotation(from_rpy((0.3, -0.2, 0.9))), as_vector((0.31, -0.17, 0.23))
    there = Inertia(3.0, Vector(0, 0, 0), Symmetric(0, 0, 0, 0, 0, 0)).moved(R, s)
    back = R.T @ -s
    ball = Inertia.from_parameters(tuple(map(sized, there.parameters))).moved(R.T, back)
    assert snapped(ball).parameters == (pytest.approx(3.0), *[0] * 9)


def test_zeros_are_exact_in_the_unit_of_their_own():
    assert as_vector((1e-21, 0, 1e-6)) == (0, 0, 1e-6)
    assert as_vector((1e-14, 0, 1e-6)) == (1e-14, 0, 1e-6)
    assert as_vector((1e-14, 0, 0)) == (1e-14, 0, 0)
    assert as_vector((1e-17, 0, 0), size=1.0) == (0, 0, 0)
    assert [snap(x) for x in (1e-15, 1 - 1e-14, -1 - 2e-16)] == [0, 1 - 1e-14, -1]


def test_a_small_robot_is_a_large_one_in_other_units():
    """Lengths by 1e-9, moments by 1e-18: the numbers of the mass matrix follow to their digits."""
    q = np.random.default_rng(3).normal(size=6)

    def arm(k: float) -> Robot:
        rng = np.random.default_rng(1)
        links, hinges = {"base": NOTHING}, []
        for i in range(1, 7):
            m, c, r = 1.0, k * rng.normal(size=3), k * 0.1
            about = Symmetric(m * r * r, 0, 2 * m * r * r, 0, 0, 1.5 * m * r * r)
            links[f"l{i}"] = Inertia.about_com(m, Vector(*c), about)
            R = from_rpy(np.pi / 2 * rng.integers(0, 4, 3))
            at = k * rng.choice([0.0, 0.3, 1e-6], 3)
            hinges.append(Hinge(f"j{i}", list(links)[i - 1], f"l{i}", Joint(f"j{i}"), R, at))
        return Robot(assemble("arm", links, hinges))

    large, small = arm(1.0), arm(1e-9)
    M = large.mass_matrix(q)
    np.testing.assert_allclose(small.mass_matrix(q) * 1e18, M, rtol=0, atol=1e-13 * M.max())
    g = large.gravity(q)
    np.testing.assert_allclose(small.gravity(q) * 1e9, g, rtol=0, atol=1e-13 * abs(g).max())
    counts = [len([x for b in regrouped(r.model).bodies for x in b.inertia.parameters if x == 0])
              for r in (large, small)]  # fmt: skip
    assert counts[0] == counts[1]
