"""What is asked of a value beside the one a paper prints: the rules of a table's rows.

Every row of a comparison has one rule, or one per column. A rule says when our value is accepted
and puts that into words; a value out of its bounds makes the row fail. Where the print is known to
be wrong or cannot be had, the rule states by how much ours is known to differ, so that neither
number can change unnoticed. A value that is not a number (NaN) meets no rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar


class Rule(ABC):
    """``alone`` rules need no printed value; ``words`` and ``told`` put a rule into words."""

    alone: ClassVar[bool] = False
    words: ClassVar[str]

    @property
    def told(self) -> str:
        """The bounds, in words."""
        return ""

    @abstractmethod
    def holds(self, paper: Any, ours: Any) -> bool:
        """Whether our value is accepted."""


class _OfOurOwn(Rule):
    """A bound of our own, where the paper prints nothing."""

    alone: ClassVar[bool] = True
    bound: float

    @property
    def told(self) -> str:
        return f"{self.bound:g}"


@dataclass(frozen=True)
class Equal(Rule):
    """Ours is the paper's: counts, polynomials, words."""

    words: ClassVar[str] = "equal"

    def holds(self, paper: Any, ours: Any) -> bool:
        return bool(paper == ours)


@dataclass(frozen=True)
class Within(Rule):
    """Ours is at most ``bound`` from the paper's, in the unit of the column; of its size if
    ``relative``."""

    bound: float
    relative: bool = False
    words: ClassVar[str] = "within"

    def holds(self, paper: Any, ours: Any) -> bool:
        return bool(abs(ours - paper) <= (self.bound * abs(paper) if self.relative else self.bound))

    @property
    def told(self) -> str:
        return f"{100 * self.bound:g} %" if self.relative else f"{self.bound:g}"


@dataclass(frozen=True)
class Below(Rule):
    """Ours is below the bound that the paper claims."""

    words: ClassVar[str] = "below the paper's"

    def holds(self, paper: Any, ours: Any) -> bool:
        return bool(ours < paper)


@dataclass(frozen=True)
class Differs(Rule):
    """Ours is the paper's plus ``by``, exactly: a difference that is known and explained."""

    by: Any
    words: ClassVar[str] = "as known, ours less the paper's is"

    def holds(self, paper: Any, ours: Any) -> bool:
        return bool(paper + self.by == ours)

    @property
    def told(self) -> str:
        return str(self.by)


@dataclass(frozen=True)
class Ratio(Rule):
    """Ours over the paper's lies between two numbers: the size agrees, or its disagreement is
    known."""

    low: float
    high: float
    words: ClassVar[str] = "ours over the paper's is"

    def holds(self, paper: Any, ours: Any) -> bool:
        return bool(self.low <= ours / paper <= self.high) if paper else False

    @property
    def told(self) -> str:
        return f"{self.low:.3g} to {self.high:.3g}"


@dataclass(frozen=True)
class Known(Rule):
    """The paper has one word and we another, both known."""

    paper: Any
    ours: Any
    words: ClassVar[str] = "differs, as known"

    def holds(self, paper: Any, ours: Any) -> bool:
        return bool(paper == self.paper and ours == self.ours)


@dataclass(frozen=True)
class AtMost(_OfOurOwn):
    """Ours is not above a bound of our own, where the paper prints nothing."""

    bound: float
    words: ClassVar[str] = "at most"

    def holds(self, paper: Any, ours: Any) -> bool:
        return bool(ours <= self.bound)


@dataclass(frozen=True)
class AtLeast(_OfOurOwn):
    """Ours is not below a bound of our own, where the paper prints nothing."""

    bound: float
    words: ClassVar[str] = "at least"

    def holds(self, paper: Any, ours: Any) -> bool:
        return bool(ours >= self.bound)


@dataclass(frozen=True)
class Expected(Rule):
    """Ours is a number of our own, known within a part of it, where the paper prints nothing."""

    value: Any
    within: float = 0.0
    alone: ClassVar[bool] = True
    words: ClassVar[str] = "as known"

    def holds(self, paper: Any, ours: Any) -> bool:
        if self.within:
            return bool(abs(ours - self.value) <= self.within * abs(self.value))
        return bool(ours == self.value)

    @property
    def told(self) -> str:
        return f"within {100 * self.within:g} %" if self.within else ""


EQUAL = Equal()
