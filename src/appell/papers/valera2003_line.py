"""The straight line of figures 3 and 4, and the mass matrix and accelerations of section 4, by the
paper's own equations: Valera et al. 2003.

The paper does not say in which of its eight configurations the arm moves. Its PUMA 600 has no
ranges there; those published for the PUMA 560, whose data are used here, rule four of them out.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from appell.papers.common.rounding_bound import rounding
from appell.robots.registry import load
from appell.robots.robot import Array
from appell.show import plots
from appell.show.document import Row, Table
from appell.show.figure import Picture
from appell.show.motion_film import motion_film
from appell.show.rules import AtMost, Expected, Rule, Within
from appell.study.straight_line import Motion, StraightLine, run

PAPER, PAULS, DEFAULT = "gibbs_vector", "gibbs_vector_paul", "gibbs_lean"
STATES, SEED = 10_000, 2003
# The joints that leave their ranges, by configuration.
BEYOND = {
    "left-up-noflip": "4",
    "left-up-flip": "none",
    "left-down-noflip": "none",
    "left-down-flip": "4",
    "right-up-noflip": "none",
    "right-up-flip": "4",
    "right-down-noflip": "4",
    "right-down-flip": "none",
}


@cache
def straight_line(formulation: str = PAPER) -> StraightLine:
    """The study of the straight line by a formulation."""
    return run(formulation=formulation)


def tables() -> list[Table]:
    """The line, its eight configurations, and the dynamics of section 4."""
    return [_line(), _configurations(), _dynamics()]


def _line() -> Table:
    study = straight_line()
    return Table(
        "Figure 3: the line at 0.1 m/s",
        ("total time, s",),
        [Row("from start to end", [8.6], [study.path.duration], rule=Within(0.05))],
    )


def _configurations() -> Table:
    """All eight: which are feasible, and torques by the paper's equations and by ours."""
    rows = []
    for name, motion in straight_line().motions.items():
        others = [straight_line(f).motions[name].tau for f in (PAULS, DEFAULT)]
        apart = [float(np.abs(motion.tau - tau).max()) for tau in others]
        most = AtMost(_bound(motion))
        rule: list[Rule] = [Expected(BEYOND[name]), most, most, AtMost(1e-12), AtMost(1e-9)]
        beyond = " and ".join(map(str, motion.beyond)) or "none"
        ours = [beyond, *apart, motion.residual, motion.returned]
        rows.append(Row.own(name, ours, rule))
    return Table(
        "Figures 3 and 4: the eight configurations, torques by the paper's equations",
        (
            "joints beyond their ranges",
            "Paul's convention differs by, N m",
            "our default equations differ by, N m",
            "pose missed by, m or 1",
            "accelerations given back within, rad/s²",
        ),
        rows,
        f"{_feasible()} The paper's arm is a PUMA 600; ranges are those published for the PUMA "
        "560, joint 4 from -110 to 170 degrees. Torques differ by rounding: every operation "
        "rounds by at most 2^-53 of numbers about as large as the largest torque. Accelerations "
        "are those that the paper's mass matrix and bias give for the torques.",
    )


def _bound(motion: Motion) -> float:
    return rounding(load("puma560"), "inverse_dynamics", PAPER, float(np.abs(motion.tau).max()))


def _feasible() -> str:
    study = straight_line()
    within = [name for name, motion in study.motions.items() if not motion.beyond]
    return (
        f"{len(within)} of the {len(study.motions)} configurations keep all joints within their "
        f"ranges: {', '.join(within)}. Figures 3 and 4 show {study.shown.branch}."
    )


@cache
def _states() -> tuple[Array, Array, Array]:
    draw = np.random.default_rng(SEED)
    q = draw.uniform(-np.pi, np.pi, (STATES, 6))
    return q, draw.uniform(-3, 3, (STATES, 6)), draw.uniform(-80, 80, (STATES, 6))


@cache
def quantity(name: str, formulation: str) -> Array:
    """A quantity on the random states."""
    q, v, tau = _states()
    arguments = {"mass_matrix": (q,), "bias": (q, v), "forward_dynamics": (q, v, tau)}[name]
    values: Array = load("puma560").kernel(name, formulation=formulation)(*arguments)
    return values


def _dynamics() -> Table:
    """M, the bias and accelerations, as section 4 says that the controllers have them."""
    M = quantity("mass_matrix", DEFAULT)
    worst = float(np.linalg.cond(M).max())
    rows = []
    for name, (what, amplified) in QUANTITIES.items():
        usual = quantity(name, DEFAULT)
        size = float(np.abs(usual).max()) * (worst if amplified else 1.0)
        ours = [float(np.abs(quantity(name, f) - usual).max()) for f in (PAPER, PAULS)]
        rule = [AtMost(rounding(load("puma560"), name, f, size)) for f in (PAPER, PAULS)]
        rows.append(Row.own(what, ours, rule))
    return Table(
        "Section 4: the dynamic elements by the paper's algorithm, difference from our default",
        ("modified Denavit-Hartenberg", "Paul's convention"),
        rows,
        "Columns of M are the joint forces A + B for unit accelerations without speeds and gravity "
        "(equations 15 and 23; A alone, as the paper has it, is not M), the bias is A + B without "
        f"accelerations, and M a = tau - bias is solved. On {STATES:,} random states; "
        f"accelerations lose digits by the condition of M, up to {worst:.2g}.",
    )


# What each is, and whether the condition of M makes its errors larger.
QUANTITIES = {
    "mass_matrix": ("mass matrix M, kg m²", False),
    "bias": ("bias C v + g, N m", False),
    "forward_dynamics": ("accelerations, rad/s²", True),
}


def pictures() -> list[Picture]:
    """Figures 3 and 4."""
    shown = straight_line().shown.branch
    return [
        Picture(
            "Figure 3: the prescribed trajectory",
            f"The arm at the start, half way and at the end of the line: {shown}, one of the four "
            "configurations that keep all joints within their ranges (the paper does not say "
            "which it has).",
            lambda: plots.arm(straight_line()),
        ),
        Picture(
            "Figure 4: torques required per joint",
            "By the paper's Gibbs-Appell equations, in the configuration of figure 3.",
            lambda: plots.torques(straight_line()),
        ),
    ]


MOTION = motion_film(
    "The motion",
    "The arm along the line, in the configuration of figure 3.",
    lambda: (straight_line().robot, straight_line().path.t, straight_line().shown.q),
)
