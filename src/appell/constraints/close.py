"""Closing a tree: how many freedoms its loops leave, and by which speeds they are described."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from appell.constraints.assemble import Assembly
from appell.constraints.choose import freedom_about
from appell.constraints.closed import ClosedRobot
from appell.constraints.reduce import Constraint, Mechanism
from appell.constraints.refusal import finite
from appell.errors import InputError
from appell.robot import Array, Numbers, Robot


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

    ``loops`` are constraints: :class:`~appell.constraints.Loop`, ``Rolling``, ``KnifeEdge``,
    ``Custom``. They may be redundant, as those of a planar mechanism in space are. ``independent``
    names the joints whose speeds describe the motion, one a freedom; without it they are chosen,
    the actuated ones where these will do. ``actuated`` names the joints that are driven; without
    it, the independent ones. ``guess`` are coordinates near a closed configuration, where the
    robot is assembled and its freedoms are counted; zeros without it.
    """
    if not isinstance(robot, Robot) or isinstance(robot, ClosedRobot):
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
    free = freedom_about(assembly, reference)
    if independent is not None:
        chosen = tree.joints_named("independent", independent)
    else:
        chosen = driven if driven is not None and free.suits(driven) else free.best()
    free.refuse(chosen, assembly)
    acting = chosen if driven is None else driven
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
    q = np.zeros(robot.nq)
    if robot.model.free:
        q[6] = 1.0
    return q
