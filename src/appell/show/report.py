"""A straight-line study as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from appell.show import plots
from appell.show.figure import figure_html
from appell.show.head import Head
from appell.show.page import animation, page, table
from appell.study.straight_line import StraightLine
from appell.study.study_timing import Timing

_TITLES = {
    "arm": "The arm on its line",
    "torques": "Torques",
    "comparison": "Torques in every configuration",
    "trajectories": "Joint motion",
}

_ALL = (
    "Wide and pale: the wrist as it is; thin and dashed: flipped. The paper does not say in which "
    "configuration its arm moves."
)


def html(study: StraightLine, timing: Timing, files: Mapping[str, str] | None = None) -> str:
    """The whole page; ``files`` are those beside it, with what each holds."""
    shown, files = study.shown.branch, line_files(study) if files is None else files
    sections = [
        _head(study, files).html(),
        _tiles(study),
        animation(files),
        _picture(study, "arm", f"Branch {shown}; as in figure 3 of Valera et al. 2003."),
        _picture(
            study,
            "torques",
            f"Branch {shown}, each joint on its own scale; as in figure 4 of Valera et al. 2003. "
            + _about_joint_6(study),
        ),
        _picture(study, "comparison", _ALL) if len(study.motions) > 1 else "",
        _branches(study),
        _picture(study, "trajectories", f"Branch {shown}."),
        _cost(study, timing),
        "<h2>The scenario</h2>\n<p>For <code>appell run scenario.json</code>:</p>\n"
        f"<pre>{escape(study.scenario.text())}</pre>",
    ]
    return page(_title(study), sections)


def _title(study: StraightLine) -> str:
    return f"{study.robot.name} on a straight line"


def line_files(study: StraightLine) -> dict[str, str]:
    """The files beside the report of a line, with what each holds."""
    motions = {f"motions/{name}.csv": "its motion and torques" for name in study.motions}
    return {"scenario.json": "what was asked", **motions}


def _head(study: StraightLine, files: Mapping[str, str]) -> Head:
    task, path = study.task, study.path
    start, end = (", ".join(f"{x:g}" for x in point) for point in (task.start, task.end))
    angles = ", ".join(f"{x:g}°" for x in task.orientation)
    asked = (
        f"The tool moves from ({start}) m to ({end}) m at {task.speed:g} m/s, its axes fixed at "
        f"the Euler angles ZYZ ({angles}). {len(path.t)} samples in {path.duration:.2f} s."
    )
    done, wanted = len(study.motions), len(study.motions) + len(study.refused)
    worst = max(m.residual for m in study.motions.values())
    return Head(
        _title(study),
        asked,
        f"{done} of {wanted} configurations follow the line; pose error at most {worst:.1e} "
        "(m and 1)",
        not study.refused,
        [
            *(
                f"{name}: near a singularity"
                for name, m in study.motions.items()
                if m.near_singular
            ),
            *study.refused.values(),
        ],
        files,
        [study.robot.model],
    )


def _tiles(study: StraightLine) -> str:
    motions = study.motions.values()
    peak = study.shown.peak
    tiles = {
        "length of the line": f"{study.path.length:.3f} m",
        "duration": f"{study.path.duration:.2f} s",
        f"largest torque, joint {int(peak.argmax()) + 1}": f"{peak.max():.1f} N m",
        "pose error, at most (m and 1)": _power(max(m.residual for m in motions)),
        "acceleration error, at most (rad/s²)": _power(max(m.returned for m in motions)),
    }
    cells = (f'<div class="tile"><b>{n}</b><span>{what}</span></div>' for what, n in tiles.items())
    return f'<div class="tiles">{"".join(cells)}</div>'


def _picture(study: StraightLine, name: str, caption: str) -> str:
    title = _TITLES[name]
    return f"<h2>{title}</h2>\n{figure_html(getattr(plots, name)(study), title, caption)}"


def _about_joint_6(study: StraightLine) -> str:
    if study.shown.peak[5] > 1e-9:
        return ""
    return "Joint 6 needs no torque: the last link does not turn and is balanced about its axis."


def _branches(study: StraightLine) -> str:
    head = ["branch", *(f"τ<sub>{j + 1}</sub>" for j in range(study.robot.nv)),
            "beyond<br>range", "singular<br>value", "pose<br>error",
            "acceleration<br>error"]  # fmt: skip
    rows = [
        [
            name + (' <span class="warn">near a singularity</span>' if m.near_singular else ""),
            *(f"{x:.3f}" if x > 1e-9 else "0" for x in m.peak),
            ", ".join(f"joint {j}" for j in m.beyond) or "none",
            f"{m.singular_value:.3f}",
            _power(m.residual),
            _power(m.returned),
        ]
        for name, m in study.motions.items()
    ]
    return "\n".join(
        [
            "<h2>Branches</h2>",
            '<p class="note">Largest torque of each joint, N m, absolute value; joints that leave '
            "their ranges however they are turned; smallest "
            "singular value of the Jacobian on the way; largest entry of the pose reached minus "
            "the pose asked for (m and 1); largest difference, rad/s², of the accelerations that "
            "forward dynamics gives back for these torques.</p>",
            table(head, rows),
        ]
    )


def _cost(study: StraightLine, timing: Timing) -> str:
    counts = study.robot.operations("inverse_dynamics")._asdict()
    operations = [[name.replace("_", " "), str(n)] for name, n in counts.items() if n]
    made = "fetched from the cache" if timing.cached else "recorded and compiled"
    times = [
        [f"kernel {made}", f"{timing.ready * 1e3:.0f} ms"],
        ["one call from Python, one state", f"{timing.call * 1e6:.2f} µs"],
        [f"per state, in one call with {timing.states} states", f"{timing.state * 1e9:.0f} ns"],
    ]
    return (
        "<h2>What the torques cost</h2>\n"
        '<p class="note">Operations of the recorded Gibbs-Appell recursion for this robot, its '
        "zeros and ones folded away. The paper counts 590 multiplications and 430 additions for "
        "any arm of six revolute joints (table 3).</p>\n"
        + table(["operation", "for one state"], operations)
        + '\n<p class="note">Times on this machine, the best of 20 runs.</p>\n'
        + table(["inverse dynamics", "time"], times)
    )


def _power(x: float) -> str:
    """Two digits and a power of ten, as HTML."""
    if x == 0:
        return "0"
    digits, exponent = f"{x:.1e}".split("e")
    return f"{digits}\N{MULTIPLICATION SIGN}10<sup>{int(exponent)}</sup>".replace(
        "-", "\N{MINUS SIGN}"
    )
