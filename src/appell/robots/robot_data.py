"""Robots as plain data: the numbers and names of a robot, from which the same robot is made again.

A value is written by its class and its fields, ``{"is": "Vector", "x": 0, "y": 0, "z": 1}``. Only
the classes listed here are made of data that come from elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.maths.rotation import AboutX, AboutZ, After, Matrix
from appell.maths.vector import Symmetric, Tensor, Vector
from appell.model.inertia import Inertia
from appell.model.model import Body, Compound, Frame, Joint, Model
from appell.model.place import Place
from appell.model.shapes import Shape
from appell.model.spherical import Arc, Limb, SphericalModel
from appell.robots.robot import Robot

_VALUES = (
    AboutX, AboutZ, After, Arc, Body, Compound, Frame, Inertia, Joint, Limb, Matrix, Model, Place,
    Shape, SphericalModel, Symmetric, Tensor, Vector,
)  # fmt: skip


def robot_to_data(robot: Any) -> dict[str, Any] | None:
    """A robot as JSON takes it, or None of one that holds functions, such as constraints of one's
    own, or that is of a class of your own."""
    from appell.robots.closed.closed_robot import ClosedRobot
    from appell.robots.spherical import SphericalRobot

    try:
        if type(robot) is ClosedRobot:
            whole = to_data(robot.mechanism, _known())
            return {"mechanism": whole, "reference": robot.reference.tolist()}
        if type(robot) in (Robot, SphericalRobot):
            return {"model": to_data(robot.model, _known())}
    except TypeError:
        pass
    return None


def robot_from_data(data: Mapping[str, Any]) -> Any:
    """The robot that :func:`robot_to_data` wrote."""
    from appell.robots.closed.closed_robot import ClosedRobot
    from appell.robots.spherical import SphericalRobot

    if "mechanism" in data:
        mechanism = from_data(data["mechanism"], _known())
        return ClosedRobot(mechanism, np.array(data["reference"], dtype=float))
    model = from_data(data["model"], _known())
    return SphericalRobot(model) if isinstance(model, SphericalModel) else Robot(model)


def model_hash(model: Any) -> str:
    """Twelve digits that tell a model from all others: of its numbers and names."""
    data = to_data(model, _known())
    data.pop("shapes", None)  # which are drawn, and not computed with
    return sha256(json.dumps(data).encode()).hexdigest()[:12]


def to_data(value: Any, known: Iterable[type]) -> Any:
    """A value of known classes, within lists, as JSON takes it."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if type(value) in (tuple, list):
        return [to_data(x, known) for x in value]
    if type(value) not in known:
        raise TypeError(f"{type(value).__name__} is not written")
    return {
        "is": type(value).__name__,
        **{name: to_data(getattr(value, name), known) for name in _arguments(type(value))},
    }


def from_data(data: Any, known: Iterable[type]) -> Any:
    """The value that :func:`to_data` wrote; lists are tuples."""
    if isinstance(data, list):
        return tuple(from_data(x, known) for x in data)
    if not isinstance(data, dict):
        return data
    kind = {x.__name__: x for x in known}.get(data.get("is", ""))
    if kind is None:
        raise InputError(f"{data.get('is')!r} is no class of a robot's data.")
    given = {name: from_data(x, known) for name, x in data.items() if name != "is"}
    if kind is Shape:
        given |= {name: np.array(given[name], dtype=float) for name in ("rotation", "position")}
    return kind(**given)


@lru_cache(maxsize=1)
def _known() -> tuple[type, ...]:
    from appell.robots.closed.loops import Loop
    from appell.robots.closed.mechanism import Mechanism
    from appell.robots.closed.rolling import KnifeEdge, Rolling

    return (*_VALUES, KnifeEdge, Loop, Mechanism, Rolling)


def _arguments(kind: Any) -> tuple[str, ...]:
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind) if field.init)
    named: tuple[str, ...] = kind._fields
    return named
