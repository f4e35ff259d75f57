"""What the library's mechanisms are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.errors import InputError, ModelError
from appell.maths.vector import Symmetric, Vector
from appell.model.hinges import Hinge
from appell.model.inertia import Inertia
from appell.model.model import Joint
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.closed.mechanism import Constraint, Mechanism
from appell.robots.robot import Robot

Array = npt.NDArray[np.float64]


def closed(
    tree: Robot,
    loops: Sequence[Constraint],
    independent: Sequence[str],
    actuated: Sequence[str] | None = None,
    *,
    at: Any,
    inverse_kinematics: Callable[..., Array] | None = None,
) -> ClosedRobot:
    """A mechanism whose freedoms are known, at a configuration known to be closed: what
    `appell.robots.closed.close` would find, without looking for it."""
    names = tree.joint_names
    driven = independent if actuated is None else actuated
    mechanism = Mechanism(
        tree.model,
        tuple(loops),
        tuple(names.index(x) for x in independent),
        tuple(names.index(x) for x in driven),
    )
    reference = np.array(at, dtype=float)
    return ClosedRobot(mechanism, reference, inverse_kinematics=inverse_kinematics)


def bar(mass: float, length: float, start: float = 0.0) -> Inertia:
    """A slender bar along x, from ``start`` on."""
    across = mass * length**2 / 12
    return Inertia.about_com(
        mass, Vector(start + length / 2, 0, 0), Symmetric(0, 0, across, 0, 0, across)
    )


def disc(mass: float, radius: float) -> Inertia:
    """A thin disc across z, about its centre."""
    axial = mass * radius**2 / 2
    return Inertia.about_com(mass, Vector(0, 0, 0), Symmetric(axial / 2, 0, axial / 2, 0, 0, axial))


def box(mass: float, x: float, y: float, z: float, com: tuple[float, float, float]) -> Inertia:
    """A homogeneous box with sides x, y, z, its centre at ``com``."""
    k = mass / 12
    tensor = Symmetric(k * (y * y + z * z), 0, k * (x * x + z * z), 0, 0, k * (x * x + y * y))
    return Inertia.about_com(mass, Vector(*com), tensor)


def hinge(
    name: str,
    parent: str,
    child: str,
    at: Any = (0.0, 0.0, 0.0),
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0),
    kind: str = "revolute",
    rotation: Array | None = None,
) -> Hinge:
    """A joint of a library robot."""
    R = np.eye(3) if rotation is None else rotation
    return Hinge(name, parent, child, Joint(name, kind), R, np.array(at, dtype=float), axis)


def mounted(parent: str, child: str, at: Any = (0.0, 0.0, 0.0)) -> Hinge:
    """A frame fixed to a link."""
    return Hinge(child, parent, child, None, np.eye(3), np.array(at, dtype=float))


def about_z(angle: float) -> Array:
    """The matrix (3, 3) of a turn about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def positive(robot: str, **lengths: float) -> None:
    """Refuse lengths that are not positive numbers."""
    for name, x in lengths.items():
        if isinstance(x, bool) or not isinstance(x, int | float) or not 0 < x < 1e9:
            raise ModelError(f"{robot}({name}={x!r}): expected a positive number.")


def middle(robot: str, least: float, most: float) -> float:
    """A distance between the least and the most that all bars span."""
    if not least < most:
        raise ModelError(
            f"{robot}: its bars never meet: some end at least {least:.4g} m away, others at most "
            f"{most:.4g} m; change a length."
        )
    return (least + most) / 2


def elbow(robot: str, target: Array, one: float, two: float, bend: Array) -> tuple[Array, Array]:
    """Angles of two bars, the first from x and the second from the first, that reach a target
    (..., 2) from the origin; ``bend`` is the sign of the second."""
    reach = np.hypot(target[..., 0], target[..., 1])
    cosine = (reach**2 - one**2 - two**2) / (2 * one * two)
    if (np.abs(cosine) > 1).any():
        raise InputError(
            f"{robot}: a target lies {float(reach.flat[int(np.argmax(np.abs(cosine)))]):.4g} m "
            f"from a joint; bars of {one:g} and {two:g} m reach from {abs(one - two):.4g} to "
            f"{one + two:.4g} m."
        )
    second = bend * np.arccos(cosine)
    across, along = two * np.sin(second), one + two * np.cos(second)
    first = np.arctan2(target[..., 1], target[..., 0]) - np.arctan2(across, along)
    return first, second


def numbers(robot: str, what: str, given: Any, n: int) -> Array:
    """(..., n) finite numbers."""
    try:
        x = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        x = np.empty(0)
    if x.shape[-1:] != (n,) or not np.isfinite(x).all():
        raise InputError(f"{robot}: {what} = {given!r}; expected (..., {n}) finite numbers.")
    return x


def signs(robot: str, given: Any, n: int) -> Array:
    """Which way each of n elbows bends."""
    x = np.asarray(given, dtype=float)
    if x.shape not in ((), (n,)) or not (np.abs(x) == 1).all():
        raise InputError(f"{robot}: elbows = {given!r}; expected 1 or -1, or {n} of them.")
    return np.broadcast_to(x, (n,))
