"""The parameters of the robot that a rollout moves: those given, and a load on one of its links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from appell.compile.gpu.device_arrays import on_gpu
from appell.control.rollouts.payload import Payload, carried, holder_of
from appell.control.rollouts.values import Values
from appell.errors import InputError
from appell.model.parameters import groups
from appell.robots.dynamics import Dynamics
from appell.robots.robot import Robot

_OF_LINKS = ("mass", "com", "inertia")


class PlantParameters:
    """What the robot's equations take as arguments, from values of the program.

    ``groups`` are those of the equations, ``reads`` the names of the values, and ``of(*values)``
    gives the one from the other, as equations of the values: what does not change in a run is then
    computed once. A load takes its own few numbers for each run, and not those of all links.
    """

    def __init__(
        self, robot: Dynamics, values: Values, given: Mapping[str, Any], payload: Payload | None
    ) -> None:
        own = groups(tuple(given))
        self.groups, self._system, self._holder = own, robot.system, None
        for group in own:
            shape = robot.system.values(group).shape
            values.input(f"plant.{group}", given[group], shape, f"parameters: {group}")
            if group == "mass" and least(given[group]) < 0:
                raise InputError("rollout: parameters: a mass is negative; expected zero or more.")
        self.reads = [f"plant.{group}" for group in own]
        if payload is None:
            return
        if not isinstance(robot, Robot):
            raise InputError(f"rollout: payload: '{robot.name}' is no tree; give parameters.")
        self.groups = groups((*own, *_OF_LINKS))
        self._holder = holder_of(robot, payload)
        link, axes, origin = self._holder
        # A constant, because the code depends on it.
        values.constant("payload.holder", [link, *np.ravel(axes), *origin])
        for name, shape in (("mass", ()), ("com", (3,)), ("inertia", (3,))):
            number = getattr(payload, name)
            values.input(f"payload.{name}", number, shape, f"payload: {name}")
            self.reads.append(f"payload.{name}")
            if name != "com" and least(number) < 0:
                raise InputError(
                    f"rollout: payload: {name} is {least(number):g}; expected zero or more."
                )

        if not on_gpu(payload.inertia):
            moments = np.asarray(payload.inertia, dtype=float)
            if (2 * moments.max(axis=-1) - moments.sum(axis=-1) > 1e-9 * moments.max()).any():
                raise InputError(
                    "rollout: payload: inertia: the largest moment exceeds the sum of the other "
                    "two, which no body has."
                )

    def of(self, *given: Any) -> list[Any]:
        """The equations' arguments, group by group."""
        known = dict(zip(self.reads, given, strict=True))
        found = {
            group: known.get(f"plant.{group}", self._system.values(group).tolist())
            for group in self.groups
        }
        if self._holder is not None:
            link = self._holder.link
            load = (known[f"payload.{x}"] for x in _OF_LINKS)
            together = carried(self._holder, tuple(found[x][link] for x in _OF_LINKS), *load)
            for group, value in zip(_OF_LINKS, together, strict=True):
                found[group] = [*found[group][:link], value, *found[group][link + 1 :]]
        return list(found.values())


def least(x: Any) -> float:
    """The smallest of some numbers; infinite if they are on a GPU, where nobody looks."""
    return np.inf if on_gpu(x) or not np.size(x) else float(np.min(x))
