"""Are the data what they are said to be? Each fault is named, with the joint and the cure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from appell.errors import InputError, did_you_mean
from appell.identify.data.plausible import Signals, refuse_degrees, refuse_forces
from appell.robots.robot import Array, is_tree

Name = TypeVar("Name", bound=str)

_LOOKED_AT = 4096  # samples, from the start
_FOLLOWS = 0.95  # correlation of changes with rates, in samples in the order of time
ANYWAY = "In Python, check=False takes the data as they are."


def named(what: str, given: str, known: Sequence[Name]) -> Name:
    """The name that is given, if it is known."""
    for name in known:
        if isinstance(given, str) and given == name:
            return name
    hint = did_you_mean(given, known)
    raise InputError(f"{what} = {given!r}; expected one of {', '.join(known)}.{hint}")


def refuse_no_robot(what: str, robot: Any) -> None:
    """Refuse anything without a regressor."""
    if not hasattr(robot, "regressor") or not hasattr(robot, "parameters_of"):
        raise InputError(
            f"{what}: a {type(robot).__name__} is not a robot that can be identified; give a "
            "Robot, as appell.load gives it, or a ClosedRobot."
        )


def refuse_no_tree(what: str, robot: Any) -> None:
    """Refuse robots with loops, and what is no robot."""
    if not is_tree(robot):
        raise InputError(
            f"{what}: a {type(robot).__name__} is not a robot of joints in a tree; expected such a "
            "Robot, without loops."
        )


def refuse_not_finite(name: str, x: Array, joints: Sequence[str], start: int = 0) -> None:
    """Refuse NaN and infinity."""
    if np.isfinite(np.sum(x)):
        return
    bad = np.argwhere(~np.isfinite(x))
    if not len(bad):
        return
    k, j = bad[0]
    raise InputError(
        f"fit: {name} of '{_name(joints, j)}' is {x[k, j]} at sample {start + k} ({len(bad)} such "
        "numbers in its block): leave these samples out, or fill them by interpolation."
    )


def refuse_too_few(samples: int, joints: int, unknowns: int) -> None:
    """Refuse fewer equations than unknowns."""
    if samples * joints > unknowns:
        return
    raise InputError(
        f"fit: {samples} samples of {joints} joints are {samples * joints} equations for "
        f"{unknowns} unknowns; expected at least {unknowns // joints + 1} samples, and some "
        "hundred for noise to average out."
    )


def refuse_constant(
    name: str, low: Array, high: Array, joints: Sequence[str], samples: int
) -> None:
    """Refuse a signal that never changes: a joint did not move, or a sensor did not measure."""
    still = high - low <= 1e-12 * np.maximum(np.abs(high), np.abs(low))
    if not still.any():
        return
    j = int(np.flatnonzero(still)[0])
    more = f" (as are {still.sum() - 1} more)" if still.sum() > 1 else ""
    raise InputError(
        f"fit: {name} of '{_name(joints, j)}' is {low[j]:.6g} at all {samples} samples{more}: a "
        f"constant signal tells nothing. Is it measured, and does the joint move? {ANYWAY}"
    )


def refuse_implausible(robot: Any, given: Signals) -> None:
    """Refuse degrees for radians, swapped columns, opposite signs, other units of torque."""
    if not is_tree(robot) or robot.model.compounds or robot.model.mimics:
        return
    try:
        refuse_degrees(robot, given.q, "fit")
        refuse_forces(robot, given, "fit")
    except InputError as problem:
        raise InputError(f"{problem} {ANYWAY}") from None


def refuse_other_rates(given: Signals, joints: Sequence[str]) -> None:
    """Refuse positions, speeds and accelerations in units that do not go together.

    In samples in the order of time, q changes by v dt and v by a dt: the dt of both must agree.
    Nothing is said of samples in no such order, whose changes do not follow v and a.
    """
    if given.q.shape != given.v.shape or len(given.q) < 10:
        return
    for j in range(given.v.shape[1]):
        (r, dt), (s, other) = (
            _step(x[:, j], y[:, j]) for x, y in ((given.q, given.v), (given.v, given.a))
        )
        if min(r, s) < _FOLLOWS or 0.7 < dt / other < 1.4:
            continue
        raise InputError(
            f"fit: by q and v of '{_name(joints, j)}' samples are {dt:.3g} s apart, by v and a "
            f"{other:.3g} s: q, v and a are in units that do not go together (degrees and radians "
            f"differ by 57.3). {ANYWAY}"
        )


def _step(x: Any, dx: Any) -> tuple[float, float]:
    """How well the changes of x follow its rate (a correlation), and the time between samples."""
    change, rate = np.diff(x), (dx[1:] + dx[:-1]) / 2
    size = float(np.linalg.norm(change) * np.linalg.norm(rate))
    if size == 0:
        return 0.0, 1.0
    product = float(change @ rate)
    return product / size, product / float(rate @ rate)


def _name(joints: Sequence[str], j: int) -> str:
    return joints[j] if j < len(joints) else f"column {j}"


class Watch:
    """Checks of blocks of samples as they pass, once."""

    def __init__(self, robot: Any, check: bool) -> None:
        self.robot, self.check = robot, check
        self.samples, self.over = 0, False
        self.squares = np.zeros(robot.nv)
        self._range: dict[str, tuple[Array, Array]] = {}
        self._first: list[Signals] = []

    def block(self, signals: Mapping[str, Array], start: int) -> None:
        """Look at a block whose first sample has the number ``start``."""
        if self.over:
            return
        for name, x in signals.items():
            refuse_not_finite(name, x, self._names(name), start)
            low, high = self._range.get(name, (x[0], x[0]))
            self._range[name] = np.minimum(low, x.min(axis=0)), np.maximum(high, x.max(axis=0))
        if self.samples < _LOOKED_AT:
            self._first.append(Signals(**signals))
        self.samples += len(signals["v"])
        self.squares += np.sum(signals["v"] ** 2, axis=0)

    @property
    def speeds(self) -> Array:
        """The joints' rms speeds."""
        return np.sqrt(self.squares / max(self.samples, 1))

    def done(self, joints: int, unknowns: int) -> None:
        """Refuse what can be seen once all samples have passed."""
        self.over = True
        refuse_too_few(self.samples, joints, unknowns)
        if not self.check:
            return
        for name, (low, high) in self._range.items():
            refuse_constant(name, low, high, self._names(name), self.samples)
        parts = (np.concatenate(x) for x in zip(*self._first, strict=True))
        first = Signals(*parts)
        refuse_other_rates(first, self._names("v"))
        refuse_implausible(self.robot, first)
        self._first = []

    def _names(self, signal: str) -> Sequence[str]:
        """The names of a signal's columns."""
        joints: Sequence[str] = self.robot.joint_names
        if signal == "tau":
            return getattr(self.robot, "actuated", joints)
        if signal in ("v", "a"):
            return getattr(self.robot, "independent", joints)
        free = getattr(self.robot.model, "free", False)
        return ["x", "y", "z", "qx", "qy", "qz", "qw", *joints[6:]] if free else joints
