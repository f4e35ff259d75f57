"""A run over the rig as a document: did it arrive, what happened on the way, was it on time."""

from __future__ import annotations

import numpy as np

from appell.rig.log.run_report import Report
from appell.show.document import Document, Table, plain
from appell.show.figure import Picture


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
                "The run", "Dashed: desired. Vertical lines: changes of the state.", report.chart
            )
        ],
        report.verdict,
        report.ok,
        [] if report.stands else ["The machine has not said that it stands with its brakes on."],
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
