"""What can be asked of a robot, and the equations that answer it.

Each quantity names its inputs, the axes of its outputs ("n" counts joints, "p"
inertial parameters) and its formulations, the first of which is the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from appell.equations import articulated_body, composite, energy, gibbs_tensor, kinematics
from appell.equations.coordinates import Axes, Equation, in_coordinates, paths
from appell.equations.linear import back_substitute, factorise, invert
from appell.equations.regressor import regressor
from appell.maths.scalar import Scalar
from appell.model.model import Model


@dataclass(frozen=True)
class Quantity:
    inputs: tuple[str, ...]
    outputs: Mapping[str, Axes]
    formulations: Mapping[str, Equation]
    frame: bool = False  # whether it is asked of a frame
    regroup: bool = False  # whether it is the same for a regrouped model
    deep: str | None = None  # the formulation that is faster for long chains, if another is

    def default(self, model: Model) -> str:
        """The formulation that is fastest for a model."""
        long = model.depth > SHORT_CHAIN and not model.mimics
        return self.deep if self.deep and long else next(iter(self.formulations))


def _of_bodies(
    inputs: tuple[str, ...],
    outputs: Mapping[str, Axes],
    frame: bool = False,
    regroup: bool = False,
    **equations: Equation,
) -> Quantity:
    axes = tuple(outputs.values())
    return Quantity(
        inputs,
        outputs,
        {name: in_coordinates(f, inputs, axes) for name, f in equations.items()},
        frame,
        regroup,
    )


def _forward_dynamics(model: Model, q: Any, v: Any, tau: Any) -> list[Scalar]:
    """Mata et al. 2002, section 3, in the robot's coordinates."""
    if not model.mimics:
        return gibbs_tensor.forward_dynamics(model, model.spread(q, shifted=True), v, tau)
    M = QUANTITIES["mass_matrix"].formulations["gibbs_tensor"](model, q)
    bias = QUANTITIES["bias"].formulations["gibbs_tensor"](model, q, v)
    rest = [t - b for t, b in zip(tau, bias, strict=True)]
    ways = paths(model)
    return back_substitute(*factorise(M, ways), rest, ways)


def _forward_dynamics_articulated(model: Model, q: Any, v: Any, tau: Any) -> list[Scalar]:
    if model.mimics:
        return _forward_dynamics(model, q, v, tau)
    return articulated_body.forward_dynamics(model, model.spread(q, shifted=True), v, tau)


def _forward_dynamics_derivatives(model: Model, q: Any, v: Any, tau: Any) -> Any:
    """da/dq = -M^-1 dtau/dq at the acceleration that tau gives, da/dv likewise, da/dtau = M^-1."""
    short = model.depth <= SHORT_CHAIN
    a = (_forward_dynamics if short else _forward_dynamics_articulated)(model, q, v, tau)
    derivatives = QUANTITIES["inverse_dynamics_derivatives"].formulations["composite"]
    dq, dv, M = derivatives(model, q, v, a)
    inverse = invert(M, paths(model))
    n = range(model.nv)

    def minus_product(X: Any) -> Any:
        return [[-sum((inverse[i][k] * X[k][j] for k in n), start=0) for j in n] for i in n]

    return minus_product(dq), minus_product(dv), inverse


# Up to this many joints between base and tip, factoring the inertia matrix takes fewer
# operations than articulated bodies do.
SHORT_CHAIN = 8

_n, _nn = ("n",), ("n", "n")

QUANTITIES: dict[str, Quantity] = {
    "inverse_dynamics": _of_bodies(
        ("q", "v", "a"), {"tau": _n}, regroup=True, gibbs_tensor=gibbs_tensor.inverse_dynamics
    ),
    "forward_dynamics": Quantity(
        ("q", "v", "tau"),
        {"a": _n},
        {"gibbs_tensor": _forward_dynamics, "articulated_body": _forward_dynamics_articulated},
        deep="articulated_body",
        regroup=True,
    ),
    "mass_matrix": _of_bodies(
        ("q",),
        {"M": _nn},
        regroup=True,
        gibbs_tensor=gibbs_tensor.mass_matrix,
        composite=composite.mass_matrix,
    ),
    "coriolis_matrix": _of_bodies(
        ("q", "v"), {"C": _nn}, regroup=True, composite=composite.coriolis_matrix
    ),
    "gravity": _of_bodies(("q",), {"g": _n}, regroup=True, gibbs_tensor=gibbs_tensor.gravity),
    "bias": _of_bodies(("q", "v"), {"b": _n}, regroup=True, gibbs_tensor=gibbs_tensor.bias),
    "friction": _of_bodies(("v",), {"f": _n}, joints=energy.friction),
    "kinetic_energy": _of_bodies(("q", "v"), {"T": ()}, regroup=True, bodies=energy.kinetic_energy),
    "potential_energy": _of_bodies(("q",), {"U": ()}, bodies=energy.potential_energy),
    "gibbs_function": _of_bodies(
        ("q", "v", "a"), {"G": ()}, gibbs_tensor=gibbs_tensor.gibbs_function
    ),
    "regressor": _of_bodies(("q", "v", "a"), {"Y": ("n", "p")}, gibbs_tensor=regressor),
    "forward_kinematics": _of_bodies(
        ("q",), {"T": (4, 4)}, frame=True, bodies=kinematics.forward_kinematics
    ),
    "jacobian": _of_bodies(("q",), {"J": (6, "n")}, frame=True, bodies=kinematics.jacobian),
    "inverse_dynamics_derivatives": _of_bodies(
        ("q", "v", "a"),
        {"dtau_dq": _nn, "dtau_dv": _nn, "dtau_da": _nn},
        regroup=True,
        composite=composite.inverse_dynamics_derivatives,
    ),
    "forward_dynamics_derivatives": Quantity(
        ("q", "v", "tau"),
        {"da_dq": _nn, "da_dv": _nn, "da_dtau": _nn},
        {"composite": _forward_dynamics_derivatives},
        regroup=True,
    ),
}
