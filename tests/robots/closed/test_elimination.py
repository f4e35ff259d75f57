"""Blocks, orthogonal columns and dual numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import appell
from appell.equations.linear import Columns
from appell.maths.scalar import cos, sin, sqrt
from appell.robots.closed.dual import Dual, duals, rate
from appell.robots.closed.elimination import Elimination, blocks
from appell.robots.closed.reduce import Reduction, inverse_dynamics, mass_matrix


@given(some.integers(0, 10_000), some.integers(1, 7), some.integers(0, 3))
def test_columns_solve_square_and_consistent_tall_systems(seed, n, more):
    draw = np.random.default_rng(seed)
    A, x = draw.normal(size=(n + more, n)), draw.normal(size=n)
    found = Columns(A.tolist()).solve((A @ x).tolist())
    assert np.abs(np.array(found) - x).max() < 1e-13 * np.linalg.cond(A) * np.abs(x).max()


@given(some.integers(0, 10_000), some.integers(1, 5), some.integers(0, 3))
def test_columns_give_the_smallest_solution_of_the_transposed_system(seed, n, more):
    draw = np.random.default_rng(seed)
    A, y = draw.normal(size=(n + more, n)), draw.normal(size=n)
    found = np.array(Columns(A.tolist()).least_norm(y.tolist()))
    expected = np.linalg.pinv(A.T) @ y
    assert np.abs(found - expected).max() < 1e-13 * np.linalg.cond(A) ** 2 * np.abs(expected).max()


@given(some.integers(0, 10_000), some.integers(1, 9), some.floats(0.1, 0.9))
def test_sparse_systems_are_solved_block_by_block(seed, n, density):
    draw = np.random.default_rng(seed)
    A = draw.normal(size=(n, n)) * (draw.random((n, n)) < density) + np.eye(n)[draw.permutation(n)]
    if np.linalg.cond(A) > 1e6:
        return
    x = draw.normal(size=n)
    found = Elimination([[v if v else 0 for v in row] for row in A.tolist()]).solve(A @ x)
    assert np.abs(np.array(found) - x).max() < 1e-13 * np.linalg.cond(A) ** 2


def test_blocks_are_the_smallest_and_in_order():
    pattern = np.array(
        [
            [1, 1, 0, 0, 0],
            [1, 1, 0, 0, 0],
            [0, 1, 1, 0, 0],
            [0, 0, 1, 1, 1],
            [0, 0, 0, 1, 1],
        ],
        dtype=bool,
    )
    found = blocks(pattern.tolist())
    assert [(b.rows, b.columns) for b in found] == [
        ([0, 1], [0, 1]), ([2], [2]), ([3, 4], [3, 4]),
    ]  # fmt: skip


def test_rows_without_entries_are_left_out():
    assert [b.rows for b in blocks([[False, False], [True, False], [False, True]])] == [[1], [2]]


def recorded_blocks(name):
    """Sizes of the blocks that are found while an equation is recorded."""
    from appell.compile.record import record

    robot = appell.load(name)
    sizes = []

    def equation(q):
        found = Reduction(robot.mechanism, q).by_dependent.blocks
        sizes.extend(len(b.columns) for b in found)
        return [0]

    record(equation, {"q": (robot.nq,)}, {"none": (1,)})
    return sorted(sizes)


def test_a_leg_of_a_platform_is_three_divisions():
    assert recorded_blocks("stewart_gough") == [1] * 18


def test_rods_of_the_delta_leave_a_core_of_six():
    assert recorded_blocks("delta") == [1] * 12 + [6]


def test_equations_run_on_floats_and_on_arrays():
    robot = appell.load("planar_3rrr")
    q, v = robot.random_states(3, seed=1)
    a = np.ones((3, 3))
    expected = robot.inverse_dynamics(q, v, a)
    for k in range(3):
        found = inverse_dynamics(robot.mechanism, q[k].tolist(), v[k].tolist(), a[k].tolist())
        assert np.abs(np.array(found) - expected[k]).max() < 1e-12
    batch = inverse_dynamics(robot.mechanism, list(q.T), list(v.T), list(a.T))
    assert np.abs(np.stack(batch, axis=-1) - expected).max() < 1e-12


def test_equations_run_on_symbols():
    import sympy

    robot = appell.load("four_bar")
    symbols = sympy.symbols("q1:4")
    ((M,),) = mass_matrix(robot.mechanism, symbols)
    q = robot.reference
    value = float(M.subs(dict(zip(symbols, map(float, q), strict=True))))
    assert value == pytest.approx(robot.mass_matrix(q)[0, 0], rel=1e-12)


def test_dual_numbers_carry_rates():
    def f(x, y):
        return sin(x * y) / (2 - cos(y)) + sqrt(x * x + 3) - 1 / y + x / 2 - (3 - x) * y

    x, y, dx, dy = 0.7, 1.9, 0.3, -1.1
    found = f(*duals([x, y], [dx, dy]))
    h = 1e-5
    assert found.value == pytest.approx(f(x, y), rel=1e-15)
    slope = (f(x + h * dx, y + h * dy) - f(x - h * dx, y - h * dy)) / (2 * h)
    assert rate(found) == pytest.approx(slope, rel=1e-9)
    assert rate(3.0) == 0
    assert 0 * Dual(2.0, 1.0) == 0
    assert rate(np.array(2.0) * Dual(2.0, 1.0)) == 2.0
    with pytest.raises(TypeError, match="branch"):
        bool(Dual(1.0) < math.pi)
