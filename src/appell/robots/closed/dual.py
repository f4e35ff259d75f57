"""A number and its rate: an equation called with these gives its own time derivative.

Where coordinates are q with rates dq, every sum and product made of them carries its rate
along, exactly. Values and rates are scalars of any kind; a rate that is zero costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from appell.maths.scalar import Scalar, cos, is_zero, sign, sin, sqrt


class Dual:
    """x + e dx with e e = 0."""

    __slots__ = ("rate", "value")
    __array_ufunc__ = None  # a NumPy array on the left leaves the operation to this class

    def __init__(self, value: Scalar, rate: Scalar = 0) -> None:
        self.value, self.rate = value, rate

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.rate + other.rate)
        return Dual(self.value + other, self.rate)

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate)

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            rate = self.value * other.rate + self.rate * other.value
            return Dual(self.value * other.value, rate)
        return 0 if is_zero(other) else Dual(self.value * other, self.rate * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            quotient = self.value / other.value
            return Dual(quotient, (self.rate - quotient * other.rate) / other.value)
        return Dual(self.value / other, self.rate / other)

    def __rtruediv__(self, other: Any) -> Any:
        return Dual(other) / self

    def sin(self) -> Dual:
        return Dual(sin(self.value), cos(self.value) * self.rate)

    def cos(self) -> Dual:
        return Dual(cos(self.value), -sin(self.value) * self.rate)

    def sqrt(self) -> Dual:
        root = sqrt(self.value)
        return Dual(root, 0.5 * self.rate / root)

    def __abs__(self) -> Dual:
        return Dual(abs(self.value), sign(self.value) * self.rate)

    def __bool__(self) -> bool:
        raise TypeError("an equation may not branch on a value")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: self.__bool__()


def duals(values: Sequence[Scalar], rates: Sequence[Scalar]) -> list[Dual]:
    """Numbers that carry their rates."""
    return [Dual(x, dx) for x, dx in zip(values, rates, strict=True)]


def rate(x: Any) -> Scalar:
    """The rate of what an equation gave: a plain number has none."""
    return x.rate if isinstance(x, Dual) else 0
