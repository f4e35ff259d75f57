"""The report of a scenario: verdict, numbers, pictures, warnings, files. One HTML file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import AppellError
from appell.model.units import Units, joined, units_of
from appell.robots.robot import Array
from appell.show.figures import drawing
from appell.show.page import page, table
from appell.show.report import origin
from appell.show.report_folder import write_files
from appell.show.style import JOINTS
from appell.show.svg import figure_section
from appell.study.run_scenario import Result

_DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
LINES = [{"color": c, "ls": dash} for dash, c in product(_DASHES, JOINTS)]


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
    listed = "".join(f'<li><a href="{escape(x)}">{escape(x)}</a></li>' for x in files)
    sections = [
        _head(result),
        _expectations(result),
        _joints(result),
        *_pictures(result),
        *(f'<p class="warn">{escape(x)}.</p>' for x in result.warnings),
        f"<h2>Files</h2>\n<ul>{listed}</ul>" if listed else "",
        origin(result.scenario),
    ]
    return page(_title(result), sections)


def _title(result: Result) -> str:
    return result.scenario.title or f"{result.robot.name}: {result.scenario.task.kind}"


def _head(result: Result) -> str:
    verdict, scenario = result.verdict, result.scenario
    kind = "" if verdict.ok else ' class="warn"'
    law = repr(result.built.law)[1:-1] if result.built.law is not None else "no law"
    text = verdict.text[:1].upper() + verdict.text[1:]
    return (
        f"<h1>{escape(_title(result))}</h1>\n"
        f'<p class="lead"><b{kind}>{escape(text)}.</b></p>\n'
        f"<p>{escape(result.robot.name)}, task {escape(scenario.task.kind)}, {escape(law)}; "
        f"computed in {result.seconds:.2g} s.</p>"
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
    return "<h2>What was expected</h2>\n" + table(head, rows, "plain")


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
    return "<h2>Joints</h2>\n" + table(
        ["", "largest error", "largest speed", "largest torque"], rows, "plain"
    )


def _units(result: Result) -> dict[str, Units]:
    robot = result.robot
    kinds = units_of(robot.joint_kinds, len(robot.joint_names))
    turning = units_of(["revolute"], 1)[0]
    return dict.fromkeys(robot.actuated, turning) | dict(zip(robot.joint_names, kinds, strict=True))


def _pictures(result: Result) -> list[str]:
    run, robot, units = result.run, result.robot, _units(result)
    names, actuated = list(robot.independent), list(robot.actuated)[: run.tau.shape[1]]
    own = list(robot.system.coordinates)
    t, q, _ = run._path()
    position = f"position, {joined(units[name].position for name in names)}"
    desired = None if run.desired is None else (run.t, run.desired[:, own])
    made = [
        figure_section(
            "Joint motion",
            lambda: lines((t, q[:, own]), names, position, desired),
            "Actual; pale and wide, desired." if desired else "Along the path of the integrator.",
        )
    ]
    if run.desired is not None:
        label = f"error, {joined(units[name].position for name in names)}"
        made.append(
            figure_section(
                "Error", lambda: lines((run.t, run.error), names, label), "Desired minus actual."
            )
        )
    if run.tau.any():
        force = f"torque, {joined(units[name].force for name in actuated)}"
        made.append(
            figure_section(
                "Torques",
                lambda: lines((run.t, run.tau), actuated, force, held=run.desired is not None),
                "Of the actuators.",
            )
        )
    if run.desired is None:
        energies = np.column_stack([run.kinetic, run.potential, run.energy])
        kinds = ["kinetic", "potential", "total"]
        made.append(
            figure_section(
                "Energy", lambda: lines((run.t, energies), kinds, "energy, J"), "At the instants."
            )
        )
    return made


@drawing(7.2, 3.6)
def lines(
    figure: Any,
    signal: tuple[Array, Array],
    names: Sequence[str],
    label: str,
    desired: tuple[Array, Array] | None = None,
    held: bool = False,
) -> None:
    """Draw a signal (times (N,), values (N, n)) of several joints over time, with a legend."""
    axes = figure.add_axes((0.09, 0.14, 0.66, 0.8))
    t, x = signal
    style = {"drawstyle": "steps-post"} if held else {}
    for k, name in enumerate(names):
        line = LINES[k % len(LINES)]
        axes.plot(t, x[:, k], label=name, **line, **style)
        if desired is not None:
            axes.plot(desired[0], desired[1][:, k], color=line["color"], lw=3.5, alpha=0.25)
    axes.set(xlabel="time, s", ylabel=label)
    axes.margins(x=0)
    columns = 1 if len(names) <= 18 else 2
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0, ncols=columns,
        fontsize=8 if len(names) <= 18 else 5,
    )  # fmt: skip
