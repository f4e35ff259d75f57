"""Validation: how well an estimate predicts the forces of held-out motions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.identify.data.dataset import Data
from appell.identify.estimate.result import Fit
from appell.robots.dynamics import Forces
from appell.robots.known_torques import external_torques
from appell.robots.robot import Array, Robot

_LITTLE = 0.01  # of the variance: who leaves less than this is as good as the nominal model


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of predicted joint forces, each (n,), in N m (N for a prismatic joint)."""

    rms: Array
    worst: Array
    relative: Array  # rms by that of the measured force about its mean
    r2: Array  # the part of its variance that is predicted: one is all, zero or less is nothing

    @classmethod
    def of(cls, measured: Array, predicted: Array) -> Errors:
        """The errors of predicted forces."""
        error = measured - predicted
        rms = np.sqrt(np.mean(error**2, axis=0))
        size = np.std(measured, axis=0)
        relative = np.divide(rms, size, out=np.full_like(rms, np.inf), where=size > 0)
        return cls(rms, np.abs(error).max(axis=0), relative, 1 - relative**2)


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """Forces by an estimate and by the nominal (CAD) model beside measured ones, and the errors of
    both.

    Attributes:
        fit: The estimate.
        data: What was measured.
        predicted: By the estimate, (N, n), N m or N.
        by_nominal: By the nominal model, (N, n).
    """

    fit: Fit
    data: Data
    predicted: Array
    by_nominal: Array
    errors: Errors = field(init=False)
    nominal: Errors = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "errors", Errors.of(self.data.tau, self.predicted))
        object.__setattr__(self, "nominal", Errors.of(self.data.tau, self.by_nominal))

    @property
    def better(self) -> Array:
        """(n,) how many times smaller the rms error is than the nominal model's, no unit."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.nominal.rms / self.errors.rms

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the estimate should not be used; nothing if it predicts the data."""
        found = []
        lost = [f"{j + 1} ({x:.3g})" for j, x in enumerate(self.errors.r2) if x < 0]
        if lost:
            found.append(f"R2 is negative at joint {', '.join(lost)}: a constant would do better")
        ours, theirs = self._left(self.errors), self._left(self.nominal)
        if ours > max(1.1 * theirs, _LITTLE):
            found.append(
                f"it leaves {100 * ours:.3g} % of the forces' variance unexplained, the nominal "
                f"model {100 * theirs:.3g} %"
            )
        return tuple(found)

    def _left(self, errors: Errors) -> float:
        """The mean over all joints of the part of the variance that is not predicted."""
        return float(np.mean(1 - errors.r2))

    def __repr__(self) -> str:
        rms = ", ".join(f"{x:.3g}" for x in self.errors.rms)
        r2 = ", ".join(f"{x:.4f}" for x in self.errors.r2)
        return (
            f"<Validation of {self.fit.method} on {len(self.data)} samples: rms ({rms}), R2 "
            f"({r2}), {np.median(self.better):.3g} times better than the nominal model>"
        )


def validate(fit: Fit, data: Data, *, forces: Forces = None, axes: str = "base") -> Validation:
    """How an estimate predicts measured forces, beside the nominal model.

    Args:
        fit: The estimate.
        data: Samples that it was not made from.
        forces: Wrenches (N, 6) that the surroundings exerted on frames, as for `fit`.
        axes: Of the wrenches: "base" or "local".

    Returns:
        A `Validation`.

    Examples:
        >>> robot = appell.load("planar_chain")
        >>> true = robot.with_payload(0.5, (1, 0, 0))
        >>> q, v, a = appell.identify.random_states(robot, 400)
        >>> data = appell.identify.Data(np.arange(400.0), q, v, a, true.inverse_dynamics(q, v, a))
        >>> train, held_out = data.split(0.25)
        >>> found = appell.identify.validate(appell.identify.fit(robot, train), held_out)
        >>> found.predicted.shape, bool((found.better > 100).all())
        ((100, 3), True)
    """
    if not isinstance(fit, Fit) or not isinstance(data, Data):
        raise InputError(
            f"validate({type(fit).__name__}, {type(data).__name__}): expected a Fit and Data, as "
            "fit and observe give them."
        )
    robot = fit.nominal
    if data.q.shape[1] != robot.nq:
        raise InputError(
            f"validate: the data have {data.q.shape[1]} joints, and '{robot.name}' {robot.nq}."
        )
    friction: dict[str, Any] = (
        {"friction": True} if hasattr(robot, "friction") else {}
    )  # a wrist has none
    felt: dict[str, Any] = {} if forces is None else {"forces": forces, "axes": axes}
    states = data.q, data.v, data.a
    by_nominal = robot.inverse_dynamics(*states, **friction, **felt)
    return Validation(fit, data, fit.predict(*states, **felt), by_nominal)


def cross_validate(
    robot: Robot,
    data: Data,
    *,
    folds: int = 5,
    forces: Forces = None,
    axes: str = "base",
    **options: Any,
) -> Array:
    """The rms errors at each joint, when each of several stretches of time is predicted from the
    rest.

    Args:
        robot: The nominal one.
        data: Samples.
        folds: How many stretches.
        forces: Wrenches (N, 6) by frame.
        axes: Of the wrenches: "base" or "local".
        **options: Those of `fit`.

    Returns:
        (folds, n), N m or N.

    Examples:
        >>> robot = appell.load("planar_chain")
        >>> q, v, a = appell.identify.random_states(robot, 400)
        >>> data = appell.identify.Data(np.arange(400.0), q, v, a, robot.inverse_dynamics(q, v, a))
        >>> appell.identify.cross_validate(robot, data, folds=4).shape
        (4, 3)
    """
    from appell.identify.estimate.fitting import fit

    if forces is not None:  # what the joints would have given without them
        data = replace(data, tau=data.tau - external_torques(robot, data.q, forces, axes))
    rows = []
    for rest, held_out in data.folds(folds):
        found = fit(robot, *rest.states, **options)
        rows.append(Errors.of(held_out.tau, found.predict(*held_out.states[:3])).rms)
    return np.array(rows)
