"""Can bodies have these inertial parameters? The pseudo-inertia of a link must be positive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.model.inertia import Inertia, check_inertia
from appell.robots.robot import Array


def pseudo_inertia(ten: Any) -> Array:
    """The pseudo-inertia [[tr(I)/2 - I, m c], [m c^T, m]] of ten inertial parameters; a body can
    have them where it is positive definite.

    Args:
        ten: m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz, (..., 10), about the link's origin.

    Returns:
        The matrix, (..., 4, 4), kg m^2, kg m and kg.

    Examples:
        >>> P = appell.identify.pseudo_inertia(appell.load("puma560").parameters[10:20])
        >>> bool(np.linalg.eigvalsh(P).min() > 0)
        True
    """
    return np.einsum("kij,...k->...ij", PSEUDO, np.asarray(ten, dtype=float))


def _pseudo() -> Array:
    J = np.zeros((10, 4, 4))
    J[0, 3, 3] = 1
    for k in range(3):
        J[1 + k, k, 3] = J[1 + k, 3, k] = 1
    for k, i in ((4, 0), (6, 1), (9, 2)):
        J[k, :3, :3] = np.eye(3) / 2
        J[k, i, i] -= 1
    for k, i, j in ((5, 0, 1), (7, 0, 2), (8, 1, 2)):
        J[k, i, j] = J[k, j, i] = -1
    return J


PSEUDO = _pseudo()
TEN = np.linalg.pinv(PSEUDO.reshape(10, 16).T)  # back from the sixteen numbers


def ten_parameters(J: Array) -> Array:
    """The ten parameters of pseudo-inertias (..., 4, 4)."""
    return J.reshape(*J.shape[:-2], 16) @ TEN.T


def faults(parameters: Array, links: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Why no bodies and joints have these parameters; nothing if they can."""
    found = []
    for link, ten in zip(links, parameters[: 10 * len(links)].reshape(-1, 10), strict=True):
        try:
            check_inertia(link, Inertia.from_parameters(tuple(ten.tolist())))
        except ModelError as problem:
            found.append(str(problem))
    for name, value in zip(names[10 * len(links) :], parameters[10 * len(links) :], strict=True):
        if value < 0:
            found.append(f"{name} = {value:.3g}: expected zero or more.")
    return tuple(found)
