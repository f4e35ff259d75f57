"""The kernels' exponential, logarithm and power, and what is made of them and of the arctangent,
against arbitrary precision; and what C gives at the ends."""

from __future__ import annotations

from functools import cache

import mpmath
import numpy as np
import pytest

from appell.compile.kernel import Kernel
from appell.compile.make import kernel_of

# Units in the last place. Most were seen to be below 1.1; what is a quotient of others errs more.
BOUNDS = {
    "exp": 2, "log": 1, "power": 2, "cosh": 2, "sinh": 3, "tanh": 3,
    "arctan": 3, "arcsin": 3, "arccos": 3, "tan": 4,
}  # fmt: skip
EXACT = {"arctan": "atan", "arcsin": "asin", "arccos": "acos"}


@cache
def kernel(name: str, dtype: str) -> Kernel:
    inputs = {"x": (), "y": ()} if name == "power" else {"x": ()}
    equation = getattr(np, name)
    return kernel_of(name, equation, inputs, {"z": ()}, dtype=dtype)


def sizes(draw, low: float, high: float, count: int = 800) -> np.ndarray:
    """Of all magnitudes, and both signs."""
    return np.exp(draw.uniform(np.log(low), np.log(high), count)) * draw.choice([-1, 1], count)


def arguments(name: str, dtype: str) -> list[np.ndarray]:
    """Everyday ones, all magnitudes, the ends of the range and the seams of the polynomials."""
    draw, info = np.random.default_rng(11), np.finfo(dtype)
    end = float(np.log(info.max))
    smallest, largest = float(info.smallest_subnormal), float(info.max)
    everyday = draw.uniform(-10, 10, 800)
    if name == "log":
        near = 1 + sizes(draw, float(info.eps), 0.4)
        parts = [abs(sizes(draw, smallest * 100, largest)), near, smallest * np.arange(1, 100)]
        parts += [abs(everyday)]
    elif name == "power":
        x = np.exp(draw.uniform(-0.9 * end, 0.9 * end, 3000))
        y = draw.uniform(-1.05, 1.05, 3000) * end / np.log(x)
        roots = draw.choice([0.5, 1.5, 2.5, -0.5, 1 / 3, 3, 0.1], 800)
        near, whole = draw.uniform(0.7, 1.4, 800), draw.integers(-9, 9, 800)
        steep = draw.uniform(-200, 200, 800)
        x = np.concatenate([x, abs(everyday), near, everyday])
        return [x.astype(dtype), np.concatenate([y, roots, steep, whole]).astype(dtype)]
    elif name in ("arcsin", "arccos"):
        edge = abs(sizes(draw, float(info.eps), 0.1))
        parts = [draw.uniform(-1, 1, 800), sizes(draw, 1e-30, 1), 1 - edge, edge - 1]
    elif name == "tan":
        parts = [everyday, sizes(draw, 1e-30, 1e30), np.arange(-200, 200) * np.pi / 4]
    elif name == "arctan":
        parts = [everyday, sizes(draw, 1e-30, 1e30)]
    else:
        parts = [everyday, sizes(draw, smallest * 1e3, end), np.arange(-200, 200) * np.log(2) / 2]
        parts += [draw.uniform(-1.06 * end, 1.01 * end, 800), draw.uniform(-1, 1, 800)]
    return [np.concatenate(parts).astype(dtype)]


def units_off(got: np.floating, exact: mpmath.mpf) -> float:
    """The error in units in the last place. Infinity stands for the first power of two beyond the
    largest number, which is right for all that is beyond."""
    info = np.finfo(got.dtype)
    end = mpmath.mpf(2) ** int(info.maxexp)
    value = np.sign(float(got)) * end if np.isinf(got) else mpmath.mpf(float(got))
    if abs(exact) >= end:
        exact = mpmath.sign(exact) * end
    _, above = mpmath.frexp(exact)
    unit = mpmath.mpf(2) ** int(max(above - 1, info.minexp) - info.nmant)
    return float(abs(value - exact) / unit)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", BOUNDS)
def test_functions_are_right_to_some_units_in_the_last_place(name, dtype):
    """Also where results are subnormal, or beyond the largest number."""
    given = arguments(name, dtype)
    with np.errstate(all="ignore"):
        results = kernel(name, dtype)(*given)
    function = getattr(mpmath, EXACT.get(name, name))
    with mpmath.workprec(300):
        worst = max(
            units_off(got, function(*(mpmath.mpf(float(value)) for value in x)))
            for got, *x in zip(results, *given, strict=True)
        )
    assert worst <= BOUNDS[name]


def specials(dtype: str) -> np.ndarray:
    info = np.finfo(dtype)
    some = [0, 1, 2, 3, 0.5, 1.5, 1 + info.eps, 1 - info.epsneg, 20, 22.1, 1e-5, 1e30]
    some += [np.inf, np.nan, info.max, info.smallest_normal, info.smallest_subnormal]
    some += [88.7, 89.5, 103.9, 105, 709.7, 710.5, 745.1, 746.5]
    some += [2.0**23 + 1, 2.0**24 - 1, 2.0**24, 2.0**52 + 1, 2.0**53 - 1, 2.0**53]
    return np.array([*some, *(-x for x in some)]).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_zeros_infinities_nan_and_overflow_are_those_of_c(name, dtype):
    given = [specials(dtype)]
    if name == "power":
        given = [x.ravel() for x in np.meshgrid(*given, *given)]
    if name == "tan":  # of large angles NumPy's own is less exact; the sine of -0 is 0
        given = [given[0][(abs(given[0]) < 1e9) & (given[0] != 0)]]
    ours = kernel(name, dtype)(*given)
    theirs = getattr(np, name)(*(x.astype("longdouble") for x in given)).astype(dtype)
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    np.testing.assert_array_equal(np.isinf(ours), np.isinf(theirs))
    some = ~np.isnan(theirs)
    np.testing.assert_array_equal(np.signbit(ours[some]), np.signbit(theirs[some]))
    some &= np.isfinite(theirs)
    off = np.abs(ours[some] - theirs[some])
    assert (off <= 4 * np.spacing(np.abs(theirs[some]))).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", BOUNDS)
def test_a_result_does_not_depend_on_its_neighbours(name, dtype):
    draw, count = np.random.default_rng(1), 1 + (name == "power")
    given = draw.uniform(0.1, 0.9, (count, 61)).astype(dtype)
    made = kernel(name, dtype)
    alone = np.array([made(*x) for x in given.T])
    np.testing.assert_array_equal(made(*given), alone)
    given[:, ::2] = [np.nan, np.inf, 0.0] * 10 + [1e30]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(made(*given)[1::2], alone[1::2])
