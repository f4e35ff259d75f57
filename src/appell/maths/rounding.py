"""Numbers that know how much of them may be rounding.

A sum of large terms that cancel leaves rounding, which is no number anyone gave: 0.3 - 0.1 - 0.2
is 3e-17, and means zero. Whether a small result is one of these cannot be seen from the result,
only from the terms. A Sized number carries their magnitudes along, in the unit of the number
itself, so nothing is ever compared with what has another unit.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.maths.scalar import Scalar

# What a few dozen sums and products of float64 leave of a result that is zero, in parts of the
# terms' magnitudes: 2^-52 a time, and their signs differ.
LEFT = 2e-15


@dataclass(frozen=True, slots=True)
class Sized:
    """A number and the sum of the magnitudes of the terms it was made of."""

    value: float
    size: float

    def __add__(self, other: Scalar) -> Sized:
        term = sized(other)
        return Sized(self.value + term.value, self.size + term.size)

    def __neg__(self) -> Sized:
        return Sized(-self.value, self.size)

    def __sub__(self, other: Scalar) -> Sized:
        return self + -sized(other)

    def __mul__(self, other: Scalar) -> Sized:
        factor = sized(other)
        return Sized(self.value * factor.value, self.size * factor.size)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Scalar) -> Sized:
        return -self + other

    @property
    def rounded(self) -> float | int:
        """The number; the whole number 0 where it is only what rounding left of its terms."""
        return 0 if abs(self.value) <= LEFT * self.size else self.value


def sized(x: Scalar) -> Sized:
    """A number whose only term is itself."""
    return x if isinstance(x, Sized) else Sized(float(x), abs(float(x)))
