"""The kernels' sine and cosine against arbitrary precision."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from appell.compile.emit.trigonometry import FAR
from appell.compile.kernel import Kernel
from appell.compile.make import kernel_of
from appell.maths.scalar import cos, sin

LLVM_NAMES = {"float64": "double", "float32": "float"}


def trig_kernel(dtype: str) -> Kernel:
    inputs, outputs = {"x": ()}, {"s": (), "c": ()}
    return kernel_of("sincos", lambda x: (sin(x), cos(x)), inputs, outputs, dtype=dtype)


@pytest.fixture(scope="module", params=["float64", "float32"])
def kernel(request):
    return trig_kernel(request.param)


def angles(dtype: np.dtype, limit: float) -> np.ndarray:
    """Everyday ones, all magnitudes, and those nearest to multiples of pi/2, where sine or
    cosine vanishes and a careless reduction loses every digit."""
    draw = np.random.default_rng(7)
    everyday = draw.uniform(-10, 10, 4000)
    scales = np.exp(draw.uniform(np.log(1e-30), np.log(limit), 4000)) * draw.choice([-1, 1], 4000)
    k = np.concatenate([np.arange(-200, 201), draw.integers(-limit / 2, limit / 2, 4000)])
    with mpmath.workprec(200):
        multiples = np.array([float(n * mpmath.pi / 2) for n in k.tolist()])
    nearest = multiples.astype(dtype)
    around = [np.nextafter(nearest, dtype.type(s)) for s in (-np.inf, np.inf)]
    special = [0.0, -0.0, 1e-300, -1e-300, limit, -limit]
    everything = np.concatenate([everyday, scales, nearest, *around, special]).astype(dtype)
    return everything[np.abs(everything) <= limit]


def units_off(got: np.ndarray, exact: list) -> float:
    """The largest error in units in the last place of the exact value."""
    worst = 0.0
    for x, y in zip(got, exact, strict=True):
        unit = float(np.spacing(np.abs(got.dtype.type(float(y)))))
        worst = max(worst, abs(float((mpmath.mpf(float(x)) - y) / unit)))
    return worst


def test_sine_and_cosine_are_right_to_2_units_in_the_last_place(kernel):
    x = angles(kernel.dtype, FAR[LLVM_NAMES[kernel.dtype.name]])
    s, c = kernel(x)
    with mpmath.workprec(300):
        exact = [mpmath.mpf(float(value)) for value in x]
        assert units_off(s, [mpmath.sin(value) for value in exact]) <= 2
        assert units_off(c, [mpmath.cos(value) for value in exact]) <= 2


def test_angles_beyond_the_range_are_right_too(kernel):
    limit = FAR[LLVM_NAMES[kernel.dtype.name]]
    largest = float(np.finfo(kernel.dtype).max)
    draw = np.random.default_rng(8)
    sizes = np.exp(draw.uniform(np.log(limit), np.log(largest / 8), 1500))
    with mpmath.workprec(2000):  # some near multiples of pi/2
        multiples = [float(mpmath.floor(x) * mpmath.pi / 2) for x in sizes[:500].tolist()]
        hardest = [6381956970095103 * 2.0**797] if kernel.dtype == np.float64 else []
        chosen = [1.001 * limit, -3.3 * limit, 0.9 * largest, *hardest, *multiples, *-sizes]
        x = np.array(chosen, dtype=kernel.dtype)
        s, c = kernel(x)
        exact = [mpmath.mpf(float(value)) for value in x]
        assert units_off(s, [mpmath.sin(value) for value in exact]) <= 1
        assert units_off(c, [mpmath.cos(value) for value in exact]) <= 1


def test_no_angle_has_no_sine(kernel):
    s, c = kernel(np.array([np.nan, np.inf, -np.inf], dtype=kernel.dtype))
    assert np.isnan(s).all()
    assert np.isnan(c).all()


def test_a_result_does_not_depend_on_its_neighbours(kernel):
    """Bit for bit, wherever a state stands in a batch and whatever stands beside it."""
    x = np.random.default_rng(1).uniform(-9, 9, 61).astype(kernel.dtype)
    alone = np.array([kernel(value) for value in x])
    beside = x.copy()
    beside[::2] = [1e12, np.nan, np.inf] * 10 + [1e12]
    together = np.stack(kernel(beside), axis=-1)
    np.testing.assert_array_equal(together[1::2], alone[1::2])
    np.testing.assert_array_equal(np.stack(kernel(x), axis=-1), alone)
