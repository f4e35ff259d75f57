"""Which derivatives a rollout is asked for, in the names of its program and of its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from appell.compile.differentiate import tangent_of
from appell.compile.tape import Shape
from appell.control.rollouts.gpu_arguments import single
from appell.control.rollouts.rollout_setup import RolloutSetup
from appell.control.rollouts.values import checked
from appell.errors import InputError
from appell.given import names_of, one_of, optional
from appell.robots.dynamics import Array

SMOOTH = (
    "q", "v", "worst_error", "rms_error", "peak_torque", "peak_speed", "effort", "work", "cost",
    "final_error", "energy",
)  # fmt: skip
_CURES = {"q": "leave final=False out", "v": "leave final=False out", "cost": "give cost="}
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
        self.shapes, self.runs = values.shapes, setup.count()
        outputs = [x for x in SMOOTH if x in setup.program.outputs]
        optional(
            "rollout: gradient",
            gradient,
            str | Mapping,
            'the name of a result, or weights {"q": (runs, nq)}',
        )
        given = {gradient: 1.0} if isinstance(gradient, str) else dict(gradient)
        for name in given:
            if name in SMOOTH and name not in outputs:
                cure = _CURES.get(name, f"add {name!r} to reduce=")
                raise InputError(
                    f"rollout: gradient = {name!r} is not computed; {cure}, or choose among "
                    f"{', '.join(outputs)}."
                )
            one_of("rollout: gradient", name, outputs)
        if not given:
            raise InputError(
                f"rollout: gradient of nothing; expected some of {', '.join(outputs)}."
            )
        self.of, self.given = list(given), given
        known = given_names(values.inputs, values.series, values.tables)
        self.steps = len(values.tables["t"]) - 1
        asked = names_of("rollout: by", list(known) if by is None else by, known)
        self.names = {known[name]: name for name in asked}
        self.by = list(self.names)

    def seeds(self) -> dict[str, Array]:
        """The objective's derivatives with respect to what the program computes."""
        found = {}
        for name, given in self.given.items():
            weight, shape = single(f"gradient: {name}", given), self.shapes[name]
            full = np.broadcast_to(weight, shape) if np.ndim(weight) == 0 else weight
            array = _for_runs(f"gradient: {name}", full, shape, self.runs)
            found[name] = array.reshape(*array.shape[: array.ndim - len(shape)], -1)
        return found

    def named(self, gradients: Mapping[str, Array]) -> dict[str, Array]:
        """The derivatives by the names of the arguments, in their shapes."""
        found = {}
        for x, g in gradients.items():
            used = g[:, : self.steps] if g.ndim == 3 and g.shape[1] > self.steps else g
            found[self.names[x]] = used.reshape(*used.shape[:-1], *self.shapes[x])
        return found


class Along:
    """The directions in which inputs and series change, as the program calls them, and what changes
    with them."""

    def __init__(self, setup: RolloutSetup, tangent: Mapping[str, Any]) -> None:
        optional("rollout: tangent", tangent, Mapping, 'directions {"q0": (runs, nq)}')
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
                array = _for_runs(what, direction, shape, runs)
                self.inputs[tangent_of(inner)] = array.reshape(
                    *array.shape[: array.ndim - len(shape)], -1
                )
                continue
            if inner in values.tables:  # a direction is one of each run, and so is what it changes
                values.series[inner] = values.tables.pop(inner)[:steps]
            directions[tangent_of(inner)] = _for_runs(what, direction, (steps, *shape), runs)
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


def _for_runs(what: str, value: Any, shape: Shape, runs: int) -> Array:
    """Numbers of this shape, for all runs or for each of them."""
    array = checked(what, value, shape, 1)
    if array.ndim > len(shape) and len(array) != runs:
        raise InputError(
            f"rollout: {what} is for {len(array)} runs; expected one for all, or {runs}."
        )
    return array


def given_names(*groups: Mapping[str, Array]) -> dict[str, str]:
    """The names in which arguments are given, and those of the program."""
    found: dict[str, str] = {}
    for name in (x for group in groups for x in group):
        plain = name.removeprefix("law.").removeprefix("plant.")
        other = {y: x for x, y in _OTHERS.items()}.get(name)
        if name in _PLAIN or plain != name or other or name.startswith("payload."):
            argument = other or plain
            if argument in found:
                told = ("the law's gain" if x.startswith("law.") else "the argument"
                        for x in (found[argument], name))  # fmt: skip
                raise InputError(
                    f"rollout: '{argument}' is the name of {' and of '.join(sorted(told))}, and "
                    "derivatives have one name each; give one of both, or rename the gain."
                )
            found[argument] = name
    return found
