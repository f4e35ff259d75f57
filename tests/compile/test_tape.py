"""Recording: structure folds away, equal values are computed once, counts are exact."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.compile.record import record
from appell.compile.tape import Tape
from appell.robots.recipe import Recipe, recorded


def tape(equation, n: int = 3) -> Tape:
    return record(lambda x: [equation(*x)], {"x": (n,)}, {"y": (1,)})


@pytest.mark.parametrize(
    ("equation", "operations"),
    [
        (lambda x, y, z: 0 * x + 1 * y - 0, {}),
        (lambda x, y, z: x * y + y * x, {"mul": 2}),  # 2 (x y)
        (lambda x, y, z: (x + y) * (y + x), {"add": 1, "mul": 1}),
        (lambda x, y, z: x - (-y), {"add": 1}),
        (lambda x, y, z: -(x - y), {"sub": 1}),
        (lambda x, y, z: 2 * (3 * x), {"mul": 1}),
        (lambda x, y, z: -(2 * x), {"mul": 1}),
        (lambda x, y, z: (-x) * (-y), {"mul": 1}),
        (lambda x, y, z: x / z + y / z, {"inv": 1, "mul": 2, "add": 1}),
        (lambda x, y, z: x / 4, {"mul": 1}),
        (lambda x, y, z: x - x, {}),
    ],
)
def test_what_need_not_be_computed_is_not(equation, operations):
    counts = tape(equation).counts
    assert {k: n for k, n in counts.items() if k not in ("input", "constant")} == operations


def test_an_equation_may_not_branch_on_a_value():
    with pytest.raises(appell.InputError, match="branch"):
        tape(lambda x, y, z: x if x > y else z)


@pytest.mark.parametrize(("regroup", "expected"), [(False, (206, 162)), (True, (156, 121))])
def test_operations_of_pumas_inverse_dynamics(regroup, expected):
    """From the parameters as given, and regrouped; the paper's general count is 475 and 404."""
    robot = appell.load("puma560")
    counted = robot.operations("inverse_dynamics", formulation="gibbs_lean", regroup=regroup)
    assert (counted.multiplications, counted.additions) == expected
    assert counted.divisions == counted.square_roots == 0
    assert counted.sines_and_cosines == 10  # the first joint turns about gravity


def test_recording_is_reproducible():
    """The same robot gives the same tape, step by step: code can be kept under its robot's name."""
    robots = appell.load("stanford_arm"), appell.load("stanford_arm")
    recipe = Recipe("forward_dynamics", "gibbs_lean", None, (), (), True)
    one, other = (recorded(robot.system, recipe) for robot in robots)
    assert one == other


def test_jacobians_of_matrices_have_an_axis_more():
    robot = appell.load("puma560")
    q = np.random.default_rng(0).uniform(-2, 2, (5, 6))
    rate = robot.kernel("jacobian", wrt="q")(q)
    assert rate.shape == (5, 6, 6, 6)
    h = 1e-6
    for k, unit in enumerate(np.eye(6)):
        # Central differences err by about h^2 and 1e-16 / h.
        difference = (robot.jacobian(q + h * unit) - robot.jacobian(q - h * unit)) / (2 * h)
        np.testing.assert_allclose(rate[..., k], difference, atol=1e-8)
    out = np.empty_like(rate)
    assert robot.kernel("jacobian", wrt="q")(q, out=out) is out
    np.testing.assert_array_equal(out, rate)
