"""Base parameters: the fewest numbers that give a robot's joint forces.

The columns of the regressor are not independent: only some sums of the inertial parameters act
on the joints. They are found twice, from the geometry (structure.py) and from the regressor at
random states, and compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.errors import InputError
from appell.identify.base.states import states_anywhere
from appell.identify.base.structure import ROUNDING, conditions
from appell.identify.single_thread import alone
from appell.model.model import Model
from appell.robots.robot import Array, is_tree

Places = npt.NDArray[np.intp]

# Of the ten parameters of a link, those that a revolute joint hands on to its parent come last,
# so that they are the ones expressed by others, as in the literature.
_ORDER = (9, 4, 5, 7, 8, 1, 2, 3, 0, 6)

_CLEAR = 30.0
_UNITS = (2, 1, 1, 1, 0, 0, 0, 0, 0, 0)  # the power of a length that makes each a kg m^2


@dataclass(frozen=True)
class Numerical:
    """The rank of a regressor of unit columns at random states, by its singular values.

    ``kept`` is the smallest that counts and ``dropped`` the largest that does not, both by the
    first, or the length of a whole column by the longest; ``threshold`` stands between them.
    Rounding alone leaves values of about ``rounding``; the threshold is no lower than 1e-9, as
    angles in files have ten digits.
    """

    count: int
    kept: float
    dropped: float
    threshold: float
    rounding: float

    @property
    def gap(self) -> float:
        """How many times larger the smallest that counts is than the largest that does not."""
        return self.kept / max(self.dropped, np.finfo(float).tiny)

    @property
    def clear(self) -> bool:
        """Whether both are far from the threshold, so that other states would count the same:
        singular values of the same robot at other states differ by a few times."""
        return self.kept >= _CLEAR * self.threshold and self.dropped <= self.threshold / _CLEAR


@dataclass(frozen=True)
class Base:
    """What the joint forces depend on: base = matrix @ parameters.

    Attributes:
        count: How many.
        columns: The places of the parameters that lead the sums, which are independent columns of
            the regressor: Y @ parameters = Y[..., columns] @ base.
        matrix: (count, parameters).
        names: Of the base parameters, each by the one that leads its sum.
        grouping: The sums, written out.
        idle: Names of parameters that no force depends on.
        structural: The count by the rules of structure.py; None where they do not apply.
        numerical: That of the regressor.
        friction: Whether friction's parameters are among them.
        rotors: Whether rotors' are.
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
    def flags(self) -> dict[str, bool]:
        """Whether friction and rotors are among the parameters, as a robot's methods take it."""
        return {"friction": self.friction, "rotors": self.rotors}

    @property
    def agree(self) -> bool:
        """Whether the rules count the same as the regressor; True where no rules apply."""
        return self.structural is None or self.structural == self.count

    def standard(self, base: npt.ArrayLike, prior: npt.ArrayLike) -> Array:
        """The standard parameters nearest to a prior that have given base parameters.

        Args:
            base: Base parameters, (count,), in SI units.
            prior: Standard parameters, (p,), in SI units.

        Returns:
            The standard parameters, (p,), in SI units.

        Examples:
            >>> robot = appell.load("planar_chain", n=2)
            >>> basis = appell.identify.base_parameters(robot)
            >>> again = basis.standard(basis.matrix @ robot.parameters, robot.parameters)
            >>> np.allclose(again, robot.parameters)
            True
        """
        own = np.asarray(prior, dtype=float)
        return own + np.linalg.pinv(self.matrix) @ (np.asarray(base) - self.matrix @ own)

    def __str__(self) -> str:
        n = self.numerical
        head = f"{self.count} base parameters of {self.matrix.shape[1]} "
        rules = "no rules apply" if self.structural is None else f"{self.structural} by rules"
        head += f"({rules}, {n.count} by the regressor's rank, gap {n.kept:.0e} to {n.dropped:.0e})"
        if not n.clear:
            head += (
                "\n  the count is not clear: some effects are about as small as what is taken for "
                f"zero, {n.threshold:.0e} of the largest"
            )
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
    """The base parameters of a robot: the sums of inertial parameters that its joint forces depend
    on.

    Args:
        robot: A tree or a closed robot.
        friction: Whether friction's parameters are among them.
        rotors: Whether rotors' are.
        samples: How many random states are looked at; as many as give four rows per column without
            it.
        seed: Of these states.
        columns: Restricts the search to some standard parameters, by their places, while the others
            are known.

    Returns:
        A `Base`.

    Examples:
        >>> base = appell.identify.base_parameters(appell.load("puma560"))
        >>> base.count, base.agree
        (36, True)
    """
    if not hasattr(robot, "regressor"):
        raise InputError(
            f"base_parameters: a {type(robot).__name__} has no regressor; give a Robot or a "
            "ClosedRobot."
        )
    names = np.array(robot.parameter_names(friction=friction, rotors=rotors, short=True))
    asked = np.asarray(range(len(names)) if columns is None else columns, dtype=np.intp)
    units = _units(robot, asked)
    rows = stacked(robot, asked, friction, rotors, samples, seed)
    numerical, felt, span = rank(rows * units)
    C = _rules(robot, friction, rotors) if columns is None else None
    by_rules, _, rule_span = rank(C) if C is not None else (None, None, span)
    source = rows
    if C is not None and by_rules is not None and by_rules.count == numerical.count:
        source, span = C / units, rule_span
    # Else the data decide: what no state shows cannot be told apart, whatever the rules say.
    chosen = _independent(span, asked)
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
        structural=None if by_rules is None else by_rules.count,
        numerical=numerical,
        friction=friction,
        rotors=rotors,
    )


def _rules(robot: Any, friction: bool, rotors: bool) -> Array | None:
    """The conditions of structure.py, which hold for trees, with the robot's size as the unit of
    length."""
    if not is_tree(robot):
        return None
    model, k = robot.model, 1 / _size(robot)
    alike = replace(
        model,
        bodies=tuple(replace(body, s0=body.s0 * k) for body in model.bodies),
        frames=tuple(replace(frame, s=frame.s * k) for frame in model.frames),
    )
    return conditions(alike, friction=friction, rotors=rotors)


def stacked(
    robot: Any, columns: Places, friction: bool, rotors: bool, samples: int | None, seed: int
) -> Array:
    """R of the regressor's columns at random states."""
    count = samples if samples is not None else max(20, 4 * len(columns) // robot.nv + 1)
    if not isinstance(count, (int, np.integer)) or count < 1:
        raise InputError(f"base_parameters(samples={samples!r}): expected a whole number, 1 up.")
    size = _size(robot)
    q, v, a = states_anywhere(robot, int(count), seed, size)
    # As fast as things of this size fall, so that gravity and inertia are felt alike.
    v, a = v / np.sqrt(size), a / size
    Y = robot.regressor(q, v, a, friction=friction, rotors=rotors)[..., columns]
    if is_tree(robot):
        slides = [not joint.screw.angle for joint in robot.model.joints]
        Y = Y * np.where(slides, size, 1.0)[:, None]  # forces as moments
    return np.asarray(np.linalg.qr(Y.reshape(-1, len(columns)), mode="r"))


def _size(robot: Any) -> float:
    """The largest length of a robot, m: beside it others are small."""
    if not isinstance(robot.model, Model):
        return 1.0
    places = [body.s0 for body in robot.model.bodies] + [frame.s for frame in robot.model.frames]
    return max(abs(float(x)) for place in places for x in place) or 1.0


def _units(robot: Any, columns: Places) -> Array:
    """What makes columns comparable: those of masses, first moments and moments of inertia differ
    by a length."""
    links = len(robot.model.links) if isinstance(robot.model, Model) else 0
    size = _size(robot)
    powers = [_UNITS[k % 10] if k < 10 * links else 0 for k in columns.tolist()]
    return np.array([size**-p for p in powers], dtype=float)


def rank(rows: Array) -> tuple[Numerical, npt.NDArray[np.bool_], Array]:
    """The rank of the columns, each scaled to length one; which of them are not zero; and as many
    rows as the rank that span all of them."""
    size = np.linalg.norm(rows, axis=0)
    felt = size > ROUNDING * size.max(initial=0.0)
    unit = np.where(felt, rows / np.where(felt, size, 1.0), 0.0)
    if not felt.any():
        return Numerical(0, 0.0, 0.0, ROUNDING, 0.0), felt, unit[:0]
    _, s, Vt = np.linalg.svd(unit, full_matrices=False)
    rounding = float(np.finfo(float).eps * max(unit.shape))
    threshold = max(ROUNDING, rounding)
    span, s = np.where(felt, s[:, None] * Vt, 0.0), s / s[0]
    count = int((s > threshold).sum())
    share = size / size.max()
    kept = min(float(s[count - 1]), float(share[felt].min()))
    dropped = max(float(s[count]) if count < len(s) else 0.0, float(share[~felt].max(initial=0.0)))
    return Numerical(count, kept, dropped, threshold, rounding), felt, span[:count]


def _independent(span: Array, places: Places) -> list[int]:
    """As many columns as there are rows, those first in the order of preference that do not follow
    from the ones before them.

    A column that does so but for little would be a poor choice, unless there is no better one.
    """
    order = sorted(
        range(len(places)), key=lambda k: (places[k] // 10, _ORDER.index(int(places[k] % 10)))
    )
    chosen: list[int] = []
    Q = np.zeros((len(span), 0))
    for least in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 0.0):
        for k in order:
            rest = span[:, k]
            if k in chosen or not rest.any() or Q.shape[1] == len(span):
                continue
            for _ in range(2):  # once more, for what rounding left
                rest = rest - Q @ (Q.T @ rest)
            left = np.linalg.norm(rest)
            if left > least:
                Q = np.column_stack([Q, rest / left])
                chosen.append(k)
    return sorted(chosen)


def _combination(matrix: Array, chosen: list[int]) -> Array:
    """Every column as a sum of the chosen ones; what is 1e-9 of a column is none of it."""
    size = np.linalg.norm(matrix, axis=0)
    size = np.where(size > 0, size, 1.0)
    unit = matrix / size
    K = np.linalg.lstsq(unit[:, chosen], unit, rcond=None)[0]
    K[np.abs(K) < 1e-9] = 0.0
    K = K * size / size[chosen][:, None]
    whole = np.round(K)
    return np.where(np.abs(K - whole) < 1e-9 * np.abs(whole), whole, K)


def grouping(row: npt.NDArray[np.float64], names: Sequence[str], lead: int) -> str:
    """A row of the matrix as a sum; the parameter that leads it stands first."""
    places = [lead, *(int(k) for k in np.flatnonzero(row) if k != lead)]
    return " ".join(_term(row[k], names[k], first=k == lead) for k in places)


def _term(factor: float, name: str, first: bool) -> str:
    sign = ("-" if factor < 0 else "") if first else ("- " if factor < 0 else "+ ")
    size = abs(factor)
    return sign + (name if size == 1 else f"{size:.6g} {name}")
