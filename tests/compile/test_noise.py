"""Random numbers by counting."""

from __future__ import annotations

import numpy as np
import pytest

from appell.compile.make import kernel_of
from appell.compile.trace import random, trace

MASK = 2**32 - 1


def philox(run: int, step: int, key: int) -> tuple[int, int]:
    """Philox 2x32-10 in whole numbers, as its authors define it."""
    left, right = run, step
    for _ in range(10):
        high, low = divmod(left * 0xD256D193, 2**32)
        left, right = high ^ key ^ right, low
        key = (key + 0x9E3779B9) & MASK
    return left, right


def halves(x):
    return [x % 2**16, x // 2**16]


@pytest.fixture(scope="module", params=["float64", "float32"])
def drawn(request):
    """(runs, steps, keys) -> numbers."""
    shapes = {"run": (2,), "at": (2,), "key": (2,)}
    tape = trace(random, shapes, {"u": ()})
    kernel = kernel_of("uniform", tape, shapes, {"u": ()}, dtype=request.param)

    def draw(*counters):
        return kernel(
            *(np.stack(halves(np.asarray(x)), -1).astype(request.param) for x in counters)
        )

    return draw


def test_the_known_answer_of_its_authors():
    assert philox(0, 0, 0) == (0xFF1DAE59, 0x6CD10DF2)  # Random123's kat_vectors


def test_kernels_give_the_bits_of_whole_numbers(drawn):
    draw = np.random.default_rng(0)
    runs, steps, keys = draw.integers(0, 2**32, (3, 200))
    runs[:2], steps[:2], keys[:2] = [0, MASK], [0, MASK], [0, MASK]
    found = drawn(runs, steps, keys)
    for u, *counters in zip(found, runs.tolist(), steps.tolist(), keys.tolist(), strict=True):
        left, right = philox(*counters)
        if found.dtype == np.float64:
            assert u == ((left << 20 | right >> 12) + 0.5) * 2.0**-52
        else:
            assert u == np.float32(((left >> 9) + 0.5) * 2.0**-23)


def test_they_are_between_zero_and_one_and_look_uniform(drawn):
    runs = np.arange(100_000)
    u = drawn(runs, np.full_like(runs, 7), np.full_like(runs, 3)).astype(float)
    assert u.min() > 0
    assert u.max() < 1
    # Of 1e5 numbers the mean has a deviation of 9e-4 and the largest gap of the distribution, by
    # Kolmogorov, exceeds 7e-3 once in 1e4: the numbers are always the same ones.
    assert abs(u.mean() - 0.5) < 5e-3
    assert np.abs(np.sort(u) - (runs + 0.5) / len(runs)).max() < 7e-3
    later = drawn(runs, np.full_like(runs, 8), np.full_like(runs, 3)).astype(float)
    assert abs(np.corrcoef(u, later)[0, 1]) < 0.02
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.02
