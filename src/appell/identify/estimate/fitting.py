"""From measured motion and torques to a robot's parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from appell.errors import InputError
from appell.identify.data.checks import named, refuse_no_robot
from appell.identify.estimate import solve
from appell.identify.estimate.result import Fit
from appell.identify.estimate.samples import Samples
from appell.identify.estimate.solve import Solution, Triangles
from appell.identify.estimate.task import Task, task_for
from appell.identify.single_thread import alone
from appell.robots.dynamics import Forces
from appell.robots.known_torques import external_torques, wrenches_of
from appell.robots.robot import Array

Method = Literal["qr", "svd", "pinv", "ridge", "wls", "irls", "tls", "sdp", "log_cholesky"]
METHODS: tuple[Method, ...] = get_args(Method)


@alone
def fit(
    robot: Any,
    q: Any,
    v: Any = None,
    a: Any = None,
    tau: Any = None,
    *,
    method: Method = "qr",
    friction: bool = False,
    rotors: bool = False,
    offset: bool = False,
    stribeck: Any = None,
    weights: npt.ArrayLike | None = None,
    prior: npt.ArrayLike | None = None,
    payload_link: str | None = None,
    forces: Forces = None,
    axes: str = "base",
    strength: float | None = None,
    rcond: float | None = None,
    check: bool = True,
    progress: Callable[[int], Any] | bool | None = None,
) -> Fit:
    """A robot's parameters, estimated from states and the torques measured there.

    Args:
        robot: The nominal one.
        q: Positions (N, n); or what `observe` gives, or blocks (q, v, a, tau): a list, a generator,
            or a function that returns one. Memory-mapped arrays are read block by block.
        v: Velocities (N, n).
        a: Accelerations (N, n).
        tau: Torques (N, n), N m or N.
        method: "qr" ordinary least squares; "wls" weighted by each joint's noise; "svd" without
            singular values below ``rcond``; "pinv" the shortest standard parameters; "ridge" with a
            pull towards the prior; "tls" total least squares; "irls" robust against outliers; "sdp"
            and "log_cholesky" weighted, among the parameters that bodies can have.
        friction: Whether to estimate viscous and Coulomb friction, too.
        rotors: Whether to estimate rotor inertias.
        offset: Whether to estimate a constant torque per joint.
        stribeck: True estimates more friction at low speed.
        weights: One per joint, no unit, in the place of one by its noise.
        prior: What parameters that the data leave open stay at, (p,), in SI units; the robot's own
            without it.
        payload_link: Takes all as known but the ten parameters of this link.
        forces: Wrenches (N, 6) that were measured on frames: tau = Y p - J^T w.
        axes: Of the wrenches: "base", or "local", the frames' own.
        strength: Of the pull of "ridge", no unit; chosen by cross-validation without it.
        rcond: The smallest singular value that "svd" keeps, by the largest, no unit.
        check: Whether to refuse data that look swapped, constant or in other units.
        progress: A function that is told of each block, or True for a bar.

    Returns:
        A `Fit`.

    Examples:
        >>> robot = appell.load("planar_chain")
        >>> q, v, a = appell.identify.random_states(robot, 200)
        >>> heavier = robot.with_payload(0.5, (1, 0, 0))
        >>> found = appell.identify.fit(robot, q, v, a, heavier.inverse_dynamics(q, v, a))
        >>> np.allclose(found.predict(q, v, a), heavier.inverse_dynamics(q, v, a))
        True
        >>> found.table().count("joint") > 0
        True
    """
    named("fit: method", method, METHODS)
    refuse_no_robot("fit", robot)
    for name, flag in {"friction": friction, "rotors": rotors, "offset": offset}.items():
        if not isinstance(flag, bool | np.bool_):
            raise InputError(f"fit: {name}={flag!r}; expected True or False.")
    if rcond is not None and not (isinstance(rcond, Real) and 0 <= rcond < 1):
        raise InputError(
            f"fit: rcond={rcond!r}; expected a part of the largest singular value, 0 to below 1."
        )
    if forces is not None:
        q, v, a, tau = _unloaded(robot, q, v, a, tau, forces, axes)
    samples = Samples(robot, q, v, a, tau, check)
    task = task_for(robot, friction, rotors, offset, prior, payload_link)
    by_joint = None if weights is None else _weights(weights, task.joints)
    with told(progress, samples.count) as samples.seen:
        data = samples.compressed(task.rows, task.columns, task.count)
        samples.watch.done(task.joints, task.count)
        if stribeck:
            return _with_stribeck(task, samples, method, stribeck)
        if method == "irls":
            from appell.identify.estimate.robust import robust

            samples.again(method)
            found = robust(task, samples, data)
            return task.result(method, data, found, task.standard(found))
    found, standard = _solved(task, data, method, by_joint, strength, rcond)
    return task.result(method, data, found, standard)


def _solved(
    task: Task,
    data: Triangles,
    method: Method,
    weights: Array | None,
    strength: float | None,
    rcond: float | None,
) -> tuple[Solution, Array]:
    """The solution, and all standard parameters."""
    p = len(task.prior)
    if method == "pinv":
        found, shortest = solve.pseudo_inverse(data, task.matrix, weights)
        return found, task.own + shortest[:p]
    if method in ("sdp", "log_cholesky"):
        from appell.identify.estimate.consistent import consistent

        found, whole = consistent(task, data, method, weights)
        return found, whole[:p]
    found = {
        "qr": lambda: solve.ordinary(data, task.start, weights),
        "wls": lambda: solve.weighted(data, task.start, weights),
        "svd": lambda: solve.truncated(data, task.start, weights, rcond),
        "ridge": lambda: solve.ridge(data, task.start, weights, strength),
        "tls": lambda: solve.total(data, task.start, weights),
    }[method]()
    return found, task.standard(found)


def _with_stribeck(task: Task, samples: Samples, method: str, given: Any) -> Fit:
    from appell.identify.estimate.stribeck import exponent_of, stribeck

    delta, driven = exponent_of(given), getattr(task.robot.model, "driven", ())
    if method not in ("qr", "wls"):
        raise InputError(f"stribeck needs method='wls'; got {method!r}.")
    if not task.basis.friction or task.payload or task.joints != len(driven):
        raise InputError(
            "stribeck adds to viscous and Coulomb friction of a tree's joints: give friction=True, "
            "no payload_link, and a robot in which no joint mimics another."
        )
    samples.again("stribeck")
    found = stribeck(task, samples, delta)
    parameters = task.standard(found.solution)
    return task.result(
        "wls", found.data, found.solution, parameters, found.values, found.deviations
    )


def _unloaded(
    robot: Any, q: Any, v: Any, a: Any, tau: Any, forces: Forces, axes: str
) -> tuple[Any, Any, Any, Any]:
    """The states, with the torques that they would have taken without external forces."""
    if hasattr(q, "states"):
        q, v, a, tau = q.states
    if v is None or a is None or tau is None:
        raise InputError("fit: forces are given with arrays q, v, a and tau, or Data; not blocks.")
    for frame, wrench in wrenches_of("fit: forces", forces).items():
        if np.shape(wrench) not in ((6,), (len(q), 6)):
            raise InputError(
                f"fit: forces: that on {frame} has shape {np.shape(wrench)}; expected (6,) or "
                f"({len(q)}, 6), a wrench per sample."
            )
    return q, v, a, np.asarray(tau) - external_torques(robot, q, forces, axes)


def _weights(given: npt.ArrayLike, joints: int) -> Array:
    weights = np.asarray(given, dtype=float)
    if weights.shape != (joints,) or not (np.isfinite(weights).all() and (weights > 0).all()):
        raise InputError(f"weights = {given!r}: expected {joints} positive numbers, one per joint.")
    return weights


@contextmanager
def told(
    progress: Callable[[int], Any] | bool | None, total: int | None
) -> Iterator[Callable[[int], Any] | None]:
    """What to call with the number of samples done: the function given, or a bar for True."""
    if not progress:
        yield None
    elif callable(progress):
        yield progress
    else:
        from rich.progress import Progress

        with Progress(transient=True) as bar:
            job = bar.add_task("samples", total=total)
            yield lambda done: bar.update(job, completed=done)
