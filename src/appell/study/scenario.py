"""Scenario: what to do, as data. A TOML or JSON file says it; `appell.study.scenario_build`
makes a robot, a law and a trajectory of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr

from appell.control.laws import LAWS
from appell.errors import AppellError, InputError
from appell.model.settings_lines import Where, line_numbers
from appell.study.own_code import seen_from
from appell.study.puma_line import PumaLine
from appell.study.scenario_tasks import Task
from appell.study.section import (
    Count,
    Each,
    Flag,
    Levels,
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
FILES = ("robot.model", "robot.loops", "task.path")  # entries that are, or may be, paths of files


def is_file(entry: str, name: Any) -> bool:
    """Whether an entry of FILES names a file; a robot may be one of the library."""
    return isinstance(name, str) and (entry != "robot.model" or name.lower().endswith(".urdf"))


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

    viscous: Levels = Field(default=0.0, description="N m s/rad or N s/m; one, or one per joint")
    coulomb: Levels = Field(default=0.0, description="N m or N; one, or one per joint")
    stiction: Levels | None = Field(
        default=None, description="N m or N that hold a joint at rest; coulomb without it"
    )
    coulomb_backwards: Levels | None = Field(
        default=None, description="N m or N, of negative speeds; coulomb without it"
    )


class RobotSection(Section):
    """Which robot, and what is changed of it."""

    model: str = Field(
        description="a name that appell list shows, or the path of a .urdf file from here"
    )
    loops: str | None = Field(
        default=None, description="the path of a file that closes the .urdf's loops"
    )
    base: Literal["fixed", "planar", "free"] | None = Field(
        default=None, description="how a .urdf's base can move; as the robot has it without it"
    )
    root: str | None = Field(default=None, description="the link that stands on the base")
    mimic: Flag | None = Field(default=None, description="false: mimicking joints are independent")
    options: dict[str, Any] = Field(
        default={}, description="of the library's function, such as n = 5"
    )
    gravity: Three | None = Field(default=None, description="m/s^2")
    locked: dict[str, Number | tuple[Number, ...]] = Field(
        default={}, description="positions by joint"
    )
    payload: Payload | None = Field(default=None, description="a load fixed to a link")
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

    at: Literal["neutral", "middle"] = Field(
        default="neutral", description="where joints are that q does not name"
    )
    q: Positions | None = Field(
        default=None, description="positions by joint, or of all coordinates; m for slides"
    )
    v: Positions | None = Field(default=None, description="at rest without it")


class Believed(Section):
    """What the law's model has other than the robot: an error of modelling."""

    payload: Payload | None = Field(default=None, description="the load that the law assumes")
    gravity: Three | None = Field(default=None, description="m/s^2")
    armature: dict[str, NotNegative] = Field(default={}, description="kg m^2 or kg, by joint")
    scale: Positive = Field(
        default=1.0,
        description="factor of the model's masses and inertias; not of armature and payload, "
        "which are as given",
    )


class LawSection(Section):
    """The control law, and its gains by their names: ``kp = 100``."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, Each | tuple[tuple[Number, ...], ...] | str]

    name: str = Field(
        default="computed-torque",
        description="one of appell control laws, or module:name",
        json_schema_extra={"anyOf": [{"enum": [*LAWS]}, {"pattern": "^[A-Z]|:"}]},
    )
    formulation: str | None = Field(
        default=None, description="its equations, such as newton_euler; the fastest without it"
    )
    believes: Believed = Field(
        default=Believed(), description="what its model has other than the robot"
    )


class Disturbance(Section):
    """A force on a frame, or on a joint, for a time. No motor gives it: it is no part of tau."""

    frame: str | None = Field(default=None, description="the tip without a name")
    joint: str | None = Field(default=None, description="in place of a frame")
    force: Three | Number = Field(default=(0.0, 0.0, 0.0), description="N; on a joint, N m or N")
    moment: Three = Field(default=(0.0, 0.0, 0.0), description="N m")
    axes: Literal["base", "local"] = Field(
        default="base", description="of force and moment; local: the frame's own"
    )
    start: NotNegative = Field(default=0.0, description="s")
    end: Positive | None = Field(default=None, description="s; to the end of the run without it")


class Sampling(Section):
    """How often the law is called, and how late its torques act."""

    period: Positive = Field(default=0.01, description="s")
    delay: Count = Field(default=0, description="samples")


class Converter(Section):
    """A converter of positions: 2^bits steps from low to high."""

    bits: Annotated[int, Field(strict=True, ge=1, lt=64, description="of resolution")]
    low: Each | None = Field(
        default=None, description="one, or one per joint; half a turn below zero without it"
    )
    high: Each | None = Field(
        default=None, description="one, or one per joint; half a turn above zero without it"
    )


class SensorSection(Section):
    """What the law sees of positions and speeds."""

    encoder: Limits | None = Field(default=None, description="counts per revolution, or per m")
    adc: Converter | None = Field(default=None, description="a converter of positions")
    speeds: Literal["exact", "differences"] = Field(
        default="exact", description="differences: those of successive positions"
    )


class MotorSection(Section):
    """Direct-current motors: see appell.control.Motor."""

    torque_constant: Limits = Field(description="N m/A")
    resistance: Limits = Field(description="ohm")
    voltage: Limits = Field(description="V")
    gear: Limits = Field(default=1.0, description="turns of the motor per turn of the joint")


class ActuatorSection(Section):
    """What the actuators can give."""

    torque_limit: Flag | Limits = Field(default=False, description="true: the joints' own efforts")
    motor: MotorSection | None = Field(default=None, description="direct-current motors")


class WallSection(Section):
    """A surface that the robot's points cannot pass: see appell.walls."""

    kind: Literal["plane", "circle", "ellipse", "sphere", "cylinder", "implicit"] = Field(
        description="the surface's shape"
    )
    normal: tuple[Number, ...] | None = Field(
        default=None, description="of a plane, towards the free side"
    )
    offset: Number | None = Field(
        default=None, description="m, of a plane from the origin along its normal"
    )
    radius: Positive | None = Field(default=None, description="m")
    semi_axes: tuple[Positive, Positive] | None = Field(
        default=None, description="m, of an ellipse along x and y"
    )
    centre: tuple[Number, ...] | None = Field(default=None, description="m, in the base's axes")
    axis: Three | None = Field(default=None, description="direction of a cylinder's axis")
    inside: Flag | None = Field(default=None, description="whether the robot is inside of it")
    function: str | None = Field(
        default=None, description="module:name of f(x, y, z), zero on the wall"
    )
    restitution: Unit | None = Field(default=None, description="contacts.restitution without it")
    mu: NotNegative | None = Field(
        default=None, description="coefficient of friction; contacts.mu without it"
    )
    name: str | None = Field(default=None, description="in reports")


class Contacts(Section):
    """How walls and stops of joints are struck."""

    stops: Flag = Field(default=True, description="whether joints stop at their limits")
    stop_restitution: Unit = Field(default=0.0, description="of the joints' limits")
    restitution: Unit = Field(default=1.0, description="of walls that have none of their own")
    mu: NotNegative = Field(
        default=0.0, description="friction of walls that have none of their own"
    )
    law: Literal["newton", "poisson"] = Field(
        default="newton", description="what restitution is a ratio of: speeds, or impulses"
    )
    gap: Positive = Field(default=1e-6, description="m")
    points: tuple[str, ...] | dict[str, tuple[str, Three]] | None = Field(
        default=None,
        description="what can strike walls: links, or name = [link, [x, y, z]]; else all links",
    )
    max_impacts: Many = Field(default=10_000, description="after so many the run ends")


class Integrator(Section):
    """How the equations of motion are integrated, and which they are."""

    method: Literal["DOP853", "RK45", "RK23", "RK4", "Radau", "BDF"] = Field(
        default="DOP853", description="Radau and BDF suit stiff equations; RK4 has fixed steps"
    )
    rtol: Positive = Field(default=3e-13, description="relative error of a step")
    atol: Positive = Field(default=1e-13, description="absolute error of a step")
    max_step: Positive | None = Field(default=None, description="s")
    max_steps: Many = Field(default=100_000, description="after so many the run ends")
    singular: Positive = Field(
        default=1e-4, description="how near loops may come to a singularity before the run ends"
    )
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
    animation: Flag = Field(
        default=False, description="animation.html, the moving robot, shown in the report"
    )
    period: Positive | None = Field(default=None, description="s between lines of motion.csv")


class Expected(Section):
    """What the run is held to, besides coming to its end; angles in the file's unit."""

    max_error: Positive | dict[str, Positive] | None = Field(
        default=None, description="of any joint, or by joint, at any time; m for slides"
    )
    final_error: Positive | dict[str, Positive] | None = Field(
        default=None, description="of any joint, or by joint, at the end; m for slides"
    )
    max_torque: Positive | None = Field(default=None, description="N m or N, of any actuator")
    energy_drift: Positive | None = Field(default=None, description="J, both ways; without a law")
    impacts: Count | None = Field(default=None, description="at least so many")
    max_impacts: Count | None = Field(default=None, description="at most so many")


def _named(robot: Any) -> Any:
    return {"model": robot} if isinstance(robot, str) else robot


class Source:
    """Where a scenario was written: a file, or the table of a file at ``inside``; ``named``:
    whether messages name them. It is no part of what the scenario says: all are equal."""

    def __init__(
        self, file: Path | None = None, text: str = "", inside: Where = (), named: bool = True
    ) -> None:
        self.file, self.text, self.inside, self.named = file, text, inside, named

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
        path = (*(self.inside if self.named else ()), *path)
        name = "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in path)[1:]
        if not self.named:
            return name
        around = (path[:n] for n in range(len(path), 0, -1))
        line = next((self.lines[x] for x in around if x in self.lines), None)
        where = "" if self.file is None else f"{self.file}:{line}: " if line else f"{self.file}: "
        return where + name


class Scenario(Section):
    """What to do with which robot: a scenario file as data. The page on scenarios tells every
    entry.

    Attributes:
        title: Of reports.
        angles: The unit of every position and velocity of joints that turn: "radians" or "degrees";
            those that slide are in m. All else is in SI units.
        robot: A name or a path, or a section with options.
        start: Where it begins.
        task: What it does, by its ``kind``.
        law: The controller and its gains.
        sampling: Period and delay of the controller.
        sensors: Encoders, converters.
        actuators: Limits of torque, motors.
        disturbances: Forces and loads that the controller does not know.
        walls: What it can strike.
        contacts: How it strikes them.
        integrator: How its motion is computed.
        outputs: What is written.
        expect: What the run is held to.
    """

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
        """The scenario with other values, checked anew.

        Args:
            values: By the path of their keys, such as ``{"law.kp": 200, "task.moves.0.duration":
                2}``, in the units that the file has.

        Returns:
            A `Scenario`.

        Examples:
            >>> task = {"kind": "fall", "until": 0.5}
            >>> fall = appell.study.Scenario(robot="planar_chain", task=task)
            >>> fall.changed({"task.until": 0.2}).task.until
            0.2
        """
        from appell.study.scenario_file import checked

        data = json.loads(self.text())
        for path, value in values.items():
            *tables, last = path.split(".")
            place: Any = data
            for key in tables:
                place = _inside(place, key, path)
            _inside(place, last, path, value)
            place[int(last) if isinstance(place, list) else last] = value
        return checked(data, self.source)

    def text(self) -> str:
        """The scenario as JSON.

        Returns:
            A text that `read_scenario` reads.

        Examples:
            >>> task = {"kind": "fall", "until": 0.5}
            >>> fall = appell.study.Scenario(robot="planar_chain", task=task)
            >>> "planar_chain" in fall.text()
            True
        """
        return self.model_dump_json(indent=2, exclude_none=True, by_alias=True)

    def text_in(self, folder: str | Path) -> str:
        """The scenario as JSON for a file in another folder: paths are meant from there.

        Args:
            folder: Of that file.

        Returns:
            A text that `read_scenario` reads.

        Examples:
            >>> task = {"kind": "fall", "until": 0.5}
            >>> fall = appell.study.Scenario(robot="my_arm.urdf", task=task)
            >>> "../my_arm.urdf" in fall.text_in("fall-run")
            True
        """
        data = json.loads(self.text())
        for table, key in coded(data):
            table[key] = seen_from(table[key], self.source.folder, Path(folder))
        for section, _, key in (path.partition(".") for path in FILES):
            name = data[section].get(key)
            if not is_file(f"{section}.{key}", name):
                continue
            file = (self.source.folder / Path(name).expanduser()).absolute()
            try:
                data[section][key] = Path(os.path.relpath(file, Path(folder).absolute())).as_posix()
            except ValueError:  # on another drive
                data[section][key] = str(file)
        return json.dumps(data, indent=2)

    @contextmanager
    def at(self, *path: str | int, about: str = "") -> Iterator[None]:
        """Whatever is refused within is told with the place of an entry.

        Args:
            *path: The keys that lead to the entry.
            about: A part of the words of refusals that are; all are without it.

        Returns:
            A context.
        """
        try:
            yield
        except Located:
            raise
        except AppellError as problem:
            if about not in str(problem):
                raise
            raise Located(f"{self.source.place(path)}: {problem}") from problem


class Located(InputError):
    """A refusal that says which entry of a scenario it is about."""


def puma_line() -> Scenario:
    """The scenario of Valera et al. 2003, section 4, which `appell run` takes without a file.

    Returns:
        A `Scenario`.

    Examples:
        >>> appell.study.puma_line().task.kind
        'puma_line'
    """
    return Scenario(
        title="The straight line of Valera et al. 2003",
        angles="degrees",
        robot=RobotSection(model="puma560"),
        task=PumaLine(),
    )


def coded(data: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Tables of a scenario with their entries that are module:name."""
    entries = [(data.get("law") or {}, "name"), (data["task"], "torque")]
    entries += [(wall, "function") for wall in data.get("walls", ())]
    return [(x, key) for x, key in entries if isinstance(x.get(key), str) and ":" in x[key]]


def _inside(place: Any, key: str, path: str, otherwise: Any = None) -> Any:
    """What stands under a key; a table that is not there yet begins empty."""
    if isinstance(place, dict):
        return place.setdefault(key, {} if otherwise is None else otherwise)
    if not isinstance(place, list):
        table = path.split(f".{key}")[0]
        cure = f"give the scenario an array there, or change '{table}'" if key.isdigit() else (
            "expected a table"
        )  # fmt: skip
        raise InputError(f"{path}: '{table}' is {place!r}, and has no part '{key}'; {cure}.")
    if not key.isdigit() or int(key) >= len(place):
        numbers = f"0 to {len(place) - 1}" if len(place) > 1 else "0"
        raise InputError(
            f"{path}: the scenario has an array of {len(place)} there, and '{key}' is not in it; "
            f"expected a number from {numbers}, or names in the scenario."
        )
    return place[int(key)]
