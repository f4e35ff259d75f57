"""Scenario: what to do, as data. A TOML or JSON file says it; :mod:`appell.study.scenario_build`
makes a robot, a law and a trajectory of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr

from appell.errors import AppellError, InputError
from appell.model.settings_lines import Where, line_numbers
from appell.study.puma_line import PumaLine
from appell.study.scenario_tasks import Task
from appell.study.section import (
    Count,
    Each,
    Flag,
    Limits,
    Many,
    NotNegative,
    Number,
    Positions,
    Positive,
    Section,
    Three,
)

Unit = Annotated[float, Field(strict=True, ge=0, le=1)]


class Payload(Section):
    """A load fixed to a link; a mass of 0 is none."""

    mass: NotNegative = Field(description="kg")
    com: Three = Field(default=(0.0, 0.0, 0.0), description="m, in the link's axes")
    inertia: Three = Field(
        default=(0.0, 0.0, 0.0), description="kg m^2 about com, along the link's axes"
    )
    link: str | None = Field(default=None, description="the tip without a name")


class Rubbing(Section):
    """Friction of the joints: viscous v + coulomb sign(v), and what holds a joint at rest."""

    viscous: Each = 0.0
    coulomb: Each = 0.0
    stiction: Each | None = None
    coulomb_backwards: Each | None = None


class RobotSection(Section):
    """Which robot, and what is changed of it."""

    model: str = Field(
        description="a name that appell list shows, or the path of a .urdf file from here"
    )
    loops: str | None = Field(
        default=None, description="the path of a file that closes the .urdf's loops"
    )
    base: Literal["fixed", "planar", "free"] | None = None
    root: str | None = Field(default=None, description="the link that stands on the base")
    mimic: Flag | None = Field(default=None, description="false: mimicking joints are independent")
    options: dict[str, Any] = Field(
        default={}, description="of the library's function, such as n = 5"
    )
    gravity: Three | None = Field(default=None, description="m/s^2")
    locked: dict[str, Number | tuple[Number, ...]] = Field(
        default={}, description="positions by joint"
    )
    payload: Payload | None = None
    armature: dict[str, NotNegative] = Field(default={}, description="kg m^2 or kg, by joint")
    springs: dict[str, Number | tuple[Number, Number]] = Field(
        default={}, description="by joint: stiffness, N m/rad or N/m, or [stiffness, rest]"
    )
    friction: Flag | Rubbing = Field(
        default=False, description="true: that of the robot's own joints"
    )


class Start(Section):
    """Where the robot begins. Joints that are not named are at the neutral configuration, or in the
    middle of their limits where ``at`` says so."""

    at: Literal["neutral", "middle"] = "neutral"
    q: Positions | None = None
    v: Positions | None = Field(default=None, description="at rest without it")


class Believed(Section):
    """What the law's model has other than the robot: an error of modelling."""

    payload: Payload | None = None
    gravity: Three | None = None
    armature: dict[str, NotNegative] = Field(default={}, description="kg m^2 or kg, by joint")
    scale: Positive = Field(default=1.0, description="factor of all masses and inertias")


class LawSection(Section):
    """The control law, and its gains by their names: ``kp = 100``."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, Each | tuple[tuple[Number, ...], ...] | str]

    name: str = Field(
        default="computed-torque", description="one of appell control laws, or module:name"
    )
    formulation: str | None = None
    believes: Believed = Believed()


class Disturbance(Section):
    """A force on a frame, or on a joint, for a time; under a law from sample to sample."""

    frame: str | None = Field(default=None, description="the tip without a name")
    joint: str | None = None
    force: Three | Number = Field(default=(0.0, 0.0, 0.0), description="N; on a joint, N m or N")
    moment: Three = Field(default=(0.0, 0.0, 0.0), description="N m")
    axes: Literal["base", "local"] = "base"
    start: NotNegative = Field(default=0.0, description="s")
    end: Positive | None = Field(default=None, description="s; to the end of the run without it")


class Sampling(Section):
    """How often the law is called, and how late its torques act."""

    period: Positive = Field(default=0.01, description="s")
    delay: Count = Field(default=0, description="samples")


class Converter(Section):
    """A converter of positions: 2^bits steps from low to high."""

    bits: Annotated[int, Field(strict=True, ge=1, lt=64)]
    low: Number | None = Field(default=None, description="half a turn below zero without it")
    high: Number | None = None


class SensorSection(Section):
    """What the law sees of positions and speeds."""

    encoder: Limits | None = Field(default=None, description="counts per revolution, or per m")
    adc: Converter | None = None
    speeds: Literal["exact", "differences"] = "exact"


class MotorSection(Section):
    """Direct-current motors: see appell.control.Motor."""

    torque_constant: Limits = Field(description="N m/A")
    resistance: Limits = Field(description="ohm")
    voltage: Limits = Field(description="V")
    gear: Limits = 1.0


class ActuatorSection(Section):
    """What the actuators can give."""

    torque_limit: Flag | Limits = Field(default=False, description="true: the joints' own efforts")
    motor: MotorSection | None = None


class WallSection(Section):
    """A surface that the robot's points cannot pass: see appell.walls."""

    kind: Literal["plane", "circle", "ellipse", "sphere", "cylinder", "implicit"]
    normal: tuple[Number, ...] | None = None
    offset: Number | None = None
    radius: Positive | None = None
    semi_axes: tuple[Positive, Positive] | None = None
    centre: tuple[Number, ...] | None = None
    axis: Three | None = None
    inside: Flag | None = None
    function: str | None = Field(
        default=None, description="module:name of f(x, y, z), zero on the wall"
    )
    restitution: Unit | None = None
    mu: NotNegative | None = None
    name: str | None = None


class Contacts(Section):
    """How walls and stops of joints are struck."""

    stops: Flag = Field(default=True, description="whether joints stop at their limits")
    stop_restitution: Unit = Field(default=0.0, description="of the joints' limits")
    restitution: Unit = Field(default=1.0, description="of walls that have none of their own")
    mu: NotNegative = 0.0
    law: Literal["newton", "poisson"] = "newton"
    gap: Positive = Field(default=1e-6, description="m")
    points: tuple[str, ...] | dict[str, tuple[str, Three]] | None = None
    max_impacts: Many = 10_000


class Integrator(Section):
    """How the equations of motion are integrated, and which they are."""

    method: Literal["DOP853", "RK45", "RK23", "RK4", "Radau", "BDF"] = "DOP853"
    rtol: Positive = 3e-13
    atol: Positive = 1e-13
    max_step: Positive | None = Field(default=None, description="s")
    max_steps: Many = 100_000
    singular: Positive = 1e-4
    formulation: str | None = Field(
        default=None, description="such as gibbs_tree; the fastest without it"
    )


class Outputs(Section):
    """What is written, and where."""

    folder: Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")] | None = Field(
        default=None, description="from where the command is run; the scenario's name without it"
    )
    csv: Flag = Field(default=True, description="motion.csv")
    npz: Flag = Field(default=True, description="run.npz, for appell.simulation.load_run")
    report: Flag = Field(default=True, description="report.html")
    period: Positive | None = Field(default=None, description="s between lines of motion.csv")


class Expected(Section):
    """What the run is held to, besides coming to its end; angles in the file's unit."""

    max_error: Positive | None = Field(default=None, description="of any joint, at any time")
    final_error: Positive | None = Field(default=None, description="of any joint, at the end")
    max_torque: Positive | None = Field(default=None, description="N m or N, of any actuator")
    energy_drift: Positive | None = Field(default=None, description="J, both ways; without a law")
    impacts: Count | None = Field(default=None, description="at least so many")
    max_impacts: Count | None = Field(default=None, description="at most so many")


def _named(robot: Any) -> Any:
    return {"model": robot} if isinstance(robot, str) else robot


class Source:
    """Where a scenario was written. It is no part of what the scenario says: all are equal."""

    def __init__(self, file: Path | None = None, text: str = "") -> None:
        self.file, self.text = file, text

    @cached_property
    def lines(self) -> dict[Where, int]:
        """On which line each entry stands."""
        return line_numbers(self.text, toml=self.file is not None and self.file.suffix == ".toml")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Source)

    __hash__ = None  # type: ignore[assignment]

    @property
    def folder(self) -> Path:
        """From where paths in the scenario are meant."""
        return self.file.parent if self.file else Path()

    def place(self, path: Where) -> str:
        """``file:line: law.kp``, of an entry or of the nearest table around it that is there."""
        name = "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in path)[1:]
        around = (path[:n] for n in range(len(path), 0, -1))
        line = next((self.lines[x] for x in around if x in self.lines), None)
        where = "" if self.file is None else f"{self.file}:{line}: " if line else f"{self.file}: "
        return where + name


class Scenario(Section):
    """What to do with which robot. ``angles`` is the unit of every position and speed of joints
    that turn; those that slide are in m. All else is in SI units."""

    title: str = ""
    angles: Literal["radians", "degrees"] = "radians"
    robot: Annotated[
        RobotSection, BeforeValidator(_named, json_schema_input_type=RobotSection | str)
    ]
    start: Start = Start()
    task: Task
    law: LawSection | None = None
    sampling: Sampling = Sampling()
    sensors: SensorSection = SensorSection()
    actuators: ActuatorSection = ActuatorSection()
    disturbances: tuple[Disturbance, ...] = ()
    walls: tuple[WallSection, ...] = ()
    contacts: Contacts = Contacts()
    integrator: Integrator = Integrator()
    outputs: Outputs = Outputs()
    expect: Expected = Expected()

    _source: Source = PrivateAttr(default_factory=Source)

    @property
    def source(self) -> Source:
        """Where it was written."""
        return self._source

    def changed(self, values: Mapping[str, Any]) -> Scenario:
        """The scenario with other values by the path of their keys, checked anew:
        ``scenario.changed({"law.kp": 200, "task.moves.0.duration": 2})``."""
        from appell.study.scenario_file import checked

        data = json.loads(self.text())
        for path, value in values.items():
            *tables, last = path.split(".")
            place: Any = data
            for key in tables:
                place = place[_index(key)] if isinstance(place, list) else place.setdefault(key, {})
            place[_index(last) if isinstance(place, list) else last] = value
        return checked(data, self.source)

    def text(self) -> str:
        """The scenario as JSON, which read_scenario reads."""
        return self.model_dump_json(indent=2, exclude_none=True, by_alias=True)

    @contextmanager
    def at(self, *path: str | int) -> Iterator[None]:
        """Whatever is refused within is told with the place of an entry."""
        try:
            yield
        except Located:
            raise
        except AppellError as problem:
            raise Located(f"{self.source.place(path)}: {problem}") from problem


class Located(InputError):
    """A refusal that says which entry of a scenario it is about."""


def puma_line() -> Scenario:
    """The scenario of Valera et al. 2003, section 4."""
    return Scenario(
        title="The straight line of Valera et al. 2003",
        angles="degrees",
        robot=RobotSection(model="puma560"),
        task=PumaLine(),
    )


def _index(key: str) -> int:
    if not key.isdigit():
        raise InputError(f"'{key}' is no place in an array; expected a whole number from 0 on.")
    return int(key)
