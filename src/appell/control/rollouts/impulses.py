"""Walls and stops of a rollout: impulses at the end of a step.

A contact that a step has passed gets an impulse that sends it back, as a collision does; there is
no search for the instant, so a point is up to one step's way behind the wall. Contacts are
taken in turn, several times, each with the speeds that those before it left, and pull on nothing.
Positions are put back by a share of the depth, which does not touch the speeds: a contact that
rests neither sinks nor is thrown out. Friction takes the sliding speed away, as far as the normal
impulse allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.trace import choose, largest, replayed
from appell.control.rollouts.plant_parameters import PlantParameters
from appell.equations.instant import coordinate_rates
from appell.equations.linear import coupled, dot, invert
from appell.maths.scalar import sqrt
from appell.robots.dynamics import Dynamics
from appell.robots.recipe import equation_of, recipe_for

if TYPE_CHECKING:
    from appell.simulation.contacts.contact import Contacts

List = Sequence[Any]
SWEEPS, ROUGH_SWEEPS = 4, 12  # through all contacts, where there are several, or friction
BACK = 0.5  # of the depth behind a wall, that a step takes back
SLOW = 30.0  # m/s^2: what is slower than this times a step does not rebound


def impulses_of(
    robot: Dynamics,
    contacts: Contacts,
    restitution: Any,
    mu: Any,
    parameters: PlantParameters,
    h: float,
) -> Callable[..., tuple[List, List]]:
    """(q, v, *parameters) -> the positions put back, and the speeds after the impulses."""
    tape, nv = contacts.tape, robot.nv
    recipe = recipe_for(robot.system, "mass_matrix", None, parameters=parameters.groups)
    mass_matrix = equation_of(robot.system, recipe)
    count, of_point = len(contacts), contacts.of_point.tolist()
    bounce, rough = np.asarray(restitution).tolist(), np.asarray(mu).tolist()

    def impulses(q: List, v: List, *given: Any) -> tuple[List, List]:
        gap, rate, J, _, normal, P, _ = replayed(tape, q, v)
        M = mass_matrix(q, *parameters.of(*given))
        W = invert(M, coupled(M))
        rows = [J[nv * k : nv * (k + 1)] for k in range(count)]
        ways = [_times(W, row) for row in rows]
        soft = [1 / largest(dot(row, way), 1e-12) for row, way in zip(rows, ways, strict=True)]
        pushed: list[Any] = [0] * count
        held: list[List] = [[0, 0, 0]] * count  # by friction
        now = list(v)
        sweeps = ROUGH_SWEEPS if any(rough) else SWEEPS if count > 1 else 1
        for _ in range(sweeps):
            for k in range(count):
                wanted = choose(rate[k], -SLOW * h, -bounce[k] * rate[k], 0.0)
                more = (wanted - dot(rows[k], now)) * soft[k]
                total = largest(0.0, pushed[k] + more)
                total = choose(gap[k], 0.0, total, 0.0)
                change = total - pushed[k]
                pushed[k] = total
                now = [x + change * w for x, w in zip(now, ways[k], strict=True)]
                if rough[k] and of_point[k] >= 0:
                    p, n = of_point[k], normal[3 * k : 3 * k + 3]
                    at = [P[nv * (3 * p + j) : nv * (3 * p + j + 1)] for j in range(3)]
                    now, held[k] = _rubbed(now, W, at, n, held[k], rough[k] * total)
        there = coordinate_rates(robot.model, q, _shift(gap, rows, ways, soft))
        return [x + dx for x, dx in zip(q, there, strict=True)], now

    return impulses


def _shift(gap: List, rows: List, ways: List, soft: List) -> list[Any]:
    """How far positions are moved, along the speeds."""
    moved: list[Any] = [0] * len(rows[0])
    for k, depth in enumerate(gap):
        short = -BACK * depth - dot(rows[k], moved)
        more = choose(depth, 0.0, largest(0.0, short * soft[k]), 0.0)
        moved = [x + more * w for x, w in zip(moved, ways[k], strict=True)]
    return moved


def _rubbed(
    v: List, W: Sequence[List], P: Sequence[List], n: List, held: List, most: Any
) -> tuple[list[Any], list[Any]]:
    """The speeds, and the impulse against sliding, ``held`` before: of a size ``most`` at most."""
    u = [dot(row, v) for row in P]
    away = dot(u, n)
    slide = [x - away * y for x, y in zip(u, n, strict=True)]
    speed = sqrt(dot(slide, slide) + 1e-24)
    columns = [[row[k] for row in P] for k in range(len(v))]
    along = [dot(slide, column) / speed for column in columns]
    soft = 1 / largest(dot(along, _times(W, along)), 1e-12)
    wanted = [x - soft * y for x, y in zip(held, slide, strict=True)]
    size = sqrt(dot(wanted, wanted) + 1e-24)
    share = choose(most, size, most / size, 1.0)
    later = [share * x for x in wanted]
    more = [x - y for x, y in zip(later, held, strict=True)]
    way = _times(W, [dot(more, column) for column in columns])
    return [x + y for x, y in zip(v, way, strict=True)], later


def _times(W: Sequence[List], x: List) -> list[Any]:
    return [dot(row, x) for row in W]
