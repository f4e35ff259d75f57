"""The kernels' arctangent against arbitrary precision, and on every kind of scalar."""

from __future__ import annotations

import math

import casadi
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import sympy

from appell.compile.count import Tally, count
from appell.compile.kernel import Kernel
from appell.compile.make import kernel_of
from appell.compile.record import record
from appell.maths.scalar import atan2

INPUTS, OUTPUTS = {"y": (), "x": ()}, {"angle": ()}


def arctangent(dtype: str) -> Kernel:
    return kernel_of("atan2", atan2, INPUTS, OUTPUTS, dtype=dtype)


@pytest.fixture(scope="module", params=["float64", "float32"])
def kernel(request):
    return arctangent(request.param)


def points(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """In all directions, near the axes, the diagonals and the polynomials' seams, in all sizes."""
    draw = np.random.default_rng(3)
    seams = np.arange(-8, 9) * np.pi / 8
    angles = np.concatenate(
        [
            draw.uniform(-np.pi, np.pi, 3000),
            (seams[:, None] + [-1e-3, -1e-7, 0, 1e-7, 1e-3]).ravel(),
        ]
    )
    limits = np.log([1e-30, 1e30])
    size = np.exp(draw.uniform(*limits, len(angles)))
    y, x = size * np.sin(angles), size * np.cos(angles)
    far = np.exp(draw.uniform(*limits, (2, 1000))) * draw.choice([-1, 1], (2, 1000))
    return tuple(np.concatenate(pair).astype(dtype) for pair in ((y, far[0]), (x, far[1])))


def test_angles_are_right_to_3_units_in_the_last_place(kernel):
    y, x = points(kernel.dtype)
    angles = kernel(y, x)
    worst = 0.0
    with mpmath.workprec(200):
        for got, a, b in zip(angles, y, x, strict=True):
            exact = mpmath.atan2(mpmath.mpf(float(a)), mpmath.mpf(float(b)))
            unit = float(np.spacing(np.abs(kernel.dtype.type(float(exact)))))
            worst = max(worst, abs(float((mpmath.mpf(float(got)) - exact) / unit)))
    assert worst <= 3


def test_zeros_infinities_and_nan_are_those_of_c(kernel):
    special = [0.0, -0.0, 1.0, -1.0, 1e-30, -1e30, np.inf, -np.inf, np.nan]
    y, x = np.meshgrid(np.array(special, kernel.dtype), np.array(special, kernel.dtype))
    ours, theirs = kernel(y, x), np.arctan2(y, x)
    np.testing.assert_allclose(ours, theirs, rtol=4 * np.finfo(kernel.dtype).eps)
    same = np.signbit(ours) == np.signbit(theirs)
    assert same[~np.isnan(theirs)].all()


def test_a_result_does_not_depend_on_its_neighbours(kernel):
    y, x = np.random.default_rng(1).normal(size=(2, 61)).astype(kernel.dtype)
    alone = np.array([kernel(*point) for point in zip(y, x, strict=True)])
    np.testing.assert_array_equal(kernel(y, x), alone)
    y[::2] = [np.nan, np.inf, 0.0] * 10 + [np.nan]
    np.testing.assert_array_equal(kernel(y, x)[1::2], alone[1::2])


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_the_number_of_lanes_does_not_matter(kernel, lanes, monkeypatch):
    monkeypatch.setattr("appell.compile.kernel.lanes", lambda _: lanes)
    other = arctangent(kernel.dtype.name)
    y, x = points(kernel.dtype)
    np.testing.assert_array_equal(other(y, x), kernel(y, x))


@pytest.mark.parametrize("point", [(0.3, -1.2), (-2.0, 0.7), (0.0, -1.0), (1.0, 0.0)])
def test_every_kind_of_scalar_has_it(point):
    y, x = point
    expected = math.atan2(y, x)
    assert atan2(y, x) == expected
    assert atan2(np.array([y]), np.array([x])) == expected
    assert atan2(np.array([y]), x) == atan2(y, np.array([x])) == expected
    Y, X = sympy.symbols("y x", real=True)
    assert float(atan2(Y, X).subs({Y: y, X: x})) == pytest.approx(expected, abs=1e-15)
    assert float(atan2(casadi.SX(y), casadi.SX(x))) == expected
    assert float(atan2(jnp.asarray(y), jnp.asarray(x))) == pytest.approx(expected, abs=1e-6)


def test_numbers_may_stand_on_one_side(kernel):
    def equation(z):
        return [atan2(z, 2.0), atan2(-1.0, z)]

    inputs, outputs = {"z": ()}, {"angles": (2,)}
    made = kernel_of("two", equation, inputs, outputs)
    np.testing.assert_allclose(made(0.5), [math.atan2(0.5, 2.0), math.atan2(-1.0, 0.5)], 1e-15)


def test_it_is_counted():
    tally = Tally()
    atan2(tally.variable(), tally.constant())
    atan2(1.0, tally.variable())
    assert tally.taken().arctangents == 2
    tape = record(lambda y, x: atan2(y, x) + atan2(-y, x), INPUTS, OUTPUTS)
    assert count(tape).arctangents == 0  # the second is the first one's negative
    tape = record(lambda y, x: [atan2(y, x), atan2(-y, x)], INPUTS, {"both": (2,)})
    assert count(tape).arctangents == 1


def test_its_derivative_is_that_of_the_angle():
    slope = kernel_of("slope", atan2, INPUTS, OUTPUTS, wrt=("y", "x"))
    y, x = 0.3, -1.2
    np.testing.assert_allclose(slope(y, x), np.array([x, -y]) / (x * x + y * y), rtol=1e-14)
