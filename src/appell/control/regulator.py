"""A robot near a state: its linear equations of motion, and the linear-quadratic regulator.

With x = (displacement from q along the speeds, speeds less v) and u the forces less tau,

    dx/dt = A x + B u,    A = [N, 1; da/dq, da/dv],    B = [0; da/dtau].

N is zero but for balls and free bodies that move: seen from a body that turns with w and moves with
l, in its own axes, another one displaced by (p, r) drifts by (-w x p - l x r, -w x r).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from appell.errors import InputError
from appell.given import number, vector
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import Array, Dynamics, Forces, refuse_no_robot
from appell.robots.known_torques import wrenches_of
from appell.robots.robot import is_tree

_AT_REST = 1e-6  # accelerations, rad/s^2 or m/s^2, of a state that is called one of rest


class Linear(NamedTuple):
    """A linear system: dx/dt = A x + B u, or x(t + dt) = A x(t) + B u(t) with forces that are held
    in between; `linearise` gives it.

    Attributes:
        A: (2 nv, 2 nv); x is a displacement and velocities.
        B: (2 nv, forces).
    """

    A: Array
    B: Array


class Regulator(NamedTuple):
    """A linear-quadratic regulator: u = -K x makes the integral (or the sum) of x Q x + u R u
    least; `lqr` gives it.

    Attributes:
        K: Gains, (forces, 2 nv).
        S: What x costs is x S x, (2 nv, 2 nv).
        poles: Of the closed loop, (2 nv,).
    """

    K: Array
    S: Array
    poles: npt.NDArray[np.complexfloating[Any]]  # eigenvalues of A - B K


def linearise(
    robot: Dynamics,
    q: Any,
    v: Any,
    tau: Any,
    *,
    dt: float | None = None,
    actuated: Sequence[str] | None = None,
    friction: bool = False,
    forces: Forces = None,
) -> Linear:
    """The motion near a state as a linear system.

    Args:
        robot: Any robot.
        q: Coordinates (nq,).
        v: Velocities (nv,).
        tau: Forces there (N m, N).
        dt: Gives the system of steps of that length, s, by the matrix exponential of A and B as
            they are at this state (exact at rest; of a state that moves, to first order in dt).
        actuated: The joints that have forces; all without it.
        friction: Whether to add the viscous friction of the joints.
        forces: External ones, wrenches by frame.

    Returns:
        `Linear`: A, (2 nv, 2 nv), and B, (2 nv, forces).

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> q = np.array([0.1, 0.2])
        >>> system = appell.control.linearise(arm, q, [0, 0], arm.gravity(q))
        >>> system.A.shape, system.B.shape
        ((4, 4), (4, 2))
    """
    refuse_no_robot("linearise", robot)
    q, v = vector("linearise: q", q, robot.nq), vector("linearise: v", v, robot.nv)
    if robot.actuated or tau is not None:
        tau = vector("linearise: tau", tau, len(robot.actuated))
    acting = _acting(robot, actuated)
    wrenches = {
        frame: vector(f"linearise: forces on {frame!r}", wrench, 6)
        for frame, wrench in wrenches_of("linearise: forces", forces).items()
    }
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau, forces=wrenches)
    if friction:
        by_v = by_v - robot.inverse_mass_matrix(q) @ _damping(robot, v)
    n = robot.nv
    A = np.block([[_drift(robot, v), np.eye(n)], [by_q, by_v]])
    B = np.vstack([np.zeros((n, len(acting))), by_tau[:, acting]])
    if dt is None:
        return Linear(A, B)
    step = number("linearise: dt", dt)
    still = np.zeros((B.shape[1], B.shape[1]))
    held = np.block([[A, B], [np.zeros_like(B.T), still]])  # forces do not change in a step
    whole = scipy.linalg.expm(step * held)
    return Linear(whole[: 2 * n, : 2 * n], whole[: 2 * n, 2 * n :])


def lqr(
    robot: Dynamics,
    q: Any,
    tau: Any = None,
    *,
    Q: Any,
    R: Any,
    dt: float | None = None,
    actuated: Sequence[str] | None = None,
    friction: bool = False,
) -> Regulator:
    """The linear-quadratic regulator about rest: the forces are ``tau - K @ [*robot.difference(q,
    now), *v]``.

    Args:
        robot: Any robot.
        q: Where it rests, (nq,).
        tau: The forces that hold it there; those against gravity without it.
        Q: Weighs displacements and velocities, (2 nv, 2 nv).
        R: Weighs the forces of the actuated joints.
        dt: The period of a sampled law, s; continuous without it.
        actuated: The joints that have forces; all without it.
        friction: Whether to add the viscous friction of the joints.

    Returns:
        `Regulator`: K, S and poles.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> found = appell.control.lqr(arm, [0.1, 0.2], Q=np.eye(4), R=np.eye(2))
        >>> found.K.shape, bool((found.poles.real < 0).all())
        ((2, 4), True)
    """
    refuse_no_robot("lqr", robot)
    q, rest = vector("lqr: q", q, robot.nq), np.zeros(robot.nv)
    held = robot.inverse_dynamics(q, rest, rest) if tau is None else tau
    acting = _acting(robot, actuated)
    held = vector("lqr: tau", held, len(robot.actuated))
    needed = {
        name: float(x)
        for k, (name, x) in enumerate(zip(robot.actuated, held, strict=True))
        if k not in acting and abs(x) > _AT_REST
    }
    if needed:
        raise InputError(
            f"lqr: '{robot.name}' does not rest at q: joints without a motor would need {needed}; "
            "choose a configuration of rest, or name more joints in actuated=."
        )
    a = robot.forward_dynamics(q, rest, held)
    if np.abs(a).max() > _AT_REST:
        raise InputError(
            f"lqr: '{robot.name}' does not rest at q with tau = {held}: it accelerates with up to "
            f"{np.abs(a).max():.3g}; give the forces that hold it, robot.gravity(q)."
        )
    A, B = linearise(robot, q, rest, held, dt=dt, actuated=actuated, friction=friction)
    Q = _weight("Q", Q, len(A), "displacements and speeds")
    R = _weight("R", R, B.shape[1], "forces")
    try:
        if dt is None:
            S = scipy.linalg.solve_continuous_are(A, B, Q, R)
            K = np.linalg.solve(R, B.T @ S)
        else:
            S = scipy.linalg.solve_discrete_are(A, B, Q, R)
            K = np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)
    except (np.linalg.LinAlgError, ValueError) as problem:
        raise InputError(
            f"lqr: no regulator of '{robot.name}' at q ({problem}): the forces of "
            f"{', '.join(robot.actuated[k] for k in acting)} cannot steady it, or Q does not see "
            "what grows; or R is singular."
        ) from None
    return Regulator(K, S, np.linalg.eigvals(A - B @ K).astype(complex))


def _acting(robot: Dynamics, names: Sequence[str] | None) -> list[int]:
    """Where the chosen joints stand among those with forces."""
    if names is None:
        return list(range(len(robot.actuated)))
    chosen = (names,) if isinstance(names, str) else tuple(names)
    for name in chosen:
        if name not in robot.actuated:
            raise InputError(
                f"actuated names {name!r}; the joints of '{robot.name}' that have forces are "
                f"{', '.join(robot.actuated)}."
            )
    if len(set(chosen)) < len(chosen):
        raise InputError(f"actuated = {list(chosen)} names a joint twice.")
    return [robot.actuated.index(name) for name in chosen]


def _damping(robot: Dynamics, v: Array) -> Array:
    """How friction grows with the speeds, (nv, nv): viscous, that of joints that mimic others,
    too."""
    if not is_tree(robot):
        raise InputError(f"linearise: friction=True is for trees; '{robot.name}' is none.")
    return np.asarray(robot.kernel("friction", wrt="v")(v))


def _drift(robot: Dynamics, v: Array) -> Array:
    """N: how displacements change of themselves while the robot moves."""
    N = np.zeros((robot.nv, robot.nv))
    if isinstance(robot, ClosedRobot):
        rolls = any(len(c.rows) > c.closures for c in robot.constraints)
        turns = not all(robot.model.is_coordinate[k] for k in robot.mechanism.independent)
        if v.any() and (rolls or turns):
            raise InputError(
                f"linearise: '{robot.name}' moves, and its speeds are no coordinates' rates: no "
                "displacement along them says where it will be; linearise at v = 0."
            )
    elif is_tree(robot):
        for joint in robot.model.compounds:
            turn = slice(joint.speed + joint.size - 3, joint.speed + joint.size)
            N[turn, turn] = -_cross(v[turn])
            if joint.free:
                slide = slice(joint.speed, joint.speed + 3)
                N[slide, slide], N[slide, turn] = -_cross(v[turn]), -_cross(v[slide])
    return N


def _cross(x: Array) -> Array:
    return np.cross(np.eye(3), x)


def _weight(name: str, W: Any, n: int, of: str) -> Array:
    """A symmetric weight."""
    try:
        W = np.array(W, dtype=float)
    except (TypeError, ValueError):
        W = np.empty(0)
    if W.shape == (n,):
        W = np.diag(W)
    if W.shape != (n, n) or not np.isfinite(W).all() or not np.allclose(W, W.T):
        raise InputError(
            f"lqr: {name} must be a symmetric matrix ({n}, {n}), or the {n} numbers of its "
            f"diagonal, for {of}."
        )
    return W
