"""What can be asked of a robot, and the equations that answer it: a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from appell.equations import (
    articulated_body,
    composite,
    composite_body,
    coriolis_factors,
    energy,
    gibbs_lean,
    gibbs_tensor,
    gibbs_tree,
    gibbs_vector,
    gibbs_vector_paul,
    instant,
    lagrange_euler,
    newton_euler,
)
from appell.equations import regressor as regressors
from appell.equations.coordinates import Equation, in_joints, paths
from appell.equations.linear import back_substitute, dot, factorise, invert
from appell.equations.motion import frame_motion, kinematics, momentum
from appell.equations.motion.operational import operational_inertia, operational_mobility
from appell.equations.quantity import (
    Quantity,
    at_rest_by,
    bias_by,
    by_columns,
    by_mass_matrix,
    flow,
    inverse_by,
    motion_by,
    of_bodies,
    springs,
    sprung,
    state,
)
from appell.equations.regressor import regressor
from appell.maths.scalar import Scalar
from appell.model.model import Frame, Model


def _solving(equation: Equation, M: str, bias: str) -> Equation:
    """Forward dynamics of bodies, in the robot's coordinates; where joints mimic others, by the
    inertia matrix and the bias of these formulations."""

    def forward_dynamics(model: Model, q: Any, v: Any, tau: Any) -> list[Scalar]:
        if model.mimics:
            return _solved_in_coordinates(model, q, v, tau, M, bias)
        if model.springs:
            tau = [t - s for t, s in zip(tau, springs(model, q), strict=True)]
        states = {"q": q, "v": v, "tau": tau}
        of_bodies = in_joints(equation, model, states)
        a: list[Scalar] = [0] * model.nv
        for body, x in zip(model.bodies, of_bodies, strict=True):
            a[body.coordinate] = x
        return instant.acceleration(model, states, a) if model.compounds else a

    return forward_dynamics


def _solved_in_coordinates(
    model: Model, q: Any, v: Any, tau: Any, matrix: str, forces: str
) -> list[Scalar]:
    """M a = tau - bias, where joints mimic others."""
    M = QUANTITIES["mass_matrix"].formulations[matrix](model, q)
    bias = QUANTITIES["bias"].formulations[forces](model, q, v)
    rest = [t - b for t, b in zip(tau, bias, strict=True)]
    ways = paths(model)
    return back_substitute(*factorise(M, ways), rest, ways)


def _coriolis_of_compounds(model: Model, states: Mapping[str, Any], C: Any) -> Any:
    M = QUANTITIES["mass_matrix"].formulations["gibbs_lean"](model, states["q"])
    return instant.in_speeds(model, states["v"], C, M)


def _jacobian_rate_of_compounds(
    model: Model, states: Mapping[str, Any], dJ: Any, frame: Frame
) -> Any:
    J = QUANTITIES["jacobian"].formulations["bodies"](model, states["q"], frame)
    return instant.in_speeds(model, states["v"], dJ, J)


def _momentum_rate_of_compounds(model: Model, states: Mapping[str, Any], dA: Any) -> Any:
    A = QUANTITIES["momentum_matrix"].formulations["bodies"](model, states["q"])
    return instant.in_speeds(model, states["v"], dA, A)


def _accelerated(G: Scalar, forces: Any, v: Any, a: Any) -> Scalar:
    """The Gibbs function, so that dG/da has the springs' forces, too."""
    return G + dot(forces, a)


def _felt(inertia: Equation) -> Equation:
    """The inertia, or its inverse, that a frame feels."""

    def of_frame(model: Model, q: Any, frame: Frame) -> Any:
        J = QUANTITIES["jacobian"].formulations["bodies"](model, q, frame)
        M = QUANTITIES["mass_matrix"].formulations["gibbs_lean"](model, q)
        return inertia(J, M, paths(model))

    return of_frame


def _forward_dynamics_derivatives(model: Model, q: Any, v: Any, tau: Any) -> Any:
    """da/dq = -M^-1 dtau/dq at the acceleration that tau gives, da/dv likewise, da/dtau = M^-1."""
    asked = QUANTITIES["forward_dynamics"]
    a = asked.formulations[asked.default(model)](model, q, v, tau)
    derivatives = QUANTITIES["inverse_dynamics_derivatives"].formulations["composite"]
    dq, dv, M = derivatives(model, q, v, a)
    inverse = invert(M, paths(model))
    n = range(model.nv)

    def minus_product(X: Any) -> Any:
        return [[-sum((inverse[i][k] * X[k][j] for k in n), start=0) for j in n] for i in n]

    return minus_product(dq), minus_product(dv), inverse


# Regressors with other columns than "regressor" has, by name.
REGRESSORS: dict[str, dict[str, Any]] = {
    "regressor_with_friction": {"friction": True},
    "regressor_with_rotors": {"rotors": True},
    "regressor_with_rotors_and_friction": {"rotors": True, "friction": True},
}


def regressor_named(friction: bool, rotors: bool) -> str:
    """The regressor with these columns, besides those it has anyway."""
    wanted = [name for name, asked in (("rotors", rotors), ("friction", friction)) if asked]
    return "regressor" + ("_with_" if wanted else "") + "_and_".join(wanted)


_n, _nn = ("n",), ("n", "n")

_INVERSE = sprung(
    of_bodies(
        ("q", "v", "a"),
        {"tau": _n},
        regroup=("gibbs_lean",),
        gibbs_lean=gibbs_lean.inverse_dynamics,
        gibbs_tensor=gibbs_tensor.inverse_dynamics,
        gibbs_vector=gibbs_vector.inverse_dynamics,
        gibbs_vector_paul=gibbs_vector_paul.inverse_dynamics,
        newton_euler=newton_euler.inverse_dynamics,
        lagrange_euler=lagrange_euler.inverse_dynamics,
        gibbs_tree=gibbs_tree.inverse_dynamics,
    )
)

# Of formulations that give accelerations by their own M and bias.
_SOLVED: dict[str, tuple[Equation, Equation]] = {
    **{
        name: (by_columns(f), f)
        for name, f in (
            ("gibbs_vector", gibbs_vector.inverse_dynamics),
            ("gibbs_vector_paul", gibbs_vector_paul.inverse_dynamics),
            ("newton_euler", newton_euler.inverse_dynamics),
        )
    },
    "lagrange_euler": (lagrange_euler.mass_matrix, lagrange_euler.inverse_dynamics),
}

_FORWARD = Quantity(
    state("q", "v", "tau"),
    {"a": _n},
    {
        "gibbs_lean": _solving(gibbs_lean.forward_dynamics, "gibbs_lean", "gibbs_lean"),
        "gibbs_tensor": _solving(gibbs_tensor.forward_dynamics, "gibbs_tensor", "gibbs_tensor"),
        "composite_body": _solving(
            composite_body.forward_dynamics, "composite_body", "newton_euler"
        ),
        # Where joints mimic others, no articulated bodies are made.
        "articulated_body": _solving(articulated_body.forward_dynamics, "gibbs_lean", "gibbs_lean"),
        "gibbs_tree": _solving(gibbs_tree.forward_dynamics, "gibbs_tree", "gibbs_tree"),
        **{
            name: _solving(by_mass_matrix(mass_matrix, inverse_dynamics), name, name)
            for name, (mass_matrix, inverse_dynamics) in _SOLVED.items()
        },
    },
    deep="articulated_body",
    regroup=frozenset(("gibbs_lean", "articulated_body")),
)

_MASS = of_bodies(
    ("q",),
    {"M": _nn},
    regroup=("gibbs_lean",),
    gibbs_lean=gibbs_lean.mass_matrix,
    gibbs_tensor=gibbs_tensor.mass_matrix,
    composite_body=composite_body.mass_matrix,
    lagrange_euler=lagrange_euler.mass_matrix,
    gibbs_tree=gibbs_tree.mass_matrix,
    gibbs_vector=by_columns(gibbs_vector.inverse_dynamics),
    gibbs_vector_paul=by_columns(gibbs_vector_paul.inverse_dynamics),
    newton_euler=by_columns(newton_euler.inverse_dynamics),
)

QUANTITIES: dict[str, Quantity] = {
    "inverse_dynamics": _INVERSE,
    "forward_dynamics": _FORWARD,
    "motion": replace(
        _FORWARD,
        outputs={"dq": ("q",), "a": _n},
        formulations={name: motion_by(f) for name, f in _FORWARD.formulations.items()},
    ),
    "flow": replace(
        _FORWARD,
        outputs={"dy": ("y",)},
        formulations={name: flow(motion_by(f)) for name, f in _FORWARD.formulations.items()},
    ),
    "generalised_forces": replace(_INVERSE, outputs={"Q": _n}),
    "mass_matrix": _MASS,
    "coriolis_matrix": of_bodies(
        ("q", "v"),
        {"C": _nn},
        regroup=("composite",),
        meaning=_coriolis_of_compounds,
        composite=composite.coriolis_matrix,
        lagrange_euler=lagrange_euler.coriolis_matrix,
        body=coriolis_factors.body,
        momentum=coriolis_factors.momentum,
    ),
    "gravity": sprung(
        of_bodies(
            ("q",),
            {"g": _n},
            regroup=("gibbs_lean",),
            gibbs_lean=gibbs_lean.gravity,
            gibbs_tensor=gibbs_tensor.gravity,
            lagrange_euler=lagrange_euler.gravity,
            gibbs_tree=at_rest_by(gibbs_tree.inverse_dynamics),
            gibbs_vector=at_rest_by(gibbs_vector.inverse_dynamics),
            gibbs_vector_paul=at_rest_by(gibbs_vector_paul.inverse_dynamics),
            newton_euler=at_rest_by(newton_euler.inverse_dynamics),
        )
    ),
    "bias": replace(
        _INVERSE,
        inputs=state("q", "v"),
        outputs={"b": _n},
        formulations={name: bias_by(f) for name, f in _INVERSE.formulations.items()},
    ),
    "friction": of_bodies(("v",), {"f": _n}, joints=energy.friction),
    "springs": of_bodies(("q",), {"f": _n}, joints=energy.springs),
    "kinetic_energy": of_bodies(
        ("q", "v"), {"T": ()}, regroup=("bodies",), bodies=energy.kinetic_energy
    ),
    "potential_energy": of_bodies(("q",), {"U": ()}, bodies=energy.potential_energy),
    "gibbs_function": sprung(
        of_bodies(("q", "v", "a"), {"G": ()}, gibbs_tensor=gibbs_tensor.gibbs_function),
        _accelerated,
    ),
    "regressor": of_bodies(("q", "v", "a"), {"Y": ("n", "p")}, gibbs_tensor=regressor),
    **{
        name: of_bodies(
            ("q", "v", "a"), {"Y": ("n", name)}, gibbs_tensor=partial(regressor, **columns)
        )
        for name, columns in REGRESSORS.items()
    },
    "forward_kinematics": of_bodies(
        ("q",), {"T": (4, 4)}, frame=True, bodies=kinematics.forward_kinematics
    ),
    "poses": of_bodies(("q",), {"T": ("links", 4, 4)}, bodies=kinematics.link_poses),
    "jacobian": of_bodies(("q",), {"J": (6, "n")}, frame=True, bodies=kinematics.jacobian),
    "jacobian_rate": of_bodies(
        ("q", "v"),
        {"dJ": (6, "n")},
        frame=True,
        meaning=_jacobian_rate_of_compounds,
        bodies=frame_motion.jacobian_rate,
    ),
    "velocity": of_bodies(("q", "v"), {"V": (6,)}, frame=True, bodies=frame_motion.velocity),
    "acceleration": of_bodies(
        ("q", "v", "a"), {"A": (6,)}, frame=True, bodies=frame_motion.acceleration
    ),
    "spatial_acceleration": of_bodies(
        ("q", "v", "a"), {"A": (6,)}, frame=True, bodies=frame_motion.spatial_acceleration
    ),
    "inverse_mass_matrix": Quantity(
        state("q"),
        {"W": _nn},
        {"gibbs_lean": inverse_by(_MASS.formulations["gibbs_lean"])},
        regroup=frozenset(("gibbs_lean",)),
    ),
    **{
        name: Quantity(state("q"), {"L": (6, 6)}, {"gibbs_lean": _felt(f)}, frame=True)
        for name, f in (
            ("operational_inertia", operational_inertia),
            ("operational_mobility", operational_mobility),
        )
    },
    **{
        f"{prefix}{name}": of_bodies(names, {out: axes}, frame=bool(prefix), bodies=f)
        for prefix in ("", "subtree_")
        for name, names, out, axes, f in (
            ("centre_of_mass", ("q",), "c", (3,), momentum.centre_of_mass),
            (
                "centre_of_mass_jacobian",
                ("q",),
                "J",
                (3, "n"),
                momentum.centre_of_mass_jacobian,
            ),
            ("centre_of_mass_velocity", ("q", "v"), "V", (3,), momentum.centre_of_mass_velocity),
        )
    },
    "momentum": of_bodies(("q", "v"), {"h": (6,)}, bodies=momentum.momentum),
    "momentum_rate": of_bodies(("q", "v", "a"), {"dh": (6,)}, bodies=momentum.momentum_rate),
    "momentum_matrix": of_bodies(("q",), {"A": (6, "n")}, bodies=momentum.momentum_matrix),
    "momentum_matrix_rate": of_bodies(
        ("q", "v"),
        {"dA": (6, "n")},
        meaning=_momentum_rate_of_compounds,
        bodies=momentum.momentum_matrix_rate,
    ),
    "joint_wrenches": of_bodies(
        ("q", "v", "a"), {"w": ("moving", 6)}, bodies=momentum.joint_wrenches
    ),
    "base_wrench": of_bodies(("q", "v", "a"), {"w": (6,)}, bodies=momentum.base_wrench),
    "momentum_regressor": of_bodies(
        ("q", "v"), {"Y": ("n", "p")}, gibbs_tensor=regressors.momentum_regressor
    ),
    "kinetic_energy_regressor": of_bodies(
        ("q", "v"), {"Y": ("p",)}, bodies=regressors.kinetic_energy_regressor
    ),
    "potential_energy_regressor": of_bodies(
        ("q",), {"Y": ("p",)}, bodies=regressors.potential_energy_regressor
    ),
    "body_regressor": of_bodies(
        ("q", "v", "a"), {"Y": (6, 10)}, frame=True, gibbs_tensor=regressors.body_regressor
    ),
    "inverse_dynamics_derivatives": of_bodies(
        ("q", "v", "a"),
        {"dtau_dq": _nn, "dtau_dv": _nn, "dtau_da": _nn},
        regroup=("composite",),
        meaning=instant.derivatives,
        composite=composite.inverse_dynamics_derivatives,
    ),
    "generalised_forces_derivatives": of_bodies(
        ("q", "v", "a"),
        {"dQ_dq": _nn, "dQ_dv": _nn, "dQ_da": _nn},
        regroup=("composite",),
        meaning=instant.derivatives,
        composite=composite.inverse_dynamics_derivatives,
    ),
    "forward_dynamics_derivatives": Quantity(
        state("q", "v", "tau"),
        {"da_dq": _nn, "da_dv": _nn, "da_dtau": _nn},
        {"composite": _forward_dynamics_derivatives},
        regroup=frozenset(("composite",)),
    ),
}
