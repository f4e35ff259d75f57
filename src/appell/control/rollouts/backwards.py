"""Which derivatives a rollout is asked for, in the names of its program and of its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from appell.compile.differentiate import tangent_of
from appell.control.rollouts.rollout_setup import RolloutSetup
from appell.control.rollouts.values import checked
from appell.errors import InputError
from appell.given import one_of
from appell.robots.dynamics import Array

SMOOTH = (
    "q", "v", "worst_error", "rms_error", "peak_torque", "peak_speed", "effort", "work", "cost",
    "final_error", "energy",
)  # fmt: skip
_OTHERS = {"tau": "asked", "torque_limit": "limit"}
_PLAIN = ("q0", "v0", "viscous", "coulomb", "external")


class Backwards:
    """``of`` these outputs, ``by`` these inputs and series, as the program calls them."""

    def __init__(
        self,
        setup: RolloutSetup,
        gradient: str | Mapping[str, Any],
        by: Sequence[str] | str | None,
    ) -> None:
        values = setup.values
        self.shapes = values.shapes
        outputs = [x for x in SMOOTH if x in setup.program.outputs]
        given = {gradient: 1.0} if isinstance(gradient, str) else dict(gradient)
        for name in given:
            one_of("rollout: gradient", name, outputs)
        if not given:
            raise InputError(
                f"rollout: gradient of nothing; expected some of {', '.join(outputs)}."
            )
        self.of, self.given = list(given), given
        known = given_names(values.inputs, values.series, values.tables)
        self.steps, self.tables = len(values.tables["t"]) - 1, set(values.tables)
        asked = [by] if isinstance(by, str) else list(known) if by is None else list(by)
        for name in asked:
            one_of("rollout: by", name, known)
        self.names = {known[name]: name for name in asked}
        self.by = list(self.names)

    def seeds(self) -> dict[str, Array]:
        """The objective's derivatives with respect to what the program computes."""
        found = {}
        for name, weight in self.given.items():
            shape = self.shapes[name]
            full = np.broadcast_to(weight, shape) if np.ndim(weight) == 0 else weight
            array = checked(f"gradient: {name}", full, shape, 1)
            found[name] = array.reshape(*array.shape[: array.ndim - len(shape)], -1)
        return found

    def named(self, gradients: Mapping[str, Array]) -> dict[str, Array]:
        """The derivatives by the names of the arguments, in their shapes."""
        found = {}
        for x, g in gradients.items():
            used = g[:, : self.steps] if x in self.tables else g
            found[self.names[x]] = used.reshape(*used.shape[:-1], *self.shapes[x])
        return found


class Along:
    """The directions in which inputs and series change, as the program calls them, and what changes
    with them."""

    def __init__(self, setup: RolloutSetup, tangent: Mapping[str, Any]) -> None:
        values, runs = setup.values, setup.count()
        known = given_names(values.inputs, values.series, values.tables)
        self.shapes = values.shapes
        self.of = [x for x in SMOOTH if x in setup.program.outputs]
        self.inputs: dict[str, Array] = {}
        directions: dict[str, Array] = {}
        for name, direction in tangent.items():
            inner = known[one_of("rollout: tangent", name, known)]
            what, steps = f"tangent: {name}", len(values.tables["t"]) - 1
            shape = values.shapes[inner]
            if inner in values.inputs:
                array = checked(what, direction, shape, 1)
                self.inputs[tangent_of(inner)] = array.reshape(
                    *array.shape[: array.ndim - len(shape)], -1
                )
                continue
            each = (runs, steps, *shape)
            if inner in values.tables:  # a direction is one of each run, and so is what it changes
                values.series[inner] = np.broadcast_to(values.tables.pop(inner)[:steps], each)
            array = checked(what, direction, each[1:], 1)
            directions[tangent_of(inner)] = np.broadcast_to(array, each)
        self.series = {**values.series, **directions}
        if not tangent:
            raise InputError(f"rollout: tangent = {{}}; expected some of {', '.join(known)}.")
        self.by = [known[name] for name in tangent]

    def parted(self, results: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        """Results, and their derivatives by the same names."""
        plain = {x: y for x, y in results.items() if x in self.shapes}
        slopes = {
            x: results[tangent_of(x)].reshape(-1, *self.shapes[x])
            for x in self.of
            if tangent_of(x) in results
        }
        return plain, slopes


def given_names(*groups: Mapping[str, Array]) -> dict[str, str]:
    """The names in which arguments are given, and those of the program."""
    found = {}
    for name in (x for group in groups for x in group):
        plain = name.removeprefix("law.").removeprefix("plant.")
        other = {y: x for x, y in _OTHERS.items()}.get(name)
        if name in _PLAIN or plain != name or other or name.startswith("payload."):
            found[other or plain] = name
    return found
