"""Gaps and their derivatives, of every kind of wall; which points and stops are watched."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_robots import block, point_mass

import appell
from appell.compile.record import FUNCTIONS
from appell.errors import InputError
from appell.simulation.contacts.contact import find_contacts
from appell.simulation.contacts.points import contact_points
from appell.walls import Circle, Cylinder, Ellipse, Implicit, Plane, Sphere

WALLS = [
    Plane((1, 2, -0.5), -4.0),
    Plane((0, 3)),
    Circle(3.0, (0.2, -0.1)),
    Circle(0.5, (4.0, 0.0), inside=False),
    Ellipse((4.0, 3.0), (0.1, 0.2)),
    Sphere(5.0, (0.1, 0, 0)),
    Cylinder(4.0, (1, 1, 0), (0, 0, 0.3)),
    Implicit(lambda x, y, z: (x / 5) ** 4 + (y / 4) ** 4 + (z / 4) ** 2 - 1),
    Implicit(lambda x, y, z: z + 4 - 0.1 * np.sin(x) * np.cos(2 * y), inside=False),
    Implicit(lambda x, y, z: z + 4 - 0.1 * np.exp(-x * x) + np.tanh(y) / 3, inside=False),
]


def pushed(model, q, v, h):
    """q after a short time at speeds v."""
    from appell.equations.instant import coordinate_rates

    half = q + h / 2 * np.array(coordinate_rates(model, q, v), dtype=float)
    return q + h * np.array(coordinate_rates(model, half, v), dtype=float)


@pytest.mark.parametrize("base", ["fixed", "planar", "free"])
@pytest.mark.parametrize("wall", WALLS, ids=lambda w: w.label)
def test_rates_and_drifts_are_derivatives_of_gaps(base, wall):
    robot = appell.load("random_tree", n=3, seed=3, base=base)
    contacts = find_contacts(robot.model, wall, None, True)
    draw = np.random.default_rng(1)
    q, v = draw.uniform(-1, 1, robot.nq), draw.normal(size=robot.nv)
    if base == "free":
        q[3:7] /= np.linalg.norm(q[3:7])
    c = contacts.at(q, v)
    h = 1e-5
    there, back = pushed(robot.model, q, v, h), pushed(robot.model, q, v, -h)
    rate = (contacts.gaps(there, v)[0] - contacts.gaps(back, v)[0]) / (2 * h)
    drift = (contacts.gaps(there, v)[1] - contacts.gaps(back, v)[1]) / (2 * h)
    # Central differences: h^2 and rounding over h.
    np.testing.assert_allclose(c.rate, rate, atol=1e-7)
    np.testing.assert_allclose(c.J @ v, c.rate, atol=1e-12)
    np.testing.assert_allclose(c.drift, drift, atol=1e-6)
    # The rate is the normal times the point's velocity, by the robot's own Jacobian.
    for k, point in enumerate(contacts.points):
        P = robot.jacobian(q, point.name)[:3]
        np.testing.assert_allclose(c.P[k], P, atol=1e-12)
        assert c.normal[k] @ P @ v == pytest.approx(c.rate[k], abs=1e-12)


@pytest.mark.parametrize("wall", WALLS, ids=lambda w: w.label)
def test_gaps_are_distances_near_the_wall(wall):
    """A point moved by d along the normal of the wall has the gap d, to first order."""
    body = block()
    contacts = find_contacts(body.model, wall, None, True)
    q = np.array([0.3, 0.2, 0.1, 0, 0, 0, 1.0])
    v = np.zeros(6)
    for _ in range(200):  # onto the wall, against the gap of the first corner
        c = contacts.at(q, v)
        step = c.gap[0] * c.normal[0] / np.linalg.norm(c.normal[0]) ** 2
        q[:3] -= step * min(1.0, 0.5 / max(np.linalg.norm(step), 1e-30))
    assert contacts.at(q, v).gap[0] == pytest.approx(0, abs=1e-12)
    n = contacts.at(q, v).normal[0]
    assert np.linalg.norm(n) == pytest.approx(1, abs=1e-9)
    q[:3] += 1e-6 * n
    assert contacts.at(q, v).gap[0] == pytest.approx(1e-6, abs=1e-10)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_a_wall_is_compiled(name, monkeypatch):
    """And gives what NumPy gives, as do powers."""
    monkeypatch.setattr("appell.simulation.contacts.contact._by_casadi", None)
    function = getattr(np, name)

    def height(x, y, z=0.0):
        return y - function(0.3 + 0.1 * x) - abs(x) ** 1.7 - np.hypot(x, 2.0) * np.arctan2(x, 3)

    contacts = find_contacts(point_mass().model, Implicit(height, inside=False), None, False)
    q = np.random.default_rng(4).uniform(-1, 1, (50, 2))
    gap, _ = contacts.gaps(q, np.zeros_like(q))
    values, h = height(*q.T), 1e-6
    slope = [(height(*(q + d).T) - height(*(q - d).T)) / (2 * h) for d in h * np.eye(2)]
    size = np.sqrt(np.square(slope).sum(axis=0) + (values / 10) ** 2)
    np.testing.assert_allclose(gap[:, 0], values / size, rtol=1e-7)


def test_round_walls_measure_the_distance_itself_and_nothing_breaks_in_their_centre():
    for wall in (Circle(2.0), Sphere(2.0), Cylinder(2.0)):
        assert wall.gap(3.0, 0.0, 0.0) == pytest.approx(-1.0)
        assert wall.gap(0.0, 0.0, 0.0) == pytest.approx(2.0)
    ball = point_mass()
    for wall in (Circle(2.0), Ellipse((2.0, 3.0)), Implicit(lambda x, y, z: x**2 + y**2 - 4)):
        c = find_contacts(ball.model, wall, None, True).at(np.zeros(2), np.ones(2))
        assert np.isfinite(c.gap).all()
        assert np.isfinite(c.rate).all()


def test_points_are_the_models_or_chosen_or_added():
    tree = appell.load("ten_link_tree").model
    assert [p.name for p in contact_points(tree)] == [f"O{i}" for i in range(1, 12)]
    assert [p.name for p in contact_points(tree, ["O3", "O5"])] == ["O3", "O5"]
    added = contact_points(tree, {"middle": ("link1", (0.5, 0, 0))})
    assert [p.name for p in added][-1] == "middle"
    # What cannot move cannot strike: the base, and what stands on the first joint's axis.
    assert "link1" not in [p.name for p in contact_points(appell.load("planar_chain").model)]
    planar = appell.load("random_tree", n=2, seed=0, base="planar").model
    assert {"slide", "slider"}.isdisjoint(p.name for p in contact_points(planar))


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (["knee"], "no frame 'knee'"),
        ([3], "names of links"),
        ({"toe": "link1"}, r"\(link, \(x, y, z\)\)"),
        ({"toe": ("link1", (0, np.nan, 0))}, r"\(link, \(x, y, z\)\)"),
    ],
)
def test_points_that_are_none_are_explained(points, message):
    with pytest.raises(InputError, match=message):
        contact_points(appell.load("ten_link_tree").model, points)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Circle(-1.0), "positive"),
        (lambda: Circle(1.0, (0, 0, 0)), "2 finite numbers"),
        (lambda: Plane((0, 0)), "no direction"),
        (lambda: Cylinder(1.0, (0, 0, 0)), "no direction"),
        (lambda: Ellipse((1.0, 0.0)), "positive"),
        (lambda: Sphere(1.0, restitution=1.2), "from 0"),
        (lambda: Sphere(1.0, mu=-0.1), "zero or more"),
        (lambda: Implicit(3.0), "function of x, y and z"),
    ],
)
def test_walls_that_cannot_be_are_explained(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, y, z: 0 * x + 2.0, "does not depend"),
        (lambda x, y, z: 1.0 if x > 0 else y, "may not branch"),
        (lambda x, y, z: __import__("math").sin(x), "NumPy"),
        (lambda x, y, z: "wall", "expected one number"),
        (lambda x, y: x, "cannot be recorded"),
    ],
)
def test_functions_that_are_no_surfaces_are_explained(function, message):
    with pytest.raises(InputError, match=message):
        appell.simulate(point_mass(), [0, 1.0], until=0.1, walls=Implicit(function))


def test_kernels_of_different_functions_are_not_mistaken_for_each_other():
    """Two lambdas look alike; what they compute tells them apart, also in the cache."""
    ball = point_mass()
    for height in (0.0, 0.5):
        wall = Implicit(lambda x, y, z, h=height: y - h, inside=False)
        run = appell.simulate(ball, [0, 1.0], until=0.5, walls=wall)
        fall = np.sqrt(2 * (1 - height) / 9.81)
        assert run.impacts[0].time == pytest.approx(fall, abs=1e-12)


def test_stops_are_contacts_with_limits():
    ball = point_mass(lower=-1.0, upper=2.0)
    contacts = find_contacts(ball.model, (), None, True)
    assert contacts.names == (
        ("x", "lower limit"), ("x", "upper limit"), ("y", "lower limit"), ("y", "upper limit"),
    )  # fmt: skip
    gap, rate = contacts.gaps(np.array([0.5, 1.0]), np.array([1.0, -2.0]))
    np.testing.assert_allclose(gap, [1.5, 1.5, 2.0, 1.0])
    np.testing.assert_allclose(rate, [1.0, -1.0, -2.0, 2.0])
    assert len(find_contacts(ball.model, (), None, False)) == 0
