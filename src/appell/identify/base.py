"""Base parameters: the fewest numbers that give a robot's joint forces.

The columns of the regressor are not independent: only some sums of the inertial parameters act
on the joints. They are found twice, from the geometry (structure.py) and from the regressor at
random states, and compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.constraints.closed import ClosedRobot
from appell.errors import InputError
from appell.identify.alone import alone
from appell.identify.grouping import grouping
from appell.identify.states import random_states
from appell.identify.structure import ROUNDING, conditions
from appell.robot import Robot

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

# Of the ten parameters of a link, those that a revolute joint hands on to its parent come last,
# so that they are the ones expressed by others, as in the literature.
_ORDER = (9, 4, 5, 7, 8, 1, 2, 3, 0, 6)


@dataclass(frozen=True)
class Numerical:
    """The rank of a regressor of unit columns at random states, by QR with pivoting.

    ``kept`` is the smallest diagonal entry of R that counts and ``dropped`` the largest that does
    not, both by the first; ``threshold`` stands between them. Rounding alone leaves entries of
    about ``rounding``; the threshold is no lower than 1e-9, as angles in files have ten digits.
    """

    count: int
    kept: float
    dropped: float
    threshold: float
    rounding: float

    @property
    def gap(self) -> float:
        return self.kept / max(self.dropped, np.finfo(float).tiny)


@dataclass(frozen=True)
class Base:
    """base = matrix @ parameters: what the joint forces depend on.

    ``columns`` are the places of the parameters that lead the sums, which are independent columns
    of the regressor: Y @ parameters = Y[..., columns] @ base. ``structural`` is the count by
    the rules of structure.py (None where they do not apply), ``numerical`` that of the regressor.
    """

    count: int
    columns: tuple[int, ...]
    matrix: Array
    names: tuple[str, ...]
    grouping: tuple[str, ...]
    idle: tuple[str, ...]
    structural: int | None
    numerical: Numerical
    friction: bool
    rotors: bool

    @property
    def agree(self) -> bool:
        """Whether both ways count the same."""
        return self.structural is None or self.structural == self.numerical.count

    def standard(self, base: npt.ArrayLike, prior: npt.ArrayLike) -> Array:
        """The standard parameters nearest to a prior (in SI units) that have this base."""
        own = np.asarray(prior, dtype=float)
        return own + np.linalg.pinv(self.matrix) @ (np.asarray(base) - self.matrix @ own)

    def __str__(self) -> str:
        n = self.numerical
        head = f"{self.count} base parameters of {self.matrix.shape[1]} "
        rules = "no rules apply" if self.structural is None else f"{self.structural} by rules"
        head += f"({rules}, {n.count} by the regressor's rank, gap {n.kept:.0e} to {n.dropped:.0e})"
        width = max(map(len, self.names), default=0)
        pairs = zip(self.names, self.grouping, strict=True)
        rows = [f"  {name:<{width}} = {text}" for name, text in pairs]
        idle = [f"  without effect: {', '.join(self.idle)}"] if self.idle else []
        return "\n".join([head, *rows, *idle])


@alone
def base_parameters(
    robot: Any,
    *,
    friction: bool = False,
    rotors: bool = False,
    samples: int | None = None,
    seed: int = 0,
    columns: Sequence[int] | None = None,
) -> Base:
    """The base parameters of a robot.

    ``samples`` random states are looked at, or as many as give four rows a column; ``columns``
    restricts the search to some standard parameters while the others are known.
    """
    if not hasattr(robot, "regressor"):
        raise InputError(
            f"base_parameters: a {type(robot).__name__} has no regressor; give a Robot or a "
            "ClosedRobot."
        )
    names = np.array(robot.parameter_names(friction=friction, rotors=rotors, short=True))
    asked = np.asarray(range(len(names)) if columns is None else columns, dtype=np.intp)
    rows, felt = stacked(robot, asked, friction, rotors, samples, seed)
    numerical = rank(rows)
    C = _rules(robot, friction, rotors) if columns is None else None
    by_rules = None if C is None else _independent(C, asked)
    if C is not None and by_rules is not None and len(by_rules) == numerical.count:
        source, chosen = C, by_rules
    else:  # the data decide: what no state shows cannot be told apart, whatever the rules say
        source, chosen = rows, _independent(rows, asked)
    matrix = np.zeros((len(chosen), len(names)))
    matrix[:, asked] = _combination(source, chosen)
    places = [int(asked[k]) for k in chosen]
    idle = [str(names[k]) for k, there in zip(asked, felt, strict=True) if not there]
    return Base(
        count=len(places),
        columns=tuple(places),
        matrix=matrix,
        names=tuple(str(names[k]) for k in places),
        grouping=tuple(
            grouping(row, names.tolist(), k) for row, k in zip(matrix, places, strict=True)
        ),
        idle=tuple(idle),
        structural=None if by_rules is None else len(by_rules),
        numerical=numerical,
        friction=friction,
        rotors=rotors,
    )


def _rules(robot: Any, friction: bool, rotors: bool) -> Array | None:
    """The conditions of structure.py, which hold for trees."""
    if not isinstance(robot, Robot) or isinstance(robot, ClosedRobot):
        return None
    return conditions(robot.model, friction=friction, rotors=rotors)


def stacked(
    robot: Any, columns: Places, friction: bool, rotors: bool, samples: int | None, seed: int
) -> tuple[Array, Array]:
    """R of the regressor at random states, its columns, and whether each has any effect."""
    count = samples if samples is not None else max(20, 4 * len(columns) // robot.nv + 1)
    if not isinstance(count, (int, np.integer)) or count < 1:
        raise InputError(f"base_parameters(samples={samples!r}): expected a whole number, 1 up.")
    states = random_states(robot, int(count), seed)
    Y = robot.regressor(*states, friction=friction, rotors=rotors)[..., columns]
    Y = Y.reshape(-1, len(columns))
    size = np.linalg.norm(Y, axis=0)
    felt = size > ROUNDING * size.max(initial=0.0)
    Y = np.where(felt, Y, 0.0)
    return np.asarray(np.linalg.qr(Y, mode="r")), felt


def rank(rows: Array) -> Numerical:
    """Of the columns, each scaled to length one."""
    from scipy.linalg import qr

    size = np.linalg.norm(rows, axis=0)
    unit = rows[:, size > 0] / size[size > 0]
    if not unit.size:
        return Numerical(0, 0.0, 0.0, ROUNDING, 0.0)
    (R, _), rounding = (
        qr(unit, mode="r", pivoting=True),
        float(np.finfo(float).eps * max(unit.shape)),
    )
    diagonal = np.abs(np.diag(R)) / abs(R[0, 0])
    threshold = max(ROUNDING, rounding)
    count = int((diagonal > threshold).sum())
    dropped = float(diagonal[count]) if count < len(diagonal) else 0.0
    return Numerical(count, float(diagonal[count - 1]), dropped, threshold, rounding)


def _independent(matrix: Array, places: Places) -> list[int]:
    """Columns that do not follow from those before them, in the order of preference."""
    order = sorted(
        range(len(places)), key=lambda k: (places[k] // 10, _ORDER.index(int(places[k] % 10)))
    )
    size = np.linalg.norm(matrix, axis=0)
    Q = np.zeros((len(matrix), 0))
    chosen = []
    for k in order:
        if size[k] <= ROUNDING * size.max(initial=0.0):
            continue
        rest = matrix[:, k] / size[k]
        for _ in range(2):  # once more, for what rounding left
            rest = rest - Q @ (Q.T @ rest)
        left = np.linalg.norm(rest)
        if left > 10 * ROUNDING:
            Q = np.column_stack([Q, rest / left])
            chosen.append(k)
    return sorted(chosen)


def _combination(matrix: Array, chosen: list[int]) -> Array:
    """Every column as a sum of the chosen ones."""
    K = np.linalg.lstsq(matrix[:, chosen], matrix, rcond=None)[0]
    K[np.abs(K) < 1e-9] = 0.0
    whole = np.round(K)
    return np.where(np.abs(K - whole) < 1e-9, whole, K)
