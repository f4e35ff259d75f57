"""What robots answer at a configuration, as tables with units."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from appell.errors import AppellError
from appell.model.model import Model
from appell.model.shapes import Array
from appell.model.units import SLIDING, TURNING, Units
from appell.robots.dynamics import Dynamics

_STYLE = (
    "<style>.appell-table{width:100%;border-collapse:collapse;font-size:12px;"
    "font-variant-numeric:tabular-nums}.appell-table td,.appell-table th{padding:1px 6px;"
    "text-align:right}.appell-table td:first-child,.appell-table th:first-child{text-align:left}"
    ".appell-table th{font-weight:600;opacity:.65}.appell-box{padding:2px 10px}</style>"
)


class Row(NamedTuple):
    """A line of a table: a name, a number and its unit."""

    name: str
    value: float
    unit: str


def units_of_speeds(robot: Dynamics) -> tuple[Units, ...]:
    """The units of the joints that have the speeds v, in order."""
    return _units_named(robot, robot.independent)


def units_of_actuators(robot: Dynamics) -> tuple[Units, ...]:
    """The units of the joints that actuators drive, in order; in loops these may be others than
    those that have the speeds."""
    return _units_named(robot, robot.actuated)


def _units_named(robot: Dynamics, names: Sequence[str]) -> tuple[Units, ...]:
    """The units of joints by name; all joints of spherical robots turn."""
    if not isinstance(robot.model, Model):
        return (TURNING,) * len(names)
    sliding = {joint.name for joint in robot.model.joints if not joint.screw.angle}
    return tuple(SLIDING if name in sliding else TURNING for name in names)


def gravity_rows(robot: Dynamics, q: Array) -> list[Row]:
    """The forces on the speeds that hold the robot still."""
    values = np.asarray(robot.gravity(q), dtype=float)
    rows = zip(robot.independent, values, units_of_speeds(robot), strict=True)
    return [Row(name, float(value), unit.force) for name, value, unit in rows]


def actuator_rows(robot: Dynamics, q: Array) -> list[Row]:
    """The forces of the actuators that hold the robot still, where these are others than the
    forces on the speeds; none where the actuators cannot."""
    if tuple(robot.actuated) == tuple(robot.independent) or not robot.actuated:
        return []
    try:
        zero = np.zeros(robot.nv)
        values = np.asarray(robot.inverse_dynamics(q, zero, zero), dtype=float)
    except AppellError:
        return []
    rows = zip(robot.actuated, values, units_of_actuators(robot), strict=True)
    return [Row(name, float(value), unit.force) for name, value, unit in rows]


def summary_rows(robot: Dynamics, q: Array, v: Array | None = None) -> list[Row]:
    """Mass, energies and the centre of mass."""
    potential = float(robot.potential_energy(q))
    rows = [Row("mass", float(robot.mass()), "kg")] if hasattr(robot, "mass") else []
    rows.append(Row("potential energy", potential, "J"))
    if v is not None:
        kinetic = float(robot.kinetic_energy(q, v))
        rows += [Row("kinetic energy", kinetic, "J"), Row("energy", kinetic + potential, "J")]
    centre = np.asarray(robot.centre_of_mass(q), dtype=float)
    return rows + [Row(f"centre of mass {x}", y, "m") for x, y in zip("xyz", centre, strict=True)]


def table(heads: Sequence[str], rows: Sequence[Row], name: str) -> str:
    """Rows as HTML; every number is also there to its last digit, as ``data-value``."""
    lines = [
        f'<tr data-name="{escape(row.name)}"><td>{escape(row.name)}</td>'
        f'<td data-value="{row.value!r}">{_short(row.value)}</td><td>{escape(row.unit)}</td></tr>'
        for row in (Row(x, float(y), u) for x, y, u in rows)
    ]
    head = "".join(f"<th>{escape(x)}</th>" for x in heads)
    return (
        f'{_STYLE}<div class="appell-box"><table class="appell-table" data-table="{escape(name)}">'
        f"<tr>{head}</tr>{''.join(lines)}</table></div>"
    )


def live_table(names: Sequence[str], units: Sequence[Units], row: Any) -> str:
    """A cycle of a running rig as HTML, one row per joint: where it is and is to be, and the torque
    or force that is asked for."""
    lines = []
    for j, (name, u) in enumerate(zip(names, units, strict=True)):
        numbers = {
            "position": (u.scale * row["q"][j], u.shown),
            "desired": (u.scale * row["qd"][j], u.shown),
            "torque": (row["tau"][j], u.force),
        }
        cells = "".join(
            f'<td data-quantity="{quantity}" data-value="{float(x)!r}">{_short(x)} {unit}</td>'
            for quantity, (x, unit) in numbers.items()
        )
        lines.append(f'<tr data-name="{escape(name)}"><td>{escape(name)}</td>{cells}</tr>')
    return (
        f'{_STYLE}<div class="appell-box"><table class="appell-table" data-table="live"><tr>'
        "<th>joint</th><th>position</th><th>desired</th><th>torque or force</th></tr>"
        f"{''.join(lines)}</table></div>"
    )


def _short(x: Any) -> str:
    """Three decimals, or three digits of what is small or large; no minus before a zero."""
    if x and not 1e-2 <= abs(x) < 1e5:
        return "0" if abs(x) < 1e-9 else f"{x:.2e}"
    return f"{x:.3f}"
