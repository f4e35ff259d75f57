"""Closing a tree: how many freedoms its loops leave, and by which speeds they are described."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from appell.errors import InputError
from appell.model.configuration import integrate
from appell.robots.closed.assemble import Assembly
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.closed.independent_speeds import freedom_about
from appell.robots.closed.mechanism import Constraint, Mechanism
from appell.robots.closed.refusal import finite
from appell.robots.closed.rolling import Custom
from appell.robots.robot import Array, Numbers, Robot, is_tree


def close(
    robot: Robot,
    loops: Sequence[Constraint],
    *,
    independent: Sequence[str] | None = None,
    actuated: Sequence[str] | None = None,
    guess: Numbers | None = None,
    check: bool = True,
    inverse_kinematics: Callable[..., Array] | None = None,
) -> ClosedRobot:
    """A tree robot with its loops closed and its wheels on the ground.

    Args:
        robot: The tree.
        loops: Constraints: `Loop`, `Rolling`, `KnifeEdge`, `Custom` of `appell.robots.closed`. They
            may be redundant, as those of a planar mechanism in space are.
        independent: The joints whose speeds describe the motion, one per degree of freedom; without
            it they are chosen, the actuated ones where these suffice.
        actuated: The joints that are driven; without it, the independent ones that have motors: a
            free or planar base and free joints have none.
        guess: Coordinates, (nq,), rad or m, near a closed configuration, where the robot is
            assembled and its degrees of freedom are counted; zeros without it.
        check: Whether methods refuse configurations that are open or singular.
        inverse_kinematics: What ``robot.inverse_kinematics`` calls, where the robot has a closed
            form of its own.

    Returns:
        A `ClosedRobot`, which answers the methods that a tree answers.

    Examples:
        >>> from appell.robots.closed import Loop, Place
        >>> chain = appell.load("planar_chain", n=3)
        >>> pin = Loop("revolute", Place("world", (1, 0, 0)), Place("link3", (1, 0, 0)))
        >>> bars = appell.close(chain, [pin], guess=[1.0, -1.0, -1.0])
        >>> bars.nq, bars.nv
        (3, 1)
    """
    if not is_tree(robot):
        raise InputError(f"close({robot!r}): expected a Robot that is a tree.")
    if not isinstance(loops, list | tuple):
        raise InputError(f"close: loops = {loops!r}; expected a list of Loop, Rolling, ...")
    constraints = tuple(loops)
    for c in constraints:
        if not hasattr(c, "velocity"):
            raise InputError(f"close: {c!r} is no constraint; expected a Loop, Rolling, ...")
        c.check(robot.model)
    mechanism = Mechanism(robot.model, constraints)
    assembly = Assembly(mechanism)
    tree = ClosedRobot(mechanism, _start(robot, guess), assembly=assembly)
    driven = None if actuated is None else tree.joints_named("actuated", actuated)
    reference = tree.assemble()
    _refuse_foreign_rows(assembly, reference)
    free = freedom_about(assembly, reference)
    if independent is not None:
        chosen = tree.joints_named("independent", independent)
    else:
        chosen = driven if driven is not None and free.suits(driven) else free.best()
        motors = [k for k in range(robot.nv) if k not in robot.model.passive]
        if driven is None and len(motors) < robot.nv and free.suits(own := free.best(motors)):
            chosen = own
    free.refuse(chosen, assembly)
    acting = [k for k in chosen if k not in robot.model.passive] if driven is None else driven
    return ClosedRobot(
        replace(mechanism, independent=tuple(chosen), actuated=tuple(acting)),
        reference,
        check=check,
        inverse_kinematics=inverse_kinematics,
        assembly=assembly,
    )


def _start(robot: Robot, guess: Numbers | None) -> Array:
    if guess is not None:
        q = finite("close: guess", guess, robot.nq)
        if q.ndim > 1:
            raise InputError(f"close: guess has shape {q.shape}; expected ({robot.nq},).")
        return q
    return robot.neutral()


def _refuse_foreign_rows(assembly: Assembly, reference: Array) -> None:
    """Refuse rows of a user's own that forbid other motion than their closure does."""
    draw, model = np.random.default_rng(0), assembly.model
    moved = [integrate(model, reference, draw.uniform(-0.1, 0.1, model.nv)) for _ in range(3)]
    closed = [q for q in map(assembly.nearest, moved) if assembly.is_closed(q)]
    for c, rows, closures in assembly.constraints():
        if not isinstance(c, Custom) or c.closure is None:
            continue
        for q in [reference, *closed]:
            J = assembly.rows(q)[rows] / assembly.units
            D = assembly.slopes(q)[closures] / assembly.units
            apart = np.maximum(_outside(J, D), _outside(D, J))
            if apart.max() > 1e-8:  # both are exact, at coordinates closed to 1e-10
                raise InputError(
                    f"'{c.name}': row {int(np.argmax(apart)) + 1} of its function does not belong "
                    f"to its closure at q = {np.round(q, 3).tolist()}: the closure's rate forbids "
                    "other motion there. Give the closure's rate, or leave the closure out."
                )


def _outside(A: Array, B: Array) -> Array:
    """How far each row of A lies outside the rows' space of B, 0 to 1."""
    away = A - A @ np.linalg.pinv(B, rcond=1e-10) @ B
    return np.linalg.norm(away, axis=1) / np.maximum(np.linalg.norm(A, axis=1), 1e-300)
