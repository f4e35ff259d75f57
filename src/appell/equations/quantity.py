"""What a quantity is, and equations made of other equations.

A quantity names its inputs and outputs with their axes ("n" counts speeds, "q" coordinates,
"d" actuators, "links" frames, "moving" links, "p" inertial parameters, a regressor's name its
columns) and its formulations, the first of which is the default. How long an axis is, the robot
says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from appell.equations import energy, instant
from appell.equations.coordinates import Axes, Equation, Meaning, in_coordinates, paths
from appell.equations.linear import invert, solve
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO
from appell.model.model import Model

# Up to this many joints between base and tip, factoring the inertia matrix takes fewer
# operations than articulated bodies do.
SHORT_CHAIN = 8


@dataclass(frozen=True)
class Quantity:
    """Something that can be asked of a robot, and the equations that answer it."""

    inputs: Mapping[str, Axes]
    outputs: Mapping[str, Axes]
    formulations: Mapping[str, Equation]
    frame: bool = False  # whether it is asked of a frame
    regroup: frozenset[str] = frozenset()  # formulations that take a regrouped model
    deep: str | None = None  # the formulation that is faster for long chains, if another is

    def default(self, model: Model) -> str:
        """The formulation that is fastest for a model."""
        long = model.depth > SHORT_CHAIN and not model.mimics
        return self.deep if self.deep and long else next(iter(self.formulations))


def state(*names: str, **axes: Axes) -> dict[str, Axes]:
    """Inputs by name with their axes: those of a state, where no others are given."""
    return {x: axes.get(x, ("q",) if x == "q" else ("n",)) for x in names}


def of_bodies(
    names: tuple[str, ...],
    outputs: Mapping[str, Axes],
    frame: bool = False,
    regroup: Collection[str] = (),
    meaning: Meaning | None = None,
    **equations: Equation,
) -> Quantity:
    axes = tuple(outputs.values())
    return Quantity(
        state(*names),
        outputs,
        {name: in_coordinates(f, names, axes, meaning) for name, f in equations.items()},
        frame,
        frozenset(regroup),
    )


# What the joints' springs take from the speeds, in the robot's coordinates.
springs = in_coordinates(energy.springs, ("q",), (("n",),))


def _added(forces: Any, taken: Any, *state: Any) -> list[Scalar]:
    return [x + y for x, y in zip(forces, taken, strict=True)]


def sprung(quantity: Quantity, adding: Callable[..., Any] = _added) -> Quantity:
    """The quantity of a robot with springs: its forces and what the springs take, or what
    ``adding`` makes of its result, the springs' forces and the rest of the state."""

    def by(equation: Equation) -> Equation:
        def with_springs(model: Model, q: Any, *others: Any) -> Any:
            result = equation(model, q, *others)
            return adding(result, springs(model, q), *others) if model.springs else result

        return with_springs

    changed = {name: by(equation) for name, equation in quantity.formulations.items()}
    return replace(quantity, formulations=changed)


def bias_by(inverse_dynamics: Equation) -> Equation:
    """C v + g: the joint forces while no speed changes."""

    def bias(model: Model, q: Any, v: Any) -> Any:
        return inverse_dynamics(model, q, v, [0] * model.nv)

    return bias


def at_rest_by(inverse_dynamics: Equation) -> Equation:
    """g: the joint forces of a robot that stands still."""

    def gravity(model: Model, q: Any) -> Any:
        return inverse_dynamics(model, q, [0] * len(model.bodies), [0] * len(model.bodies))

    return gravity


def by_columns(inverse_dynamics: Equation) -> Equation:
    """M, column by column: the joint forces of a unit acceleration, without speeds and gravity
    (Valera et al. 2003, section 4; Walker and Orin 1982, method 1)."""

    def mass_matrix(model: Model, q: Any) -> Any:
        weightless, n = replace(model, gravity=ZERO), len(model.bodies)
        still = [0] * n
        columns = [
            inverse_dynamics(weightless, q, still, [int(i == j) for i in range(n)])
            for j in range(n)
        ]
        return [[columns[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]

    return mass_matrix


def by_mass_matrix(mass_matrix: Equation, inverse_dynamics: Equation) -> Equation:
    """Accelerations a of bodies with M a = tau - (C v + g), by a formulation's own M and bias."""

    def forward_dynamics(model: Model, q: Any, v: Any, tau: Any) -> list[Scalar]:
        bias = inverse_dynamics(model, q, v, [0] * len(model.bodies))
        remainder = [t - b for t, b in zip(tau, bias, strict=True)]
        return solve(mass_matrix(model, q), remainder, model.ancestors)

    return forward_dynamics


def motion_by(forward_dynamics: Equation) -> Equation:
    """dq/dt and the accelerations: the state's rate."""

    def motion(model: Model, q: Any, v: Any, tau: Any) -> Any:
        return instant.coordinate_rates(model, q, v), forward_dynamics(model, q, v, tau)

    return motion


def flow(motion: Equation) -> Equation:
    """The rate of y = (q, v), from its two parts."""

    def rates(system: Any, q: Any, v: Any, tau: Any = ()) -> list[Scalar]:
        dq, a = motion(system, q, v, tau)
        return [*dq, *a]

    return rates


def inverse_by(mass_matrix: Equation) -> Equation:
    """M^-1, by the factors of M."""

    def inverse(model: Model, q: Any) -> Any:
        return invert(mass_matrix(model, q), paths(model))

    return inverse
