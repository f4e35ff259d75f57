"""What can be asked of a spherical parallel robot, and the equations that answer it.

The axes of inputs and outputs count what ``SphericalModel.sizes`` names: "q" coordinates, "n"
speeds, "y" both, "d" actuators, "passive" the other joints between links, "joints" first the
actuated and then these, "limbs" those that close loops, "p" inertial parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from appell.equations import gibbs_jacobian
from appell.equations.coordinates import Axes, Equation
from appell.equations.linear import dot, invert
from appell.equations.motion.frame_motion import pairs
from appell.equations.motion.frame_motion import rows as columns_as_rows
from appell.equations.motion.operational import dense, operational_mobility
from appell.equations.quantity import Quantity, flow, state
from appell.equations.spherical import spherical_jacobian, spherical_quasi_speeds
from appell.equations.spherical.spherical_jacobian import bodies, share
from appell.equations.spherical.spherical_limbs import (
    Posture,
    Scalars,
    chain_rate,
    limb_rates,
    platform_rates,
    posture,
    reaches,
    rows,
)
from appell.equations.spherical.spherical_momentum import (
    Turning,
    centre_of_mass,
    momentum_columns,
    momentum_rates,
)
from appell.maths.rotation import After, Matrix, Rotation, as_matrix
from appell.maths.scalar import Scalar, cos
from appell.maths.vector import ZERO, Tensor, Vector
from appell.model.spherical import SphericalModel

Rows = list[list[Scalar]]

# By Jacobians


def _by_bodies(sums: Callable[..., Any], *, printed: bool = False) -> Equation:
    """A sum over all bodies (20)."""

    def equation(model: SphericalModel, q: Scalars, *speeds: Scalars) -> Any:
        v = speeds[0] if speeds else [0] * model.nv
        return sums(bodies(model, q, v, printed=printed), *speeds)

    return equation


def _potential_energy(moving: list[gibbs_jacobian.BodyMotion]) -> Scalar:
    return -sum((body.sigma @ body.inertia.moment for body in moving), start=0)


def _bias(forces: Equation) -> Equation:
    """C q' + G: the forces while no speed changes."""

    def bias(model: SphericalModel, q: Scalars, v: Scalars) -> Any:
        return forces(model, q, v, [0] * model.nv)

    return bias


def _held(forces: Equation) -> Equation:
    """G: the forces that hold it still."""

    def gravity(model: SphericalModel, q: Scalars) -> Any:
        return forces(model, q, [0] * model.nv, [0] * model.nv)

    return gravity


def _motion(forward_dynamics: Equation) -> Equation:
    """dq/dt and the accelerations: the state's rate."""

    def motion(model: SphericalModel, q: Scalars, v: Scalars, tau: Scalars) -> Any:
        return list(v), forward_dynamics(model, q, v, tau)

    return motion


# Kinematics


def orientation(model: SphericalModel, q: Scalars, frame: str) -> Rotation:
    """From a moving body's axes to the base's."""
    pose = posture(model, q)
    return pose.R if frame == "platform" else _rotation(model, pose, *model.links[frame])


def _forward_kinematics(model: SphericalModel, q: Scalars, frame: str) -> Rows:
    """A body's axes; its origin is the centre."""
    turned: Rows = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    if frame != "base":
        turned = [[*row] for row in as_matrix(orientation(model, q, frame)).rows]
    return [*([*row, 0] for row in turned), [0, 0, 0, 1]]


def _rotation(model: SphericalModel, pose: Posture, i: int, j: int) -> Rotation:
    """R_ij (27): the axes of link j of limb i in the base's."""
    R: Rotation = model.limbs[i].base
    for k in range(j + 1):
        R = After(R, pose.chains[i].into(k))
    return R


def _jacobian(model: SphericalModel, q: Scalars, frame: str) -> Rows:
    """No velocity, as all origins are in the centre; angular velocity in the base's axes."""
    pose = posture(model, q)
    columns: list[Vector] = [ZERO] * model.nv
    if frame == "platform":
        columns[: model.carried] = pose.E
    elif frame != "base":
        i, j = model.links[frame]
        chain = pose.chains[i]
        for axis, row in zip(chain.axes, rows(chain, pose.E)[: j + 1], strict=False):
            for k, x in zip(model.places[i], row.values, strict=True):
                columns[k] = columns[k] + axis * x
    return [*([0] * model.nv for _ in range(3)), *([*row] for row in zip(*columns, strict=True))]


def _jacobian_rate(model: SphericalModel, q: Scalars, v: Scalars, frame: str) -> Rows:
    """dJ/dt: of the platform dE, of a link by its joints' axes and their rows (41)."""
    pose = posture(model, q)
    dE = platform_rates(model, pose, q, v)
    columns: list[Vector] = [ZERO] * model.nv
    if frame == "platform":
        columns[: model.carried] = dE
    elif frame != "base":
        i, j = model.links[frame]
        chain, speeds = pose.chains[i], [v[k] for k in model.places[i]]
        rates = limb_rates(chain, pose.E, dE, speeds, len(chain.limb.links))
        axes, of_joints, drows = chain.axes[: j + 1], rates.rows[: j + 1], rates.drows[: j + 1]
        daxes, _ = chain_rate(axes, [dot(row, speeds) for row in of_joints])
        for axis, daxis, row, drow in zip(axes, daxes, of_joints, drows, strict=True):
            for k, x, dx in zip(model.places[i], row, drow, strict=True):
                columns[k] = columns[k] + daxis * x + axis * dx
    return [*([0] * model.nv for _ in range(3)), *([*row] for row in zip(*columns, strict=True))]


def _poses(model: SphericalModel, q: Scalars) -> list[Rows]:
    return [_forward_kinematics(model, q, frame) for frame in model.frames]


def _velocity(model: SphericalModel, q: Scalars, v: Scalars, frame: str) -> list[Scalar]:
    return [dot(row, v) for row in _jacobian(model, q, frame)]


def _acceleration(
    model: SphericalModel, q: Scalars, v: Scalars, a: Scalars, frame: str
) -> list[Scalar]:
    """J a + dJ v; classical and spatial are the same, as no origin moves."""
    both = zip(_jacobian(model, q, frame), _jacobian_rate(model, q, v, frame), strict=True)
    return [dot(row, a) + dot(drow, v) for row, drow in both]


# Momentum


def _turning(model: SphericalModel, q: Scalars, v: Scalars | None = None) -> list[Turning]:
    """The bodies, with rates of their Jacobians where speeds are given."""
    found = []
    for name, inertia in model.inertias.items():
        R = Matrix(Tensor(*(Vector(*row[:3]) for row in _forward_kinematics(model, q, name)[:3])))
        J = [x.angular for x in pairs(_jacobian(model, q, name))]
        dJ = J if v is None else [x.angular for x in pairs(_jacobian_rate(model, q, v, name))]
        found.append(Turning(R, inertia, J, dJ))
    return found


def _centre_of_mass(model: SphericalModel, q: Scalars) -> list[Scalar]:
    return [*centre_of_mass(_turning(model, q))]


def _centre_of_mass_jacobian(model: SphericalModel, q: Scalars) -> Rows:
    share = 1 / sum((x.mass for x in model.inertias.values()), start=0)
    return [[x * share for x in row] for row in _momentum_matrix(model, q)[:3]]


def _centre_of_mass_velocity(model: SphericalModel, q: Scalars, v: Scalars) -> list[Scalar]:
    return [dot(row, v) for row in _centre_of_mass_jacobian(model, q)]


def _momentum_matrix(model: SphericalModel, q: Scalars) -> Rows:
    return columns_as_rows(momentum_columns(_turning(model, q)))


def _momentum_matrix_rate(model: SphericalModel, q: Scalars, v: Scalars) -> Rows:
    return columns_as_rows(momentum_rates(_turning(model, q, v), v))


def _momentum(model: SphericalModel, q: Scalars, v: Scalars) -> list[Scalar]:
    return [dot(row, v) for row in _momentum_matrix(model, q)]


def _momentum_rate(model: SphericalModel, q: Scalars, v: Scalars, a: Scalars) -> list[Scalar]:
    both = zip(_momentum_matrix(model, q), _momentum_matrix_rate(model, q, v), strict=True)
    return [dot(row, a) + dot(drow, v) for row, drow in both]


def _inverse_mass_matrix(model: SphericalModel, q: Scalars) -> Rows:
    return invert(_mass_matrix(model, q), dense(model.nv))


def _felt(inertia: Callable[..., Rows]) -> Equation:
    """The inertia, or its inverse, that a frame feels: as no origin moves, of its turns only."""

    def of_frame(model: SphericalModel, q: Scalars, frame: str) -> Rows:
        return inertia(_jacobian(model, q, frame), _mass_matrix(model, q), dense(model.nv))

    return of_frame


_mass_matrix = _by_bodies(gibbs_jacobian.mass_matrix)


def _momentum_regressor(model: SphericalModel, q: Scalars, v: Scalars) -> Rows:
    """Y with M v = Y p: the forces that bring a robot at rest, without weight, to speeds v."""
    weightless = replace(model, gravity=ZERO)
    return spherical_jacobian.generalised_regressor(weightless, q, [0] * model.nv, v)


def _kinetic_energy_regressor(model: SphericalModel, q: Scalars, v: Scalars) -> list[Scalar]:
    """Y with T = v . M v / 2 = Y p."""
    return [0.5 * dot(y, v) for y in zip(*_momentum_regressor(model, q, v), strict=True)]


def _potential_energy_regressor(model: SphericalModel, q: Scalars) -> list[Scalar]:
    """Y with U = Y p: of each body the first moments lie in the field of gravity."""
    fields = [body.R.T @ model.gravity for body in _turning(model, q)]
    return [x for g in fields for x in (0, *(-g), 0, 0, 0, 0, 0, 0)]


def _joint_angles(model: SphericalModel, q: Scalars) -> tuple[list[Scalar], ...]:
    """Cosines and sines of theta and psi."""
    pose = posture(model, q, margin=0.0)
    angles = [_angle(model, pose, i, j) for i, j in model.reported]
    return [c for c, _ in angles], [s for _, s in angles]


def _angle(model: SphericalModel, pose: Posture, i: int, j: int) -> tuple[Scalar, Scalar]:
    """Cosine and sine of a joint's angle; of the last joint, those by which the platform is turned
    against the last link."""
    limb, chain = model.limbs[i], pose.chains[i]
    if j < len(chain.turns):
        return chain.turns[j]
    frame = After(_rotation(model, pose, i, j - 1), limb.links[-1].bend) if j else limb.base
    x = frame.T @ (pose.R @ (limb.mount @ Vector(1, 0, 0)))
    return x.x, x.y


def _joint_motion(
    model: SphericalModel, q: Scalars, v: Scalars, a: Scalars
) -> tuple[list[Scalar], ...]:
    """Rates of theta and psi, and their accelerations."""
    moved = spherical_quasi_speeds.moving(model, q, v, a).turns
    return (
        [moved[i].rates[j] for i, j in model.reported],
        [moved[i].accelerations[j] for i, j in model.reported],
    )


def _joint_motion_by_jacobians(
    model: SphericalModel, q: Scalars, v: Scalars, a: Scalars
) -> tuple[list[Scalar], ...]:
    """The same by the rows of theta' = J_theta q' (38 to 40) and their rates (41)."""
    pose = posture(model, q)
    dE, moved = platform_rates(model, pose, q, v), {}
    for i, (chain, places) in enumerate(zip(pose.chains, model.places, strict=True)):
        speeds, accelerations = ([x[k] for k in places] for x in (v, a))
        rates = limb_rates(chain, pose.E, dE, speeds, model.moving(i))
        for j, (row, drow) in enumerate(zip(*rates, strict=True)):
            changed = dot(row, accelerations) + dot(drow, speeds)
            moved[i, j] = dot(row, speeds), changed
    return [moved[x][0] for x in model.reported], [moved[x][1] for x in model.reported]


def _singularities(model: SphericalModel, q: Scalars) -> tuple[Any, ...]:
    """h^2 of each closing limb, the share of the volume that the actuators' rows span, and cos q2
    of Euler angles."""
    euler = cos(q[1]) if model.carrier is None else 1
    return [square for square, _ in reaches(model, q)] or [1], share(model, q), euler


_FORWARD: dict[str, Equation] = {
    "quasi_speeds": spherical_quasi_speeds.forward_dynamics,
    "gibbs_jacobian": spherical_jacobian.forward_dynamics,
}
_FORCES: dict[str, Equation] = {
    "quasi_speeds": spherical_quasi_speeds.generalised_forces,
    "gibbs_jacobian": _by_bodies(gibbs_jacobian.forces),
}

_n, _nn, _d, _joints = ("n",), ("n", "n"), ("d",), ("joints",)
_q, _qv, _qva = state("q"), state("q", "v"), state("q", "v", "a")
_qvt = state("q", "v", "tau", tau=_d)


def _quantity(inputs: Mapping[str, Axes], name: str, axes: Axes, **equations: Equation) -> Quantity:
    """A quantity with one output."""
    return Quantity(inputs, {name: axes}, equations)


QUANTITIES: dict[str, Quantity] = {
    "inverse_dynamics": _quantity(
        _qva, "tau", _d,
        quasi_speeds=spherical_quasi_speeds.inverse_dynamics,
        gibbs_jacobian=spherical_jacobian.inverse_dynamics,
    ),
    "forward_dynamics": _quantity(_qvt, "a", _n, **_FORWARD),
    "motion": Quantity(
        _qvt, {"dq": ("q",), "a": _n}, {name: _motion(f) for name, f in _FORWARD.items()}
    ),
    "flow": Quantity(
        _qvt, {"dy": ("y",)}, {name: flow(_motion(f)) for name, f in _FORWARD.items()}
    ),
    "generalised_forces": _quantity(_qva, "Q", _n, **_FORCES),
    "actuator_torques": _quantity(
        state("q", "Q"), "tau", _d, limbs=spherical_jacobian.actuator_torques
    ),
    "mass_matrix": _quantity(
        _q, "M", _nn, gibbs_jacobian=_by_bodies(gibbs_jacobian.mass_matrix)
    ),
    "coriolis_matrix": _quantity(
        _qv, "C", _nn,
        gibbs_jacobian=_by_bodies(gibbs_jacobian.coriolis_matrix),
        printed=_by_bodies(gibbs_jacobian.printed_coriolis_matrix, printed=True),
    ),
    "gravity": _quantity(
        _q, "g", _n,
        quasi_speeds=_held(_FORCES["quasi_speeds"]),
        gibbs_jacobian=_by_bodies(gibbs_jacobian.gravity),
    ),
    "bias": _quantity(_qv, "b", _n, **{name: _bias(f) for name, f in _FORCES.items()}),
    "kinetic_energy": _quantity(
        _qv, "T", (), gibbs_jacobian=_by_bodies(gibbs_jacobian.kinetic_energy)
    ),
    "potential_energy": _quantity(_q, "U", (), gibbs_jacobian=_by_bodies(_potential_energy)),
    "gibbs_function": _quantity(
        _qva, "S", (), gibbs_jacobian=_by_bodies(gibbs_jacobian.gibbs_function)
    ),
    "regressor": _quantity(_qva, "Y", ("d", "p"), gibbs_jacobian=spherical_jacobian.regressor),
    "generalised_regressor": _quantity(
        _qva, "Y", ("n", "p"), gibbs_jacobian=spherical_jacobian.generalised_regressor
    ),
    "forward_kinematics": Quantity(_q, {"T": (4, 4)}, {"limbs": _forward_kinematics}, frame=True),
    "poses": _quantity(_q, "T", ("links", 4, 4), limbs=_poses),
    "jacobian": Quantity(_q, {"J": (6, "n")}, {"limbs": _jacobian}, frame=True),
    "jacobian_rate": Quantity(_qv, {"dJ": (6, "n")}, {"limbs": _jacobian_rate}, frame=True),
    "velocity": Quantity(_qv, {"V": (6,)}, {"limbs": _velocity}, frame=True),
    "acceleration": Quantity(_qva, {"A": (6,)}, {"limbs": _acceleration}, frame=True),
    "spatial_acceleration": Quantity(_qva, {"A": (6,)}, {"limbs": _acceleration}, frame=True),
    "centre_of_mass": _quantity(_q, "c", (3,), limbs=_centre_of_mass),
    "centre_of_mass_jacobian": _quantity(_q, "J", (3, "n"), limbs=_centre_of_mass_jacobian),
    "centre_of_mass_velocity": _quantity(_qv, "V", (3,), limbs=_centre_of_mass_velocity),
    "momentum": _quantity(_qv, "h", (6,), limbs=_momentum),
    "momentum_rate": _quantity(_qva, "dh", (6,), limbs=_momentum_rate),
    "momentum_matrix": _quantity(_q, "A", (6, "n"), limbs=_momentum_matrix),
    "momentum_matrix_rate": _quantity(_qv, "dA", (6, "n"), limbs=_momentum_matrix_rate),
    "momentum_regressor": _quantity(_qv, "Y", ("n", "p"), gibbs_jacobian=_momentum_regressor),
    "kinetic_energy_regressor": _quantity(
        _qv, "Y", ("p",), gibbs_jacobian=_kinetic_energy_regressor
    ),
    "potential_energy_regressor": _quantity(_q, "Y", ("p",), limbs=_potential_energy_regressor),
    "inverse_mass_matrix": _quantity(_q, "W", _nn, gibbs_jacobian=_inverse_mass_matrix),
    "operational_mobility": Quantity(
        _q, {"L": (6, 6)}, {"gibbs_jacobian": _felt(operational_mobility)}, frame=True
    ),
    "actuator_jacobian": _quantity(
        _q, "J", ("d", "n"), limbs=spherical_jacobian.actuator_jacobian
    ),
    "passive_jacobian": _quantity(
        _q, "J", ("passive", "n"), limbs=spherical_jacobian.passive_jacobian
    ),
    "joint_motion": Quantity(
        _qva,
        {"rates": _joints, "accelerations": _joints},
        {"quasi_speeds": _joint_motion, "gibbs_jacobian": _joint_motion_by_jacobians},
    ),
    "joint_angles": Quantity(_q, {"cos": _joints, "sin": _joints}, {"limbs": _joint_angles}),
    "singularities": Quantity(
        _q, {"reach": ("limbs",), "actuators": (), "euler": ()}, {"limbs": _singularities}
    ),
}  # fmt: skip
