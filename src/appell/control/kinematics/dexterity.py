"""How well a frame can move, and its motion in rates of angles."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np

from appell.control.kinematics.tasks import chosen_components
from appell.errors import InputError
from appell.model.model import FrameName
from appell.robots.dynamics import Dynamics, refuse_no_robot
from appell.robots.robot import Array, Numbers

_SEQUENCES = {
    letter(a + b + c)
    for a, b, c in product("xyz", repeat=3)
    if a != b != c
    for letter in (str.lower, str.upper)
}
_LOCKED = 1e-9  # of the sine between axes of the angles: their rates have no limit there


def manipulability(
    robot: Dynamics, q: Numbers, frame: FrameName | None = None, *, mask: Any = None
) -> Array:
    """Yoshikawa's measure sqrt(det(J J^T)) of a frame: zero at a singularity, and of a robot with
    fewer velocities than components.

    Args:
        robot: Any robot.
        q: Coordinates, (..., nq), rad or m.
        frame: A link's name or an `appell.Frame`; the tip without it.
        mask: Six 0 and 1 that choose components in the base's axes, linear first: the measure then
            has one unit, m^3 of ``(1, 1, 1, 0, 0, 0)``.

    Returns:
        The measure, (...), in the units of the Jacobian's determinant, or no unit; NaN where q is.

    Examples:
        >>> puma = appell.load("puma560")
        >>> w = appell.control.manipulability(puma, np.zeros((4, 6)), mask=(1, 1, 1, 0, 0, 0))
        >>> w.shape
        (4,)
    """
    refuse_no_robot("manipulability", robot)
    rows = chosen_components("manipulability", mask, 6)
    J = np.asarray(robot.jacobian(q, frame))
    J = J if rows is None else J[..., rows, :]
    m, n = J.shape[-2:]
    known: Any = np.isfinite(J).all(axis=(-1, -2))
    values = np.linalg.svd(np.where(known[..., None, None], J, 0.0), compute_uv=False)
    return np.where(known, values.prod(axis=-1) if m <= n else 0.0, np.nan)[()]


def analytical_jacobian(
    robot: Dynamics, q: Numbers, frame: FrameName | None = None, *, angles: str = "xyz"
) -> Array:
    """The Jacobian of a frame's position and of three angles of its axes.

    Args:
        robot: Any robot.
        q: Coordinates, (..., nq), rad or m.
        frame: A link's name or an `appell.Frame`; the tip without it.
        angles: A sequence of axes as SciPy's Rotation has it: "xyz", about fixed axes, are roll,
            pitch and yaw as in URDF; "ZYZ" and "ZYX", about the turning ones, Euler's.

    Returns:
        J, (..., 6, nv): J v is the velocity of the frame's origin in the base, and the rates of the
        angles. Refused where the first and the third axis coincide, as these rates then have no
        limit; NaN where q is.

    Examples:
        >>> puma = appell.load("puma560")
        >>> q = [0.1, -0.8, 0.3, 0.2, 0.7, 0.1]
        >>> appell.control.analytical_jacobian(puma, q, angles="ZYX").shape
        (6, 6)
    """
    from scipy.spatial.transform import Rotation

    refuse_no_robot("analytical_jacobian", robot)
    if angles not in _SEQUENCES:
        raise InputError(
            f"analytical_jacobian: angles = {angles!r}; expected a sequence as 'xyz' (roll, pitch "
            "and yaw) or 'ZYZ'."
        )
    J = np.array(robot.jacobian(q, frame))
    R = np.asarray(robot.forward_kinematics(q, frame))[..., :3, :3]
    known: Any = np.isfinite(J).all(axis=(-1, -2)) & np.isfinite(R).all(axis=(-1, -2))
    R = np.where(known[..., None, None], R, np.eye(3))
    # About fixed axes in one order is about turning axes in the opposite one.
    fixed = angles.islower()
    turning: Any = angles[::-1].upper() if fixed else angles
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is refused below
        x = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_euler(turning)
    first, second, third = (np.eye(3)["XYZ".index(axis)] for axis in turning)
    one, two = (Rotation.from_rotvec(x[:, k, None] * axis) for k, axis in ((0, first), (1, second)))
    E = np.stack(
        [np.broadcast_to(first, (len(x), 3)), one.apply(second), (one * two).apply(third)], axis=-1
    )
    E[~known.ravel()] = np.eye(3)
    sine = np.abs(np.linalg.det(E))
    if sine.size and not sine.min() > _LOCKED:
        raise InputError(
            f"analytical_jacobian: at state {int(np.argmin(sine))} the first and the third axis of "
            f"angles = {angles!r} coincide, so their rates are not determined; choose another "
            "sequence, or jacobian."
        )
    E = (E[..., ::-1] if fixed else E).reshape(*R.shape[:-2], 3, 3)
    J[..., 3:, :] = np.linalg.solve(E, J[..., 3:, :])
    return np.where(known[..., None, None], J, np.nan)
