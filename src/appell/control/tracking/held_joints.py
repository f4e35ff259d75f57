"""Accelerations of a robot some of whose joints are held, and the forces that hold them."""

from __future__ import annotations

from appell.control.laws.feedback import DEFAULT
from appell.equations.coordinates import paths
from appell.equations.linear import solve
from appell.equations.quantities import QUANTITIES
from appell.maths.lists import Scalars, minus
from appell.maths.scalar import Scalar
from appell.model.model import Model


def held_motion(
    model: Model,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    free: Scalars,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """v, a, and the force f on each joint with M a + b = tau - f, one after another; ``free`` is 1
    for a joint that is free (f = 0) and 0 for one that is held (a = 0).

    Rows and columns of held joints are those of the unit matrix, so that one equation serves
    whatever is held.
    """
    M = QUANTITIES["mass_matrix"].formulations[formulation](model, q)
    b = QUANTITIES["bias"].formulations[formulation](model, q, v)
    remainder = minus(tau, b)
    n = range(len(remainder))
    system = [
        [M[i][j] * (free[i] * free[j]) + (1 - free[i] if i == j else 0) for j in n] for i in n
    ]
    a = solve(system, [free[i] * remainder[i] for i in n], paths(model))
    inertial = [sum((M[i][j] * a[j] for j in n), start=0) for i in n]
    return [*v, *a, *((1 - free[i]) * (remainder[i] - inertial[i]) for i in n)]
