"""Variables of a study: numbers with a distribution, or values to choose from."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from appell.robots.dynamics import Array
from appell.study.section import Many, Number, Positive, Section, table
from appell.study.sweeps.quantiles import QUANTILES, logarithmic

Whole = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]  # as a float has them
Value = bool | Whole | Number | str | tuple[Number, ...]


class Variable(Section):
    """A number that differs from point to point, and where it goes: to the field that it is named
    after, to others that it ``sets``, or as a factor to those that it ``scales``."""

    uniform: tuple[Number, Number] | None = Field(default=None, description="from, to")
    log_uniform: tuple[Positive, Positive] | None = Field(
        default=None, description="from, to: its logarithm is uniform"
    )
    normal: tuple[Number, Positive] | None = Field(default=None, description="mean, deviation")
    log_normal: tuple[Positive, Positive] | None = Field(
        default=None, description="median, deviation of the natural logarithm"
    )
    truncated_normal: tuple[Number, Positive, Number, Number] | None = Field(
        default=None, description="mean, deviation, from, to"
    )
    triangular: tuple[Number, Number, Number] | None = Field(
        default=None, description="from, most likely, to"
    )
    beta: tuple[Positive, Positive, Number, Number] | None = Field(
        default=None, description="both shapes, from, to"
    )
    whole: tuple[Whole, Whole] | None = Field(
        default=None, description="whole numbers from, to, each as likely"
    )
    values: Annotated[tuple[Value, ...], Field(min_length=1)] | None = Field(
        default=None, description="one of these, each as likely"
    )
    linear: tuple[Number, Number, Many] | None = Field(
        default=None, description="from, to, how many, evenly apart"
    )
    logarithmic: tuple[Positive, Positive, Many] | None = Field(
        default=None, description="from, to, how many, by the same factor"
    )
    sets: tuple[str, ...] = Field(default=(), description="fields that get the value")
    scales: tuple[str, ...] = Field(default=(), description="fields that are multiplied by it")

    @model_validator(mode="before")
    @classmethod
    def _table(cls, given: Any) -> Any:
        return table("{uniform = [1.0, 2.0]}", given)

    @model_validator(mode="after")
    def _one(self) -> Variable:
        given = [name for name in KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            names = ", ".join(given) or "none"
            raise ValueError(f"expected one of {', '.join(KINDS)}; there are {names}")
        self._ordered(given[0])
        kinds = {float if type(x) is int else type(x) for x in self.values or ()}
        if len(kinds) > 1:
            raise ValueError("values are of several kinds; expected numbers, words, arrays or "
                             "true and false, one kind for all")  # fmt: skip
        if self.scales and (self.values is not None and not self.numeric):
            raise ValueError("scales takes numbers; expected values that are numbers")
        return self

    def _ordered(self, kind: str) -> None:
        low, high = {
            "uniform": (0, 1), "log_uniform": (0, 1), "truncated_normal": (2, 3), "whole": (0, 1),
            "triangular": (0, 2), "beta": (2, 3),
        }.get(kind, (None, None))  # fmt: skip
        given = getattr(self, kind)
        if low is not None and high is not None and not 0 < given[high] - given[low] < np.inf:
            raise ValueError(f"{kind} from {given[low]:g} to {given[high]:g}: expected from < to")
        if kind == "triangular" and not given[0] <= given[1] <= given[2]:
            raise ValueError("triangular: expected the most likely value between the ends")

    @property
    def kind(self) -> str:
        """The name of its distribution."""
        return next(name for name in KINDS if getattr(self, name) is not None)

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.values is None or all(
            isinstance(x, int | float) and not isinstance(x, bool) for x in self.values
        )

    @property
    def levels(self) -> tuple[Any, ...] | None:
        """The values that it can have, where these can be counted."""
        if self.values is not None:
            return self.values
        if self.whole is not None:
            low, high = self.whole
            return tuple(range(low, high + 1)) if high - low < _MOST_LEVELS else None
        if self.linear is not None:
            return tuple(np.linspace(*self.linear).tolist())
        if self.logarithmic is not None:
            return logarithmic(*self.logarithmic)
        return None

    def quantile(self, u: Array) -> Any:
        """The values below which shares u of the points lie: the inverse of its distribution
        function."""
        levels = self.levels
        if levels is not None:
            k = np.minimum((u * len(levels)).astype(int), len(levels) - 1)
            return values_of(levels)[k]
        if self.whole is not None:
            low, high = self.whole
            return low + np.minimum((u * (high - low + 1)).astype(np.int64), high - low)
        return QUANTILES[self.kind](u, *getattr(self, self.kind))


_MOST_LEVELS = 1000
KINDS = tuple(x for x in Variable.model_fields if x not in ("sets", "scales"))


def values_of(levels: tuple[Any, ...]) -> Any:
    """An array of values of any kind: numbers as such, others as objects."""
    if all(isinstance(x, bool) for x in levels):
        return np.array(levels)
    if all(isinstance(x, int | float) and not isinstance(x, bool) for x in levels):
        return np.array(levels)
    array = np.empty(len(levels), dtype=object)
    array[:] = levels
    return array


class Correlation(Section):
    """Two variables that go together: the correlation of the normal numbers behind them (a Gaussian
    copula); each keeps its own distribution."""

    between: tuple[str, str] = Field(description="the names of both variables")
    coefficient: Annotated[float, Field(strict=True, ge=-1, le=1, description="-1 to 1")]
