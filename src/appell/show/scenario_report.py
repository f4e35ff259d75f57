"""The report of a scenario: verdict, numbers, charts, warnings, files. One HTML file."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

import numpy as np

from appell.errors import AppellError
from appell.model.units import Units, units_of
from appell.show.figure import figure_html
from appell.show.head import Head
from appell.show.page import page, table
from appell.show.report_folder import write_files
from appell.study.run_scenario import Result

_FILES = {
    "scenario.json": "what was asked",
    "summary.json": "the numbers of this page",
    "motion.csv": "the motion",
    "run.npz": "the run, for appell.load_run",
}


def write_scenario(result: Result, wanted: Path) -> Path:
    """Write what a run leaves into a new folder, and give the path of its report; without one, of
    its summary."""
    contents: dict[Path, str | bytes] = dict(result.contents())
    names = [*map(str, contents), *(["run.npz"] if result.scenario.outputs.npz else [])]
    if result.scenario.outputs.report:
        contents[Path("report.html")] = html(result, names)
    last = write_files(contents, wanted)
    if result.scenario.outputs.npz:
        try:
            result.run.save(last.with_name("run.npz"))
        except AppellError as problem:
            raise AppellError(f"{problem} Choose another folder with --output.") from None
    return last if result.scenario.outputs.report else last.with_name("summary.json")


def html(result: Result, files: Iterable[str] = ()) -> str:
    """The page: verdict first."""
    head = _head(result, files)
    motion = figure_html(
        result.run.chart(),
        "Motion",
        "Along the path between the instants. Dashed: desired; dotted: limits; vertical lines: "
        "impacts.",
    )
    sections = [
        head.html(),
        _expectations(result),
        _joints(result),
        f"<h2>Motion</h2>\n{motion}",
        "<h2>The scenario</h2>\n<details><summary>For <code>appell run scenario.json</code>"
        f"</summary><pre>{escape(result.scenario.text())}</pre></details>",
    ]
    return page(head.title, sections)


def _head(result: Result, files: Iterable[str]) -> Head:
    verdict, scenario = result.verdict, result.scenario
    law = repr(result.built.law)[1:-1] if result.built.law is not None else "no law"
    return Head(
        scenario.title or f"{result.robot.name}: {scenario.task.kind}",
        f"{result.robot.name}, task {scenario.task.kind}, {law}; computed in "
        f"{result.seconds:.2g} s.",
        f"{verdict.text[:1].upper()}{verdict.text[1:]}.",
        verdict.ok,
        [f"{x}." for x in result.warnings],
        {name: _FILES.get(name, "data") for name in files},
        [result.robot.model],
    )


def _expectations(result: Result) -> str:
    rows = [
        [escape(c.what), f"{c.value:.3g}", f"{c.bound:g}", escape(c.unit),
         "yes" if c.ok else '<span class="warn">no</span>']
        for c in result.verdict.checks
    ]  # fmt: skip
    if not rows:
        return ""
    head = ["expected", "of the run", "bound", "unit", "kept"]
    return "<h2>What was expected</h2>\n" + table(head, rows)


def _joints(result: Result) -> str:
    """Largest error, speed and torque of each joint, in its units."""
    run, robot = result.run, result.robot
    units = _units(result)
    torques = dict(zip(robot.actuated, np.abs(run.tau).max(axis=0), strict=False))
    rows = []
    for k, name in enumerate(robot.independent):
        u, tau = units[name], torques.pop(name, None)
        error = "" if run.desired is None else f"{np.abs(run.error[:, k]).max():.3g} {u.position}"
        force = "" if tau is None else f"{tau:.4g} {u.force}"
        speed = f"{np.abs(run.v[:, k]).max():.4g} {u.speed}"
        rows.append([escape(name), error, speed, force])
    for name, tau in torques.items():
        rows.append([escape(name), "", "", f"{tau:.4g} {units[name].force}"])
    head = ["joint", "largest error", "largest speed", "largest force"]
    return "<h2>Joints</h2>\n" + table(head, rows)


def _units(result: Result) -> dict[str, Units]:
    robot = result.robot
    kinds = units_of(robot.joint_kinds, len(robot.joint_names))
    turning = units_of(["revolute"], 1)[0]
    return dict.fromkeys(robot.actuated, turning) | dict(zip(robot.joint_names, kinds, strict=True))
