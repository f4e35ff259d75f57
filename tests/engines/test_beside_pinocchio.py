"""Every quantity is Pinocchio's: a sample of ``python -m benchmarks.agreement``, whose page shows
200 trees and all robots."""

from __future__ import annotations

import pytest

from benchmarks.agreement import INVERTING, REAL, TESTS, condition, derivatives, differences
from benchmarks.both import Both

CLOSE = 1e-11  # sums over at most 40 bodies, of two computations in float64
SAMPLE = [(Both.tree, seed, ("fixed", "free")[seed % 2]) for seed in range(8)]
SAMPLE += [(Both.real, name, ("free", "fixed")[k % 2]) for k, name in enumerate(REAL)]


@pytest.mark.parametrize(("make", "which", "base"), SAMPLE, ids=lambda x: getattr(x, "__name__", x))
def test_every_quantity_is_pinocchios(make, which, base):
    both = make(which, base)
    # Derivatives on symbols take long for many joints.
    tests = [x for x in TESTS if x is not derivatives or both.robot.nv <= 15]
    size = condition(both)
    for quantity, difference in differences(both, tests):
        assert difference < CLOSE * (size if quantity in INVERTING else 1), quantity
