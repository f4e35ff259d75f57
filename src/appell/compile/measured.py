"""What work takes, measured, and which of several ways to do it is the fastest."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from threading import Lock
from typing import Any

WORTH = 50e-6  # seconds of work that are worth another thread: several times a hand-over
SHARE = 25e-6  # seconds of a share at least: several times what it takes to begin one
_AT_LEAST = 20e-6  # seconds that tell how long a unit takes
_STEP = 3e-11  # seconds per operation of a fast processor, until this one's are known


class Pace:
    """What a unit of work, of so many operations, takes one thread."""

    def __init__(self, operations: int) -> None:
        self.each, self._known = _STEP * operations, False  # seconds

    def workers(self, units: int, most: int) -> int:
        """How many threads, of ``most``, have enough to do: all of them, or a power of two."""
        worth = int(units * self.each / WORTH)
        return most if worth >= most else 1 << max(worth.bit_length() - 1, 0)

    def learn(self, seconds: float, units: int) -> None:
        """How long units took: a longer time counts little, something else may have come
        between."""
        if units and seconds > _AT_LEAST:
            each = seconds / units
            self.each = min(each, 1.25 * self.each) if self._known else each
            self._known = True


class Choice:
    """The fastest of some ways to do the same thing, by trying them.

    In a round each way is tried in succession, five times and ten milliseconds at least, and the
    later half counts: each leaves the caches in a state of its own, and threads need a while to
    be spread over the cores. From then on the one with the least median is used, or one before it
    that is within 5 %. Another round follows later, the next ones ever later (the first may have
    met cold memory), and at once when the way in use has thrice taken longer than the first did.

    Several threads may use it. One of them learns at a time; a time that another one brings
    meanwhile is not counted, so that nobody ever waits.
    """

    TRIES, ENOUGH, MARGIN, WORSE = 5, 10e-3, 0.95, 3
    PAUSE, LONGER, LONGEST = 2, 4, 128  # times as many uses as a round had

    def __init__(self, ways: Sequence[Any]) -> None:
        self._ways = list(ways)
        self._learning = Lock()
        self._best = self._ways[0]
        self._worse, self._first = 0, inf
        self._wait, self._pause = (0 if len(ways) > 1 else 1), self.PAUSE
        self._begin()

    def _begin(self) -> None:
        """Begin a round: with the last way, because in long batches it is most likely the best."""
        self._left = self._ways.copy()
        self._times: dict[Any, list[float]] = {way: [] for way in self._ways}
        self._total = 0.0

    @property
    def trying(self) -> bool:
        """Whether a round is under way."""
        return self._wait <= 0

    def pick(self) -> Any:
        """The way to take now."""
        if self.trying:
            return self._left[-1]
        self._wait -= len(self._ways) > 1
        return self._best

    def learn(self, way: Any, seconds: float, count: int) -> None:
        """How long a way that was picked took for so many states."""
        if self._learning.acquire(blocking=False):
            try:
                self._learn(way, seconds, count)
            finally:
                self._learning.release()

    def _learn(self, way: Any, seconds: float, count: int) -> None:
        pace = seconds / count
        if not self.trying:
            self._worse += 1 if pace > self._first else -(self._worse > 0)
            if self._worse >= self.WORSE and way != self._ways[0]:
                self._wait = 0
        elif way == self._left[-1]:  # else another thread has finished with it
            self._times[way].append(pace)
            self._total += seconds
            if len(self._times[way]) >= self.TRIES and self._total >= self.ENOUGH:
                self._total = 0.0
                if len(self._left) > 1:
                    self._left = self._left[:-1]
                else:
                    self._decide()

    def _decide(self) -> None:
        later = [sorted(x[len(x) // 2 :]) for x in self._times.values()]
        medians = [x[len(x) // 2] for x in later]
        best = 0
        for k, median in enumerate(medians):
            if median < self.MARGIN * medians[best]:
                best = k
        self._best, self._first, self._worse = self._ways[best], medians[0], 0
        self._wait = self._pause * sum(map(len, self._times.values()))
        self._pause = min(self.LONGER * self._pause, self.LONGEST)
        self._begin()
