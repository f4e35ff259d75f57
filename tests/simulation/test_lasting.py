"""Contacts that last: rest, sliding, sticking and leaving, where the course is known."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_robots import G, block, point_mass, rail, rod

import appell
from appell.walls import Circle, Implicit, Plane

FLOOR = Plane((0, 1))
HILL = np.radians(30)
UP = np.array([np.cos(HILL), np.sin(HILL)])
SLOPE = Plane((-np.sin(HILL), np.cos(HILL)))


def test_from_the_top_of_a_cylinder_it_leaves_where_the_force_ends():
    """cos(angle) = 2/3 + v^2 / (3 g r), from the top with a small speed v."""
    v = 0.01
    ball = point_mass()
    run = appell.simulate(ball, [0, 1], [v, 0], until=3.0, walls=Circle(1.0, inside=False))
    assert run.impacts == []
    last = int(np.flatnonzero(run.reactions[:, 0] > 1e-6)[-1]) + 1  # the event's own row
    height = run.q[last, 1]
    assert np.hypot(*run.q[last]) == pytest.approx(1, abs=1e-10)
    assert height == pytest.approx(2 / 3 + v**2 / (3 * G), abs=1e-8)
    assert run.reactions[last:] == pytest.approx(0, abs=1e-6)
    assert np.ptp(run.energy) < 1e-9


def test_in_a_bowl_a_ball_is_a_pendulum():
    ball = point_mass()
    run = appell.simulate(ball, [0, -1], [1.0, 0], until=5.0, walls=Circle(1.0))
    angle = np.arctan2(run.q[:, 0], -run.q[:, 1])
    speed = np.linalg.norm(run.v, axis=1)
    force = 2 * (G * np.cos(angle) + speed**2)  # m (g cos + v^2 / r)
    np.testing.assert_allclose(run.reactions[:, 0], force, rtol=1e-8)
    assert np.abs(np.hypot(*run.q.T) - 1).max() < 1e-10
    assert np.ptp(run.energy) < 1e-9


@pytest.mark.parametrize("e", [0.0, 0.3, 0.9, 1.0])
def test_a_start_at_rest_on_the_floor_rests(e):
    run = appell.simulate(point_mass(), [0, 0], until=10.0, walls=FLOOR, restitution=e)
    assert run.impacts == []
    assert run.q[-1] == pytest.approx([0, 0], abs=1e-12)
    np.testing.assert_allclose(run.reactions, 2 * G, rtol=1e-9)
    assert len(run.t) < 50


@pytest.mark.parametrize("e", [0.2, 0.8])
def test_a_block_with_four_corners_comes_to_rest_on_them(e):
    body = block()
    q0 = [0, 0, 0.1, *np.array([0.02, 0.03, 0.1, 1.0]) / np.linalg.norm([0.02, 0.03, 0.1, 1.0])]
    run = appell.simulate(body, q0, until=4.0, walls=Plane((0, 0, 1)), restitution=e)
    assert run.stopped is None
    assert run.q[-1, 2] == pytest.approx(0.05, abs=1e-9)
    assert run.v[-1, [2, 3, 4]] == pytest.approx(0, abs=1e-7)
    assert run.reactions[-1].sum() == pytest.approx(2 * G, rel=1e-6)
    assert run.residuals["penetration"] < 1e-8
    assert np.diff(run.energy).max() < 1e-7


def test_a_push_that_ends_lets_a_ball_lift_off_and_return():
    """Held down, then pulled up with more than its weight, then let go."""

    def pull(t, q, v):
        return np.array([0.0, 4 * G if 1 < t < 1.5 else 0.0])

    ball = point_mass()
    run = appell.simulate(
        ball, [0, 0], until=4.0, walls=FLOOR, restitution=0.3, torque=pull, max_step=0.01
    )
    resting = run.reactions[:, 0] > 0
    assert resting[run.t < 0.99].all()
    assert not resting[(run.t > 1.01) & (run.t < 1.9)].any()
    assert run.q[(run.t > 1.4) & (run.t < 1.6), 1].min() > 0.5
    assert run.q[-1, 1] == pytest.approx(0, abs=1e-9)
    assert resting[-1]


@pytest.mark.parametrize("mu", [0.2, 0.5, 0.7])
def test_on_a_slope_friction_holds_up_to_its_angle(mu):
    run = appell.simulate(point_mass(), [0, 0], until=2.0, walls=SLOPE, mu=mu)
    down = max(np.sin(HILL) - mu * np.cos(HILL), 0.0)
    np.testing.assert_allclose(run.q @ UP, -0.5 * G * down * run.t**2, atol=1e-9)
    np.testing.assert_allclose(run.reactions, 2 * G * np.cos(HILL), rtol=1e-9)


@pytest.mark.parametrize("mu", [0.2, 0.7])
def test_pushed_up_a_slope_it_stops_and_then_slides_back_or_stays(mu):
    ball = point_mass()
    run = appell.simulate(ball, [0, 0], 3 * UP, until=3.0, walls=SLOPE, mu=mu)
    brake = G * (np.sin(HILL) + mu * np.cos(HILL))
    stop = 3 / brake
    back = G * max(np.sin(HILL) - mu * np.cos(HILL), 0.0)
    up = 3 * run.t - 0.5 * brake * run.t**2
    down = 1.5 * stop - 0.5 * back * (run.t - stop) ** 2
    np.testing.assert_allclose(run.q @ UP, np.where(run.t < stop, up, down), atol=1e-7)


def test_in_space_a_block_slides_to_rest_on_a_rough_floor():
    """No spin: every corner slides the same way, v^2 / (2 mu g) far."""
    body = block()
    start, v = [0, 0, 0.05, 0, 0, 0, 1], [0.6, 0.8, 0, 0, 0, 0]
    run = appell.simulate(body, start, v, until=2.0, walls=Plane((0, 0, 1)), mu=0.4)
    far = 1 / (2 * 0.4 * G)
    # Slides slower than 1 mm/s are taken as rest: 1e-6 of the way.
    np.testing.assert_allclose(run.q[-1, :3], [0.6 * far, 0.8 * far, 0.05], atol=2e-6)
    assert run.v[-1] == pytest.approx(0, abs=1e-9)


def test_four_corners_hold_until_the_push_is_larger_than_friction():
    """However they share it: a force that rises by 10 N/s slides 2 kg when it reaches mu m g."""
    body, mu = block(), 0.3

    def push(t, q, v):
        return np.array([6.0 * t, 8.0 * t, 0, 0, 0, 0])

    start = [0, 0, 0.05, 0, 0, 0, 1]
    settings = {"walls": Plane((0, 0, 1)), "mu": mu, "rtol": 1e-9, "atol": 1e-10}
    run = appell.simulate(body, start, until=1.0, torque=push, **settings)
    assert run.stopped is None
    starts = mu * 2 * G / 10
    far = 10 / 2 * (1 - starts) ** 3 / 6
    assert np.abs(run(0.99 * starts)[0] - start).max() < 1e-7
    # A slide is rest below 1 mm/s, which makes this much of the way.
    np.testing.assert_allclose(
        run.q[-1, :3], [0.6 * far, 0.8 * far, 0.05], atol=1e-3 * (1 - starts)
    )
    assert run.reactions[-1].sum() == pytest.approx(2 * G, rel=1e-6)


def test_a_rod_that_jams_is_stopped_by_an_impulse():
    """Painleve's: it slides on its end, and friction presses it down more than any normal force
    lifts it. The end stops at once, by the impulse that this takes."""
    tilt, speed, mass = 1.2, -2.0, 2.0
    run = appell.simulate(
        rod(mass), [0, 0, tilt], [speed, 0, 0], until=0.05, walls=FLOOR, mu=3.0, restitution=0.5
    )
    assert run.stopped is None
    jam = run.impacts[0]
    assert jam.time == 0
    # The end at the origin, the centre at 1 m from it: W from the mass and m l^2 / 3.
    c, s = np.cos(tilt), np.sin(tilt)
    W = np.eye(2) / mass + 3 / mass * np.outer([-s, c], [-s, c])
    impulse = np.linalg.solve(W, [-speed, 0])
    assert jam.impulses == pytest.approx([impulse[1]], rel=1e-6)
    assert jam.friction[0, 0] == pytest.approx(impulse[0], rel=1e-6)
    assert jam.energy_change == pytest.approx(0.5 * impulse[0] * speed, rel=1e-6)
    assert np.diff(run.energy).max() < 1e-9


def test_friction_that_wedges_a_slide_lets_it_not_rebound():
    """On a rail that meets the wall at a small angle any way back is blocked: Newton's law has
    no solution there, and the slide stops."""
    run = appell.simulate(
        rail(), [0], [1.0], until=1.0, walls=Plane((-0.1, 1), -0.05), mu=1.5, restitution=0.5
    )
    assert run.stopped is None
    wedged = run.impacts[0]
    assert wedged.time == pytest.approx(0.05 * np.hypot(0.1, 1) / 0.1, abs=1e-9)
    assert run.v[-1] == pytest.approx(0, abs=1e-9)
    assert wedged.energy_change == pytest.approx(-1.0)
    assert np.linalg.norm(wedged.friction[0]) <= 1.5 * wedged.impulses[0] * (1 + 1e-9)


def test_dry_joints_stop_and_hold_and_let_go():
    """Coulomb friction of 3 N on 2 kg: braking, then a force below and above it."""
    ball = point_mass(gravity=(0, 0, 0), coulomb=3.0)
    run = appell.simulate(ball, [0, 0], [1.5, 0], until=3.0, friction=True)
    assert run.q[-1] == pytest.approx([1.5**2 * 2 / (2 * 3.0), 0], abs=1e-9)
    assert run.v[-1] == pytest.approx(0, abs=1e-9)
    held = appell.simulate(ball, [0, 0], until=3.0, friction=True, torque=[2.9, 0])
    assert held.q[-1] == pytest.approx(0, abs=1e-12)
    moved = appell.simulate(ball, [0, 0], until=3.0, friction=True, torque=[3.5, 0])
    assert moved.q[-1, 0] == pytest.approx(0.25 / 2 * 9, rel=1e-9)

    def rising(t, q, v):
        return np.array([2.0 * t, 0.0])

    late = appell.simulate(ball, [0, 0], until=3.0, friction=True, torque=rising)
    assert late.q[-1, 0] == pytest.approx(1.5**3 / 6, rel=1e-6)  # it starts at 1.5 s


def test_viscous_joints_slow_down_exponentially():
    ball = point_mass(gravity=(0, 0, 0), viscous=3.0)
    run = appell.simulate(ball, [0, 0], [1, 2], until=2.0, friction=True)
    np.testing.assert_allclose(run.v[-1], np.exp(-3.0) * np.array([1, 2]), rtol=1e-9)
    free = appell.simulate(ball, [0, 0], [1, 2], until=2.0)
    np.testing.assert_allclose(free.v[-1], [1, 2], rtol=1e-12)


def test_a_pendulum_rests_on_its_stop():
    from dataclasses import replace

    chain = appell.load("planar_chain", n=1)
    joint = replace(chain.model.joints[0], lower=-0.5)
    body = replace(chain.model.bodies[0], joint=joint)
    arm = appell.Robot(replace(chain.model, joints=(joint,), bodies=(body,)))
    run = appell.simulate(arm, [0.0], until=5.0, stop_restitution=0.4)
    assert run.contacts == (("joint1", "lower limit"),)
    assert run.q[-1] == pytest.approx(-0.5, abs=1e-9)
    assert run.reactions[-1] == pytest.approx(G * 0.5 * np.cos(0.5), rel=1e-8)  # the moment


def test_two_walls_hold_a_ball_in_their_corner():
    walls = [Plane((1, 1)), Plane((-1, 1))]
    run = appell.simulate(point_mass(), [0.1, 1.0], until=5.0, walls=walls, restitution=0.5)
    assert run.q[-1] == pytest.approx([0, 0], abs=1e-6)
    assert run.reactions[-1] == pytest.approx(2 * G / np.sqrt(2), rel=1e-4)


def test_a_wall_that_waves_is_followed():
    """A ball slides down into a trough and up again, as far as its energy lets it."""
    floor = Implicit(lambda x, y, z: y - 0.2 * np.cos(x), inside=False)
    ball = point_mass()
    run = appell.simulate(ball, [0.1, 0.2 * np.cos(0.1)], until=6.0, walls=floor, restitution=0.0)
    np.testing.assert_allclose(run.q[:, 1], 0.2 * np.cos(run.q[:, 0]), atol=1e-9)
    assert run.q[:, 0].max() == pytest.approx(2 * np.pi - 0.1, abs=0.05)
    assert np.ptp(run.energy) < 1e-8
