"""Blocks of points: which points, their measures, and why some of them have none."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from appell.errors import AppellError, InputError, shorten
from appell.robots.dynamics import Array
from appell.study.sweeps.lanes import NoRolloutError
from appell.study.sweeps.study_file import RESERVED

Columns = dict[str, Any]  # an array per column
_FEW = 64  # points that are tried one by one where they kill a worker
_REASON = 500  # characters


class Stretch(NamedTuple):
    """Points first to last - 1 of a block."""

    block: int
    first: int
    last: int

    def parts(self) -> list[Stretch]:
        """The same points in two halves, or one by one where they are few."""
        count = self.last - self.first
        size = count // 2 if count > _FEW else 1
        ends = [*range(self.first, self.last, size), self.last]
        return [self._replace(first=a, last=b) for a, b in pairwise(ends)]


class Table:
    """The measures of a block, as they come."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.reasons: list[str | None] = [None] * count
        self.measures: dict[str, Array] = {}

    def fail(self, k: int, why: str) -> None:
        """Record why point k has no measures."""
        self.reasons[k] = why

    def put(self, places: Any, columns: Mapping[str, Array]) -> None:
        """Record measures of points."""
        for name, x in columns.items():
            to = self.measures.setdefault(name, np.full(self.count, np.nan))
            to[places] = x

    def put_one(self, k: int, measure: Any) -> None:
        """Record the measures of point k, or why it has none."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                measures = measure()
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # whatever a user's function raises, also SystemExit
            self.fail(k, reason_of(problem))
        else:
            self.put([k], {name: np.array([x]) for name, x in measures.items()})

    def columns(self, names: Sequence[str]) -> Columns:
        """All columns: "failed", "reason", and the measures, those in ``names`` first."""
        for name in RESERVED:
            if name in self.measures:
                raise InputError(f"a measure has the name '{name}', as a column has; rename it.")
        order = dict.fromkeys([*names, *self.measures])
        empty = np.full(self.count, np.nan)
        return {
            "failed": np.array([why is not None for why in self.reasons]),
            "reason": np.array(self.reasons, dtype=object),
            **{name: self.measures.get(name, empty) for name in order},
        }


def reason_of(problem: BaseException) -> str:
    """Reason of a failed point: the error as text."""
    kind = (
        "" if isinstance(problem, AppellError | NoRolloutError) else f"{type(problem).__name__}: "
    )
    text = f"{kind}{problem}" or type(problem).__name__
    return shorten(text.encode(errors="replace").decode(), _REASON)  # files take no lone surrogates
