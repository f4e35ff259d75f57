"""The papers' task: the tool of a PUMA along a straight line, at constant speed."""

from __future__ import annotations

from math import dist
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from appell.control.kinematics.spherical_wrist import BRANCHES
from appell.study.section import Section

Metres = Annotated[float, Field(strict=True, ge=-1000, le=1000)]
Degrees = Annotated[float, Field(strict=True, ge=-360, le=360)]


class PumaLine(Section):
    """The tool of an arm built like the PUMA is drawn along a straight line, its axes fixed, at
    constant speed; the torques are those of inverse dynamics. Whatever is left out keeps the value
    of the task in Valera et al. 2003, section 4."""

    kind: Literal["puma_line"] = "puma_line"
    start: tuple[Metres, Metres, Metres] = Field(default=(0.6, 0.175, 0.25), description="m")
    end: tuple[Metres, Metres, Metres] = Field(default=(0.018, 0.757, 0.0), description="m")
    orientation: tuple[Degrees, Degrees, Degrees] = Field(
        default=(45.0, 60.0, 90.0),
        description="Euler angles ZYZ of the tool's axes, always in degrees",
    )
    speed: Annotated[float, Field(strict=True, ge=1e-6, le=100, description="m/s")] = 0.1
    samples: Annotated[int, Field(strict=True, ge=11, le=10_000, description="along it")] = 401
    branch: str = Field(
        default="all",
        description="one configuration of the arm, or all eight",
        json_schema_extra={"enum": ["all", *BRANCHES]},
    )

    @field_validator("branch")
    @classmethod
    def _known_branch(cls, branch: str) -> str:
        if branch != "all" and branch not in BRANCHES:
            raise ValueError(f"expected 'all' or one of {', '.join(BRANCHES)}")
        return branch

    @model_validator(mode="after")
    def _some_length(self) -> PumaLine:
        if dist(self.start, self.end) < 1e-6:
            raise ValueError("two points; start and end are the same point")
        return self
