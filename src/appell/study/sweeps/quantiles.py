"""Inverse distribution functions: the values below which shares u of the points lie.

NumPy's exp, log and power have other last bits on processors with AVX-512, so SciPy's distributions
have, too. A point has the same values wherever it is computed: here logarithms and exponentials are
the C library's, through `math` and `scipy.special`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from appell.robots.dynamics import Array


def uniform(u: Array, low: float, high: float) -> Array:
    """Any value between, each as likely."""
    return low + (high - low) * u


def log_uniform(u: Array, low: float, high: float) -> Array:
    """The logarithm is uniform."""
    return np.clip(_each(math.exp, uniform(u, math.log(low), math.log(high))), low, high)


def normal(u: Array, mean: float, deviation: float) -> Array:
    """The normal distribution."""
    from scipy.special import ndtri

    return mean + deviation * ndtri(u)


def log_normal(u: Array, median: float, deviation: float) -> Array:
    """The natural logarithm is normal."""
    return median * _each(math.exp, normal(u, 0.0, deviation))


def truncated_normal(u: Array, mean: float, deviation: float, low: float, high: float) -> Array:
    """The normal distribution between two ends.

    With the distribution function F of the normal numbers between a and b, F(b) (u + (1 - u) r),
    r = F(a) / F(b), is inverted, by logarithms: both may be far below the least float.
    """
    from scipy.special import log_ndtr, ndtri_exp

    if low > mean:  # F is near 1 there: from the other end it has all its digits
        return -truncated_normal(1 - u, -mean, deviation, -high, -low)
    lower, upper = (float(log_ndtr((end - mean) / deviation)) for end in (low, high))
    r = math.exp(lower - upper)
    share = upper + _each(math.log, u + (1 - u) * r)
    return np.clip(mean + deviation * ndtri_exp(share), low, high)


def triangular(u: Array, low: float, mode: float, high: float) -> Array:
    """Two lines, up to the most likely value and down from it."""
    rising = low + np.sqrt(u * (high - low) * (mode - low))
    falling = high - np.sqrt((1 - u) * (high - low) * (high - mode))
    return np.where(u * (high - low) < mode - low, rising, falling)


def beta(u: Array, a: float, b: float, low: float, high: float) -> Array:
    """The beta distribution, between two ends."""
    from scipy.special import betaincinv

    return low + (high - low) * betaincinv(a, b, u)


QUANTILES: dict[str, Callable[..., Array]] = {
    f.__name__: f
    for f in (uniform, log_uniform, normal, log_normal, truncated_normal, triangular, beta)
}


def logarithmic(low: float, high: float, count: int) -> tuple[float, ...]:
    """So many values from low to high, each by the same factor more than the one before."""
    start, end = math.log10(low), math.log10(high)
    inner = (10.0 ** (start + k * ((end - start) / (count - 1))) for k in range(1, count - 1))
    return (low, *inner, *((high,) if count > 1 else ()))


def _each(function: Callable[[float], float], x: Array) -> Array:
    values: Any = map(function, x.ravel().tolist())
    return np.fromiter(values, float, x.size).reshape(x.shape)
