"""Accelerations of a robot some of whose joints are held, and the forces that hold them."""

from __future__ import annotations

from collections.abc import Sequence

from appell.equations.coordinates import paths
from appell.equations.linear import solve
from appell.equations.quantities import QUANTITIES
from appell.maths.scalar import Scalar
from appell.model.model import Model


def held_joints(
    model: Model,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    free: Sequence[Scalar],
    formulation: str = "gibbs_lean",
) -> tuple[list[Scalar], list[Scalar]]:
    """a, and the force f on each joint with M a + b = tau - f; ``free`` is 1 for a joint that is
    free (f = 0) and 0 for one that is held (a = 0).

    Rows and columns of held joints are those of the unit matrix, so that one equation serves
    whatever is held.
    """
    M = QUANTITIES["mass_matrix"].formulations[formulation](model, q)
    b = QUANTITIES["bias"].formulations[formulation](model, q, v)
    rest = [t - x for t, x in zip(tau, b, strict=True)]
    n = range(len(rest))
    system = [
        [M[i][j] * (free[i] * free[j]) + (1 - free[i] if i == j else 0) for j in n] for i in n
    ]
    a = solve(system, [free[i] * rest[i] for i in n], paths(model))
    inertial = [sum((M[i][j] * a[j] for j in n), start=0) for i in n]
    return a, [(1 - free[i]) * (rest[i] - inertial[i]) for i in n]


def held_motion(
    model: Model,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    free: Sequence[Scalar],
    formulation: str = "gibbs_lean",
) -> list[Scalar]:
    """v, a and f, one after another."""
    a, held = held_joints(model, q, v, tau, free, formulation)
    return [*v, *a, *held]
