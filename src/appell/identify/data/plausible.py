"""Whether data can be those of a robot: units, signs and the order of columns.

Judged by the robot's own model, which need not be good: what is asked is whether another reading
of the columns explains the joint forces where this one does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from appell.errors import InputError
from appell.robots.robot import Array, Robot

_MOST = 2000  # samples that are looked at
_DEGREE = np.pi / 180
_CLEAR, _POOR = 0.8, 0.5  # correlations
_DOUBT = 0.05  # a model that leaves less than this unexplained is right about the columns
_BETTER = 4.0  # how much less another reading must leave unexplained
_TURNS = 4 * np.pi  # rad: a joint without limits hardly goes farther


class Signals(NamedTuple):
    """Positions, speeds, accelerations and joint forces, each (N, n)."""

    q: Array
    v: Array
    a: Array
    tau: Array


def refuse_degrees(robot: Robot, q: Array, origin: str) -> None:
    """Angles far beyond what a joint can do, and within it if they are degrees."""
    for j, joint in enumerate(robot.model.joints):
        if not joint.screw.angle:
            continue
        low, high = q[:, j].min(), q[:, j].max()
        bounded = np.isfinite([joint.lower, joint.upper]).all()
        least, most = (joint.lower, joint.upper) if bounded else (-_TURNS, _TURNS)
        slack = 0.1 * (most - least)
        beyond = low < least - slack or high > most + slack
        if beyond and low * _DEGREE >= least - slack and high * _DEGREE <= most + slack:
            raise InputError(
                f"{origin}: q{j + 1} goes from {low:.4g} to {high:.4g} rad, where joint "
                f"'{joint.name}' can go from {least:.4g} to {most:.4g}: these look like degrees. "
                f"Name the column 'q{j + 1} [deg]', or say "
                "units={'q': 'deg'} (--unit q=deg)."
            )
        if beyond and bounded:
            raise InputError(
                f"{origin}: q{j + 1} goes from {low:.4g} to {high:.4g}, beyond the limits of joint "
                f"'{joint.name}', {least:.4g} to {most:.4g}; check its unit and zero, and the "
                "order of the columns."
            )


def refuse_speeds(v: Array, measured: Array, origin: str) -> None:
    """Measured speeds that are not the rates of the positions."""
    fit = _correlations(v, measured)
    for j in range(v.shape[1]):
        if np.std(measured[:, j]) == 0 or np.std(v[:, j]) == 0:
            continue
        factor = float(np.dot(v[:, j], measured[:, j]) / np.dot(v[:, j], v[:, j]))
        if abs(fit[j, j]) > _CLEAR and abs(factor - 1) > 0.2:
            raise InputError(
                f"{origin}: v{j + 1} is {factor:.4g} times the rate of q{j + 1}; check the sign "
                "and the unit of both."
            )
        other = int(np.argmax(np.abs(fit[:, j])))
        if abs(fit[j, j]) < _POOR and abs(fit[other, j]) > _CLEAR:
            raise InputError(
                f"{origin}: v{j + 1} is not the rate of q{j + 1}, but that of q{other + 1}; are "
                "columns swapped?"
            )


def refuse_forces(robot: Robot, given: Signals, origin: str) -> list[str]:
    """Forces that the model explains only if they are read otherwise. Remarks on what it does not
    explain at all."""
    step = max(1, len(given.q) // _MOST)
    given = Signals(*(x[::step] for x in given))
    fit = _explained(robot, given)
    own = np.diagonal(fit)
    _refuse_signs(fit, given.tau, origin)
    _refuse_swapped_forces(fit, origin)
    _refuse_positions(robot, given, own, origin)
    _refuse_units(robot, fit, given, origin)
    return [
        f"the model explains little of tau{j + 1} (correlation {own[j]:.2f})"
        for j in np.flatnonzero(own < _POOR)
    ]


def _refuse_signs(fit: Array, tau: Array, origin: str) -> None:
    wrong = np.flatnonzero(np.diagonal(fit) < -_CLEAR)
    if len(wrong):
        names = ", ".join(f"tau{j + 1}" for j in wrong)
        raise InputError(
            f"{origin}: {names}: the sign is opposite to what the model needs. A joint force is "
            "positive where it drives its joint towards larger q; turn the sign of tau, or of q."
        )


def _refuse_units(robot: Robot, fit: Array, given: Signals, origin: str) -> None:
    needed = robot.inverse_dynamics(given.q, given.v, given.a)
    for j in range(robot.nv):
        if fit[j, j] < _CLEAR:
            continue
        both = np.column_stack([given.tau[:, j], needed[:, j]])
        largest = np.abs(both).max(axis=0)
        left = np.linalg.norm(_without_friction(given.v[:, j], both / largest), axis=0)
        factor = float(np.divide(*left) * (largest[0] / largest[1]))
        if not 0.05 < factor < 20:
            raise InputError(
                f"{origin}: tau{j + 1} is about {factor:.3g} times what the model needs; check its "
                "unit (say it as 'tau1 [mN m]'), and the gear's ratio if it is a motor's torque."
            )


def _refuse_swapped_forces(fit: Array, origin: str) -> None:
    for i, j in combinations(range(len(fit)), 2):
        own, across = fit[[i, j], [i, j]], fit[[i, j], [j, i]]
        if across.min() > _CLEAR and (_open(own) > _BETTER * _open(across)).all():
            raise InputError(
                f"{origin}: tau{i + 1} is what the model needs at joint {j + 1}, and tau{j + 1} "
                f"what it needs at joint {i + 1}: the columns look swapped."
            )


def _refuse_positions(robot: Robot, given: Signals, own: Array, origin: str) -> None:
    """All joints' forces depend on all positions: readings are compared by the mean of what they
    leave unexplained."""
    before = float(_open(own).mean())
    for what, other in _readings(robot, given):
        fit = np.diagonal(_explained(robot, other))
        after = float(_open(fit).mean())
        if fit.mean() > _CLEAR and before > max(_BETTER * after, _DOUBT):
            raise InputError(
                f"{origin}: the model leaves {100 * before:.0f} % of tau unexplained, but only "
                f"{100 * after:.2g} % if {what}; check the columns."
            )


def _open(fit: Array) -> Array:
    """The part of a force's power that is not explained, by correlations."""
    return 1 - fit * np.abs(fit)


def _readings(robot: Robot, given: Signals) -> Iterator[tuple[str, Signals]]:
    """Other ways to read the positions and their rates."""
    q, v, a, tau = given
    n = robot.nv
    turning = np.array([joint.screw.angle for joint in robot.model.joints])
    for name, factor in (("degrees", _DEGREE), ("radians taken for degrees", 1 / _DEGREE)):
        by = np.where(turning, factor, 1.0)
        yield f"q is in {name}", Signals(q * by, v * by, a * by, tau)
        yield f"v and a are in {name}, and q is not", Signals(q, v * by, a * by, tau)
        yield f"a is in {name}, and q and v are not", Signals(q, v, a * by, tau)
    for j in range(n):
        by = np.where(np.arange(n) == j, -1.0, 1.0)
        yield f"q{j + 1} has the opposite sign", Signals(q * by, v * by, a * by, tau)
    for i, j in combinations(range(n), 2):
        order = np.arange(n)
        order[[i, j]] = j, i
        yield (
            f"q{i + 1} and q{j + 1} are swapped",
            Signals(q[:, order], v[:, order], a[:, order], tau),
        )


def _explained(robot: Robot, given: Signals) -> Array:
    """fit[i, j]: how the force needed at joint j and the one measured at joint i correlate, once
    what friction at the measured joint explains, and an offset, are taken from both."""
    needed = robot.inverse_dynamics(given.q, given.v, given.a)
    n = robot.nv
    fit = np.zeros((n, n))
    for i in range(n):
        both = _without_friction(given.v[:, i], np.column_stack([given.tau[:, i], needed]))
        fit[i] = _correlations(both[:, :1], both[:, 1:])[0]
    return fit


def _without_friction(speed: Array, forces: Array) -> Array:
    """Forces less what an offset and friction at this speed can explain of them."""
    Q = np.linalg.qr(np.column_stack([np.ones_like(speed), speed, np.sign(speed)]))[0]
    return forces - Q @ (Q.T @ forces)


def _correlations(x: Array, y: Array) -> Array:
    """Correlations of every column of x with every one of y; zero where one does not change."""
    x, y = _scaled(x), _scaled(y)
    sizes = np.outer(np.linalg.norm(x, axis=0), np.linalg.norm(y, axis=0))
    return np.divide(x.T @ y, sizes, out=np.zeros_like(sizes), where=sizes > 0)


def _scaled(x: Array) -> Array:
    """Less its mean, and each column by its largest number: no square overflows or vanishes."""
    largest = np.abs(x).max(axis=0, initial=0.0)
    x = x / np.where(largest > 0, largest, 1.0)
    return np.asarray(x - x.mean(axis=0))
