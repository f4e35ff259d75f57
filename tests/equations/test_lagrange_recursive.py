"""Hollerbach's recursion beside the Gibbs-Appell equations."""

from __future__ import annotations

import numpy as np
import pytest
from batches import tree_of_bodies

from appell.equations import gibbs_lean, lagrange_recursive

# Sums over at most six bodies, each a product of matrices: rounding, with room.
CLOSE = 1e-10


@pytest.mark.parametrize("n", [1, 2, 4, 6])
@pytest.mark.parametrize(("branching", "prismatic"), [(0.0, 0.0), (0.5, 0.4), (1.0, 1.0)])
def test_forces_and_inertia_are_those_of_gibbs_and_appell(n, branching, prismatic):
    for seed in range(4):
        model = tree_of_bodies(
            n, seed, branching=branching, prismatic=prismatic, rotors=seed % 2 == 0
        )
        q, v, a = np.random.default_rng(seed).normal(size=(3, n)).tolist()
        for ours, expected in (
            (lagrange_recursive.mass_matrix(model, q), gibbs_lean.mass_matrix(model, q)),
            (
                lagrange_recursive.inverse_dynamics(model, q, v, a),
                gibbs_lean.inverse_dynamics(model, q, v, a),
            ),
        ):
            size = np.abs(expected).max()
            np.testing.assert_allclose(ours, expected, rtol=0, atol=CLOSE * size)
