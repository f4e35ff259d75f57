"""Scenario files: what to compute, in JSON or TOML.

    {"start": [0.6, 0.175, 0.25], "end": [0.018, 0.757, 0], "speed": 0.1, "branch": "all"}

Whatever is left out keeps the value of the task in Valera et al. 2003, section 4.
"""

from __future__ import annotations

from math import dist
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from appell.control.kinematics.spherical_wrist import BRANCHES
from appell.errors import InputError, nearest
from appell.model.settings_file import given, json_of, told

Metres = Annotated[float, Field(ge=-1000, le=1000)]
Degrees = Annotated[float, Field(ge=-360, le=360)]


class Scenario(BaseModel):
    """A tool drawn along a straight line, its axes fixed, at constant speed.

    Lengths in m, speed in m/s. ``orientation`` holds the Euler angles ZYZ of the tool's axes in
    degrees. ``branch`` names one configuration of the arm, or asks for all eight.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    robot: str = "puma560"
    start: tuple[Metres, Metres, Metres] = (0.6, 0.175, 0.25)
    end: tuple[Metres, Metres, Metres] = (0.018, 0.757, 0.0)
    orientation: tuple[Degrees, Degrees, Degrees] = (45.0, 60.0, 90.0)
    speed: Annotated[float, Field(ge=1e-6, le=100)] = 0.1
    samples: Annotated[int, Field(ge=11, le=10_000)] = 401
    branch: str = "all"
    output: Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")] = "appell-run"

    @field_validator("branch")
    @classmethod
    def _known_branch(cls, branch: str) -> str:
        if branch != "all" and branch not in BRANCHES:
            raise ValueError(f"expected 'all' or one of {', '.join(BRANCHES)}")
        return branch

    @model_validator(mode="after")
    def _some_length(self) -> Scenario:
        if dist(self.start, self.end) < 1e-6:
            raise ValueError("start and end are the same point; a line needs two")
        return self


def read_scenario(path: str | Path) -> Scenario:
    """The scenario in a .json file or, from Python 3.11 on, a .toml file."""
    file = Path(path)
    text = json_of(file, "the scenario", InputError)
    try:
        return Scenario.model_validate_json(text)
    except ValidationError as problem:
        raise InputError(f"the scenario '{file}' cannot be run:\n{told(problem, _fault)}") from None


def _fault(error: Any) -> str:
    """What is wrong with one entry: its name, the value given, what was expected."""
    keys = list(Scenario.model_fields)
    where = "".join(f"[{k}]" if isinstance(k, int) else str(k) for k in error["loc"])
    if error["type"] == "extra_forbidden":
        near = nearest(where, keys)
        cure = f"did you mean '{near}'?" if near else f"expected {', '.join(keys)}."
        return f"{where}: no such entry; {cure}"
    expected = error["msg"].removeprefix("Value error, ")
    if not where:
        return f"{expected}."
    return f"{where} = {given(error)}: {expected}."
