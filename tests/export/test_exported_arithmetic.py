"""What exported C brings along where the processor has no instruction, against exact numbers."""

from __future__ import annotations

import ctypes
from fractions import Fraction

import numpy as np
import pytest

import appell
from appell import export
from tests.export.compiled_c import same_bits, shared

HARNESS = """
#include "f.c"
void many(const REAL *a, const REAL *b, const REAL *c, REAL *y, REAL *root, int n);
void many(const REAL *a, const REAL *b, const REAL *c, REAL *y, REAL *root, int n)
{
    int k;
    for (k = 0; k < n; k++) {
        y[k] = fused(a[k], b[k], c[k]);
        root[k] = square_root(a[k]);
    }
}
"""


@pytest.fixture(scope="module", params=["float64", "float32"])
def arithmetic(request, tmp_path_factory):
    """a b + c and the square root of a, by whole numbers and by instructions."""
    folder = tmp_path_factory.mktemp("arithmetic")
    export.c(appell.load("agile_wrist"), folder, "gravity", dtype=request.param, name="f")
    (folder / "harness.c").write_text(HARNESS)
    kind = "double" if request.param == "float64" else "float"

    def of(*flags: str):
        library = shared(folder / "harness.c", "-O1", f"-DREAL={kind}", *flags)

        def both(a, b, c):
            a, b, c = (np.ascontiguousarray(x, request.param) for x in (a, b, c))
            y, root = np.empty_like(a), np.empty_like(a)
            pointers = (ctypes.c_void_p(x.ctypes.data) for x in (a, b, c, y, root))
            library.many(*pointers, len(a))
            return y, root

        return both

    return request.param, of("-DAPPELL_NO_FMA"), of()


def numbers(dtype: str, count: int) -> np.ndarray:
    """Of all sizes, and those near the ends of the format."""
    draw = np.random.default_rng(9)
    info = np.finfo(dtype)
    whole = f"u{info.dtype.itemsize}"
    any_bits = draw.integers(0, np.iinfo(whole).max, (3, count), dtype=whole).view(dtype)
    everyday = draw.normal(size=(3, count)).astype(dtype)
    small = (draw.normal(size=(3, count)) * float(info.smallest_normal) ** 0.5).astype(dtype)
    ends = np.array(
        [0, 1, info.max, info.smallest_normal, info.smallest_subnormal, info.eps, np.inf, np.nan],
        dtype,
    )
    chosen = draw.choice(ends, (3, count)) * draw.choice(np.array([-1, 1], dtype), (3, count))
    a, b, c = np.concatenate([any_bits, everyday, small, chosen], axis=1)
    with np.errstate(all="ignore"):  # c that leaves almost nothing of the product
        near = np.nextafter(-(a * b), c)
    c = np.where(draw.random(len(c)) < 0.4, near, c)
    c = np.where(draw.random(len(c)) < 0.1, -(a * b), c) if dtype == "float32" else c
    return np.stack([a, b, c]).astype(dtype)


def exact(a: float, b: float, c: float, dtype: str) -> float:
    """Rounded once, from a fraction."""
    value = Fraction(a) * Fraction(b) + Fraction(c)
    info = np.finfo(dtype)
    if value == 0:
        return a * b + c
    size = abs(value)
    above = size.numerator.bit_length() - size.denominator.bit_length()  # or one less
    above -= size < Fraction(2) ** above
    unit = Fraction(2) ** max(above - info.nmant, info.minexp - info.nmant)
    rounded = round(size / unit) * unit  # halves go to even
    if rounded > Fraction(float(info.max)):
        return np.inf if value > 0 else -np.inf
    return float(rounded) if value > 0 else -float(rounded)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_fused_multiply_add_is_rounded_once(arithmetic):
    dtype, soft, _ = arithmetic
    a, b, c = numbers(dtype, 400)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    assert finite.sum() > 1000
    y, _ = soft(a, b, c)
    expected = [exact(*map(float, x), dtype) for x in np.stack([a, b, c])[:, finite].T]
    same_bits(y[finite], np.array(expected, dtype))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_whole_numbers_and_instructions_agree(arithmetic):
    dtype, soft, hard = arithmetic
    a, b, c = numbers(dtype, 50_000)
    for x, y in zip(soft(a, b, c), hard(a, b, c), strict=True):
        same_bits(x, y)
    same_bits(soft(a, b, c)[1], np.sqrt(a))
