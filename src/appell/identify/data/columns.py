"""Which column is which signal of which joint, and in SI units."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from appell.errors import InputError, did_you_mean
from appell.identify.data.column_units import SIGNALS, worth
from appell.identify.data.table import ColumnTable
from appell.robots.robot import Array, Robot

Names = Mapping[str, str | Sequence[str]]

_WITH_UNIT = re.compile(r"^(?P<name>.*?)\s*(?:\[(?P<unit>[^\]]*)\])?$")


def signals(
    table: ColumnTable, robot: Robot, columns: Names | None, units: Mapping[str, str] | None
) -> dict[str, Array]:
    """t (N,), q and tau (N, n), and v where it is there, in SI units.

    A column is named after its signal and joint, by number or by name: ``q1``, ``tau3``,
    ``q shoulder``, and may have its unit in brackets, ``q1 [deg]``. ``columns`` names others:
    ``{"t": "time", "q": ["pos_a [deg]", "pos_b [deg]"], "tau": [...]}``. ``units`` are for signals
    whose columns do not say: ``{"q": "deg"}``.
    """
    _refuse_others("columns", columns)
    _refuse_others("units", units)
    found: dict[str, Array] = {}
    used: set[str] = set()
    for signal in SIGNALS:
        names = _names(table, robot, signal, columns)
        if names is None:
            continue
        used |= set(names)
        unit = (units or {}).get(signal)
        joints = robot.model.joints
        made = [
            _in_si(table, name, signal, unit, signal != "t" and not joints[j].screw.angle)
            for j, name in enumerate(names)
        ]
        found[signal] = made[0] if signal == "t" else np.column_stack(made)
    if columns is None:
        used |= _accelerations(table, robot)
        _refuse_unused(table, robot, [name for name in table.columns if name not in used])
    return found


def _accelerations(table: ColumnTable, robot: Robot) -> set[str]:
    """Columns a1, ... of all joints, which files of ``appell run`` have; accelerations are found
    from the positions."""
    plain = {_parted(name)[0]: name for name in table.columns}
    names = [f"a{j + 1}" for j in range(robot.nv)]
    return {plain[x] for x in names} if plain.keys() >= set(names) else set()


def _refuse_unused(table: ColumnTable, robot: Robot, unused: list[str]) -> None:
    """Columns that nothing is done with: whoever recorded them may think that it is."""
    if not unused:
        return
    some = ", ".join(f"'{name[:40]}'" for name in unused[:5])
    more = f" and {len(unused) - 5} more" if len(unused) > 5 else ""
    rates = [name for name in unused if re.match(r"v[_ ]?\d", name, re.IGNORECASE)]
    hint = f" Speeds are used where all {robot.nv} joints have them." if rates else ""
    raise InputError(
        f"{table.origin}: nothing is known of column {some}{more}; '{robot.name}' has "
        f"{robot.nv} joints, whose columns are t, q1 to q{robot.nv}, tau1 to tau{robot.nv} and "
        f"perhaps v1 to v{robot.nv}.{hint} Delete the others, or name those to use by columns="
        "{...}: others are then left alone."
    )


def _refuse_others(what: str, given: Any) -> None:
    if given is None:
        return
    if not isinstance(given, Mapping) or not given.keys() <= SIGNALS.keys():
        raise InputError(
            f"observe: {what} = {given!r}; expected a mapping of {', '.join(SIGNALS)}."
        )


def _names(
    table: ColumnTable, robot: Robot, signal: str, columns: Names | None
) -> Sequence[str] | None:
    """The table's names of a signal's columns; None where there need not be any."""
    if columns is not None and signal in columns:
        given = columns[signal]
        several = [given] if isinstance(given, str) else list(given)
        count = 1 if signal == "t" else robot.nv
        if len(several) != count:
            raise InputError(
                f"observe: columns['{signal}'] has {len(several)} names; expected {count}."
            )
        return [_known(table, name) for name in several]
    plain = {_parted(name)[0].lower(): name for name in table.columns}
    if signal == "t":
        name = plain.get("t", plain.get("time"))
        if name is None:
            raise _missing(table, "t")
        return [name]
    found = [_of_joint(plain, signal, j, joint) for j, joint in enumerate(robot.joint_names)]
    if signal == "v" and None in found:
        return None
    for j, name in enumerate(found):
        if name is None:
            raise _missing(table, f"{signal}{j + 1}")
    return [name for name in found if name is not None]


def _of_joint(plain: Mapping[str, str], signal: str, j: int, joint: str) -> str | None:
    joint = joint.lower()
    ways = (f"{signal}{j + 1}", f"{signal}_{j + 1}", f"{signal} {joint}", f"{signal}_{joint}")
    return next((plain[way] for way in ways if way in plain), None)


def _known(table: ColumnTable, name: str) -> str:
    """A name with or without its unit."""
    if name in table.columns:
        return name
    for other in table.columns:
        if _parted(other)[0] == name:
            return other
    raise _missing(table, name)


def _missing(table: ColumnTable, name: str) -> InputError:
    return InputError(
        f"{table.origin}: there is no column '{name}'; the columns are "
        f"{', '.join(table.columns)}. Name others by columns={{...}}."
        f"{did_you_mean(name, table.columns)}"
    )


def _in_si(table: ColumnTable, name: str, signal: str, unit: str | None, slides: bool) -> Array:
    x, own = table.columns[name], _parted(name)[1]
    bad = np.flatnonzero(~np.isfinite(x))
    if len(bad):
        raise InputError(
            f"{table.origin}: column '{name}' holds {x[bad[0]]} in sample {bad[0] + 1} (and "
            f"{len(bad) - 1} more); expected finite numbers: leave these samples out at the ends, "
            "or fill them before."
        )
    text = own or unit
    return x * worth(name, text, signal, slides) if text else np.array(x, dtype=float)


def _parted(name: str) -> tuple[str, str | None]:
    found = _WITH_UNIT.match(name.strip())
    return (found["name"], found["unit"]) if found else (name, None)
