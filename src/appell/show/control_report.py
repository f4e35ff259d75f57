"""A run over the rig as a document: did it arrive, what happened on the way, was it on time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from appell.rig.log.run_report import Report
from appell.show.document import Document, Table, plain
from appell.show.figure import Picture
from appell.show.page import ANIMATION, MOVING
from appell.show.viewer.view import animation_of

_STANDS = "The machine has not said that it stands with its brakes on."


def control_document(report: Report) -> Document:
    """The document of a run over the rig, or of what its log holds."""
    told = report.log.metadata
    robot, law = told.get("robot", "a robot"), str(told.get("law", "a law")).strip("<>")
    return Document(
        "control",
        f"{robot} under control",
        f"{law} every {1e3 * report.period:g} ms, on {told.get('machine', 'a machine')} "
        f"({told.get('channel', 'no channel')}).",
        [errors_table(report), states_table(report), times_table(report)],
        [
            Picture(
                "The run",
                "Long dashes: desired. Vertical lines: changes of the state.",
                report.chart,
            )
        ],
        report.verdict,
        report.ok,
        [
            *([] if report.stands else [_STANDS]),
            *(f"{text}." for text in report.warnings),
        ],
        [] if report.robot is None else [report.robot.model],
    )


def control_files(
    report: Report, log: Path | None = None, animation: bool = False
) -> dict[str, tuple[str, str | bytes | None]]:
    """The files beside the document, with what they hold and their content: the motion, the moving
    robot, and the log, which is at a path from there."""
    files: dict[str, tuple[str, str | bytes | None]] = {
        "motion.csv": ("the motion and the torques asked for", motion_csv(report))
    }
    if log is not None:
        files[log.as_posix()] = ("the log, for appell view and appell control show", None)
    if animation:
        files[ANIMATION] = (MOVING, animation_of(report))
    return files


def motion_csv(report: Report) -> str:
    """A CSV text, a line per cycle on the way: time from its start, q, v and tau of every joint
    with their units."""
    on, units = report.following, report.units
    columns = {"q": "position", "v": "speed", "tau": "force"}
    told = [
        f"{x}{j + 1}" + ("" if " or " in (unit := getattr(u, kind)) else f" [{unit}]")
        for x, kind in columns.items()
        for j, u in enumerate(units)
    ]
    t = report.t[on]
    t = t - t[:1].sum()  # none where there are no cycles
    rows = np.column_stack([t, report.q[on], report.v[on], report.tau[on]]).tolist()
    return "\n".join(
        [",".join(["t [s]", *told]), *(",".join(f"{x:.9g}" for x in row) for row in rows), ""]
    )


def errors_table(report: Report) -> Table:
    """How far each joint was from where it was to be, and the force that the law asked for."""
    on = report.following
    last = report.error[on][-1] if on.any() else np.zeros(report.log.n)
    peak = np.abs(report.tau).max(axis=0, initial=0.0)
    rows = {
        name: [f"{u.scale * worst:.3g} {u.shown}", f"{u.scale * end:.3g} {u.shown}",
               f"{force:.4g} {u.force}"]
        for name, u, worst, end, force in zip(
            report.joint_names, report.units, report.largest_errors, last, peak, strict=True
        )
    }  # fmt: skip
    columns = ["largest error on the way", "error at the end", "largest force asked for"]
    return plain("Joints", columns, rows)


def states_table(report: Report) -> Table:
    """The states that the run passed, and why."""
    rows = {
        f"{event.cycle * report.period:.3f} s": [event.state.name, event.reason or "–"]
        for event in report.states
    }
    return plain("States", ["state", "reason"], rows)


def times_table(report: Report) -> Table:
    """How late cycles began, as measured; in lock step no time passes."""
    rows = {name: [count] for name, count in report.histogram() if count}
    return plain(
        "Time", ["cycles"], rows,
        f"Cycles by how late they began. {report.cycles} cycles logged, {report.skipped} left out, "
        f"{report.overruns} overruns, {report.missed_readings} without a reading.",
    )  # fmt: skip
