"""A straight-line study as one HTML file that needs nothing else: no script, no network."""

from __future__ import annotations

import platform
from functools import partial
from html import escape
from importlib.metadata import version

import appell
from appell.show import plots
from appell.show.figures import can_draw
from appell.show.page import page, table
from appell.show.svg import figure_section
from appell.study.scenario import Scenario
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


def html(study: StraightLine, timing: Timing) -> str:
    """The whole page."""
    sections = [
        _head(study),
        _tiles(study),
        _picture(
            study, "arm", f"Branch {study.shown.branch}; as in figure 3 of Valera et al. 2003."
        ),
        _picture(
            study,
            "torques",
            f"Branch {study.shown.branch}, each joint on its own scale; as in figure 4 of "
            "Valera et al. 2003. " + _about_joint_6(study),
        ),
        _picture(study, "comparison", _ALL) if len(study.motions) > 1 else "",
        _branches(study),
        _picture(study, "trajectories", f"Branch {study.shown.branch}."),
        _cost(study, timing),
        _origin(study),
    ]
    return page(_title(study), sections)


def _title(study: StraightLine) -> str:
    return f"{study.robot.name} on a straight line"


def _head(study: StraightLine) -> str:
    task, path = study.task, study.path
    start, end = (", ".join(f"{x:g}" for x in point) for point in (task.start, task.end))
    angles = ", ".join(f"{x:g}°" for x in task.orientation)
    return (
        f"<h1>{escape(_title(study))}</h1>\n"
        f'<p class="lead">The tool moves from ({start}) m to ({end}) m at {task.speed:g} m/s, '
        f"its axes fixed at the Euler angles ZYZ ({angles}). {len(path.t)} samples in "
        f"{path.duration:.2f} s.</p>"
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
    return figure_section(_TITLES[name], partial(getattr(plots, name), study), caption)


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
    notes = [f'<p class="warn">{escape(reason)}</p>' for reason in study.refused.values()]
    return "\n".join(
        [
            "<h2>Branches</h2>",
            '<p class="note">Largest torque of each joint, N m, absolute value; joints that leave '
            "their ranges however they are turned; smallest "
            "singular value of the Jacobian on the way; largest entry of the pose reached minus "
            "the pose asked for (m and 1); largest difference, rad/s², of the accelerations that "
            "forward dynamics gives back for these torques.</p>",
            table(head, rows),
            *notes,
        ]
    )


def _cost(study: StraightLine, timing: Timing) -> str:
    counts = study.robot.operations("inverse_dynamics")._asdict()
    operations = [[name.replace("_", " "), str(n)] for name, n in counts.items() if n]
    made = "fetched from the cache" if timing.cached else "recorded and compiled"
    times = [
        [f"kernel {made}", f"{timing.ready * 1e3:.0f} ms"],
        ["one call from Python, one state", f"{timing.call * 1e6:.2f} µs"],
        [f"a state in a call with {timing.states}", f"{timing.state * 1e9:.0f} ns"],
    ]
    return (
        "<h2>What the torques cost</h2>\n"
        '<p class="note">Operations of the recorded Gibbs-Appell recursion for this robot, its '
        "zeros and ones folded away. The paper counts 590 multiplications and 430 additions for "
        "any arm of six revolute joints (table 3).</p>\n"
        + table(["operation", "for one state"], operations, "plain")
        + '\n<p class="note">Times on this machine, the best of 20 runs.</p>\n'
        + table(["inverse dynamics", "time"], times, "plain")
    )


def _origin(study: StraightLine) -> str:
    return origin(study.scenario)


def origin(scenario: Scenario) -> str:
    """The section that says with what a report was made, and of which scenario."""
    packages = ("numpy", "casadi", "llvmlite", *(("matplotlib",) if can_draw() else ()))
    named = [f"Appell {appell.__version__}", f"Python {platform.python_version()}"]
    named += [f"{package} {version(package)}" for package in packages]
    return (
        "<h2>Where this comes from</h2>\n"
        f"<p>{', '.join(named)}; {escape(platform.platform())}, {escape(platform.machine())}.</p>\n"
        "<p>The scenario, for <code>appell run scenario.json</code>:</p>\n"
        f"<pre>{escape(scenario.text())}</pre>"
    )


def _power(x: float) -> str:
    """Two digits and a power of ten, as HTML."""
    if x == 0:
        return "0"
    digits, exponent = f"{x:.1e}".split("e")
    return f"{digits}\N{MULTIPLICATION SIGN}10<sup>{int(exponent)}</sup>".replace(
        "-", "\N{MINUS SIGN}"
    )
