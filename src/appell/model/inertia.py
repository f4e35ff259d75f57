"""The inertia of a link, and whether a body can have it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from appell.errors import ModelError
from appell.maths.rotation import Rotation
from appell.maths.rounding import sized
from appell.maths.scalar import Scalar, is_zero
from appell.maths.vector import NIL, ZERO, Symmetric, Vector, inertia_product, point_inertia

# Moments of inertia in files are rounded to a few digits: a rod's zero moment, or a
# plate's sum of two, may miss the limit by that much of the trace. Taking them from the
# frame's origin to the centre of mass rounds again.
_ROUNDING, _SHIFT_ROUNDING = 1e-6, 1e-14
LARGEST = 1e50  # products of several lengths and masses still fit a float


class Inertia(NamedTuple):
    """Mass, first moment m c and second moments about the frame's origin (kg, kg m, kg m^2)."""

    mass: Scalar
    moment: Vector
    tensor: Symmetric

    @classmethod
    def about_com(cls, mass: Scalar, com: Vector, tensor: Symmetric) -> Inertia:
        """From the centre of mass and the inertia tensor about it, axes parallel to the frame's."""
        return cls(mass, com * mass, tensor + point_inertia(com) * mass)

    @classmethod
    def from_parameters(cls, parameters: tuple[Scalar, ...]) -> Inertia:
        m, hx, hy, hz, *tensor = parameters
        return cls(m, Vector(hx, hy, hz), Symmetric(*tensor))

    @property
    def parameters(self) -> tuple[Scalar, ...]:
        """m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz: the model is linear in these."""
        return (self.mass, *self.moment, *self.tensor)

    @property
    def com(self) -> Vector:
        return ZERO if is_zero(self.mass) else self.moment * (1 / self.mass)

    @property
    def central(self) -> Symmetric:
        """The inertia tensor about the centre of mass."""
        return self.tensor - point_inertia(self.com) * self.mass

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(
            self.mass + other.mass, self.moment + other.moment, self.tensor + other.tensor
        )

    def __sub__(self, other: Inertia) -> Inertia:
        return Inertia(
            self.mass - other.mass, self.moment - other.moment, self.tensor - other.tensor
        )

    def moved(self, R: Rotation, s: Vector) -> Inertia:
        """The same body seen from a frame in which its own has axes R and origin s."""
        moment = R @ self.moment
        return Inertia(
            self.mass,
            moment + s * self.mass,
            R.congruence(self.tensor) + inertia_product(s, moment) + point_inertia(s) * self.mass,
        )


NOTHING = Inertia(0, ZERO, NIL)


def with_sizes(inertia: Inertia) -> Inertia:
    """The same numbers, which remember the terms that they are summed from: see snapped."""
    return Inertia.from_parameters(tuple(map(sized, inertia.parameters)))


def rounded(inertia: Inertia) -> Inertia:
    """The numbers without their sizes; zero is what rounding left of a sum."""
    return Inertia.from_parameters(tuple(sized(x).rounded for x in inertia.parameters))


def snapped(inertia: Inertia) -> Inertia:
    """Zeros exact: what is left of a sum by rounding is no moment of inertia.

    Of numbers with sizes, what is rounding beside the terms of its own sum. Besides, what a
    drawing program's rounding left: a first moment or a product of inertia that is less than
    1e-15 of what the spread of the mass in its directions allows,
    (sum m x y)^2 <= (sum m x^2) (sum m y^2). No moment about an axis is ever taken for zero.
    """
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = rounded(inertia).parameters
    half = 0.5 * (xx + yy + zz)
    x, y, z, one = (max(k, 0.0) ** 0.5 for k in (half - xx, half - yy, half - zz, m))

    def felt(k: float, a: float, b: float) -> float | int:
        return 0 if abs(k) <= 1e-15 * a * b else k

    return Inertia(
        m,
        Vector(felt(hx, x, one), felt(hy, y, one), felt(hz, z, one)),
        Symmetric(xx, felt(xy, x, y), yy, felt(xz, x, z), felt(yz, y, z), zz),
    )


def check_finite(link: str, inertia: Inertia) -> npt.NDArray[np.float64]:
    """The ten parameters, if they are numbers that can be computed with."""
    numbers = np.array(inertia.parameters, dtype=float)
    if not (np.abs(numbers) <= LARGEST).all() or 0 < abs(numbers[0]) < 1 / LARGEST:
        raise ModelError(
            f"link '{link}': mass = {numbers[0]:g} kg, m c = {numbers[1:4].tolist()} kg m, moments "
            f"= {numbers[4:].tolist()} kg m^2: expected finite numbers of at most {LARGEST:g}, and "
            f"a mass of zero or at least {1 / LARGEST:g}."
        )
    return numbers


def check_inertia(link: str, inertia: Inertia) -> None:
    """Refuse an inertia that no distribution of mass has.

    A body exists if its pseudo-inertia, ``[[tr(I)/2 - I, m c], [m c^T, m]]``, is
    positive semidefinite: its mass is not negative, and no principal moment about
    the centre of mass exceeds the sum of the other two.
    """
    numbers = check_finite(link, inertia)
    m, com = float(inertia.mass), np.array(inertia.com, dtype=float)
    given = f"link '{link}': mass = {m:g} kg, centre of mass = {com.round(9).tolist()} m"
    if m < 0:
        raise ModelError(f"{given}: the mass is negative; it must be zero or more.")
    if m == 0:
        if numbers.any():
            raise ModelError(
                f"{given}: a link without mass has moments {numbers[4:].tolist()}; "
                "give it a mass, or set all its inertia to zero."
            )
        return
    about_com = inertia.central.tensor
    principal = np.linalg.eigvalsh(np.array([[*row] for row in about_com], dtype=float))
    shown = f"{given}, principal moments of inertia about it = {principal.tolist()} kg m^2"
    about_origin = inertia.tensor.xx + inertia.tensor.yy + inertia.tensor.zz
    slack = _ROUNDING * abs(principal).sum() + _SHIFT_ROUNDING * abs(float(about_origin))
    if principal[0] < -slack:
        raise ModelError(
            f"{shown}: a principal moment is negative. Check the tensor's signs, and that it "
            "is given about the centre of mass."
        )
    if principal[2] > principal[0] + principal[1] + slack:
        raise ModelError(
            f"{shown}: the largest exceeds the sum of the other two (triangle inequality), so the "
            "pseudo-inertia is not positive and no body has this inertia. Check the tensor's "
            "reference point and units."
        )
