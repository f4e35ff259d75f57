"""From a robot's records to data that it can be identified from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.given import limits, number
from appell.identify.data.columns import Names, signals
from appell.identify.data.dataset import Data
from appell.identify.data.filters import (
    chosen_cutoff,
    derivatives,
    low_pass,
    settling,
    without_outliers,
)
from appell.identify.data.plausible import Signals, refuse_degrees, refuse_forces, refuse_speeds
from appell.identify.data.sampling import evenly, period
from appell.identify.data.table import ColumnTable, log_columns, read_table
from appell.robots.robot import Array, Numbers, Robot

_SELDOM = 0.2  # s between samples: more is hardly a record of motion
_INDEPENDENT = 2.5  # samples per second over the cut-off: nearer ones repeat each other


def observe(
    robot: Robot,
    source: Any,
    *,
    columns: Names | None = None,
    units: Mapping[str, str] | None = None,
    cutoff: float | None = None,
    rate: float | None = None,
    slowest: Numbers | None = None,
    outliers: bool = True,
    resample: bool = False,
    check: bool = True,
) -> Data:
    """Samples from a file or from columns, filtered and differentiated.

    Outliers are replaced (Hampel), positions and forces filtered alike by a low-pass without phase
    shift, velocities and accelerations made by central differences; the ends, where a filter lacks
    neighbours, are left out. What cannot be right is refused, by name: uneven sampling, degrees
    taken for radians, swapped columns, signs.

    Args:
        robot: Whose motion it is.
        source: The path of a file (.csv, .parquet, or a log of the rig, .mcap), such a log, or a
            mapping of columns.
        columns: Names of the columns, where they are others than ``t``, ``q1``, ``tau3``, ``q
            shoulder``, with a unit in brackets or without, ``q1 [deg]``: ``{"t": "time", "q":
            ["pos_a [deg]", "pos_b [deg]"], "tau": [...]}``.
        units: Of signals whose columns do not say: ``{"q": "deg"}``.
        cutoff: Of the low-pass, Hz; chosen from the spectrum of the positions without it.
        rate: Samples per second that are kept; as many as are independent of each other after the
            filter without it.
        slowest: Samples in which a joint is slower than this (rad/s or m/s, one number or one per
            joint) are left out: near rest dry friction is not what its model says, and a filter
            mixes both its signs.
        outliers: Whether to replace them.
        resample: Whether to even uneven sampling out.
        check: Whether to refuse what the model does not explain.

    Returns:
        A `Data`.

    Examples:
        >>> robot, t = appell.load("planar_chain", n=1), np.arange(0, 10, 0.001)
        >>> q = (np.sin(t) + 0.3 * np.sin(3 * t))[:, None]
        >>> v = (np.cos(t) + 0.9 * np.cos(3 * t))[:, None]
        >>> a = -(np.sin(t) + 2.7 * np.sin(3 * t))[:, None]
        >>> tau = robot.inverse_dynamics(q, v, a)
        >>> data = appell.identify.observe(robot, {"t": t, "q1": q[:, 0], "tau1": tau[:, 0]})
        >>> data.q.shape == data.a.shape
        True
    """
    if not isinstance(robot, Robot) or robot.nq != robot.nv:
        raise InputError(f"observe({robot!r}): expected a Robot on a fixed base, without loops.")
    table = _table(source)
    found = signals(table, robot, columns, units)
    step = period(found["t"], table.origin, resample=resample)
    _refuse_still(table.origin, found)
    notes = [*table.notes, *_sampled(step)]
    t = found.pop("t")
    if resample:
        found = {name: evenly(t, x, step) for name, x in found.items()}
        t = t[0] + step * np.arange(len(t))
    if check:
        refuse_degrees(robot, found["q"], table.origin)
    if outliers:
        found = {name: _struck(name, x, notes) for name, x in found.items()}
    made = _filtered(found, t, step, cutoff, table.origin, notes)
    if check:
        if "v" in found:
            refuse_speeds(made.v, found["v"][np.searchsorted(t, made.t)], table.origin)
        notes += refuse_forces(robot, Signals(*made.states), table.origin)
    return _moving(robot, _thinned(made, rate, notes), slowest)


def _sampled(step: float) -> list[str]:
    if step <= _SELDOM:
        return []
    return [
        f"only {1 / step:.3g} samples per second: is t in s? Else name the column 't [ms]', or say "
        "units={'t': 'ms'} (--unit t=ms)"
    ]


def _table(source: Any) -> ColumnTable:
    if isinstance(source, str | os.PathLike):
        return read_table(os.fspath(source))
    if isinstance(source, Mapping):
        try:
            columns = {str(name): np.array(x, dtype=float) for name, x in source.items()}
        except (TypeError, ValueError):
            raise InputError("observe: a column holds something else than numbers.") from None
        return ColumnTable(_single(columns), "columns")
    if hasattr(source, "rows") and hasattr(source, "events"):  # a log of the rig
        columns, remarks = log_columns(source)
        return ColumnTable(columns, "log", remarks)
    raise InputError(
        f"observe: source = {type(source).__name__}; expected the path of a .csv, .parquet or "
        ".mcap file, a mapping of columns, or a log of the rig."
    )


def _single(columns: Mapping[str, Array]) -> dict[str, Array]:
    """Columns (N,) of their own, from such of all joints, (N, n)."""
    flat: dict[str, Array] = {}
    for name, x in columns.items():
        if x.ndim == 2:
            flat |= {f"{name}{j + 1}": x[:, j] for j in range(x.shape[1])}
        else:
            flat[name] = x
    shapes = {name: x.shape for name, x in flat.items()}
    if len(set(shapes.values())) != 1 or any(len(s) != 1 for s in shapes.values()):
        raise InputError(f"observe: columns have shapes {shapes}; expected all of one length.")
    return flat


def _refuse_still(origin: str, found: Mapping[str, Array]) -> None:
    for name in ("q", "tau"):
        for j in np.flatnonzero(np.ptp(found[name], axis=0) == 0):
            raise InputError(
                f"{origin}: {name}{j + 1} is {found[name][0, j]:g} in all samples; expected a "
                "signal that changes: is the sensor connected, and the right column named?"
            )


def _struck(name: str, x: Array, notes: list[str]) -> Array:
    clean, where = without_outliers(x)
    count = where.sum(axis=0)
    for j in np.flatnonzero(count):
        notes.append(f"{count[j]} outliers of {name}{j + 1} replaced")
    if (count > 0.02 * len(x)).any():
        worst = int(np.argmax(count))
        raise InputError(
            f"{count[worst]} of {len(x)} samples of {name}{worst + 1} are far off their "
            "neighbours, too many for outliers: check the sensor; in Python "
            "outliers=False takes them."
        )
    return clean


def _filtered(
    found: Mapping[str, Array],
    t: Array,
    step: float,
    cutoff: float | None,
    origin: str,
    notes: list[str],
) -> Data:
    rate = 1 / step
    if cutoff is None:
        f = chosen_cutoff(found["q"], rate)
        notes.append(f"cut-off of {f:.3g} Hz chosen from the spectrum of q")
    else:
        f = number("observe: cutoff", cutoff)
    if f >= rate / 2:
        raise InputError(
            f"observe: cutoff = {f:g} Hz; with {rate:.4g} samples per second expected less than "
            f"{rate / 2:.4g}."
        )
    # Differences take two samples. A filter slower than the record is refused below anyway.
    edge = 2 + settling(max(f, 1 / (t[-1] - t[0])), rate)
    if len(t) - 2 * edge < 10:
        raise InputError(
            f"{origin}: {len(t)} samples in {t[-1] - t[0]:.3g} s, of which a filter of {f:.3g} Hz "
            f"takes {edge} or more at each end; record for longer, or raise cutoff (--cutoff)."
        )
    q, tau = (low_pass(found[name], f, rate) for name in ("q", "tau"))
    v, a = derivatives(q, step)
    keep = slice(edge, len(t) - edge)
    return Data(t[keep], q[keep], v[keep], a[keep], tau[keep], rate, f, (), origin)


def _moving(robot: Robot, data: Data, slowest: Any) -> Data:
    """The samples in which all joints move."""
    if slowest is None:
        return data
    least = limits("observe: slowest", slowest, robot.nv)
    moving = (np.abs(data.v) >= least).all(axis=1)
    if moving.sum() < 10:
        raise InputError(
            f"{data.origin}: in {moving.sum()} of {len(data)} samples all joints are as fast as "
            "slowest (--slowest) says; expected some hundred: lower it."
        )
    note = f"{len(data) - moving.sum()} samples left out in which a joint hardly moves"
    return replace(data[moving], notes=(*data.notes, note))


def _thinned(data: Data, rate: float | None, notes: list[str]) -> Data:
    wanted = _INDEPENDENT * data.cutoff if rate is None else number("observe: rate", rate)
    each = max(1, int(data.rate / wanted))
    if each > 1:
        notes.append(f"one of {each} samples kept")
    return replace(data[::each], rate=data.rate / each, notes=tuple(notes))
