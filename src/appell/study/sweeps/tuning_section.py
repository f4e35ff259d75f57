"""Table of a study that is to be optimised: parameters within bounds, objective, constraints."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from appell.study.section import Count, Flag, Many, Number, Positive, Section, table

Share = Annotated[float, Field(strict=True, gt=0, lt=1)]
Over = Literal["mean", "worst"] | Share  # of a study's points; a number is a quantile


class Parameter(Section):
    """A number to be found, and where it goes: to the field that it is named after, to others that
    it ``sets``, or as a factor to those that it ``scales``."""

    between: tuple[Number, Number] = Field(description="from, to")
    logarithmic: Flag = Field(default=False, description="whether its logarithm is searched")
    whole: Flag = Field(default=False, description="whether only whole numbers are tried")
    start: Number | None = Field(default=None, description="the scenario's own without it")
    sets: tuple[str, ...] = Field(default=(), description="fields that get the value")
    scales: tuple[str, ...] = Field(default=(), description="fields that are multiplied by it")

    @model_validator(mode="before")
    @classmethod
    def _table(cls, given: Any) -> Any:
        return table("{between = [1.0, 2.0]}", given)

    @model_validator(mode="after")
    def _ordered(self) -> Parameter:
        low, high = self.between
        if not low < high:
            raise ValueError(f"between {low:g} and {high:g}: expected the smaller one first")
        if self.whole and (low != round(low) or high != round(high)):
            raise ValueError(f"whole, but between {low:g} and {high:g}; expected whole numbers")
        if self.logarithmic and low <= 0:
            raise ValueError(f"logarithmic, but from {low:g} on; expected more than zero")
        if self.start is not None and not low <= self.start <= high:
            raise ValueError(f"start = {self.start:g}; expected {low:g} to {high:g}")
        return self


class Bound(Section):
    """What a measure is held to, over the study's points: the worst of them, their mean, or a
    quantile."""

    at_most: Number | None = Field(default=None, description="in the measure's unit")
    at_least: Number | None = Field(default=None, description="in the measure's unit")
    over: Over = Field(
        default="worst", description="of the points that vary: mean, worst, or a quantile as 0.95"
    )

    @model_validator(mode="before")
    @classmethod
    def _table(cls, given: Any) -> Any:
        return table("{at_most = 75.0}", given)

    @model_validator(mode="after")
    def _said(self) -> Bound:
        if self.at_most is None and self.at_least is None:
            raise ValueError("expected at_most or at_least")
        return self


class TuneSection(Section):
    """Parameters of a scenario that make a measure as small, or as large, as can be."""

    minimise: str | None = Field(default=None, description="a measure")
    maximise: str | None = Field(default=None, description="a measure")
    over: Over = Field(
        default="mean", description="of the points that vary: mean, worst, or a quantile as 0.95"
    )
    parameters: Annotated[dict[str, Parameter], Field(min_length=1)] = Field(
        description="what is to be found, by field or by a name of one's own"
    )
    constraints: dict[str, Bound] = Field(default={}, description="by measure")
    method: Literal["differential_evolution", "gradient"] = Field(
        default="differential_evolution",
        description="evolution searches everywhere; gradient descends from the start",
    )
    iterations: Many = Field(default=100, description="at most; generations of evolution")
    population: Many = Field(default=15, description="of evolution, for each parameter")
    tolerance: Positive | None = Field(
        default=None,
        description="relative, of the objective, below which it ends: 1e-3 of evolution's spread, "
        "1e-6 of the gradient method's progress",
    )
    seed: Count = Field(default=0, description="of evolution")

    @model_validator(mode="after")
    def _one(self) -> TuneSection:
        if (self.minimise is None) == (self.maximise is None):
            raise ValueError("expected either minimise or maximise")
        return self

    @property
    def objective(self) -> str:
        """The measure that is optimised."""
        return self.minimise or self.maximise or ""
