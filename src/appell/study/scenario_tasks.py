"""What a scenario asks of its robot: each kind of task with its own keys."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from appell.control.kinematics.spherical_wrist import BRANCHES
from appell.study.puma_line import PumaLine
from appell.study.section import Flag, Limits, Number, Positions, Positive, Section, Three


class FallTask(Section):
    """The robot moves by itself: no motor gives a torque."""

    kind: Literal["fall"]
    until: Positive = Field(description="s")


class TorqueTask(Section):
    """The motors give these torques throughout: by actuated joint, of all, or a function of
    (t, q, v), as module:name."""

    kind: Literal["torque"]
    until: Positive = Field(description="s")
    torque: dict[str, Number] | tuple[Number, ...] | str = Field(description="N m, or N")


class FollowedTask(Section):
    """What a law of control is to follow; after its end the last position is held."""

    until: Positive | None = Field(default=None, description="s; the task's own end without it")


class HoldTask(FollowedTask):
    """The law holds a position: where the robot starts, or another."""

    kind: Literal["hold"]
    until: Positive = Field(description="s")
    at: Positions | None = Field(
        default=None, description="by joint, or of all; where the robot starts without it"
    )


class JointMove(Section):
    """From where the robot is to another position; joints that are not named stay."""

    to: Positions = Field(description="by joint, or of all")
    profile: Literal["quintic", "cubic", "septic", "ramp", "trapezoidal", "jerk_limited"] = Field(
        default="quintic",
        description="how positions follow time: a polynomial of a duration, or within limits",
    )
    duration: Positive | None = Field(default=None, description="s")
    speed: Limits | None = Field(
        default=None, description="rad/s or m/s, of ramp, trapezoidal, jerk"
    )
    acceleration: Limits | None = Field(default=None, description="rad/s^2 or m/s^2")
    jerk: Limits | None = Field(default=None, description="rad/s^3 or m/s^3")


class MovesTask(FollowedTask):
    """Moves of the joints, one after another, with rests between them."""

    kind: Literal["moves"]
    moves: Annotated[tuple[JointMove, ...], Field(min_length=1)] = Field(
        description="one after another"
    )


class ViaTask(FollowedTask):
    """Through positions, by a cubic spline or as fast as the motors can."""

    kind: Literal["via"]
    points: Annotated[tuple[Positions, ...], Field(min_length=1)] = Field(
        description="after the start; joints that are not named keep the position before"
    )
    times: tuple[Positive, ...] | None = Field(default=None, description="s, one per point")
    timing: Literal["spline", "time_optimal"] = Field(
        default="spline", description="a cubic spline at given times, or as fast as limits allow"
    )
    ends: Literal["clamped", "natural", "not-a-knot", "periodic"] | None = Field(
        default=None, description="of the spline; clamped is from rest to rest"
    )
    torque: Limits | None = Field(default=None, description="N m or N; the robot's own without it")
    speed: Limits | None = Field(
        default=None, description="rad/s or m/s; the robot's own without it"
    )
    acceleration: Limits | None = Field(
        default=None, description="rad/s^2 or m/s^2; none without it"
    )

    @model_validator(mode="after")
    def _times(self) -> ViaTask:
        if (self.times is None) is (self.timing == "spline"):
            raise ValueError(
                "expected times, one per point, with timing = 'spline', and none with "
                "'time_optimal'"
            )
        if self.times is not None and len(self.times) != len(self.points):
            raise ValueError(f"as many times ({len(self.times)}) as points ({len(self.points)})")
        limits = (self.torque, self.speed, self.acceleration)
        if self.timing == "spline" and limits != (None,) * 3:
            raise ValueError("no torque, speed or acceleration without timing = 'time_optimal'")
        return self


class FramePath(FollowedTask):
    """A path of a frame, or of a point fixed to it. It begins where the start has it, or ``from`` a
    position."""

    frame: str | None = Field(default=None, description="the tip without a name")
    point: Three | None = Field(default=None, description="m, in the frame's axes; its origin")
    from_: Three | None = Field(default=None, alias="from", description="m, in the base's axes")
    duration: Positive = Field(description="s, from rest to rest")
    orientation: Literal["fixed", "free"] = Field(
        default="fixed",
        description="whether the frame's axes stay as they are; free: only its origin",
    )
    branch: str = Field(
        default="nearest",
        description="which way an arm with a spherical wrist reaches it; nearest to the start",
        json_schema_extra={"enum": ["nearest", *BRANCHES]},
    )
    tolerance: Positive | None = Field(default=None, description="m and rad")


class LineTask(FramePath):
    """A frame's origin moves along a straight line."""

    kind: Literal["line"]
    to: Three | None = Field(default=None, description="m, in the base's axes")
    by: Three | None = Field(default=None, description="m from the beginning, in the base's axes")

    @model_validator(mode="after")
    def _one_end(self) -> LineTask:
        if (self.to is None) == (self.by is None):
            raise ValueError("expected either to, where the line ends, or by, how far it goes")
        return self


class CircleTask(FramePath):
    """A frame's origin moves about an axis."""

    kind: Literal["circle"]
    centre: Three = Field(description="m, in the base's axes")
    normal: Three = Field(
        default=(0.0, 0.0, 1.0), description="of the circle's plane, in the base's axes"
    )
    angle: Number | None = Field(default=None, description="a whole turn without it")
    turning: Flag = Field(
        default=False, description="whether the frame's axes turn with the circle"
    )


class FileTask(FollowedTask):
    """A motion of a CSV or npz file, as ``appell control follow`` reads it."""

    kind: Literal["file"]
    path: str = Field(description="of a .csv or .npz file, from here")
    speed: Positive = Field(default=1.0, description="so many times as fast")


Task = Annotated[
    FallTask
    | TorqueTask
    | HoldTask
    | MovesTask
    | ViaTask
    | LineTask
    | CircleTask
    | FileTask
    | PumaLine,
    Field(discriminator="kind"),
]
