"""Run a scenario: what came of it, and whether it is what was expected."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from appell.control import track
from appell.errors import AppellError, InputError
from appell.model.settings_file import plain
from appell.model.settings_lines import Where
from appell.robots.dynamics import Dynamics
from appell.simulation import Run, simulate
from appell.simulation.path import IntegratorStep, quintics
from appell.study.puma_line import PumaLine
from appell.study.run_motion import motion_csv, motor_torques
from appell.study.scenario import Contacts, Integrator, Scenario, SensorSection, puma_line
from appell.study.scenario_build import Built, build
from appell.study.scenario_verdict import Verdict, verdict_of
from appell.study.straight_line import StraightLine, computed


@dataclass(frozen=True, eq=False)
class Result:
    """A scenario, and what came of it. ``line`` is the papers' study, where the task is that."""

    scenario: Scenario
    robot: Dynamics
    run: Run
    warnings: tuple[str, ...]
    seconds: float  # that it took
    built: Built
    line: StraightLine | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the run came to its end and did what the scenario expects, and in words."""
        duration = getattr(self.built.trajectory, "duration", None)
        return verdict_of(self.scenario, self.run, duration)

    @property
    def interrupted(self) -> bool:
        """Whether the keyboard ended the run."""
        return (self.run.stopped or "").startswith("interrupted")

    def summary(self) -> dict[str, Any]:
        """What summary.json holds.

        Returns:
            Its entries, in SI units.
        """
        run, verdict = self.run, self.verdict
        errors = {} if run.desired is None else _errors(run)
        return {
            "title": self.scenario.title,
            "robot": self.robot.name,
            "task": self.scenario.task.kind,
            "ok": verdict.ok,
            "verdict": verdict.text,
            "checks": [check._asdict() for check in verdict.checks],
            "stopped": run.stopped,
            "end": float(run.t[-1]),
            "errors": errors,
            "largest_torques": dict(
                zip(self.robot.actuated, np.abs(run.tau).max(axis=0).tolist(), strict=False)
            ),
            "impacts": len(run.impacts),
            "warnings": list(self.warnings),
            "seconds": self.seconds,
        }

    def contents(self, folder: str | Path = "") -> dict[Path, str]:
        """The texts of the files that a run leaves, without the report.

        Args:
            folder: Where they are to lie; the working folder without it.

        Returns:
            The texts by the names of their files.
        """
        texts = {
            Path("scenario.json"): self.scenario.text_in(folder) + "\n",
            Path("summary.json"): json.dumps(plain(self.summary()), indent=2) + "\n",
        }
        if self.scenario.outputs.csv:
            texts[Path("motion.csv")] = motion_csv(self.built, self.run)
        return texts

    def save(self, folder: str | Path) -> Path:
        """Write run.npz, motion.csv, summary.json and scenario.json.

        Args:
            folder: Where to; it is made if it is not there.

        Returns:
            The folder.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        for name, text in self.contents(target).items():
            (target / name).write_text(text)
        if self.scenario.outputs.npz:
            self.run.save(target / "run.npz")
        return target


def run(
    scenario: Scenario | None = None, *, progress: bool = False, robot: Dynamics | None = None
) -> Result:
    """The result of a scenario; without one, of the straight line of Valera et al. 2003.

    A run that is interrupted from the keyboard keeps its data. Warnings that are given on the way
    are those of the result.

    Args:
        scenario: What to do.
        progress: Whether to show a bar.
        robot: The scenario's, where it has been made before.

    Returns:
        A `Result`.

    Examples:
        >>> task = {"kind": "fall", "until": 0.5}
        >>> fall = appell.study.Scenario(robot="planar_chain", task=task)
        >>> result = appell.study.run(fall.changed({"task.until": 0.2}))
        >>> round(float(result.run.t[-1]), 6), result.interrupted
        (0.2, False)
        >>> sorted(file.name for file in result.save(tmp / "fall").iterdir())
        ['motion.csv', 'run.npz', 'scenario.json', 'summary.json']
    """
    scenario = scenario or puma_line()
    begin = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        built = build(scenario, robot)
        motion, line = _moved(built, progress)
    told = tuple(dict.fromkeys(str(w.message) for w in caught))
    told += motion.warnings if line is None else ()
    seconds = perf_counter() - begin
    return Result(scenario, built.robot, motion, told, seconds, built, line)


def _moved(built: Built, progress: bool) -> tuple[Run, StraightLine | None]:
    scenario, robot = built.scenario, built.robot
    if isinstance(scenario.task, PumaLine):
        with scenario.at("task"):
            line = computed(scenario, robot, built.options["formulation"])  # type: ignore[arg-type]
        return _of_line(line), line
    with scenario.at("task"), _relocated(scenario):
        if built.law is None:
            run = simulate(robot, progress=progress, **built.options)
            if built.options["torque"] is built.motors:
                return run, None
            # simulate moves the joints by the sum; the motors give only their part of it.
            tau = motor_torques(built, run.t, run.q, run.v, run.tau.shape[1])
            return replace(run, tau=tau), None
        return track(robot, built.law, built.trajectory, progress=progress, **built.options), None


# Of which entry a message of simulate or track is, by the words that it has.
_ABOUT: dict[str, Where] = {
    **{rf"^{x} ": ("integrator", x) for x in Integrator.model_fields},
    " has no formulation ": ("integrator", "formulation"),
    **{rf"^{x} ": ("contacts", x) for x in Contacts.model_fields},
    " has no frame ": ("contacts", "points"),
    "^(period|delay) ": ("sampling",),
    "^until .* samples": ("sampling", "period"),
    **{rf"^{x} ": ("sensors", x) for x in SensorSection.model_fields},
    "^torque_limit ": ("actuators", "torque_limit"),
    "^Motor: ": ("actuators", "motor"),
    "^Friction: ": ("robot", "friction"),
    " starts .*limit": ("start",),
}
_IN_A_FILE = {"pass stops=False": "set [contacts] stops = false", "change q0": "change [start] q"}


@contextmanager
def _relocated(scenario: Scenario) -> Iterator[None]:
    """A message of simulate or track has the place of the entry that it is about."""
    try:
        yield
    except AppellError as problem:
        words = str(problem).removeprefix("simulate: ").removeprefix("track: ")
        for about, place in _ABOUT.items():
            if re.search(about, words):
                for python, file in _IN_A_FILE.items():
                    words = words.replace(python, file)
                with scenario.at(*place):
                    raise InputError(words.removeprefix(f"{place[-1]} = ")) from problem
        raise


def _of_line(line: StraightLine) -> Run:
    """The motion that the study shows, as a run along what is desired."""
    shown, t, robot = line.shown, line.path.t, line.robot
    y, dy = np.hstack([shown.q, shown.v]), np.hstack([shown.v, shown.a])
    ends = zip(t[:-1], t[1:], y[:-1], y[1:], dy[:-1], dy[1:], strict=True)
    return Run(
        t=t, q=shown.q, v=shown.v, tau=shown.tau,
        kinetic=robot.kinetic_energy(shown.q, shown.v),
        potential=robot.potential_energy(shown.q),
        impacts=[], contacts=(), reactions=np.empty((len(t), 0)), residuals={}, robot=robot,
        pieces=quintics([IntegratorStep(*x) for x in ends]),
        desired=shown.q, desired_v=shown.v, desired_a=shown.a, commanded=shown.tau,
        measured=shown.q,
    )  # fmt: skip


def _errors(run: Run) -> dict[str, Any]:
    """Largest, rms and last error of each joint, rad or m."""
    assert run.robot is not None
    error = run.error
    return {
        name: {
            "largest": float(np.abs(error[:, k]).max()),
            "rms": float(np.sqrt(np.mean(error[:, k] ** 2))),
            "final": float(error[-1, k]),
        }
        for k, name in enumerate(run.robot.independent)
    }
