"""A closed mechanism as a system: what can be asked of it, and in which formulations.

Its equations are those of its tree, brought to independent speeds by
`appell.robots.closed.reduce`; so a formulation of the tree is one of the closed robot wherever
all parts that the reduction needs have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from appell.equations.coordinates import Axes, Equation
from appell.equations.motion.operational import operational_inertia, operational_mobility
from appell.equations.quantities import QUANTITIES, REGRESSORS
from appell.equations.quantity import Quantity, state
from appell.errors import InputError
from appell.model.model import FrameName, Model
from appell.model.parameters import values
from appell.robots.closed import mechanism, reduce
from appell.robots.closed.mechanism import Mechanism
from appell.robots.system import Array, tree_size, varied

# What the actuators' forces must be able to give.
OF_ACTUATORS = ("inverse_dynamics", "regressor", "actuator_torques")


def _reduced(
    inputs: Mapping[str, Axes],
    outputs: Mapping[str, Axes],
    equation: Equation,
    *parts: str,
    frame: bool = False,
) -> Quantity:
    """A quantity made of these parts of the tree, in every formulation that they share."""
    tables = [QUANTITIES[part].formulations for part in parts]
    first: Iterable[str] = tables[0] if tables else ("reduction",)
    shared = [name for name in first if all(name in table for table in tables)]
    by = {name: partial(_by_formulation, equation, name) for name in shared}
    return Quantity(inputs, outputs, by, frame, frozenset(shared))


def _by_formulation(equation: Equation, name: str, m: Mechanism, *arguments: Any) -> Any:
    return equation(replace(m, formulation=name), *arguments)


_q, _qv, _qva = state("q"), state("q", "v"), state("q", "v", "a")
_qvt = state("q", "v", "tau", tau=("d",))
_n, _nn = ("n",), ("n", "n")
_ID, _FD = ("inverse_dynamics",), ("inverse_dynamics", "mass_matrix")

# Besides the axes of trees: "v" counts the tree's speeds, "r" forbidden rows, "c" rows of
# closure, "k" those and three margins.
CLOSED_QUANTITIES: dict[str, Quantity] = {
    "inverse_dynamics": _reduced(_qva, {"tau": ("d",)}, reduce.inverse_dynamics, *_ID),
    "generalised_forces": _reduced(_qva, {"Q": _n}, reduce.generalised_forces, *_ID),
    "forward_dynamics": _reduced(_qvt, {"a": _n}, reduce.forward_dynamics, *_FD),
    "motion": _reduced(_qvt, {"dq": ("q",), "a": _n}, reduce.motion, *_FD),
    "flow": _reduced(state("q", "v", "f", f=("v",)), {"dy": ("y",)}, reduce.flow, *_FD),
    "mass_matrix": _reduced(_q, {"M": _nn}, reduce.mass_matrix, "mass_matrix"),
    "coriolis_matrix": _reduced(_qv, {"C": _nn}, reduce.coriolis_matrix, "coriolis_matrix"),
    "gravity": _reduced(_q, {"g": _n}, reduce.gravity, "gravity"),
    "bias": _reduced(_qv, {"b": _n}, reduce.bias, *_ID),
    "friction": _reduced(_qv, {"f": _n}, reduce.friction, "friction"),
    "springs": _reduced(_q, {"f": _n}, reduce.springs, "springs"),
    "kinetic_energy": _reduced(_qv, {"T": ()}, reduce.kinetic_energy, "kinetic_energy"),
    "potential_energy": _reduced(_q, {"U": ()}, reduce.potential_energy, "potential_energy"),
    "gibbs_function": _reduced(_qva, {"G": ()}, reduce.gibbs_function, "gibbs_function"),
    "regressor": _reduced(_qva, {"Y": ("d", "p")}, reduce.regressor, "regressor"),
    "generalised_regressor": _reduced(
        _qva, {"Y": ("n", "p")}, reduce.generalised_regressor, "regressor"
    ),
    "actuator_torques": _reduced(state("q", "Q"), {"tau": ("d",)}, reduce.actuator_torques),
    "speeds": _reduced(_qv, {"s": ("v",)}, reduce.speeds),
    "accelerations": _reduced(_qva, {"s": ("v",)}, reduce.accelerations),
    "gamma": _reduced(_q, {"Gamma": ("v", "n")}, reduce.gamma),
    "closure": _reduced(_q, {"phi": ("c",)}, mechanism.closure),
    "closure_jacobian": _reduced(
        _q, {"phi": ("c",), "dphi": ("c", "v")}, mechanism.closure_jacobian
    ),
    "constraint_jacobian": _reduced(_q, {"J": ("r", "v")}, mechanism.constraint_jacobian),
    "checks": _reduced(_q, {"checks": ("k",)}, reduce.checks),
}  # fmt: skip

_BY_STATE: tuple[Equation, ...] = (reduce.at_rest, reduce.moving, reduce.accelerating)


def _as_in_tree(name: str) -> Quantity:
    """A quantity of the tree, at the speeds and accelerations that the loops allow; a matrix that
    multiplies the speeds, by the independent ones."""
    asked = QUANTITIES[name]
    given = {key: axes for key, axes in (_qva | _qvt).items() if key in asked.inputs}
    (axes,) = asked.outputs.values()
    if axes[-1:] == ("n",):
        matrix = name.removesuffix("_rate")
        equation = partial(reduce.of_speeds if matrix == name else reduce.of_speeds_rate, matrix)
    else:
        equation = partial(_BY_STATE[len(given) - 1], name)
    return _reduced(given, asked.outputs, equation, name, frame=asked.frame)


CLOSED_QUANTITIES |= {
    name: _as_in_tree(name)
    for name in (
        "forward_kinematics", "poses", "jacobian", "jacobian_rate", "velocity", "acceleration",
        "spatial_acceleration", "centre_of_mass", "centre_of_mass_jacobian",
        "centre_of_mass_velocity", "subtree_centre_of_mass", "subtree_centre_of_mass_jacobian",
        "subtree_centre_of_mass_velocity", "momentum", "momentum_rate", "momentum_matrix",
        "momentum_matrix_rate", "kinetic_energy_regressor", "potential_energy_regressor",
        "body_regressor",
    )
}  # fmt: skip
CLOSED_QUANTITIES |= {
    "momentum_regressor": _reduced(
        _qv, {"Y": ("n", "p")}, reduce.momentum_regressor, "momentum_regressor"
    ),
    "inverse_mass_matrix": _reduced(_q, {"W": _nn}, reduce.inverse_mass_matrix, "mass_matrix"),
    **{
        f.__name__: _reduced(_q, {"L": (6, 6)}, partial(reduce.felt, f), "mass_matrix", frame=True)
        for f in (operational_inertia, operational_mobility)
    },
}
CLOSED_QUANTITIES |= {
    name: _reduced(_qva, {"Y": ("d", name)}, partial(reduce.regressor, of_tree=name), name)
    for name in REGRESSORS
}
_RUBBING: dict[str, Equation] = {
    "inverse_dynamics": partial(reduce.inverse_dynamics, friction=True),
    "generalised_forces": partial(reduce.generalised_forces, friction=True),
    "forward_dynamics": partial(reduce.forward_dynamics, friction=True),
    "motion": partial(reduce.motion, friction=True),
}
CLOSED_QUANTITIES |= {
    f"{name}_with_friction": _reduced(
        CLOSED_QUANTITIES[name].inputs,
        CLOSED_QUANTITIES[name].outputs,
        equation,
        *(_FD if "tau" in CLOSED_QUANTITIES[name].inputs else _ID),
    )
    for name, equation in _RUBBING.items()
}


@dataclass(frozen=True)
class Closed:
    """A mechanism that answers as a system."""

    mechanism: Mechanism

    quantities: ClassVar[Mapping[str, Quantity]] = CLOSED_QUANTITIES
    tangent: ClassVar[Callable[..., Any]] = staticmethod(reduce.tangent)
    direct: ClassVar[bool] = False

    @property
    def model(self) -> Model:
        return self.mechanism.model

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def coordinates(self) -> tuple[int, ...]:
        return tuple(map(self.mechanism.model.place, self.mechanism.independent))

    def size(self, axis: str) -> int:
        m = self.mechanism
        sizes = {"n": m.independent, "d": m.actuated, "v": m.model.joints}
        if axis in sizes:
            return len(sizes[axis])
        if axis == "y":
            return m.model.nq + len(m.independent)
        if axis == "r":
            return sum(len(c.rows) for c in m.constraints)
        if axis in ("c", "k"):
            return sum(c.closures for c in m.constraints) + (3 if axis == "k" else 0)
        return tree_size(m.model, axis)

    def default(self, quantity: str) -> str:
        return next(iter(CLOSED_QUANTITIES[quantity].formulations))

    def frame(self, name: FrameName | None) -> Any:
        return self.mechanism.model.frame(name)

    def values(self, group: str) -> Array:
        return values(self.mechanism.model, group)

    def subject(self, given: Mapping[str, Any], regroup: bool) -> Mechanism:
        model = varied(self.mechanism.model, given, False)
        return replace(self.mechanism, model=model, regroup=regroup)

    def refuse(self, quantity: str) -> None:
        freedoms, actuators = self.size("n"), self.size("d")
        if quantity.startswith(OF_ACTUATORS) and actuators < freedoms:
            joints = self.mechanism.model.joints
            driven = ", ".join(joints[k].name for k in self.mechanism.actuated)
            raise InputError(
                f"'{self.name}' has {freedoms} degrees of freedom and {actuators} actuators "
                f"({driven or 'none'}): no forces of these give every motion. Ask for "
                "inverse_dynamics(..., generalised=True), the quantity generalised_forces, or "
                "close it with more actuated joints."
            )

    def idle(self) -> str:
        return (
            "the independent speeds do not move all of its joints, or an independent speed moves "
            "no inertia; choose others, or give its links a mass"
        )
