"""A system: what a robot is to the methods that answer for it.

It has sizes by name, a table of quantities whose inputs and outputs have axes of these sizes, and
says which of its numbers can vary. Whatever answers this is a robot: a tree of bodies, a closed
mechanism, a spherical parallel robot.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from appell.equations import instant
from appell.equations.motion.contact_motion import OF_CONTACTS
from appell.equations.quantities import QUANTITIES, REGRESSORS
from appell.equations.quantity import Quantity
from appell.errors import InputError, did_you_mean
from appell.model.model import FrameName, Model
from appell.model.parameters import inertial_parameters, values, with_values
from appell.model.regroup import regrouped

Array = npt.NDArray[np.floating[Any]]

OF_TREES: Mapping[str, Quantity] = ChainMap(OF_CONTACTS, QUANTITIES)


class System(Protocol):
    """What equations are written for, and what can be asked of it."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> Any: ...
    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """What can be asked, by name."""

    @property
    def tangent(self) -> Callable[..., Any] | None:
        """The equation of dq/dv, (nq, nv), if small changes of q are measured along v."""

    @property
    def direct(self) -> bool:
        """Whether every speed has an actuator of its own: tau are then forces on the speeds."""

    @property
    def coordinates(self) -> tuple[int, ...]:
        """Where in q the coordinates stand whose rates are the speeds, on a fixed base."""

    def size(self, axis: str) -> int:
        """How long an axis of its quantities is."""

    def default(self, quantity: str) -> str:
        """The formulation that is fastest for it."""

    def frame(self, name: FrameName | None) -> Any:
        """A link as its equations take it."""

    def values(self, group: str) -> Array:
        """The numbers of a group of parameters."""

    def subject(self, given: Mapping[str, Any], regroup: bool) -> Any:
        """What its equations take first, with these values of groups of parameters; regrouped to
        the fewest numbers where a formulation can take that."""

    def refuse(self, quantity: str) -> None:
        """Raise what keeps the system from answering a quantity of its table, if anything does."""

    def idle(self) -> str:
        """Why no acceleration follows from a force, where an equation divides by zero."""


@dataclass(frozen=True)
class Tree:
    """A tree of bodies."""

    model: Model

    direct: ClassVar[bool] = True

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        if len(self.model.compounds) == self.model.free:
            return OF_TREES
        # Equations of derivatives know of the quaternion of a free root only.
        return {x: y for x, y in OF_TREES.items() if not x.endswith("_derivatives")}

    @property
    def tangent(self) -> Callable[..., Any] | None:
        return instant.tangent if self.model.compounds else None

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def coordinates(self) -> tuple[int, ...]:
        return tuple(map(self.model.place, range(self.model.nv)))

    def size(self, axis: str) -> int:
        return tree_size(self.model, axis)

    def default(self, quantity: str) -> str:
        return OF_TREES[quantity].default(self.model)

    def frame(self, name: FrameName | None) -> Any:
        return self.model.frame(name)

    def values(self, group: str) -> Array:
        return values(self.model, group)

    def subject(self, given: Mapping[str, Any], regroup: bool) -> Model:
        return varied(self.model, given, regroup)

    def refuse(self, quantity: str) -> None:
        pass

    def idle(self) -> str:
        anywhere = [0.1 * (i + 1) for i in range(self.model.nq)]
        M = QUANTITIES["mass_matrix"].formulations["gibbs_lean"](self.model, anywhere)
        still = [joint.name for i, joint in enumerate(self.model.joints) if M[i][i] == 0]
        return (
            f"joint {', '.join(still)} feels no inertia, so no acceleration follows from its "
            "force; give its link a mass, or its rotor inertia"
        )


def tree_size(model: Model, axis: str) -> int:
    """How long an axis of a tree's quantities is."""
    if axis == "p" or axis in REGRESSORS:
        return len(inertial_parameters(model, **REGRESSORS.get(axis, {})))
    sizes = {"n": model.nv, "d": model.nv, "q": model.nq, "y": model.nq + model.nv}
    sizes |= {"n+1": model.nv + 1, "n+5": model.nv + 5}  # columns beside those of the speeds
    lists = {"links": model.frames, "moving": model.links}
    return len(lists[axis]) if axis in lists else sizes[axis]


def varied(model: Model, given: Mapping[str, Any], regroup: bool) -> Model:
    """A model with other values of some groups of its parameters, or regrouped."""
    base = regrouped(model) if regroup else model
    return with_values(base, dict(given)) if given else base


def quantity_of(system: System, name: str) -> Quantity:
    """The quantity of that name, or an error that lists those there are."""
    try:
        return system.quantities[name]
    except (KeyError, TypeError):
        raise InputError(
            f"no quantity {name!r} of '{system.name}'; there are {', '.join(system.quantities)}."
        ) from None


def formulation_of(system: System, quantity: str, name: str | None) -> str:
    """The formulation of that name; without one, the fastest for the system."""
    asked = quantity_of(system, quantity)
    if name is None:
        return system.default(quantity)
    if not isinstance(name, str) or name not in asked.formulations:
        raise InputError(
            f"{quantity} has no formulation {name!r}; it has {', '.join(asked.formulations)}."
            f"{did_you_mean(name, asked.formulations)}"
        )
    return name
