"""Lee 1982, section 4: the law by the Newton-Euler equations gives the torques of the law by the
Lagrange-Euler equations; and section 5: how long a PDP-11/45 takes for the former."""

from __future__ import annotations

from functools import cache

import numpy as np

from appell.control import quintic
from appell.control.trajectories.sampled import planned
from appell.papers import lee1982_control as control
from appell.papers.common.rounding_bound import rounding
from appell.robots.robot import Array
from appell.show.document import Row, Table
from appell.show.rules import AtMost, Expected, Ratio

STATES, SEED = 10_000, 1982
ADD, MULTIPLY, FETCH = 500e-9, 3.3e-6, 450e-9  # s, of a PDP-11/45, as the paper gives them
PRINTED_MS = 3.0
# What follows from the totals of the paper's Table 1, 102,740 multiplications and 78,479 additions
# at six joints; the paper does not say it.
LAGRANGE_EULER_MS = 459.83


def torques_table() -> Table:
    """The main claim: equations 4.5 to 4.41 lead from one law to the other."""
    return Table(
        "Section 4: the Newton-Euler law and others, largest difference of the torques, N m",
        ("on the motion of section 5", f"on {STATES:,} random states"),
        [
            _row("Lagrange-Euler law, as the paper proves", control.LAGRANGE_EULER),
            _row("law by our default equations", control.DEFAULT),
        ],
        f"The same gains and states for all laws. At most {_bound(_on_the_way()):.1g} and "
        f"{_bound(_random()):.1g} N m: each of the {_operations():,} operations of the "
        "Lagrange-Euler law rounds by at most 2^-53 of numbers about as large as the largest "
        f"torque, {_largest(_on_the_way()):.3g} and {_largest(_random()):.3g} N m. Random states "
        "are within half a turn, 3 rad/s and 10 rad/s².",
    )


def _row(what: str, formulation: str) -> Row:
    places = _on_the_way(), _random()
    differences = [
        float(np.abs(torques(control.NEWTON_EULER, x) - torques(formulation, x)).max())
        for x in places
    ]
    return Row.own(what, differences, [AtMost(_bound(x)) for x in places])


States = tuple[Array, Array, Array, Array, Array]


@cache
def _on_the_way() -> States:
    """What the law is given at the samples of the main run: q, v and what is desired."""
    run = control.followed()
    plan = planned(
        quintic(control.START, control.GOAL, control.DURATION),
        6,
        control.PERIOD,
        control.DURATION + control.REST,
    )
    return run.q, run.v, plan.q, plan.v, plan.a


@cache
def _random() -> States:
    draw = np.random.default_rng(SEED)
    q, qd = draw.uniform(-np.pi, np.pi, (2, STATES, 6))
    v, vd = draw.uniform(-3, 3, (2, STATES, 6))
    return q, v, qd, vd, draw.uniform(-10, 10, (STATES, 6))


def torques(formulation: str, states: States) -> Array:
    """The torques of the law by a formulation, (N, 6)."""
    return control.computed_torque(formulation)(*states)[0]


def _largest(states: States) -> float:
    return float(np.abs(torques(control.NEWTON_EULER, states)).max())


def _bound(states: States) -> float:
    return rounding(control.robot(), "inverse_dynamics", control.LAGRANGE_EULER, _largest(states))


def _operations() -> int:
    count = control.robot().operations("inverse_dynamics", formulation=control.LAGRANGE_EULER)
    return count.multiplications + count.additions


def processor_table(lagrange_euler: Table, newton_euler: Table) -> Table:
    """Section 5: the times of instructions, and the operations of Tables 1 and 2 as we count."""
    counts = [table.rows[-1].ours for table in (newton_euler, lagrange_euler)]
    times = [1e3 * seconds(*(int(count(6)) for count in each)) for each in counts]
    return Table(
        "Section 5: time of the laws on a PDP-11/45, ms",
        ("six joints",),
        [
            Row("Newton-Euler, Table 2", [PRINTED_MS], times[:1], _APPROXIMATELY, Ratio(1.0, 1.1)),
            Row.own("Lagrange-Euler, Table 1", times[1:], Expected(LAGRANGE_EULER_MS, 1e-4)),
        ],
        f"An addition takes {1e9 * ADD:g} ns, a multiplication {1e6 * MULTIPLY:g} us, and each "
        f"fetches once from memory, {1e9 * FETCH:g} ns, as the paper says.",
    )


def seconds(multiplications: int, additions: int) -> float:
    """The time that a PDP-11/45 takes for so many operations."""
    return multiplications * (MULTIPLY + FETCH) + additions * (ADD + FETCH)


_APPROXIMATELY = "the paper says approximately"
