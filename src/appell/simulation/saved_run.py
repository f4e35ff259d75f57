"""A run in a file: the motion, the robot that moved, its walls, and what was found on the way."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import InputError, quoted, reading
from appell.model.place import Place
from appell.robots.dynamics import Array, Dynamics
from appell.robots.robot_data import (
    from_data,
    model_hash,
    robot_from_data,
    robot_to_data,
    to_data,
)
from appell.simulation.contacts.impact import impact_from_json, impact_to_json
from appell.simulation.contacts.sampled_wall import SHAPES, drawn_walls
from appell.simulation.exceeded import exceeded_from_json
from appell.simulation.path import Piece
from appell.simulation.run import Run
from appell.simulation.run_file import load_arrays, save_arrays

_FORMAT = 2


def save_run(run: Run, path: str | os.PathLike[str]) -> Path:
    """Write a run to an .npz file, and give its path."""
    robot = run.robot
    facts = {
        "format": _FORMAT,
        "impacts": [impact_to_json(x) for x in run.impacts],
        "contacts": run.contacts,
        "residuals": dict(run.residuals),
        "stopped": run.stopped,
        "exceeded": run.exceeded,
        "formulation": run.formulation,
        "kinds": robot.joint_kinds if robot else run.kinds,
        "robot": robot.name if robot else run.robot_name,
        "robot_data": robot_to_data(robot) if robot else None,
        "robot_hash": model_hash(robot.model) if robot else "",
        "walls": [to_data(wall, SHAPES) for wall in drawn_walls(run)],
        "places": {name: to_data(place, (Place,)) for name, place in run.places.items()},
        "names": robot.joint_names if robot else run.names,
        "quaternions": run.quaternions,
        "independent": run.independent,
        "choices": list(run.choices),
    }
    speeds = run.v if run.speeds is None else run.speeds
    width = run.q.shape[1] + speeds.shape[1]
    arrays = {
        name: getattr(run, name)
        for name in (*_SHAPES, *_OPTIONAL)
        if getattr(run, name, None) is not None
    }
    arrays |= {
        "times": np.array([(p.start, p.full, p.end) for p in run.pieces]).reshape(-1, 3),
        "nodes": np.array([p.y for p in run.pieces]).reshape(-1, 8, width),
        "facts": np.array(json.dumps(facts)),
    }
    return save_arrays(path, arrays)


def load_run(path: str | os.PathLike[str]) -> Run:
    """A run that `Run.save` wrote, with its robot and its walls. Files that are damaged, or unpack
    to far more than their size, are refused.

    Args:
        path: Of the .npz file.

    Returns:
        A `Run`; without the robot where that holds functions of your own.

    Examples:
        >>> run = appell.simulate(appell.load("two_link"), [0.3, 0.2], until=0.1)
        >>> float(appell.simulation.load_run(run.save(tmp / "run.npz")).t[-1])
        0.1
    """
    with reading(path, _EXPECTED):
        data = load_arrays(path, (*_SHAPES, "facts"), _EXPECTED, _OPTIONAL)
    try:
        facts = json.loads(str(data.pop("facts").astype(str).reshape(())))
        independent = facts.get("independent")  # older files have none, and no choices
        _refuse_shapes(data, len(facts["contacts"]), independent)
        times, nodes = data.pop("times"), data.pop("nodes")
        nq, nv = (data[x].shape[1] for x in ("q", "speeds" if "speeds" in data else "v"))
        turns = tuple(map(int, facts.get("quaternions", [3] * (nq - nv))))  # older ones: a base's
        if len(turns) != nq - nv or not all(0 <= k <= nq - 4 for k in turns):
            raise ValueError(f"quaternions at {turns} of {nq} coordinates and {nv} speeds")
        return Run(
            **data,
            impacts=[impact_from_json(x) for x in facts["impacts"]],
            contacts=tuple((str(point), str(wall)) for point, wall in facts["contacts"]),
            residuals={str(name): float(x) for name, x in facts["residuals"].items()},
            stopped=None if facts["stopped"] is None else str(facts["stopped"]),
            formulation=facts.get("formulation"),  # older files have none
            kinds=tuple(str(kind) for kind in facts.get("kinds", ())),
            names=tuple(str(name) for name in facts.get("names", ())),
            quaternions=turns,
            robot_name=str(facts.get("robot", "")),  # older files have none, nor what follows
            robot=_robot(facts, nq),
            walls=tuple(from_data(x, SHAPES) for x in facts.get("walls", ())),
            places={
                str(name): from_data(x, (Place,)) for name, x in facts.get("places", {}).items()
            },
            independent=None if independent is None else tuple(map(int, independent)),
            choices=[(float(t), tuple(map(str, x))) for t, x in facts.get("choices", ())],
            kept=tuple(exceeded_from_json(x) for x in facts.get("exceeded", ())),
            pieces=[
                Piece(start, full, y, end)
                for (start, full, end), y in zip(times, nodes, strict=True)
            ],
        )
    except Exception as problem:  # there is no end of what may be wrong with a file
        raise InputError(
            f"{path}: not a run ({quoted(str(problem))}); expected {_EXPECTED}."
        ) from None


_EXPECTED = "a file that run.save wrote"
_SHAPES = {
    "t": "N", "q": "N nq", "v": "N nv", "tau": "N actuators", "kinetic": "N", "potential": "N",
    "reactions": "N contacts", "times": "pieces 3", "nodes": "pieces 8 ny",
}  # fmt: skip
_OPTIONAL = {
    "speeds": "N joints", "opening": "N", "desired": "N nq", "desired_v": "N nv",
    "desired_a": "N nv", "commanded": "N actuators", "measured": "N nq", "state": "N nstate",
    "voltage": "N actuators",
}  # fmt: skip
_MAY_DIVERGE = ("tau", "commanded", "state", "voltage")  # what a law gave, before it was stopped


def _refuse_shapes(data: Mapping[str, Array], contacts: int, independent: Any) -> None:
    """Arrays that do not go together, and times that fall."""
    sizes = {"3": 3, "8": 8, "contacts": contacts}
    for name, x in data.items():
        letters = ({**_SHAPES, **_OPTIONAL}[name]).split()
        if x.dtype != np.float64 or x.ndim != len(letters):
            raise ValueError(f"{name} is {x.dtype} of shape {x.shape}; expected float64, {letters}")
        for letter, size in zip(letters, x.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"{name} has {size} for {letter}, and others {sizes[letter]}")
        if name not in _MAY_DIVERGE and not np.isfinite(x).all():
            raise ValueError(f"{name} holds what is not finite")
    joints = sizes.get("joints", sizes["nv"])
    if sizes["ny"] != sizes["nq"] + joints or not sizes["N"]:
        raise ValueError(f"{sizes['N']} instants, and pieces of {sizes['ny']} coordinates")
    if independent is None:
        if "speeds" in data or sizes["actuators"] != sizes["nv"]:
            raise ValueError("torques or speeds of a closed robot, without its independent joints")
    elif len(independent) != sizes["nv"] or not set(independent) <= set(range(joints)):
        raise ValueError(f"independent is {independent}, of {joints} joints")
    start, full, end = data["times"].T
    if not ((start < full) & (start <= end) & (end <= full)).all():
        raise ValueError("a piece ends before it begins")
    for name, times in (("t", data["t"]), ("times", data["times"][:, 0])):
        if (np.diff(times) < 0).any():
            raise ValueError(f"{name} falls")


def _robot(facts: Mapping[str, Any], nq: int) -> Dynamics | None:
    """The robot that a file holds, if it does, and it is the one that moved."""
    if facts.get("robot_data") is None:
        return None
    robot: Dynamics = robot_from_data(facts["robot_data"])
    if robot.nq != nq or model_hash(robot.model) != facts["robot_hash"]:
        raise ValueError(f"its robot '{robot.name}' is not the one that moved")
    return robot
