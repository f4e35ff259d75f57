"""The robot of a rollout: forces on its joints, its rates, and what holds after a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from appell.control.rollouts.disturbed import rubbing
from appell.control.rollouts.plant_parameters import PlantParameters
from appell.equations.instant import coordinate_rates
from appell.equations.linear import coupled, dot, solve
from appell.maths.scalar import sqrt
from appell.model.configuration import quaternions
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import Dynamics
from appell.robots.recipe import equation_of, recipe_for

List = Sequence[Any]
RANK = 1e-12  # of the loops' rows: what is less is none


def rates_of(
    robot: Dynamics,
    formulation: str | None,
    parameters: PlantParameters,
    forces: Sequence[str],
    slip: float,
) -> Callable[..., tuple[List, List]]:
    """(q, v, *forces, *parameters) -> the rates of q and v; ``forces`` are tau, and where they act
    external, viscous and coulomb."""
    recipe = recipe_for(robot.system, "flow", formulation, parameters=parameters.groups)
    flow, nq = equation_of(robot.system, recipe), robot.nq
    loops = robot.mechanism if isinstance(robot, ClosedRobot) else None
    if loops:
        speeds = equation_of(robot.system, recipe_for(robot.system, "speeds", None))

    def rates(q: List, v: List, *given: Any) -> tuple[List, List]:
        known = dict(zip(forces, given, strict=False))
        f = list(known["tau"])
        if loops:
            f = [0] * loops.model.nv
            for k, x in zip(loops.actuated, known["tau"], strict=True):
                f[k] = f[k] + x
        places = loops.independent if loops else range(len(f))
        for k, x in zip(places, known.get("external", ()), strict=False):
            f[k] = f[k] + x
        if "viscous" in known:
            all_speeds = speeds(q, v) if loops else v
            taken = rubbing(all_speeds, known["viscous"], known["coulomb"], slip)
            f = [x - y for x, y in zip(f, taken, strict=True)]
        dy = flow(q, v, f, *parameters.of(*given[len(forces) :]))
        return dy[:nq], dy[nq:]

    return rates


def restored(robot: Dynamics) -> Callable[[List], List] | None:
    """(q) -> q as it should be after a step: quaternions of length one, loops closed; None where
    nothing needs it."""
    loops = robot.mechanism if isinstance(robot, ClosedRobot) else None
    if loops and not robot.system.size("c"):
        loops = None  # wheels alone: no position is forbidden
    four = quaternions(robot.model) if hasattr(robot.model, "compounds") else ()
    if not loops and not len(four):
        return None
    if loops:
        closure = equation_of(robot.system, recipe_for(robot.system, "closure_jacobian", None))
        columns = loops.dependent

    def restore(q: List) -> List:
        found = list(q)
        if loops:  # Newton's step, of the other joints alone, in the sense of least squares
            phi, J = closure(q)
            A = [[row[k] for k in columns] for row in J]
            n = range(len(columns))
            normal: Any = [[dot([r[i] for r in A], [r[j] for r in A]) for j in n] for i in n]
            little = RANK * sum((normal[k][k] for k in n), start=1e-18)  # where no loop moves
            for k in n:
                normal[k][k] = normal[k][k] + little
            b = [dot([r[i] for r in A], phi) for i in n]
            moved: list[Any] = [0] * robot.model.nv
            for k, x in zip(columns, solve(normal, b, coupled(normal)), strict=True):
                moved[k] = x
            back = coordinate_rates(robot.model, q, moved)
            found = [x - y for x, y in zip(q, back, strict=True)]
        for start in four:
            p = found[start : start + 4]
            scale = 1 / sqrt(dot(p, p))
            found[start : start + 4] = [x * scale for x in p]
        return found

    return restore
