"""Which configurations a closed robot refuses, and how that is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.errors import InputError
from appell.robots.closed.closed_system import OF_ACTUATORS
from appell.robots.dynamics import Array

if TYPE_CHECKING:
    from appell.robots.closed.closed_robot import ClosedRobot

OPEN = 1e-6  # m or rad: how far from closed a configuration may be given
SINGULAR = 1e-6  # the margin below which a configuration is refused
_OF_POSITIONS = (
    "forward_kinematics", "poses", "potential_energy", "potential_energy_regressor",
    "centre_of_mass", "subtree_centre_of_mass",
)  # fmt: skip


class SingularError(InputError):
    """A configuration in which the robot's equations have no single answer."""


class Margins(NamedTuple):
    """How far from singular a closed robot is, 1 to 0; ``robot.margins(q)`` gives them.

    Attributes:
        loops: The smallest singular value of the loops' Jacobian by its largest (0: the loops gain
            a degree of freedom there, and motion may branch).
        independent: How well the independent speeds determine the others (0: choose others).
        actuators: How well the actuators hold the robot (0: some force is unopposed).
    """

    loops: Array
    independent: Array
    actuators: Array


def finite(what: str, given: Any, n: int) -> Array:
    """Given numbers as an array (..., n), or an error."""
    try:
        x = np.array(given, dtype=float)
    except (TypeError, ValueError):
        x = np.empty(0)
    if x.shape[-1:] != (n,) or not np.isfinite(x).all():
        raise InputError(f"{what} = {given!r}; expected finite numbers, {n} of them.")
    return x


def width(q: Any) -> int:
    """Of the rows of q; 0 of what is no array, as the kernel will say."""
    try:
        return (np.shape(q) or (0,))[-1]
    except ValueError:
        return 0


def refuse(robot: ClosedRobot, quantity: str, q: Any, checks: Array) -> None:
    """Refuse configurations q that are open or singular, as the quantity ``checks`` tells."""
    open_by = np.abs(checks[..., :-3])
    allowed = 100 * OPEN if checks.dtype == np.float32 else OPEN
    if not open_by.max(initial=0.0) <= allowed:  # a NaN, which is the largest, is not, either
        *at, row = (int(k) for k in np.unravel_index(int(np.argmax(open_by)), open_by.shape))
        if np.isnan(open_by.max()):
            raise InputError(_not_finite(robot, np.asarray(q)[tuple(at)], at))
        raise InputError(
            f"'{robot.name}': loop '{robot.assembly.loop_of(row)}'{_at(at)} is open by "
            f"{float(open_by.max()):.3g} (m or rad); robot.assemble(q) closes it."
        )
    if quantity in _OF_POSITIONS:
        return
    for k in range(-3, 0 if quantity.startswith(OF_ACTUATORS) else -1):
        if not checks[..., k].min(initial=1.0) > SINGULAR:  # a NaN is not, either
            at = [int(x) for x in np.argwhere(~(checks[..., k] > SINGULAR))[0]]
            raise SingularError(_singular(robot, k == -1, np.asarray(q)[tuple(at)], at))


def _singular(robot: ClosedRobot, acting: bool, q: Array, at: list[int]) -> str:
    if not np.isfinite(q).all():
        return _not_finite(robot, q, at)
    where = f"'{robot.name}': singular configuration{_at(at)}"
    if acting:
        return (
            f"{where}: the actuated joints {', '.join(robot.actuated)} cannot hold it against "
            "every force; move away, or ask for generalised=True."
        )
    return (
        f"{where}: the speeds of {', '.join(robot.independent)} do not determine the others. "
        f"Those of {', '.join(robot.best_independent(q))} do it best there: "
        "robot.described_by([...]). unchecked() computes without asking."
    )


def _not_finite(robot: ClosedRobot, q: Array, at: list[int]) -> str:
    return f"'{robot.name}': q{_at(at)} is {q}; expected finite numbers."


def _at(state: Sequence[int]) -> str:
    return f" at state {list(state)}" if state else ""
