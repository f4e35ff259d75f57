"""Laws that every impact keeps, on random trees and walls; and impacts whose outcome is known."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from simulated_robots import TREE_START, block, point_mass

import appell
from appell.simulation import EnergyWarning
from appell.simulation.contacts.contact import find_contacts
from appell.simulation.contacts.impact import jump
from appell.walls import Circle, Ellipse, Implicit, Plane, Sphere

STILL = np.zeros(2)


def bowl(x, y, z):
    return (x / 3) ** 2 + (y / 2.5) ** 2 + (z / 2.8) ** 4 - 1


WALLS = [Sphere(2.5), Circle(2.2), Ellipse((3.0, 2.0)), Implicit(bowl), Plane((0.2, 1, 0.3), -1.8)]


def tossed(base, seed, wall, e, **options):
    """A random tree that flies without gravity into a wall: the rows around its first impacts."""
    robot = appell.load("random_tree", n=3, seed=seed % 5, base=base).with_gravity((0, 0, 0))
    draw = np.random.default_rng(seed)
    q = np.zeros(robot.nq)
    q[-3:] = draw.uniform(-0.5, 0.5, 3)
    if base == "free":
        q[3:7] = Rotation.random(rng=draw).as_quat()
    v = 0.5 * draw.normal(size=robot.nv)
    v[:3] = draw.normal(size=3) * [2, -3, 2 * (base == "free")]
    settings = {"until": 2.0, "walls": wall, "restitution": e, "rtol": 1e-10, "atol": 1e-12}
    run = appell.simulate(robot, q, v, **settings, **options)
    rows = [int(np.flatnonzero(run.t == x.time)[0]) for x in run.impacts[:3]]
    return robot, run, list(zip(run.impacts[:3], rows, strict=True))


def linear_momentum(robot, base, q, v):
    p = (robot.mass_matrix(q) @ v)[:3]
    return Rotation.from_quat(q[3:7]).apply(p) if base == "free" else np.array([*p[:2], 0.0])


@settings(max_examples=15)
@given(
    st.sampled_from(["planar", "free"]),
    st.integers(0, 10_000),
    st.sampled_from(WALLS),
    st.sampled_from([0.0, 0.4, 1.0]),
    st.sampled_from(["newton", "poisson"]),
)
def test_momentum_changes_by_the_impulses_and_energy_is_kept_or_lost(base, seed, wall, e, law):
    robot, run, hits = tossed(base, seed, wall, e, law=law)
    contacts = find_contacts(robot.model, wall, None, True)
    for hit, k in hits:
        q, before, after = run.q[k], run.v[k], run.v[k + 1]
        if len([x for x in run.impacts if x.time == hit.time]) > 1 or e == 0:
            continue  # more impacts, or rest, at the same instant: the rows show their sum
        c = contacts.at(q, before)
        struck = [contacts.names.index(pair) for pair in zip(hit.points, hit.walls, strict=True)]
        push = hit.impulses @ c.normal[struck]
        change = linear_momentum(robot, base, q, after) - linear_momentum(robot, base, q, before)
        inside = push if base == "free" else push * [1, 1, 0]
        np.testing.assert_allclose(change, inside, atol=1e-8 * np.abs(push).max())
        M = robot.mass_matrix(q)
        np.testing.assert_allclose(M @ (after - before), c.J[struck].T @ hit.impulses, atol=1e-7)
        assert (hit.impulses >= 0).all()
        kinetic = 0.5 * (after @ M @ after - before @ M @ before)
        assert hit.energy_change == pytest.approx(kinetic, abs=1e-9)
        if e == 1:
            assert hit.energy_change == pytest.approx(0, abs=1e-9)
        else:
            assert hit.energy_change < 0
        if len(struck) == 1:
            np.testing.assert_allclose(c.J[struck] @ after, -e * c.rate[struck], atol=1e-9)
    assert run.residuals["penetration"] < 1e-9
    assert np.diff(run.energy).max(initial=0.0) < 1e-7


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_four_corners_at_once_are_one_impact_shared_evenly(e):
    """Three contacts would determine it; the fourth repeats them."""
    body, floor = block(), Plane((0, 0, 1))
    q0 = [0, 0, 0.55, 0, 0, 0, 1]
    run = appell.simulate(body, q0, until=0.4, walls=floor, restitution=e)
    hit = run.impacts[0]
    speed = np.sqrt(2 * 9.81 * 0.5)
    assert hit.points == ("c0", "c1", "c2", "c3")
    np.testing.assert_allclose(hit.impulses, (1 + e) * speed * 2.0 / 4, rtol=1e-9)
    np.testing.assert_allclose(hit.velocity_jumps, (1 + e) * speed, rtol=1e-9)
    np.testing.assert_allclose(hit.angles, 0, atol=1e-9)
    assert hit.energy_change == pytest.approx(-(1 - e**2) * 2.0 * 9.81 * 0.5, abs=1e-9)
    np.testing.assert_allclose(run.v[-1][[0, 1, 3, 4, 5]], 0, atol=1e-9)


def test_equation_47_is_solved_where_all_impulses_push():
    """The tree's second impact, against the paper's matrix of it."""
    tree = appell.load("ten_link_tree")
    run = appell.simulate(tree, TREE_START, until=0.6, walls=Circle(2.5), restitution=0.8)
    hit = run.impacts[0]
    k = int(np.flatnonzero(run.t == hit.time)[0])
    c = find_contacts(tree.model, Circle(2.5), None, True).at(run.q[k], run.v[k])
    J, M = c.J[[0, 4]], tree.mass_matrix(run.q[k])
    impact = np.block([[M, -J.T], [J, np.zeros((2, 2))]])
    known = np.concatenate([M @ run.v[k], -0.8 * J @ run.v[k]])
    solved = np.linalg.solve(impact, known)
    np.testing.assert_allclose(run.v[k + 1], solved[:12], atol=1e-11)
    np.testing.assert_allclose(hit.impulses, solved[12:], rtol=1e-11)


def test_a_corner_of_two_walls_turns_a_ball_back():
    walls = [Plane((1, 0)), Plane((0, 1))]
    ball = point_mass(gravity=(0, 0, 0))
    run = appell.simulate(ball, [1, 1], [-2, -2], until=1.0, walls=walls, restitution=0.5)
    assert len(run.impacts) == 1
    assert run.impacts[0].points == ("ball", "ball")
    np.testing.assert_allclose(run.v[-1], [1, 1], atol=1e-12)
    # The same wall twice changes nothing.
    twice = appell.simulate(ball, [1, 1], [-2, 0], until=1.0, walls=[walls[0]] * 2)
    np.testing.assert_allclose(twice.v[-1], [2, 0], atol=1e-12)
    np.testing.assert_allclose(twice.impacts[0].impulses, [4, 4], atol=1e-11)


def test_each_wall_has_its_own_restitution():
    walls = [Plane((1, 0), restitution=0.25, name="soft"), Plane((0, 1))]
    ball = point_mass(gravity=(0, 0, 0))
    run = appell.simulate(ball, [1, 1], [-2, -2], until=1.0, walls=walls, restitution=1.0)
    np.testing.assert_allclose(run.v[-1], [0.5, 2], atol=1e-12)
    assert run.impacts[0].walls == ("soft", "Plane(0, 1, 0)")


@pytest.mark.parametrize("mu", [0.1, 0.3, 2.0])
@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_friction_slows_a_ball_by_at_most_mu_times_the_impulse(mu, law):
    ball = point_mass(gravity=(0, 0, 0))
    options = {"restitution": 0.5, "mu": mu, "law": law}
    run = appell.simulate(ball, [0, 1], [3, -2], until=1.0, walls=Plane((0, 1)), **options)
    (hit,) = run.impacts
    assert hit.impulses == pytest.approx(2 * 1.5 * 2)
    slide = max(3 - mu * 3, 0.0)  # friction's impulse 2 mu 3, on 2 kg
    np.testing.assert_allclose(run.v[-1], [slide, 1], atol=1e-12)
    np.testing.assert_allclose(hit.friction[0], [2 * (slide - 3), 0, 0], atol=1e-12)
    assert hit.energy_change == pytest.approx(slide**2 + 1 - 13)


def test_friction_in_space_acts_against_the_slide():
    """A corner of a block: its impulse lies in the cone, against the velocity after it."""
    body = block(corners=1)
    q = np.array([0, 0, 0.05, *Rotation.from_euler("xyz", [0.2, -0.3, 0.1]).as_quat()])
    contacts = find_contacts(body.model, Plane((0, 0, 1)), None, True)
    draw = np.random.default_rng(0)
    slid = 0
    for _ in range(30):
        v = draw.normal(size=6)
        c = contacts.at(q, v)
        if c.rate[0] > 0:
            continue
        done = jump(
            contacts, c, np.array([0]), body.mass_matrix(q), v, np.array([0.3]),
            np.array([0.4]), "newton",
        )  # fmt: skip
        after = c.P[0] @ done.v
        assert after[2] == pytest.approx(-0.3 * c.rate[0], abs=1e-9)
        rubbed, pressed = done.tangential[0], done.normal[0]
        assert np.linalg.norm(rubbed) <= 0.4 * pressed + 1e-9
        if np.linalg.norm(after[:2]) > 1e-6:  # it slides: friction is the largest, and opposite
            expected = -0.4 * pressed * after[:2] / np.linalg.norm(after[:2])
            np.testing.assert_allclose(rubbed[:2], expected, atol=1e-6)
            slid += 1
        assert done.energy < 0
    assert slid > 3


def test_poissons_law_is_newtons_for_one_contact():
    ball = point_mass()
    runs = [
        appell.simulate(ball, [0, 1], until=1.5, walls=Plane((0, 1)), restitution=0.7, law=law)
        for law in ("newton", "poisson")
    ]
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-11)


def test_newtons_law_is_warned_of_where_it_gives_energy():
    """Kane's double pendulum on a rough floor: with friction Newton's law can gain energy."""
    arm = appell.load("planar_chain", n=2)
    contacts = find_contacts(arm.model, Plane((0, 1)), {"end": ("link2", (1.0, 0, 0))}, True)
    k = [name for name, _ in contacts.names].index("end")
    gains = {}
    for law in ("newton", "poisson"):
        gains[law] = -np.inf
        for a, b, w1, w2 in np.random.default_rng(0).uniform(-3, 3, (400, 4)):
            q, v = np.array([a, b]), np.array([w1, w2])
            c = contacts.at(q, v)
            if c.rate[k] < -0.1 and c.gap[k] < c.gap.min() + 1e-12:
                done = jump(
                    contacts, c, np.array([k]), arm.mass_matrix(q), v, np.array([0.5]),
                    np.array([0.5]), law,
                )  # fmt: skip
                if done.energy > gains[law]:
                    gains[law], worst = done.energy, (q, v)
        if law == "newton":
            start = worst
    assert gains["newton"] > 1e-3
    q, v = start
    floor = Plane((0, 1), float(contacts.at(q, v).gap[k]))
    settings = {"until": 1e-3, "walls": floor, "restitution": 0.5, "mu": 0.5}
    settings["points"] = {"end": ("link2", (1.0, 0, 0))}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = appell.simulate(arm, q, v, **settings)
    assert run.impacts[0].energy_change > 0
    assert any(issubclass(w.category, EnergyWarning) for w in caught)


def test_joints_strike_their_stops():
    ball = point_mass(gravity=(0, 0, 0), lower=-1.0, upper=2.0)
    run = appell.simulate(ball, [0, 0], [3, 0], until=2.0, stop_restitution=0.5)
    first = run.impacts[0]
    assert first.points == ("x",)
    assert first.walls == ("upper limit",)
    assert first.time == pytest.approx(2 / 3, abs=1e-12)
    assert run.v[-1] == pytest.approx([-1.5, 0])
    stays = appell.simulate(ball, [0, 0], [3, 0], until=2.0)  # inelastic unless told otherwise
    np.testing.assert_allclose([stays.q[-1], stays.v[-1]], [[2, 0], [0, 0]], atol=1e-9)
    through = appell.simulate(ball, [0, 0], [3, 0], until=2.0, stops=False)
    assert through.q[-1] == pytest.approx([6, 0])
