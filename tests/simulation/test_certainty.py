"""No impact is missed, however fast, far, thin or short it is; no torque is stepped over."""

from __future__ import annotations

from dataclasses import dataclass

import casadi
import numpy as np
import pytest
from simulated_robots import G, block, point_mass, rod

import appell
from appell.compile.record import Recorded
from appell.control import quintic, spline, trapezoidal
from appell.walls import Circle, Ellipse, Implicit, Plane, Wall
from benchmarks.flights import flyers, random_walls
from benchmarks.impacts import DEEP, FINE, fly

DRIFTING = point_mass(gravity=(0, 0, 0))


def ridge(x, y, z):
    return y - 0.5 * np.exp(-((x / 0.02) ** 2))


@pytest.mark.parametrize(
    ("wall", "time"),
    [
        (Ellipse((0.02, 0.05), inside=False), 4.98),
        (Circle(0.001, inside=False), 4.999),
        (Implicit(lambda x, y, z: x * x + y * y + z * z - 1, inside=False), 4.0),
        (Implicit(lambda x, y, z: (x / 0.01) ** 4 + (y / 0.01) ** 4 - 1, inside=False), 4.99),
    ],
    ids=lambda x: getattr(x, "label", x),
)
def test_a_ball_from_afar_strikes_what_is_thin(wall, time):
    run = appell.simulate(DRIFTING, [-5, 0], [1, 0], until=10.0, walls=wall)
    assert run.impacts[0].time == pytest.approx(time, abs=1e-11)
    assert run.residuals["penetration"] < 1e-12


def test_a_ball_at_half_the_height_of_a_ridge_strikes_it():
    start = [-5, 0.25]
    run = appell.simulate(DRIFTING, start, [1, 0], until=10.0, walls=Implicit(ridge, inside=False))
    assert run.impacts[0].time == pytest.approx(5 - 0.02 * np.sqrt(np.log(2)), abs=1e-11)


def test_a_ball_over_a_wavy_floor_strikes_the_first_wave_that_is_high_enough():
    floor = Implicit(lambda x, y, z: y - 0.05 * np.sin(40 * x), inside=False)
    run = appell.simulate(DRIFTING, [-5, 0.1], [1, -0.007], until=10.0, walls=floor)
    t = np.linspace(0, 10, 2_000_001)
    behind = 0.1 - 0.007 * t < 0.05 * np.sin(40 * (t - 5))
    assert run.impacts[0].time == pytest.approx(t[np.argmax(behind)], abs=5.1e-6)  # one sample


@pytest.mark.parametrize("spin", [5.0, 20.0, 60.0, 1000.0])
def test_a_rod_that_spins_while_it_falls_strikes_with_its_first_tip(spin):
    """Its path is a polynomial, and its steps would be endless."""
    body = rod()
    points = {"tip": ("rod", (2, 0, 0))}
    start, floor = [0, 3.0, 0.3], Plane((0, 1))
    # The centre, 1 m along the rod, begins at rest.
    v = [spin * np.sin(0.3), -spin * np.cos(0.3), spin]
    run = appell.simulate(body, start, v, until=3.0, walls=floor, points=points, restitution=0.5)
    t = np.linspace(0, 1, 2_000_001)
    height = 3 + np.sin(0.3) - G * t**2 / 2 - np.abs(np.sin(0.3 + spin * t))
    first = t[np.argmax(height < 0)]
    assert run.impacts[0].time == pytest.approx(first, abs=6e-7)  # one sample
    assert run.residuals["penetration"] < 1e-10
    ends = run(np.linspace(0, run.t[-1], 20_001))[0]
    assert min(ends[:, 1].min(), (ends[:, 1] + 2 * np.sin(ends[:, 2])).min()) > -1e-9


def test_the_penetration_is_that_of_the_whole_path():
    """A run whose contacts are not watched shows what the residual would have to say."""
    from appell.simulation.contacts.bounds import deepest
    from appell.simulation.contacts.contact import find_contacts

    free = appell.simulate(DRIFTING, [-5, 0.3], [1, 0], until=10.0)
    wall = Circle(1.0, inside=False)
    contacts = find_contacts(DRIFTING.model, [wall], None, False)
    deep = deepest(contacts, free.pieces, (free.q[[0, -1]], free.v[[0, -1]]))
    # The lowest place lies between two of those that are looked at, and is found by the rates.
    assert deep == pytest.approx(0.7, abs=1e-3)


@dataclass(frozen=True)
class Erf(Wall):
    """A step whose function has no known bound: height from 0 to 0.5 m at x = 0."""

    def gap(self, x, y, z):
        return y - 0.25 * (1 + Recorded(casadi.erf(20 * x.sx)))


def test_a_wall_without_bounds_is_sampled_as_closely_as_its_gradient_needs():
    from scipy.special import erfinv

    run = appell.simulate(DRIFTING, [-5, 0.1], [1, 0], until=10.0, walls=Erf())
    assert run.impacts[0].time == pytest.approx(5 + erfinv(0.4 - 1) / 20, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_random_flights_agree_with_a_dense_search(seed):
    """A sample of the campaign (``make campaign``)."""
    draw = np.random.default_rng(seed)
    flyer = flyers()[[1, 2, 5, 7][seed]]
    walls = random_walls(draw, flyer.spatial)
    for _, walled in zip(range(3), walls, strict=False):
        for _ in range(2):
            outcome, _, deep = fly(draw, flyer, walled)
            assert outcome in FINE, walled
            assert deep < DEEP, walled


def test_what_is_near_strikes_when_it_gets_there():
    run = appell.simulate(DRIFTING, [1e-7, 0], [-1, 0], until=1.0, walls=Plane((1, 0)))
    assert run.impacts[0].time == pytest.approx(1e-7, abs=1e-15)


# Torque laws


def pulse(t, q, v):
    return [100.0 * (0.5 <= t < 0.55), 0.0]


def test_a_short_pulse_is_felt():
    run = appell.simulate(DRIFTING, [0, 0], until=1.0, torque=pulse)
    # 100 N for 50 ms on 2 kg; where it jumps, steps are cut to what the tolerance asks.
    assert run.v[-1, 0] == pytest.approx(2.5, abs=1e-9)


def test_breakpoints_make_a_pulse_exact_and_cheap():
    run = appell.simulate(DRIFTING, [0, 0], until=1.0, torque=pulse, breakpoints=(0.5, 0.55))
    assert run.v[-1, 0] == pytest.approx(2.5, abs=1e-13)
    assert run.q[-1, 0] == pytest.approx(50 * 0.05**2 / 2 + 2.5 * 0.45, abs=1e-13)
    assert {0.5, 0.55} <= set(run.t)
    plain = appell.simulate(DRIFTING, [0, 0], until=1.0, torque=pulse)
    assert len(run.t) < len(plain.t)
    resumed = appell.simulate(
        DRIFTING, [0, 0], until=0.52, torque=pulse, breakpoints=(0.5, 0.55)
    ).resume(until=1.0)
    assert resumed.v[-1, 0] == pytest.approx(2.5, abs=1e-13)


def test_a_law_may_know_its_breakpoints():
    class Law:
        breakpoints = (0.5, 0.55)

        def __call__(self, t, q, v):
            return pulse(t, q, v)

    run = appell.simulate(DRIFTING, [0, 0], until=1.0, torque=Law())
    assert {0.5, 0.55} <= set(run.t)


@pytest.mark.parametrize("bad", [["soon"], [np.nan], "x", 1j])
def test_breakpoints_that_are_no_times_are_refused(bad):
    with pytest.raises(appell.InputError, match="breakpoints"):
        appell.simulate(DRIFTING, [0, 0], until=1.0, torque=pulse, breakpoints=bad)


def test_trajectories_know_their_breakpoints():
    assert quintic([0.0], [1.0], 2.0).breakpoints == (0.0, 2.0)
    ramps = trapezoidal([0.0], [1.0], speed=1.0, acceleration=4.0)
    assert ramps.breakpoints == pytest.approx((0.0, 0.25, 1.0, 1.25))
    assert spline([[0.0], [1.0], [0.0]], [0.0, 0.7, 2.0]).breakpoints == pytest.approx((0, 0.7, 2))
    joined = quintic([0.0], [1.0], 2.0).then(quintic([1.0], [0.0], 1.5))
    assert joined.breakpoints == (0.0, 2.0, 3.5)
    # There, and nowhere else, its acceleration or a derivative of it jumps.
    for trajectory in (ramps, joined):
        t = np.linspace(0.001, trajectory.duration - 0.001, 5000)
        jerk = np.diff(trajectory(t)[2][:, 0], n=1) / np.diff(t)
        jumps = t[1:-1][np.abs(np.diff(jerk)) > 20]
        assert all(np.abs(np.array(trajectory.breakpoints) - x).min() < 1e-3 for x in jumps)


# Friction at its bound


@pytest.mark.parametrize("above", [0.0, -1e-9, -1e-6])
def test_a_block_at_the_angle_of_friction_stays(above):
    run = sloped(0.4, above)
    assert run.stopped is None
    assert np.abs(run.q[-1, :2]).max() < 1e-12


@pytest.mark.parametrize("above", [pytest.param(1e-6, marks=pytest.mark.minute), 1e-3])
def test_a_block_above_the_angle_of_friction_slides_as_it_must(above):
    run = sloped(0.4, above)
    a = G * (np.sin(0.4) - np.tan(0.4 - above) * np.cos(0.4))
    assert run.q[-1, 0] == pytest.approx(a / 2 * 2.0**2, rel=1e-6)


def sloped(angle, above):
    """A block for 2 s on a slope that is steeper by ``above`` than its friction holds."""
    body = block(gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    mu = np.tan(angle - above)
    start = [0, 0, 0.05, 0, 0, 0, 1]
    return appell.simulate(body, start, until=2.0, walls=Plane((0, 0, 1)), restitution=0.0, mu=mu)


def foot(x, y, z):
    """A floor that is flat for x < 0 and rises beyond."""
    return y - 0.5 * ((x + abs(x)) / 2) ** 4


@pytest.mark.parametrize("yaw", [0.0, 0.3])
def test_four_corners_that_a_bend_takes_apart_stay_out_of_the_wall(yaw):
    """On the flat part any three of them hold the fourth; where the floor rises none does."""
    cube = flyers()[5].robot
    q = [-0.5, 0.2, 0, 0, np.sin(yaw / 2), 0, np.cos(yaw / 2)]
    v = [0.7 * np.cos(yaw), 0, 0.7 * np.sin(yaw), 0, 0.3, 0]
    run = appell.simulate(
        cube, q, v, until=0.9, walls=Implicit(foot, inside=False), restitution=0.3
    )
    assert run.q[-1, 0] > -0.05  # two corners have come to the bend
    assert run.residuals["penetration"] <= 1e-8


def test_a_ball_that_slides_on_a_floor_meets_the_ridge_on_it():
    """Far from the ridge nothing turns it, and steps would be longer than the ridge is wide: it
    climbs as high as its speed carries it, and comes back with that speed."""
    ball = point_mass(gravity=(0, -G, 0))
    wall = Implicit(ridge, inside=False)
    run = appell.simulate(ball, [-3, 0], [1, 0], until=6.0, walls=wall, restitution=0.0)
    q, v = run(np.linspace(0, 6, 50_001))
    assert q[:, 1].max() == pytest.approx(0.5 / G, rel=1e-6)
    assert v[-1] == pytest.approx([-1, 0], abs=1e-8)
    assert (q[:, 1] - 0.5 * np.exp(-((q[:, 0] / 0.02) ** 2))).min() > -1e-8
    assert run.residuals["penetration"] <= 1e-8


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_a_ball_that_slides_on_a_floor_strikes_the_slope_at_its_end(e):
    """The floor has an edge: with it the normal turns at once."""
    ball = point_mass(gravity=(0, -G, 0))
    wall = Implicit(lambda x, y, z: y - 0.25 * (x + abs(x)), inside=False)
    run = appell.simulate(ball, [-0.3, 0], [1, 0], until=0.4, walls=wall, restitution=e)
    normal = np.array([-0.5, 1]) / np.sqrt(1.25)
    assert run.impacts[0].time == pytest.approx(0.3, abs=1e-6)
    after = [1, 0] - (1 + e) * normal[0] * normal
    assert run(run.impacts[0].time + 1e-6)[1] == pytest.approx(after, abs=2e-5)
    assert run.residuals["penetration"] < 1e-6
