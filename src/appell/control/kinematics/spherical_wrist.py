"""Closed-form inverse kinematics of arms with a spherical wrist: all branches at once.

Axis 2 is square to axis 1; axis 3 is parallel to axis 2, or joint 3 slides in the plane square
to it; axes 4, 5, 6 meet in one point, the wrist, square in turn. Three choices of two put
the tool in one pose: on which side the arm passes the base's axis, the elbow above or below,
the wrist flipped or not (Pieper 1968; Paul 1981, section 3.9 for the signs).

Everything is in axes e, u, k of the base, with k along axis 1 and u along axis 2 while
q1 = 0. Seen along u the arm moves in a plane whose points are (along k, along e): a positive
turn about u turns them counterclockwise. No angle is computed before its sine and cosine are
known, so the only trigonometric function is the arctangent at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import pi
from typing import NamedTuple

from appell.maths.rotation import AboutZ, Matrix
from appell.maths.scalar import Scalar, atan2, sign, sqrt
from appell.maths.vector import Tensor, Vector

# Added where a direction may vanish, so that an arm in a singular pose picks some angle: too
# small to be seen in a pose. Of lengths it is a part of the arm's size.
_TINY = 1e-18


class Branch(NamedTuple):
    """One of the eight ways in which an arm with a spherical wrist reaches a pose; `BRANCHES` has
    them by name.

    Attributes:
        shoulder: "left" or "right", the side of the base's axis on which the arm passes it, seen
            facing the wrist; of an arm without an offset there, "left" faces the wrist and "right"
            reaches over itself.
        elbow: "up" or "down", above or below the line from the shoulder to the wrist; of a sliding
            joint, its longer or its shorter stroke.
        wrist: "noflip" or "flip", the sign of the angle from axis 4 to axis 6.

    Examples:
        >>> appell.control.BRANCHES["left-up-noflip"]
        Branch(shoulder='left', elbow='up', wrist='noflip')
    """

    shoulder: str
    elbow: str
    wrist: str

    def __str__(self) -> str:
        return "-".join(self)


BRANCHES = {
    str(branch): branch
    for branch in map(Branch._make, product(("left", "right"), ("up", "down"), ("noflip", "flip")))
}


class Planar(NamedTuple):
    """A vector of the arm's plane, or the cosine and sine of a turn in it."""

    k: Scalar
    e: Scalar

    def __add__(self, other: Planar) -> Planar:
        return Planar(self.k + other.k, self.e + other.e)

    def __sub__(self, other: Planar) -> Planar:
        return Planar(self.k - other.k, self.e - other.e)

    def __mul__(self, x: Scalar) -> Planar:
        return Planar(self.k * x, self.e * x)

    def __matmul__(self, other: Planar) -> Scalar:
        return self.k * other.k + self.e * other.e

    def turned(self, by: Planar) -> Planar:
        return Planar(self.k * by.k - self.e * by.e, self.k * by.e + self.e * by.k)

    def relative_to(self, other: Planar) -> Planar:
        """The turn from another direction to this one, times both lengths."""
        return Planar(other @ self, other.k * self.e - other.e * self.k)


class Arm(NamedTuple):
    """The geometry of an arm, at q = 0, in the axes e, u, k (the columns of ``axes``)."""

    axes: Matrix
    origin: Vector  # of these axes in the base's, on axis 1
    beside: Scalar  # of the wrist, along u
    shoulder: Planar
    upper: Planar  # from the shoulder to the elbow, or to the wrist while a slide is at zero
    fore: Planar  # from the elbow to the wrist, or the direction of the slide
    slides: bool
    turn: int  # -1 where axis 3 points against axis 2, else 1
    forearm: Matrix  # its z along axis 4, its y along axis 5
    bend: Planar  # the turn about axis 5 from axis 4 to axis 6
    hand: Matrix  # the tool's axes in the hand's: z along axis 6, y along axis 5
    tool: Vector  # from the wrist to the tool, in the tool's axes
    size: Scalar = 1  # m, of the arm's lengths: what is small beside it is small


def inverse_kinematics(
    arm: Arm, pose: Sequence[Sequence[Scalar]]
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Joint positions of the eight branches (in the order of BRANCHES) for a homogeneous matrix.

    Besides, for the four of shoulder and elbow, how far the wrist is out of reach: the excess
    of the square of a length, m^2, zero within reach. Out of reach the positions mean nothing.
    """
    R, wrist = wrist_of(arm, pose)
    solutions: list[list[Scalar]] = []
    beyond: list[Scalar] = []
    for side in (1, -1):
        turn, r, inside = shoulder(arm, wrist, side if arm.beside >= 0 else -side)
        seen = [AboutZ(*turn).T @ column for column in R]
        P = Planar(wrist.z, r) - arm.shoulder
        for q3, V, bent, outside in elbows(arm, P, side):
            lift = nearly_unit(P.relative_to(V), P @ P, arm.size * arm.size)
            W = [arm.forearm.T @ about_u(lift.turned(bent), column) for column in seen]
            beyond.append(inside + outside)
            for q4, q5, q6 in wrists(arm, W):
                solutions.append([angle(turn), angle(lift), q3, q4, q5, q6])
    return solutions, beyond


def wrist_of(arm: Arm, pose: Sequence[Sequence[Scalar]]) -> tuple[list[Vector], Vector]:
    """The hand's axes, column by column, and the wrist, in the axes e, u, k."""
    into = arm.axes.T
    rows = [Vector(*row[:3]) for row in pose[:3]]
    place = Vector(*(row[3] for row in pose[:3])) - Tensor(*rows) @ arm.tool - arm.origin
    hand = Tensor(*(arm.hand @ row for row in rows))  # R_tool hand^T, row by row
    return [into @ column for column in hand.T], into @ place


def shoulder(arm: Arm, wrist: Vector, side: int) -> tuple[Planar, Scalar, Scalar]:
    """The turn q1, the wrist's place r along e, and what is missing to the distance ``beside``."""
    x, y = wrist.x + _TINY * arm.size, wrist.y
    square = x * x + y * y
    rest = square - arm.beside * arm.beside
    r = side * sqrt(positive(rest))
    turn = Planar(x * r + y * arm.beside, y * r - x * arm.beside) * (1 / square)
    return turn, r, positive(-rest)


def elbows(arm: Arm, P: Planar, side: int) -> Iterator[tuple[Scalar, Planar, Planar, Scalar]]:
    """Up and down: q3, the wrist V from the shoulder while q2 = 0, the turn that joint 3 gives
    the forearm, and the excess of P's square."""
    square, a, b = P @ P, arm.upper, arm.fore
    if arm.slides:  # |a + d b|^2 = |P|^2
        offset = a @ b
        root = square - a @ a + offset * offset
        for stroke in (1, -1):
            d = stroke * sqrt(positive(root)) - offset
            yield d, a + b * d, Planar(1, 0), positive(-root)
        return
    # |P|^2 = |a|^2 + |b|^2 + 2 |a| |b| cos(gamma), gamma from the upper arm to the forearm
    reach = 2 * sqrt((a @ a) * (b @ b))
    cosine = (square - (a @ a + b @ b)) / reach
    limited = 0.5 * (abs(cosine + 1) - abs(cosine - 1))
    sine = sqrt(positive(1 - limited * limited))
    straight = unit(b.relative_to(a), arm.size * arm.size)  # gamma while q3 = 0
    for up in (side, -side):
        bent = Planar(limited, up * sine).relative_to(straight)
        q3 = angle(Planar(bent.k, arm.turn * bent.e))
        yield q3, a + b.turned(bent), bent, reach * abs(cosine - limited)


def wrists(arm: Arm, W: Sequence[Vector]) -> list[tuple[Scalar, Scalar, Scalar]]:
    """Rz(q4) Ry(q5) Rz(q6) = W, given by its columns, not flipped and flipped.

    The second row of Rz(-q4) W holds the sine and cosine of q6 whatever q4 is: where axes 4
    and 6 are in line, so that q4 may be anything, the pose is still reached.
    """
    x, y, z = W
    turn = unit(Planar(z.x, z.y))
    six = Planar(turn.k * y.y - turn.e * y.x, turn.k * x.y - turn.e * x.x)
    sine = turn.k * z.x + turn.e * z.y
    q4, q6 = angle(turn), angle(six)
    five = [angle(Planar(z.z, s).relative_to(arm.bend)) for s in (sine, -sine)]
    return [(q4, five[0], q6), (opposite(q4), five[1], opposite(q6))]


def about_u(turn: Planar, v: Vector) -> Vector:
    """A vector seen from axes that were turned about u."""
    c, s = turn
    return Vector(c * v.x - s * v.z, v.y, s * v.x + c * v.z)


def angle(turn: Planar) -> Scalar:
    """The angle of a turn in a plane."""
    return atan2(turn.e, turn.k)


def opposite(q: Scalar) -> Scalar:
    """Half a turn away, from -pi to pi: of 0 it is -pi, as for a positive angle."""
    return q - pi * sign(q + _TINY)


def unit(v: Planar, size: Scalar = 1) -> Planar:
    """The same direction; some direction where there is none beside ``size``."""
    some = Planar(v.k + _TINY * size, v.e)
    return some * (1 / sqrt(some @ some))


def nearly_unit(v: Planar, length: Scalar, size: Scalar) -> Planar:
    """The same direction, of a vector whose length is known but for some digits lost: one step
    of Newton's towards the root restores them."""
    some = Planar(v.k + _TINY * size, v.e)
    inverse = 1 / (length + _TINY * size)
    return some * (inverse * (1.5 - 0.5 * (some @ some) * (inverse * inverse)))


def positive(x: Scalar) -> Scalar:
    """x, or zero where it is negative."""
    return 0.5 * (x + abs(x))
