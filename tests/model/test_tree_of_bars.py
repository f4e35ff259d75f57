"""Trees from mass per length, moments of the section and lengths."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.model.library.tree import FIGURE_4, SECTION

PARENTS = (0, 1, 1, 3, 0)
LENGTHS, DENSITIES = (1.0, 0.5, 2.0, 0.7, 1.1), (1.0, 3.0, 0.5, 2.0, 0.2)
SECTIONS = [[5e-2 * k, 2e-2 * k, 3e-2 * k] for k in range(1, 6)]


@pytest.fixture(scope="module")
def robot():
    return appell.load(
        "tree_of_bars", parents=PARENTS, length=LENGTHS, density=DENSITIES, section=SECTIONS
    )


def slices(parents, lengths, q, v, n=4000):
    """Positions and velocities of thin slices along each bar, and how fast the bar turns."""
    angles, rates, ends = {0: 0.0}, {0: 0.0}, {0: (q[-2:], v[-2:])}
    for i, (parent, length) in enumerate(zip(parents, lengths, strict=True), start=1):
        angle, rate = angles[parent] + q[i - 1], rates[parent] + v[i - 1]
        start, speed = ends[parent]
        along = np.array([np.cos(angle), np.sin(angle)])
        across = np.array([-along[1], along[0]]) * rate
        angles[i], rates[i] = angle, rate
        ends[i] = start + length * along, speed + length * across
        x = (np.arange(n) + 0.5)[:, None] * length / n
        yield start + x * along, speed + x * across, rate


def test_energies_are_those_of_the_bars_cut_into_slices(robot):
    rng = np.random.default_rng(3)
    q, v = rng.normal(size=(2, robot.nv))
    kinetic = potential = 0.0
    cut = slices(PARENTS, LENGTHS, q, v)
    for mu, length, section, (x, dx, rate) in zip(DENSITIES, LENGTHS, SECTIONS, cut, strict=True):
        dm = mu * length / len(x)
        kinetic += 0.5 * dm * np.sum(dx**2) + 0.5 * section[2] * length * rate**2
        potential += 9.81 * dm * np.sum(x[:, 1])
    # The middle rule errs by the square of the slices' number.
    assert robot.kinetic_energy(q, v) == pytest.approx(kinetic, rel=1e-6)
    assert robot.potential_energy(q) == pytest.approx(potential, rel=1e-9)


def test_points_are_the_beginning_and_the_ends(robot):
    q = np.zeros(robot.nv)
    places = [robot.forward_kinematics(q, p)[0, 3] for p in robot.model.points]
    assert robot.model.points == ("O1", "O2", "O3", "O4", "O5", "O6")
    np.testing.assert_allclose(places, [0, 1, 1.5, 3, 3.7, 1.1])


def test_the_papers_tree_is_made_of_the_numbers_of_table_2():
    made = appell.load("tree_of_bars", parents=FIGURE_4, section=SECTION, name="ten_link_tree")
    assert made.model == appell.load("ten_link_tree").model
    assert appell.load("ten_link_tree", length=2.0, density=3.0).parameters.reshape(-1, 10)[
        :, 0
    ].max() == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parents": ()}, "expected the number of the bar before"),
        ({"parents": (1,)}, "bar 1 begins at the end of bar 1; expected 0"),
        ({"parents": (0, 3)}, "bar 2 begins at the end of bar 3; expected 0 .* or a bar from 1 to"),
        ({"parents": (0, True)}, "bar 2"),
        ({"length": 0.0}, "length = 0.0; expected a positive number, or one for each of 3"),
        ({"length": (1.0, 2.0)}, "one for each of 3 bars"),
        ({"density": -1}, "density = -1"),
        ({"density": float("nan")}, "density = nan"),
        ({"section": (1.0, 2.0)}, "three moments per length"),
        ({"section": (1.0, -2.0, 0.0)}, "not negative"),
        ({"section": "thick"}, "section = 'thick'"),
    ],
)
def test_wrong_numbers_are_refused(options, message):
    with pytest.raises(appell.ModelError, match=message):
        appell.load("tree_of_bars", **options)
