"""A study of a scenario, as a commented file that runs as it stands."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from appell.study.scenario import Rubbing, Scenario
from appell.study.scenario_build import Built, build
from appell.study.scenario_tasks import FollowedTask
from appell.study.sweeps.measures import MEASURES, Chosen, chosen, unit_for
from appell.study.sweeps.study_file import Study

SCHEMA = "study.schema.json"  # beside the file, for editors


def study_schema() -> str:
    """JSON Schema of study files."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema |= Study.model_json_schema(by_alias=True)
    return json.dumps(schema, indent=2) + "\n"


def new_study(scenario: Scenario, path: Path, file: Path) -> str:
    """The text of a study of a scenario at ``path``, as seen from the ``file`` to be written."""
    built = build(scenario)
    lines = [*_varied(built)]
    follows = isinstance(scenario.task, FollowedTask)
    kept = [*_kept(chosen((), scenario), built)]
    named = {x.partition(".")[0] for x in kept}
    other = [x for x, m in MEASURES.items() if x not in named and (follows or not m.follows)]
    seen = Path(os.path.relpath(str(path), str(file.parent or "."))).as_posix()
    return f"""#:schema ./{SCHEMA}
# A study: the scenario at many points. appell sweep {file.name}
title = {json.dumps(f"{scenario.title or built.robot.name}: what if?")}
scenario = {json.dumps(seen)}

sampling = "sobol"      # or latin_hypercube, random, grid, list; saltelli gives Sobol indices
points = 256
seed = 1

# What is kept of each point; also {", ".join(other)}.
# Behind a dot, one joint's: "peak_torque.{(built.robot.actuated or built.robot.joint_names)[0]}".
measures = {json.dumps(kept)}{_tolerance(follows)}

# What varies: a field of the scenario by its path, and how. Also log_uniform = [from, to],
# normal = [mean, deviation], triangular = [from, most likely, to], values = ["a", "b"], ...
# Values are in the scenario's units: its angles in {scenario.angles}; measures are in rad and m.
[vary]
{chr(10).join(lines)}
"""


def _kept(usual: Sequence[Chosen], built: Built) -> Iterator[str]:
    """The names of the usual measures; of a robot whose joints turn and slide, by joint, as the
    largest of both has no unit."""
    robot = built.robot
    joints = {"n": robot.independent, "d": robot.actuated}
    for x in usual:
        assert x.measure is not None
        mixed = " or " in unit_for(robot, x.measure.unit)
        if mixed and x.measure.axis in joints:
            yield from (f"{x.name}.{joint}" for joint in joints[x.measure.axis])
        else:
            yield x.name


def _tolerance(follows: bool) -> str:
    """The line that says from which error on a run has settled, where there are errors."""
    usual = Study.model_fields["tolerance"].default
    return f"\ntolerance = {usual:g}       # rad or m, of settling_time and success" * follows


def _varied(built: Built) -> Iterator[str]:
    """Lines of what may vary in a scenario."""
    scenario, robot, law = built.scenario, built.robot, built.law
    believes = scenario.law.believes if scenario.law is not None else None
    if believes is not None and believes.payload is not None:
        mass = (scenario.robot.payload.mass if scenario.robot.payload else 0.0) or 1.0
        yield _line("robot.payload.mass", 0.0, 2 * mass, "kg, unknown to the law")
    if isinstance(scenario.robot.friction, Rubbing):
        for name in ("viscous", "coulomb"):
            own = getattr(scenario.robot.friction, name)
            if isinstance(own, float) and own > 0:
                yield _line(f"robot.friction.{name}", 0.0, 2 * own, "")
    if law is not None and scenario.law is not None:
        for name, gain in law._values.items():
            own = gain if gain.ndim == 1 else np.zeros(0)
            if own.size and (own == own[0]).all() and own[0] > 0:
                x = float(own[0])
                yield _line(f"law.{name}", 0.5 * x, 2 * x, "the same for all joints")
    if law is None:
        for joint in robot.independent[:2]:
            unit = "degrees/s or m/s" if scenario.angles == "degrees" else "rad/s or m/s"
            size = 10.0 if scenario.angles == "degrees" else 0.2
            yield _line(f"start.v.{joint}", -size, size, unit)


def _line(path: str, low: float, high: float, note: str) -> str:
    entry = f'"{path}" = {{ uniform = [{_number(low)}, {_number(high)}] }}'
    return f"{entry}  # {note}" if note else entry


def _number(x: Any) -> str:
    text = f"{x:.6g}"
    return text if any(c in text for c in ".e") else f"{text}.0"
