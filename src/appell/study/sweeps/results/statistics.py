"""Statistics of columns of numbers: spreads, histograms, responses, rank correlations.

Each is exact for all points, and takes a time that grows with their number n as n log n at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from appell.robots.dynamics import Array

Places = Any  # an array of whole numbers
MOST_LEVELS = 24  # different values that are shown one by one
_COLUMNS = 40  # of a histogram, at most
_EACH = 20  # points that a group of a response has, at least
_TAIL = 1e-3  # share of the points at either end that may lie far away
_FAR = 5.0  # how far, in ranges of the others
_DECADES = 100.0  # the ratio of the quantiles beyond which a logarithmic axis shows more


class Spread(NamedTuple):
    """Where numbers lie. Infinite ones have their places at the ends: the median of points most
    of which never settle is infinite."""

    finite: int
    infinite: int
    missing: int
    low: float
    q05: float
    median: float
    q95: float
    high: float
    mean: float


class Histogram(NamedTuple):
    """Counts of numbers between edges, below the first and above the last."""

    edges: Array
    counts: Array
    below: int = 0
    above: int = 0


def _quantile(x: Array, share: Any) -> Any:
    """A quantile of sorted numbers, as `numpy.quantile`; one between two numbers of which one is
    infinite is infinite."""
    n = len(x)
    at = np.asarray(share, dtype=float) * max(0, n - 1)
    if not n:
        return np.full(at.shape, np.nan)[()]
    k = np.floor(at).astype(int)
    low, high, part = x[k], x[np.minimum(k + 1, n - 1)], at - k
    whole = (part == 0) | (low == high)  # nothing of the other, and infinity times 0 is no number
    with np.errstate(invalid="ignore"):
        return np.where(whole, low, low * (1 - part) + high * part)[()]


class Numbers:
    """A column of numbers: those that are finite, sorted, and how many others there are."""

    def __init__(self, values: Any) -> None:
        x = np.asarray(values, dtype=float)
        finite = np.isfinite(x)
        self.finite = np.sort(x[finite])
        self.missing = int(np.isnan(x).sum())
        self._below, self._above = x[x == -np.inf], x[x == np.inf]
        self.infinite = len(self._below) + len(self._above)

    def quantile(self, share: Any) -> Any:
        """The number below which a share of the finite ones lies, between two of them in
        proportion, as `numpy.quantile`; NaN if there is none."""
        return _quantile(self.finite, share)

    @property
    def spread(self) -> Spread:
        """Least, largest, mean and quantiles, of infinite numbers, too."""
        x = np.concatenate([self._below, self.finite, self._above])
        low, q05, median, q95, high = map(float, _quantile(x, [0.0, 0.05, 0.5, 0.95, 1.0]))
        both = len(self._below) and len(self._above)
        mean = float(np.mean(x)) if len(x) and not both else np.nan
        count = len(self.finite)
        return Spread(count, self.infinite, self.missing, low, q05, median, q95, high, mean)

    @cached_property
    def constant(self) -> bool:
        """Whether all are the same, but for rounding."""
        low, high = self.quantile([0.0, 1.0])
        return not high - low > 1e-12 * max(abs(low), abs(high))

    @cached_property
    def binary(self) -> bool:
        """Whether all are 0 or 1."""
        levels = self.levels
        if self.infinite or levels is None or not len(levels):
            return False
        return bool(np.isin(levels, (0.0, 1.0)).all())

    @cached_property
    def levels(self) -> Array | None:
        """The different values, where these are few."""
        x = self.finite
        new = np.concatenate([[True], x[1:] != x[:-1]]) if len(x) else np.zeros(0, dtype=bool)
        return x[new] if new.sum() <= MOST_LEVELS else None

    @cached_property
    def wide(self) -> bool:
        """Whether a logarithmic axis shows more: all are positive, over some powers of ten."""
        low, high = self.quantile([0.05, 0.95])
        return bool(len(self.finite) > 1 and self.finite[0] > 0 and high > _DECADES * low)

    def range(self, log: bool = False) -> tuple[float, float]:
        """The range that shows them: all of it, or without a few at an end that are far away."""
        x = self.finite[self.finite > 0] if log else self.finite
        if not len(x):
            return (1.0, 10.0) if log else (0.0, 1.0)
        k = int(_TAIL * len(x))
        ends = x[[0, k, len(x) - 1 - k, -1]]
        a, b, c, d = np.log(ends) if log else ends
        room = 0.25 * (c - b)
        low, high = float(ends[0]), float(ends[-1])
        if room > 0 and d - a > _FAR * (c - b):
            low = max(low, float(np.exp(b - room) if log else b - room))
            high = min(high, float(np.exp(c + room) if log else c + room))
        return low, high

    def histogram(self, log: bool = False) -> Histogram:
        """Columns of equal width (with ``log`` of equal ratio), about as many as the cube root of
        the number of points asks for (Freedman and Diaconis 1981)."""
        x = self.finite[self.finite > 0] if log else self.finite
        if not len(x):
            return Histogram(np.array([0.0, 1.0]), np.array([0]))
        low, high = self.range(log)
        if not high > low:
            room = 0.05 * abs(low) or 0.5
            low, high = low - room, high + room
        ends = [low, x[len(x) // 4], x[3 * len(x) // 4], high]
        a, quarter, three, b = np.log(ends) if log else ends
        width = 2 * (three - quarter) / len(x) ** (1 / 3)
        wanted = (b - a) / width if width > 0 else _COLUMNS
        count = int(np.clip(np.ceil(min(wanted, _COLUMNS)), min(8, len(x)), _COLUMNS))
        edges = (np.geomspace if log else np.linspace)(low, high, count + 1)
        edges[[0, -1]] = low, high
        places = np.searchsorted(x, edges, side="left")
        places[-1] = np.searchsorted(x, high, side="right")
        below = int(places[0]) + len(self.finite) - len(x)
        return Histogram(edges, np.diff(places), below, int(len(x) - places[-1]))


# Responses: a measure over groups of a variable


class Groups(NamedTuple):
    """Points in groups by the value of a variable.

    Attributes:
        code: The group of each point, (points,).
        centre: Of each group, the median of the variable; its number where ``names`` are given.
        names: Values that are no numbers, as text.
    """

    code: Places
    centre: Array
    names: tuple[str, ...] = ()


class Response(NamedTuple):
    """Quantiles, mean and number of finite values in each group; NaN for a group without any."""

    q05: Array
    median: Array
    q95: Array
    mean: Array
    counts: Places


def groups(values: Any, first: Sequence[Any] = ()) -> Groups:
    """Points in groups by the value of a variable: one for each value where these are few, else
    groups of about as many points each. Values that are no numbers come in the order in which they
    stand in ``first``."""
    if np.asarray(values).dtype == object:
        return _kinds(values, first)
    x = np.asarray(values, dtype=float)
    numbers = Numbers(x)
    if not len(numbers.finite):
        return Groups(np.zeros(len(x), np.uint16), np.array([np.nan]))
    if numbers.levels is not None:
        code = np.searchsorted(numbers.levels, x)
        return Groups(np.minimum(code, len(numbers.levels) - 1).astype(np.uint16), numbers.levels)
    count = int(np.clip(len(numbers.finite) // _EACH, 1, MOST_LEVELS))
    edges = np.unique(numbers.quantile(np.arange(1, count) / count))
    code = np.searchsorted(edges, x, side="right").astype(np.uint16)
    inside = np.searchsorted(numbers.finite, edges, side="left")
    ends = np.concatenate([[0], inside, [len(numbers.finite)]])
    middle = np.clip((ends[:-1] + ends[1:] - 1) / 2, 0, len(numbers.finite) - 1)
    return Groups(code, numbers.quantile(middle / max(1, len(numbers.finite) - 1)))


_OTHERS = "others"


def _kinds(values: Any, order: Sequence[Any]) -> Groups:
    """A group for each of the most frequent values; the rest are another."""
    listed = list(values)
    there = dict.fromkeys(listed)
    places = {x: k for k, x in enumerate(sorted(there, key=_place_in(order)))}
    first = np.fromiter(map(places.__getitem__, listed), np.int64, len(listed))
    names = [value_text(x) for x in places]
    if len(names) <= MOST_LEVELS:
        return Groups(first.astype(np.uint16), np.arange(len(names), dtype=float), tuple(names))
    often = np.argsort(-np.bincount(first), kind="stable")[: MOST_LEVELS - 1]
    code = np.full(len(names), MOST_LEVELS - 1)
    code[often] = np.arange(len(often))
    kept = (*(names[k] for k in often), _OTHERS)
    return Groups(code[first].astype(np.uint16), np.arange(len(kept), dtype=float), kept)


def _place_in(order: Sequence[Any]) -> Any:
    places = {x: k for k, x in enumerate(order)}
    return lambda x: places.get(x, len(places))


def value_text(value: Any) -> str:
    """A value of a variable in words: numbers with six digits, tuples in parentheses."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(value_text, value))})"
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return f"{value}"
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def order_of(values: Any) -> Places:
    """The places of the finite values, by their size: what `response` takes of a measure."""
    x = np.asarray(values, dtype=float)
    finite = np.flatnonzero(np.isfinite(x))
    return finite[np.argsort(x[finite])]


def response(by: Groups, values: Any, order: Places | None = None) -> Response:
    """Quantiles and means of a measure in groups of a variable."""
    x = np.asarray(values, dtype=float)
    ascending = order_of(x) if order is None else order
    codes = by.code[ascending]
    grouped = ascending[np.argsort(codes, kind="stable")]  # by group, in it by size
    y = x[grouped]
    count = np.bincount(codes, minlength=len(by.centre))
    start = np.concatenate([[0], np.cumsum(count)[:-1]])
    some = count > 0

    def quantile(share: float) -> Array:
        quantiles = np.full(len(count), np.nan)
        at = start[some] + share * (count[some] - 1)
        k = np.floor(at).astype(int)
        last = start[some] + count[some] - 1
        part = at - k
        quantiles[some] = y[k] * (1 - part) + y[np.minimum(k + 1, last)] * part
        return quantiles

    return Response(quantile(0.05), quantile(0.5), quantile(0.95), means(by, x)[0], count)


def means(by: Groups, values: Any) -> tuple[Array, Places]:
    """The mean of the finite values in each group, NaN of a group without, and their number."""
    x = np.asarray(values, dtype=float)
    finite = np.isfinite(x)
    codes = by.code[finite]
    count = np.bincount(codes, minlength=len(by.centre))
    sums = np.bincount(codes, weights=x[finite], minlength=len(count))
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan), count


def between(by: Groups, values: Any) -> float:
    """The share of the variance of the finite values that lies between groups, 0 to 1."""
    x = np.asarray(values, dtype=float)
    x = x[np.isfinite(x)]
    if len(x) < 2 or not np.ptp(x) > 0:
        return 0.0
    mean, count = means(by, values)
    away = np.where(count > 0, mean - x.mean(), 0.0)
    return float(np.sum(count * away**2) / (len(x) * np.var(x)))


# Rank correlations


def dense_ranks(values: Any) -> Places:
    """The place of each number among the different ones, from 0; of NaN the last."""
    x = np.asarray(values, dtype=float)
    order = np.argsort(x)
    sorted_ = x[order]
    ranks = np.empty(len(x), dtype=np.int64)
    ranks[order] = np.cumsum(np.concatenate([np.zeros(1), sorted_[1:] != sorted_[:-1]])[: len(x)])
    return ranks


def average_ranks(dense: Places) -> Array:
    """The ranks of numbers whose dense ranks are known, the same for the same: their average."""
    counts = np.bincount(dense)
    after = np.cumsum(counts)
    middle: Array = after - (counts - 1) / 2
    return middle[dense]


def rank_correlations(measures: Sequence[Any], variables: Sequence[Any]) -> Array:
    """Spearman's rank correlation of each measure with each variable, (measures, variables): NaN
    where one of them is constant. Points whose measure is not a number are left out; infinite ones
    are the largest."""
    correlations = np.full((len(measures), len(variables)), np.nan)
    together: dict[bytes, list[tuple[int, Array]]] = {}  # by the points where they are known
    for i, values in enumerate(measures):
        y = np.asarray(values, dtype=float)
        known = ~np.isnan(y)
        own = _standard(average_ranks(dense_ranks(y[known]))) if known.sum() > 1 else None
        if own is not None:
            together.setdefault(np.packbits(known).tobytes(), []).append((i, own))
    for j, values in enumerate(variables):
        dense = dense_ranks(values)
        for key, members in together.items():
            known = np.unpackbits(np.frombuffer(key, np.uint8), count=len(dense)).astype(bool)
            ranks = _standard(average_ranks(dense[known]))
            if ranks is not None:
                for i, own in members:
                    correlations[i, j] = np.clip(own @ ranks, -1.0, 1.0)
    return correlations


def _standard(ranks: Array) -> Array | None:
    """Ranks less their mean, of length 1; None if they are all the same."""
    away = ranks - ranks.mean()
    size = float(np.sqrt(away @ away))
    return away / size if size > 0 else None


def some_of(places: Places, most: int) -> Places:
    """At most so many of places, the same ones every time, in order: drawn, so that they miss no
    pattern of a grid."""
    if len(places) <= most:
        return places
    drawn = np.random.default_rng(0).choice(len(places), most, replace=False, shuffle=False)
    return places[np.sort(drawn)]
