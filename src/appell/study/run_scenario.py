"""Run a scenario: what came of it, and whether it is what was expected."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from appell.control import track
from appell.robots.dynamics import Dynamics
from appell.simulation import Run, simulate
from appell.simulation.path import IntegratorStep, quintics
from appell.study.puma_line import PumaLine
from appell.study.run_motion import motion_csv
from appell.study.scenario import Scenario, puma_line
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
        return verdict_of(self.scenario, self.run)

    @property
    def interrupted(self) -> bool:
        """Whether the keyboard ended the run."""
        return (self.run.stopped or "").startswith("interrupted")

    def summary(self) -> dict[str, Any]:
        """What summary.json holds."""
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

    def contents(self) -> dict[Path, str]:
        """The texts of the files that a run leaves, by their names, without the report."""
        texts = {
            Path("scenario.json"): self.scenario.text() + "\n",
            Path("summary.json"): json.dumps(self.summary(), indent=2) + "\n",
        }
        if self.scenario.outputs.csv:
            texts[Path("motion.csv")] = motion_csv(self.built, self.run)
        return texts

    def save(self, folder: str | Path) -> Path:
        """Write run.npz, motion.csv, summary.json and scenario.json, and give their folder."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        for name, text in self.contents().items():
            (target / name).write_text(text)
        if self.scenario.outputs.npz:
            self.run.save(target / "run.npz")
        return target


def run(scenario: Scenario | None = None, *, progress: bool = False) -> Result:
    """The result of a scenario; without one, of the straight line of Valera et al. 2003.
    ``progress`` shows a bar. A run that is interrupted from the keyboard keeps its data. Warnings
    that are given on the way are those of the result."""
    scenario = scenario or puma_line()
    begin = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        built = build(scenario)
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
    with scenario.at("task"):
        if built.law is None:
            return simulate(robot, progress=progress, **built.options), None
        return track(robot, built.law, built.trajectory, progress=progress, **built.options), None


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
