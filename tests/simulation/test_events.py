"""Events: found where they are, once, and none is missed."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_robots import G, point_mass

import appell
from appell.walls import Circle, Ellipse, Implicit, Plane

FLOOR = Plane((0, 1))
DRIFTING = point_mass(gravity=(0, 0, 0))


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23", "Radau", "BDF"])
def test_falls_take_the_time_they_must(method):
    settings = {"rtol": 1e-10, "atol": 1e-12} if method != "DOP853" else {}
    run = appell.simulate(point_mass(), [0, 1], until=1.0, walls=FLOOR, method=method, **settings)
    # A parabola is within every method's order; what is left is rounding and the tolerance.
    close = 1e-12 if method in ("DOP853", "RK45", "RK23") else 1e-7
    assert run.impacts[0].time == pytest.approx(np.sqrt(2 / G), abs=close)


@pytest.mark.parametrize("depth", [0.2, 1e-3, 1e-6])
def test_a_point_that_would_enter_and_leave_within_a_step_strikes(depth):
    """Without forces one step is the whole flight: past a small round post, at a depth in it."""
    radius = 0.25
    post = Circle(radius, inside=False)
    height = radius - depth
    run = appell.simulate(DRIFTING, [-3, height], [1, 0], until=6.0, walls=post)
    assert run.impacts[0].time == pytest.approx(3 - np.sqrt(radius**2 - height**2), abs=1e-11)
    assert len(run.impacts) == 1
    assert run.energy[-1] == pytest.approx(run.energy[0], abs=1e-12)


def test_a_point_that_passes_a_post_does_not_strike():
    for height in (0.25 + 1e-9, 0.26, 0.5):
        run = appell.simulate(
            DRIFTING, [-3, height], [1, 0], until=6.0, walls=Circle(0.25, inside=False)
        )
        assert run.impacts == []
        assert run.q[-1] == pytest.approx([3, height], abs=1e-9)


def test_the_first_of_several_posts_is_struck_first():
    posts = [Circle(0.1, (x, 0.05), inside=False, name=f"post {x}") for x in (2.0, 1.0, 1.5)]
    run = appell.simulate(DRIFTING, [-3, 0], [1, 0], until=4.5, walls=posts)
    assert run.impacts[0].walls == ("post 1.0",)
    assert run.impacts[0].time == pytest.approx(4 - np.sqrt(0.1**2 - 0.05**2), abs=1e-11)


def test_an_impact_is_found_once_and_leaves_the_wall():
    """A ball in a circle for many bounces: equal chords, equal times, no other impact between."""
    run = appell.simulate(DRIFTING, [0.3, 0], [0.4, 1.0], until=200.0, walls=Circle(1.0))
    times = np.array([x.time for x in run.impacts])
    assert len(times) > 100
    assert np.ptp(np.diff(times)) < 1e-10
    assert run.residuals["penetration"] < 1e-11
    assert np.ptp(run.energy) < 1e-11


@pytest.mark.parametrize(
    "wall",
    [Circle(2.0), Ellipse((2.0, 1.5)), Implicit(lambda x, y, z: x**4 / 16 + y**4 / 4 - 1)],
    ids=lambda w: w.label,
)
def test_bounces_within_walls_keep_energy_and_stay_inside(wall):
    run = appell.simulate(point_mass(), [0.5, 0.3], [1.0, 0.2], until=20.0, walls=wall)
    assert len(run.impacts) > 10
    assert np.ptp(run.energy) < 1e-9
    q = run(np.linspace(0, 20, 2001))[0]
    if isinstance(wall, Implicit):
        assert max(wall.function(x, y, 0.0) for x, y in q) < 1e-9
    else:
        assert min(wall.gap(x, y, 0.0) for x, y in q) > -1e-9


@pytest.mark.parametrize(
    ("function", "inside"),
    [
        (lambda x, y, z: (y - 0.5) ** 2, False),  # touches zero from one side
        (lambda x, y, z: (y - 0.5) ** 3, False),  # crosses zero without a slope
        (lambda x, y, z: y * y - x * x, False),  # a saddle, which the ball meets in its centre
    ],
)
def test_a_wall_whose_gradient_vanishes_stops_the_run_and_keeps_the_data(function, inside):
    run = appell.simulate(point_mass(), [0, 1], until=2.0, walls=Implicit(function, inside=inside))
    assert "gradient vanishes" in run.stopped
    assert 0 < run.t[-1] < 0.5
    assert np.isfinite(run.q).all()


def test_a_start_where_the_gradient_vanishes_is_refused():
    wall = Implicit(lambda x, y, z: x * x + y * y, inside=False)
    with pytest.raises(appell.InputError, match="gradient"):
        appell.simulate(point_mass(), [0, 0], until=1.0, walls=wall)
