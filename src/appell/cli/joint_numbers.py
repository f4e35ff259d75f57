"""Numbers of joints on the command line: degrees, and m for joints that slide."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from math import inf
from typing import TYPE_CHECKING, Any

from appell.errors import InputError

if TYPE_CHECKING:
    from appell.model.units import Units
    from appell.robots.dynamics import Array


def joint_names(robot: Any) -> tuple[str, ...]:
    """The names of the joints that have the speeds; q1, q2, ... where these are others."""
    names = robot.joint_names
    return names if len(names) == robot.nv else tuple(f"q{j + 1}" for j in range(robot.nv))


def joint_kinds(robot: Any) -> tuple[str, ...]:
    """The kinds of the joints."""
    return tuple(joint.kind for joint in robot.model.joints)


def _units(robot: Any) -> list[Units]:
    """Of the joints that have the speeds."""
    from appell.model.units import units_of

    kinds = dict(zip(robot.joint_names, robot.joint_kinds, strict=True))
    return [units_of([kinds[name]], 1)[0] for name in robot.independent]


def _numbers(text: str) -> list[float]:
    try:
        return [float(x) for x in text.replace(",", " ").split()]
    except ValueError:
        return []


def read_positions(text: str, robot: Any, such: str) -> Array:
    """Positions of the joints in rad and m, from a text in degrees and m. ``such`` is an example of
    some in degrees, for the error."""
    import numpy as np

    from appell.model.units import SLIDING

    n, units, numbers = robot.nv, _units(robot), _numbers(text)
    if len(numbers) != n or not np.isfinite(numbers).all():
        some = zip(units, cycle(such.split(",")), strict=False)
        example = ",".join("0.1" if u is SLIDING else x for u, x in some)
        raise InputError(
            f"'{text}': expected {n} numbers, in degrees{_slides(robot)}, such as {example}."
        )
    return np.array([x / u.scale for x, u in zip(numbers, units, strict=True)])


def read_limits(option: str, text: str | None, robot: Any, rate: str = "") -> Array | None:
    """What no joint may exceed in rad and m (per s, per s^2), from a text in degrees and m: one
    number for all joints, or one per joint."""
    import numpy as np

    if text is None:
        return None
    n, units, numbers = robot.nv, _units(robot), _numbers(text)
    alike = len({u.shown for u in units}) == 1  # one number for all would be degrees and m at once
    if len(numbers) not in ((1, n) if alike else (n,)) or not all(0 < x < inf for x in numbers):
        each = f"{n} numbers greater than zero, one per joint with commas between"
        wanted = f"a number greater than zero, or {each}" if alike else each
        raise InputError(
            f"{option} {text}: expected {wanted}, in degrees{rate}{_slides(robot, rate)}."
        )
    return np.array(numbers * (n // len(numbers))) / [u.scale for u in units]


def shown_limit(value: float, robot: Any, joints: Sequence[str], rate: str = "") -> str:
    """A limit in rad or m as the command line has it: ``143.2 deg``, or ``143.2 deg or 2.5 m``."""
    units = dict(zip(robot.independent, _units(robot), strict=True))
    told = {f"{units[name].scale * value:.4g} {units[name].shown}{rate}": None for name in joints}
    return " or ".join(told)


def _slides(robot: Any, rate: str = "") -> str:
    from appell.model.units import SLIDING

    pairs = zip(robot.independent, _units(robot), strict=True)
    slides = [name for name, unit in pairs if unit is SLIDING]
    return f" ({', '.join(slides)}: in m{rate})" if slides else ""
