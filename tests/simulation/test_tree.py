"""Shafei 2018, section 6: the ten-link tree in its circle."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_robots import TREE_START

import appell

# Table 3: time, points, impulse on each, jump of the normal velocity, angle of attack in degrees.
TABLE_3 = [
    (0.3851, ("O1", "O5"), 5.26, 6.32, 33.12),
    (0.5698, ("O2", "O4"), 31.42, 8.62, 25.38),
    (1.01, ("O8", "O11"), 4.12, 8.64, 36.87),
    (1.082, ("O3",), 57.46, 12.48, 0.0),
    (1.387, ("O1", "O5"), 15.96, 30.14, 34.108),
]


@pytest.fixture(scope="module")
def tree():
    return appell.load("ten_link_tree")


@pytest.mark.parametrize("gap", [1e-3, 1e-6])
def test_impacts_are_those_of_table_3(tree, gap):
    """Within the bounds of the paper's own integration error."""
    run = appell.simulate(tree, TREE_START, until=1.5, walls=appell.walls.Circle(2.5), gap=gap)
    assert len(run.impacts) == len(TABLE_3)
    for found, (time, points, impulse, jump, angle) in zip(run.impacts, TABLE_3, strict=True):
        assert found.time == pytest.approx(time, abs=1e-3)
        assert found.points == points
        assert found.walls == ("Circle(2.5)",) * len(points)
        assert found.impulses == pytest.approx(impulse, rel=4e-3)
        assert found.velocity_jumps == pytest.approx(jump, rel=5e-3)
        assert np.degrees(found.angles) == pytest.approx(angle, abs=0.5)
        assert found.energy_change == pytest.approx(0, abs=1e-11)


def test_the_printed_start_needs_a_gap_to_strike_on_both_sides_at_once(tree):
    """-1.366 breaks the symmetry by 2.5e-5 m; its energy is the paper's 18.66 J."""
    printed = [*TREE_START[:10], -1.366, -1.366]
    together = appell.simulate(tree, printed, until=0.45, walls=appell.walls.Circle(2.5), gap=1e-3)
    assert together.energy[0] == pytest.approx(18.66, abs=5e-3)
    assert [x.points for x in together.impacts] == [("O1", "O5")]
    apart = appell.simulate(tree, printed, until=0.45, walls=appell.walls.Circle(2.5))
    assert {x.points for x in apart.impacts} == {("O1",), ("O5",)}


def test_with_friction_it_comes_to_rest(tree):
    """No endless bounces, no sinking, no energy from nothing, from a start near the symmetric one:
    the motion is chaotic, so that rounding of another machine is such a start too."""
    start = TREE_START + 1e-7 * np.random.default_rng(1).normal(size=12)
    settings = {"restitution": 0.3, "mu": 0.5, "rtol": 1e-6, "atol": 1e-7}

    def damper(t, q, v):
        return -2.0 * v

    wall = appell.walls.Circle(2.5)
    run = appell.simulate(tree, start, until=12.0, walls=wall, torque=damper, **settings)
    assert run.stopped is None
    assert np.diff(run.energy).max() < 1e-5
    assert run.residuals["penetration"] < 1e-6
    # At rest: nothing moves, and in the last second nothing moved.
    assert run.kinetic[-1] < 1e-9
    assert np.ptp(run(np.linspace(11, 12, 11))[0], axis=0).max() < 1e-6
    # The wall's normal forces and friction hold 10 kg times g between them.
    pressed = run.reactions[-1]
    assert pressed.min() >= 0
    assert np.hypot(1, 0.5) * pressed.sum() >= 10 * 9.81
