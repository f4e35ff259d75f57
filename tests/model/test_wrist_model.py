"""What a wrist is made of, and which ones cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.model.arcs import slender_arc


def test_links_are_slender_arcs():
    """Against a fine polygon of point masses."""
    density, radius, angle = 1.3, 0.2, 1.1
    x = (np.arange(200_000) + 0.5) / 200_000 * angle
    points = radius * np.stack([0 * x, -np.sin(x), np.cos(x)], axis=-1)
    m = density * radius * angle / len(x)
    inertia = slender_arc(density, radius, angle)
    assert inertia.mass == pytest.approx(density * radius * angle)
    np.testing.assert_allclose(inertia.moment, m * points.sum(axis=0), rtol=1e-9, atol=1e-18)
    second = m * (points.T @ points)
    tensor = np.trace(second) * np.eye(3) - second
    np.testing.assert_allclose(np.array(inertia.tensor.tensor), tensor, rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"link_density": -1}, "link_density = -1; expected a finite number of 0 or more"),
        ({"link_density": np.inf}, "link_density = inf"),
        ({"arc_radius": 0}, "arc_radius = 0; expected the radius"),
        ({"alpha1": 80}, "alpha1 = 80; expected an angle between 0 and pi, in radians"),
        ({"alpha2": (1.0, 1.0)}, "expected a number, or one per limb"),
        ({"beta": "steep"}, "beta = 'steep'; expected a number"),
        ({"platform_mass": -1.0}, "the mass is negative"),
        ({"platform_inertia": (1e-3, 1e-3)}, "inertia of shape .* expected 3 principal moments"),
        ({"platform_inertia": (1e-3, 1e-3, 5e-3)}, "triangle inequality"),
        ({"platform_com": (0.5, 0, 0)}, "a principal moment is negative"),
        ({"platform_com": (0.5, 0)}, "expected x, y, z"),
        ({"gravity": 9.81}, "expected three numbers"),
        ({"branch": "up"}, r"branch = 'up': expected '\+' or '-'"),
        ({"margin": -1}, "margin = -1"),
        ({"colour": "red"}, "its options are those of agile_wrist"),
        ({"link_density": 0, "platform_mass": 0, "platform_inertia": (0, 0, 0)}, "have a mass"),
    ],
)
def test_robots_that_cannot_be_are_refused(options, message):
    with pytest.raises(appell.ModelError, match=message):
        appell.load("agile_wrist", **options)


def test_limbs_in_the_same_place_are_refused():
    with pytest.raises(appell.ModelError, match="two limbs in the same place"):
        appell.load("agile_wrist", lam=0.0, eta=0.0)
