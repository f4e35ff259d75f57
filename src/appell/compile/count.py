"""Operation counts, in two conventions.

*As recorded*: of a tape, for the robot at hand, numbers folded and shared values
computed once. *As the papers count*: of an equation as it is written, for a general
robot, by scalars that count what is done to them; a product or sum of constants is
made beforehand and costs nothing, and neither does what is zero or one by structure.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from appell.compile.tape import Tape


class Operations(NamedTuple):
    """Operations of one evaluation; a change of sign is no more than a move.

    Additions include subtractions, multiplications include squares.
    """

    multiplications: int
    additions: int
    divisions: int
    square_roots: int
    sines_and_cosines: int
    sign_changes: int
    arctangents: int = 0
    exponentials: int = 0  # and logarithms, powers, hyperbolic functions

    def __str__(self) -> str:
        named = (f"{n} {name.replace('_', ' ')}" for name, n in self._asdict().items() if n)
        return ", ".join(named) or "no operations"


def count(tape: Tape) -> Operations:
    """As recorded."""
    n = tape.counts
    return Operations(
        multiplications=n["mul"],
        additions=n["add"] + n["sub"],
        divisions=n["inv"] + n["div"],
        square_roots=n["sqrt"],
        sines_and_cosines=n["sin"] + n["cos"],
        sign_changes=n["neg"],
        arctangents=n["atan2"],
        exponentials=sum(n[op] for op in ("exp", "log", "pow", "sinh", "cosh", "tanh")),
    )


class Tally:
    """As the papers count: ``constant()`` and ``variable()`` give scalars, ``taken()`` tells what
    was done to them since it was last asked."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(Operations._fields, 0)

    def constant(self) -> Counted:
        """A number that the robot determines, such as a mass."""
        return Counted(self, False)

    def variable(self) -> Counted:
        """A number that the robot's state determines."""
        return Counted(self, True)

    def add(self, operation: str) -> None:
        self._counts[operation] += 1

    def taken(self) -> Operations:
        taken = Operations(**self._counts)
        self._counts = dict.fromkeys(Operations._fields, 0)
        return taken


class Counted:
    """A scalar without a value, which tells its tally what is done to it."""

    __slots__ = ("tally", "varies")

    def __init__(self, tally: Tally, varies: bool) -> None:
        self.tally, self.varies = tally, varies

    def _by(self, operation: str, other: Any = None) -> Counted:
        varies = self.varies or (isinstance(other, Counted) and other.varies)
        if varies:
            self.tally.add(operation)
        return Counted(self.tally, varies)

    def __add__(self, other: Any) -> Any:
        return self if _is(other, 0) else self._by("additions", other)

    __radd__ = __add__
    __sub__ = __add__
    __rsub__ = __add__

    def __mul__(self, other: Any) -> Any:
        if _is(other, 0):
            return 0
        return self if _is(other, 1) or _is(other, -1) else self._by("multiplications", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Counted) and other.varies:
            return self._by("divisions", other)
        return self if _is(other, 1) or _is(other, -1) else self._by("multiplications", other)

    def __rtruediv__(self, other: Any) -> Any:
        return 0 if _is(other, 0) else self._by("divisions", other)

    def __neg__(self) -> Counted:
        return self

    def __bool__(self) -> bool:
        return True  # a general parameter is not zero

    def sin(self) -> Counted:
        return self._by("sines_and_cosines")

    def cos(self) -> Counted:
        return self._by("sines_and_cosines")

    def sqrt(self) -> Counted:
        return self._by("square_roots")

    def __abs__(self) -> Counted:
        return self

    @staticmethod
    def atan2(y: Any, x: Any) -> Counted:
        one, other = (y, x) if isinstance(y, Counted) else (x, y)
        return one._by("arctangents", other)


def _is(x: Any, number: int) -> bool:
    return not isinstance(x, Counted) and bool(x == number)


class Polynomial(NamedTuple):
    """A polynomial in n by its coefficients, the constant one first."""

    coefficients: tuple[Fraction, ...]

    @classmethod
    def of(cls, *coefficients: Any) -> Polynomial:
        """From the coefficients, the highest power's first, as one writes them."""
        return cls(tuple(Fraction(c) for c in reversed(coefficients)))

    @classmethod
    def through(cls, counts: Mapping[int, int]) -> Polynomial:
        """The one of the lowest degree that gives all the counts; there must be more counts than
        it has coefficients, so that it is found and not fitted."""
        points = sorted(counts.items())
        found = _interpolated(points)
        while len(found) > 1 and found[-1] == 0:
            found.pop()
        if len(found) >= len(points):
            raise ValueError(f"no polynomial of a degree below {len(points) - 1} gives {counts}")
        return cls(tuple(found))

    def __call__(self, n: int) -> Fraction:
        return sum((c * n**k for k, c in enumerate(self.coefficients)), Fraction(0))

    def __add__(self, other: Any) -> Polynomial:
        a, b = self.coefficients, other.coefficients
        longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
        padded = (*shorter, *(Fraction(0),) * (len(longer) - len(shorter)))
        found = [x + y for x, y in zip(longer, padded, strict=True)]
        while len(found) > 1 and found[-1] == 0:
            found.pop()
        return Polynomial(tuple(found))

    def __str__(self) -> str:
        text = ""
        for k, c in reversed(list(enumerate(self.coefficients))):
            if c:
                sign = "\N{MINUS SIGN}" if c < 0 else "+"
                text += f" {sign} {_size(abs(c), k)}" if text else f"{sign}{_size(abs(c), k)}"
        return text.removeprefix("+") or "0"


def _size(c: Fraction, power: int) -> str:
    """A coefficient without its sign, and its power of n."""
    n = "" if power == 0 else "n" + "⁰¹²³⁴⁵⁶⁷⁸⁹"[power] if power > 1 else "n"
    if c == 1 and n:
        return n
    return f"{c} {n}".rstrip() if c.denominator > 1 else f"{c}{n}"


def _interpolated(points: list[tuple[int, int]]) -> list[Fraction]:
    """Newton's divided differences, multiplied out."""
    xs = [Fraction(x) for x, _ in points]
    differences = [Fraction(y) for _, y in points]
    for order in range(1, len(xs)):
        for k in reversed(range(order, len(xs))):
            differences[k] = (differences[k] - differences[k - 1]) / (xs[k] - xs[k - order])
    polynomial = [Fraction(0)] * len(xs)
    for k in reversed(range(len(xs))):
        shifted = [Fraction(0), *polynomial[:-1]]
        polynomial = [a - xs[k] * b for a, b in zip(shifted, polynomial, strict=True)]
        polynomial[0] += differences[k]
    return polynomial
