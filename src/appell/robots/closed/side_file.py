"""Loops in a small file beside a robot's own, in TOML or JSON:

actuated = ["crank"]                # independent = [...] likewise; both may be left out
guess = {crank = 1.0, rocker = 2.0} # coordinates near a closed configuration, others zero

[[loop]]
kind = "revolute"
a = {link = "rocker", position = [0.7, 0, 0]}
b = {link = "coupler", position = [0.8, 0, 0], axis = [0, 0, 1]}

[[rolling]]
wheel = {link = "left_wheel", axis = [0, 1, 0]}
radius = 0.1

[[knife_edge]]
blade = {link = "skate"}
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from appell.errors import AppellError, ModelError, nearest
from appell.model.settings_file import given, json_of, told
from appell.robots.closed.close import close
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.closed.loops import Kind, Loop
from appell.robots.closed.mechanism import Constraint
from appell.robots.closed.places import Place
from appell.robots.closed.rolling import KnifeEdge, Rolling
from appell.robots.robot import Robot

Three = tuple[float, float, float]


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Place(_Entry):
    link: str
    position: Three = (0.0, 0.0, 0.0)
    axis: Three | None = None
    rpy: Three = (0.0, 0.0, 0.0)

    def made(self) -> Place:
        return Place(self.link, self.position, self.axis, self.rpy)


class _Loop(_Entry):
    kind: Kind
    a: _Place
    b: _Place
    length: float | None = None
    name: str = ""

    def made(self) -> Constraint:
        return Loop(self.kind, self.a.made(), self.b.made(), self.length, self.name)


class _Rolling(_Entry):
    wheel: _Place
    radius: float
    height: float = 0.0
    name: str = ""

    def made(self) -> Constraint:
        return Rolling(self.wheel.made(), self.radius, self.height, self.name)


class _KnifeEdge(_Entry):
    blade: _Place
    name: str = ""

    def made(self) -> Constraint:
        return KnifeEdge(self.blade.made(), self.name)


class SideFile(_Entry):
    """What the file holds."""

    loop: tuple[_Loop, ...] = ()
    rolling: tuple[_Rolling, ...] = ()
    knife_edge: tuple[_KnifeEdge, ...] = ()
    independent: tuple[str, ...] | None = None
    actuated: tuple[str, ...] | None = None
    guess: dict[str, float] = {}


def close_by_file(robot: Robot, path: str | os.PathLike[str]) -> ClosedRobot:
    """The robot closed as a side file says."""
    if not isinstance(robot, Robot):
        raise ModelError(
            f"'{robot.name}' has loops of its own; a side file closes robots without: leave it out."
        )
    file = read_side_file(path)
    entries: list[Any] = [*file.loop, *file.rolling, *file.knife_edge]
    if not entries:
        raise ModelError(f"{path}: there is no loop; add [[loop]], [[rolling]] or [[knife_edge]].")
    try:
        return close(
            robot,
            [entry.made() for entry in entries],
            independent=file.independent,
            actuated=file.actuated,
            guess=_guess(robot, file.guess),
        )
    except AppellError as problem:
        raise ModelError(f"{path}: {problem}") from None


def _guess(robot: Robot, given: dict[str, float]) -> Any:
    q = robot.neutral()
    known = {name: robot.model.place(k) for k, name in enumerate(robot.joint_names)}
    for name, value in given.items():
        if name not in known:
            raise ModelError(f"guess names joint '{name}'; '{robot.name}' has {', '.join(known)}.")
        q[known[name]] = value
    return q


def read_side_file(path: str | os.PathLike[str]) -> SideFile:
    """The loops that a file says, checked."""
    file = Path(path)
    text = json_of(file, "the loops", ModelError)
    try:
        return SideFile.model_validate_json(text)
    except ValidationError as problem:
        raise ModelError(f"the loops '{file}' cannot be read:\n{told(problem, _fault)}") from None


def _fault(error: Any) -> str:
    """What is wrong with one entry: its place, the value given, what was expected."""
    where = "".join(f"[{k + 1}]" if isinstance(k, int) else f".{k}" for k in error["loc"])[1:]
    if error["type"] == "extra_forbidden":
        keys = _keys(error["loc"][:-1])
        near = nearest(str(error["loc"][-1]), keys)
        cure = f"did you mean '{near}'?" if near else f"expected {', '.join(keys)}."
        return f"{where}: no such entry; {cure}"
    if error["type"] == "missing":
        return f"{where}: missing."
    return f"{where} = {given(error)}: {error['msg']}."


def _keys(loc: tuple[Any, ...]) -> list[str]:
    kinds: dict[str, type[_Entry]] = {"loop": _Loop, "rolling": _Rolling, "knife_edge": _KnifeEdge}
    if not loc:
        return list(SideFile.model_fields)
    kind = kinds[loc[0]] if len(loc) == 2 else _Place
    return list(kind.model_fields)
