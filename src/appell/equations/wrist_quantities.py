"""What can be asked of the Agile Wrist, and the equations that answer it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from appell.equations import agile_wrist, gibbs_jacobian, wrist_quasi_speeds, wrist_regressor
from appell.equations.agile_wrist import (
    Axes,
    Coordinates,
    bodies,
    euler_jacobian,
    limb_rates,
    limbs,
    link_rotations,
    platform_rotation,
    reach,
    volume,
)
from appell.equations.coordinates import Equation
from appell.equations.quantities import Quantity
from appell.maths.rotation import Rotation, as_matrix
from appell.maths.scalar import Scalar, cos
from appell.maths.vector import ZERO, Vector, cross
from appell.model.wrist import Limb, Wrist

Rows = list[list[Scalar]]
STILL = (0, 0, 0)


# By Jacobians


def _forces(wrist: Wrist, q: Coordinates, v: Coordinates, a: Coordinates) -> list[Scalar]:
    return gibbs_jacobian.forces(bodies(wrist, q, v), v, a)


def _mass_matrix(wrist: Wrist, q: Coordinates) -> Rows:
    return gibbs_jacobian.mass_matrix(bodies(wrist, q, STILL))


def _coriolis_matrix(wrist: Wrist, q: Coordinates, v: Coordinates) -> Rows:
    return gibbs_jacobian.coriolis_matrix(bodies(wrist, q, v), v)


def _printed_coriolis_matrix(wrist: Wrist, q: Coordinates, v: Coordinates) -> Rows:
    return gibbs_jacobian.printed_coriolis_matrix(bodies(wrist, q, v, printed=True), v)


def _gravity(wrist: Wrist, q: Coordinates) -> list[Scalar]:
    return gibbs_jacobian.gravity(bodies(wrist, q, STILL))


def _gibbs_function(wrist: Wrist, q: Coordinates, v: Coordinates, a: Coordinates) -> Scalar:
    return gibbs_jacobian.gibbs_function(bodies(wrist, q, v), v, a)


def _kinetic_energy(wrist: Wrist, q: Coordinates, v: Coordinates) -> Scalar:
    return gibbs_jacobian.kinetic_energy(bodies(wrist, q, v), v)


def _potential_energy(wrist: Wrist, q: Coordinates) -> Scalar:
    parts = (body.sigma @ body.inertia.moment for body in bodies(wrist, q, STILL))
    return -sum(parts, start=0)


def _bias(forces: Equation) -> Equation:
    """C q' + G: the forces while no speed changes."""
    return lambda wrist, q, v: forces(wrist, q, v, STILL)


def _held(forces: Equation) -> Equation:
    """G: the forces that hold it still."""
    return lambda wrist, q: forces(wrist, q, STILL, STILL)


# Kinematics


def _limb_of(wrist: Wrist, q: Coordinates, frame: str) -> tuple[Limb, Axes]:
    i = int(frame[-1]) - 1
    return wrist.limbs[i], limbs(wrist, q)[i]


def _rotation(wrist: Wrist, q: Coordinates, frame: str) -> Rotation | None:
    """A body's axes in the base's; none for the base itself."""
    if frame == "base":
        return None
    if frame == "platform":
        return platform_rotation(q)
    limb, at = _limb_of(wrist, q, frame)
    first, second = link_rotations(wrist, limb, at)
    return first if frame.startswith("first") else second


def _forward_kinematics(wrist: Wrist, q: Coordinates, frame: str) -> Rows:
    R = _rotation(wrist, q, frame)
    rows: Rows = (
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]] if R is None else [[*row] for row in as_matrix(R).rows]
    )
    return [*([*row, 0] for row in rows), [0, 0, 0, 1]]


def _jacobian(wrist: Wrist, q: Coordinates, frame: str) -> Rows:
    """No velocity, as all origins are in the centre; angular velocity in the base's axes."""
    E = euler_jacobian(q)
    columns: list[Vector] = E if frame == "platform" else [ZERO] * 3
    if frame not in ("base", "platform"):
        _, at = _limb_of(wrist, q, frame)
        columns = [at.u * (at.p1 @ x / at.h) for x in E]
        if frame.startswith("second"):
            columns = [x + at.w * (at.p2 @ y / at.h) for x, y in zip(columns, E, strict=True)]
    return [*([0, 0, 0] for _ in range(3)), *([*row] for row in zip(*columns, strict=True))]


def _limb_angles(wrist: Wrist, q: Coordinates) -> tuple[list[Scalar], ...]:
    """Cosines and sines of theta and psi."""
    at = limbs(wrist, q, margin=0.0)
    return (
        [x.theta.c for x in at], [x.theta.s for x in at],
        [x.psi.c for x in at], [x.psi.s for x in at],
    )  # fmt: skip


def _joint_motion(
    wrist: Wrist, q: Coordinates, v: Coordinates, a: Coordinates
) -> tuple[list[Scalar], ...]:
    """Rates and accelerations of theta and psi."""
    W, dW = wrist_quasi_speeds.angular_motion(q, v, a)
    found = [
        wrist_quasi_speeds.turns(limb, at, W, dW)
        for limb, at in zip(wrist.limbs, limbs(wrist, q), strict=True)
    ]
    return tuple([*row] for row in zip(*found, strict=True))


def _along(row: Sequence[Scalar], v: Coordinates) -> Scalar:
    return sum((x * y for x, y in zip(row, v, strict=True)), start=0)


def _joint_motion_by_jacobians(
    wrist: Wrist, q: Coordinates, v: Coordinates, a: Coordinates
) -> tuple[list[Scalar], ...]:
    """The same by the rows of theta' = J_theta q' (38 to 40) and their rates (41)."""
    found = []
    for at in limbs(wrist, q):
        rows = limb_rates(at, q, v)
        found.append(
            (
                _along(rows.theta, v),
                _along(rows.psi, v),
                _along(rows.theta, a) + _along(rows.dtheta, v),
                _along(rows.psi, a) + _along(rows.dpsi, v),
            )
        )
    return tuple([*row] for row in zip(*found, strict=True))


def _singularities(wrist: Wrist, q: Coordinates) -> tuple[Any, ...]:
    """h^2 of each limb, the share of the volume that p_11, p_12, p_13 span, and cos q2."""
    R = platform_rotation(q)
    x, y, z = (at.p1 for at in limbs(wrist, q, margin=0.0))
    spanned = (x @ cross(y, z)) * (1 / volume(wrist))
    return [reach(wrist, limb, R) for limb in wrist.limbs], spanned, cos(q[1])


_n, _nn, _state = ("n",), ("n", "n"), ("q", "v", "a")

QUANTITIES: dict[str, Quantity] = {
    "inverse_dynamics": Quantity(
        _state,
        {"tau": _n},
        {
            "quasi_speeds": wrist_quasi_speeds.inverse_dynamics,
            "gibbs_jacobian": agile_wrist.inverse_dynamics,
        },
    ),
    "forward_dynamics": Quantity(
        ("q", "v", "tau"),
        {"a": _n},
        {
            "quasi_speeds": wrist_quasi_speeds.forward_dynamics,
            "gibbs_jacobian": agile_wrist.forward_dynamics,
        },
    ),
    "generalised_forces": Quantity(
        _state,
        {"Q": _n},
        {"quasi_speeds": wrist_quasi_speeds.generalised_forces, "gibbs_jacobian": _forces},
    ),
    "mass_matrix": Quantity(("q",), {"M": _nn}, {"gibbs_jacobian": _mass_matrix}),
    "coriolis_matrix": Quantity(
        ("q", "v"),
        {"C": _nn},
        {"gibbs_jacobian": _coriolis_matrix, "printed": _printed_coriolis_matrix},
    ),
    "gravity": Quantity(
        ("q",),
        {"g": _n},
        {
            "quasi_speeds": _held(wrist_quasi_speeds.generalised_forces),
            "gibbs_jacobian": _gravity,
        },
    ),
    "bias": Quantity(
        ("q", "v"),
        {"b": _n},
        {
            "quasi_speeds": _bias(wrist_quasi_speeds.generalised_forces),
            "gibbs_jacobian": _bias(_forces),
        },
    ),
    "kinetic_energy": Quantity(("q", "v"), {"T": ()}, {"gibbs_jacobian": _kinetic_energy}),
    "potential_energy": Quantity(("q",), {"U": ()}, {"gibbs_jacobian": _potential_energy}),
    "gibbs_function": Quantity(_state, {"S": ()}, {"gibbs_jacobian": _gibbs_function}),
    "regressor": Quantity(_state, {"Y": ("n", 70)}, {"gibbs_jacobian": wrist_regressor.regressor}),
    "forward_kinematics": Quantity(
        ("q",), {"T": (4, 4)}, {"limbs": _forward_kinematics}, frame=True
    ),
    "jacobian": Quantity(("q",), {"J": (6, "n")}, {"limbs": _jacobian}, frame=True),
    "actuator_jacobian": Quantity(("q",), {"J": _nn}, {"limbs": agile_wrist.actuator_jacobian}),
    "passive_jacobian": Quantity(("q",), {"J": _nn}, {"limbs": agile_wrist.passive_jacobian}),
    "joint_motion": Quantity(
        _state,
        {"dtheta": _n, "dpsi": _n, "ddtheta": _n, "ddpsi": _n},
        {"quasi_speeds": _joint_motion, "gibbs_jacobian": _joint_motion_by_jacobians},
    ),
    "limb_angles": Quantity(
        ("q",),
        {"cos_theta": _n, "sin_theta": _n, "cos_psi": _n, "sin_psi": _n},
        {"limbs": _limb_angles},
    ),
    "singularities": Quantity(
        ("q",), {"reach": _n, "platform": (), "euler": ()}, {"limbs": _singularities}
    ),
}
