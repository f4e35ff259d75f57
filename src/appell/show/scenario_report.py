"""The report of a scenario: verdict, numbers, charts, warnings, files. One HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from appell.model.units import Units, units_of
from appell.show.figure import figure_html
from appell.show.head import Head
from appell.show.page import ANIMATION, MOVING, animation, page, table
from appell.show.report import html as line_html
from appell.show.report import line_files
from appell.show.report_folder import motions, write_files
from appell.show.viewer.view import animation_of
from appell.simulation.run_chart import references
from appell.study.run_scenario import Result
from appell.study.study_timing import measure

_FILES = {
    "scenario.json": "what was asked",
    "summary.json": "the numbers of this page",
    "motion.csv": "the motion",
    "run.npz": "the run, for appell view and appell.simulation.load_run",
    ANIMATION: MOVING,
}


def write_scenario(result: Result, wanted: Path, force: bool = False) -> Path:
    """Write what a run leaves into a new folder, or with ``force`` into one that is there, and give
    the path of its report; without one, of its summary."""
    contents: dict[Path, str | bytes] = dict(result.contents(wanted))
    outputs, line = result.scenario.outputs, result.line
    if line is not None and outputs.csv:
        contents |= motions(line)
    if outputs.npz:
        contents[Path("run.npz")] = _npz(result)
    if outputs.animation:
        contents[Path(ANIMATION)] = animation_of(result.run)
    if outputs.report:
        known = _FILES | ({} if line is None else line_files(line))
        files = {str(name): known[str(name)] for name in contents}
        page = html(result, files) if line is None else line_html(line, measure(line), files)
        contents[Path("report.html")] = page
    folder = write_files(contents, wanted, force, _left_by_a_run(wanted)).parent
    return folder / ("report.html" if outputs.report else "summary.json")


def _left_by_a_run(folder: Path) -> list[Path]:
    """The files of an earlier run in a folder, which would pass for those of the next."""
    if not all((folder / name).is_file() for name in ("scenario.json", "summary.json")):
        return []
    files = [
        *(folder / name for name in _FILES),
        folder / "report.html",
        *folder.glob("motions/*.csv"),
    ]
    return [file.relative_to(folder) for file in files if file.is_file()]


def _npz(result: Result) -> bytes:
    with TemporaryDirectory() as folder:
        return result.run.save(Path(folder, "run.npz")).read_bytes()


def html(result: Result, files: Mapping[str, str]) -> str:
    """The page, verdict first; ``files`` are those beside it, with what each holds."""
    head = _head(result, files)
    chart = result.run.chart()
    motion = figure_html(
        chart,
        "Motion",
        f"Along the path between the instants. {references(chart)}Thin, dotted, horizontal: "
        "limits; vertical lines: impacts.",
    )
    sections = [
        head.html(),
        _expectations(result),
        _joints(result),
        animation(files),
        f"<h2>Motion</h2>\n{motion}",
        "<h2>The scenario</h2>\n<details><summary>For <code>appell run scenario.json</code>"
        f"</summary><pre>{escape(result.scenario.text())}</pre></details>",
    ]
    return page(head.title, sections)


def _head(result: Result, files: Mapping[str, str]) -> Head:
    verdict, scenario = result.verdict, result.scenario
    law = repr(result.built.law)[1:-1] if result.built.law is not None else "no law"
    return Head(
        scenario.title or f"{result.robot.name}: {scenario.task.kind}",
        f"{result.robot.name}, task {scenario.task.kind}, {law}; computed in "
        f"{result.seconds:.2g} s.",
        f"{verdict.text[:1].upper()}{verdict.text[1:]}.",
        verdict.ok,
        [f"{x}." for x in result.warnings],
        files,
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
        speed = f"{run.largest_speeds[k]:.4g} {u.speed}"
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
