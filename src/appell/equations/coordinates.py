"""Equations of bodies, in the robot's coordinates.

An equation speaks of one joint a body. Where joints mimic others, the bodies'
joints are p = G q + c, so forces are G^T f and matrices G^T M G: this holds for
every quantity whose axes are known, whatever its equation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from appell.equations.instant import at_this_instant
from appell.maths.scalar import Scalar
from appell.model.model import Model

Axes = tuple[int | str, ...]
Equation = Callable[..., Any]
# What the results of single joints say of a robot with compound ones.
Meaning = Callable[..., Any]


def in_coordinates(
    equation: Equation,
    inputs: Sequence[str],
    outputs: Sequence[Axes],
    meaning: Meaning | None = None,
) -> Equation:
    """The same equation taking and giving coordinates instead of the bodies' joints."""

    def reduced(model: Model, *arguments: Any) -> Any:
        states, rest = arguments[: len(inputs)], arguments[len(inputs) :]
        results = in_joints(equation, model, dict(zip(inputs, states, strict=True)), rest)
        if model.mimics or model.reordered:
            if len(outputs) == 1:
                results = _contracted(model, results, outputs[0])
            else:
                pairs = zip(results, outputs, strict=True)
                results = tuple(_contracted(model, x, axes) for x, axes in pairs)
        if model.compounds and meaning:
            return meaning(model, dict(zip(inputs, states, strict=True)), results, *rest)
        return results

    return reduced


def in_joints(
    equation: Equation, model: Model, states: Mapping[str, Any], rest: Sequence[Any] = ()
) -> Any:
    """The equation's results, one entry a body, for states in the robot's coordinates."""
    moving = model.compounds and "q" in states  # speeds alone are the same, seen from anywhere
    seen, arguments = at_this_instant(model, states) if moving else (model, states.values())
    spread = [
        seen.spread(x, shifted=name == "q") for x, name in zip(arguments, states, strict=True)
    ]
    return equation(seen.in_bodies, *spread, *rest)


def paths(model: Model) -> Sequence[Sequence[int]]:
    """Which coordinates the inertia matrix couples: for each, itself and those before it."""
    if model.mimics or model.reordered:
        return [range(i + 1) for i in range(model.nv)]
    return model.ancestors


def _contracted(model: Model, x: Any, axes: Axes) -> Any:
    """G^T applied to every axis that counts joints."""
    if not axes:
        return x
    rows = [_contracted(model, row, axes[1:]) for row in x]
    if axes[0] != "n":
        return rows
    total: list[Any] = [None] * model.nv
    for row, body in zip(rows, model.bodies, strict=True):
        share = _scaled(row, body.ratio)
        so_far = total[body.coordinate]
        total[body.coordinate] = share if so_far is None else _sum(so_far, share)
    return total


def _scaled(x: Any, k: Scalar) -> Any:
    return [_scaled(y, k) for y in x] if isinstance(x, list) else k * x


def _sum(x: Any, y: Any) -> Any:
    return [_sum(a, b) for a, b in zip(x, y, strict=True)] if isinstance(x, list) else x + y
