"""The tool of a PUMA drawn along a straight line: motion, torques and checks, branch by branch.

Valera et al. 2003, section 4, figures 3 and 4. The paper does not say in which of its eight
configurations the arm moves, so all are computed. The one shown is the first that keeps all joints
within their ranges, elbow up before elbow down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from appell.control.kinematics.spherical_wrist import BRANCHES, Arm, Branch
from appell.errors import InputError
from appell.rig.machine.machine import puma560_machine
from appell.robots.registry import load
from appell.robots.robot import Array, Robot
from appell.study import puma_kinematics as puma
from appell.study.puma_line import PumaLine
from appell.study.scenario import Scenario, puma_line

NEAR_SINGULAR = 0.02  # a joint may then turn 50 times as fast as the tool moves
_SINGULAR = 1e-6
_JUMP = 0.1  # rad between samples that the speeds do not explain


class SingularLineError(InputError):
    """A configuration in which the arm cannot follow the line."""


@dataclass(frozen=True)
class Path:
    """Where the tool is to be: times (N,), positions (N, 3), axes (3, 3), velocity (3,)."""

    t: Array
    position: Array
    R: Array
    velocity: Array

    @property
    def duration(self) -> float:
        """The time that the line takes, s."""
        return float(self.t[-1])

    @property
    def length(self) -> float:
        """The length of the line, m."""
        return float(np.linalg.norm(self.position[-1] - self.position[0]))


@dataclass(frozen=True)
class Motion:
    """One branch's motion: q, v, a and tau, each (N, 6), and what was checked on it."""

    branch: Branch
    q: Array
    v: Array
    a: Array
    tau: Array
    residual: float  # largest entry of the pose reached minus the pose asked for; m and 1
    returned: float  # largest difference of forward dynamics' accelerations from a, rad/s^2
    singular_value: float  # the Jacobian's smallest on the way
    beyond: tuple[int, ...]  # joints, from 1 on, that leave their ranges however they are turned

    @property
    def near_singular(self) -> bool:
        """Whether the arm comes near a singular configuration."""
        return self.singular_value < NEAR_SINGULAR

    @property
    def peak(self) -> Array:
        """The largest absolute torque of each joint, N m."""
        return np.abs(self.tau).max(axis=0)


@dataclass(frozen=True)
class StraightLine:
    """The whole study. ``refused`` says why a branch that was asked for has no motion."""

    scenario: Scenario
    robot: Robot
    path: Path
    motions: dict[str, Motion]
    refused: dict[str, str]

    @property
    def task(self) -> PumaLine:
        """The line that was asked for."""
        assert isinstance(self.scenario.task, PumaLine)
        return self.scenario.task

    @property
    def shown(self) -> Motion:
        """The first of the branches whose joints stay within their ranges; the first of all where
        none does."""
        motions = self.motions.values()
        return next((m for m in motions if not m.beyond), next(iter(motions)))

    @property
    def stops(self) -> list[int]:
        """The samples at the start, half way and the end."""
        return [0, len(self.path.t) // 2, len(self.path.t) - 1]

    @cached_property
    def postures(self) -> Array:
        """The shown arm's corners at the stops, (3, 5, 3)."""
        return puma.skeleton(puma.puma_arm(self.robot), self.shown.q[self.stops])


def run(
    task: PumaLine | None = None, formulation: str | None = None, robot: Robot | None = None
) -> StraightLine:
    """The motions along a line; without one, along that of the paper. ``formulation`` names the
    equations for the torques and for the accelerations that they give back."""
    scenario = puma_line()
    if task is not None:
        scenario = scenario.model_copy(update={"task": task})
    return computed(scenario, robot or load("puma560"), formulation)


def computed(scenario: Scenario, robot: Robot, formulation: str | None = None) -> StraightLine:
    """The study of a scenario whose task is such a line."""
    task: Any = scenario.task
    arm = puma.puma_arm(robot)
    path = straight_path(task)
    _refuse_beyond_reach(arm, robot.name, path)
    names = list(BRANCHES) if task.branch == "all" else [task.branch]
    motions, refused = {}, {}
    for name in names:
        try:
            motions[name] = follow(robot, arm, path, BRANCHES[name], formulation)
        except SingularLineError as problem:
            refused[name] = str(problem)
    if not motions:
        raise SingularLineError("no branch follows the line:\n  " + "\n  ".join(refused.values()))
    return StraightLine(scenario, robot, path, motions, refused)


def straight_path(task: PumaLine) -> Path:
    """Evenly spaced samples of the line, both ends included."""
    from scipy.spatial.transform import Rotation

    start, end = np.array(task.start), np.array(task.end)
    length = float(np.linalg.norm(end - start))
    along = np.linspace(0.0, 1.0, task.samples)
    return Path(
        t=along * (length / task.speed),
        position=start + along[:, None] * (end - start),
        R=Rotation.from_euler("ZYZ", task.orientation, degrees=True).as_matrix(),
        velocity=(end - start) * (task.speed / length),
    )


def follow(
    robot: Robot, arm: Arm, path: Path, branch: Branch, formulation: str | None = None
) -> Motion:
    """The motion of one branch: J v = twist, J a = 0 - dJ/dt v, tau by Gibbs-Appell."""
    q = _continuous(puma.inverse_kinematics(arm, path.position, path.R, branch))
    J = robot.jacobian(q)
    singular = np.linalg.svd(J, compute_uv=False)[:, -1]
    _refuse_singular(branch, path, singular)
    v = _solve(J, np.concatenate([path.velocity, np.zeros(3)]))
    _refuse_jump(branch, path, q, v)
    a = _solve(J, -bias_acceleration(J, v))
    tau = robot.kernel("inverse_dynamics", formulation=formulation)(q, v, a)
    returned = robot.kernel("forward_dynamics", formulation=formulation)(q, v, tau)
    return Motion(
        branch, q, v, a, tau,
        residual=_residual(robot.forward_kinematics(q), path),
        returned=float(np.abs(returned - a).max()),
        singular_value=float(singular.min()),
        beyond=beyond_ranges(q, *ranges(robot)),
    )  # fmt: skip


def ranges(robot: Robot) -> tuple[Array, Array]:
    """How far the joints turn, rad: their own limits, or those published for the PUMA 560, which
    the library's PUMA (the paper's tables, without ranges) does not have."""
    if robot.name == "puma560":
        machine = puma560_machine()
        return np.asarray(machine.lower), np.asarray(machine.upper)
    joints = robot.model.joints
    return np.array([j.lower for j in joints]), np.array([j.upper for j in joints])


def beyond_ranges(q: Array, lower: Array, upper: Array) -> tuple[int, ...]:
    """The joints, from 1 on, that no whole number of turns keeps within their ranges."""
    turns = 2 * np.pi * np.arange(-2, 3)[:, None]
    fits = (q.min(axis=0) + turns >= lower) & (q.max(axis=0) + turns <= upper)
    return tuple(int(j) + 1 for j in np.flatnonzero(~fits.any(axis=0)))


def bias_acceleration(J: Array, v: Array) -> Array:
    """dJ/dt v, (..., 6), of a chain of revolute joints: its tip's acceleration where a = 0.

    With z_i v_i the part of joint i in the angular velocity and w_i their sum up to it,
    the linear part is the sum of (w_i + w_{i-1}) x J_i v_i, the angular one of w_{i-1} x z_i v_i.
    """
    linear, angular = J[..., :3, :] * v[..., None, :], J[..., 3:, :] * v[..., None, :]
    up_to = np.cumsum(angular, axis=-1)
    before = up_to - angular
    parts = [np.cross(up_to + before, linear, axis=-2), np.cross(before, angular, axis=-2)]
    return np.concatenate([part.sum(axis=-1) for part in parts], axis=-1)


def _refuse_beyond_reach(arm: Arm, robot: str, path: Path) -> None:
    """Look at the ends and where the line passes nearest to the base and to its axis: a line
    leaves the arm's reach there first."""
    start, way = path.position[0], path.position[-1] - path.position[0]
    along = [0.0, 1.0, _nearest(start, way), _nearest(start[:2], way[:2])]
    points = start + np.array(along)[:, None] * way
    outside = puma.beyond_reach(arm, points)
    worst = int(np.argmax(outside))
    if outside[worst] <= 0:
        return
    x, y, z = points[worst]
    raise InputError(
        f"'{robot}' does not reach the whole line: at ({x:.3f}, {y:.3f}, {z:.3f}) m the "
        f"tool is {outside[worst]:.3g} m out of reach. It reaches {puma.farthest(arm):.3f} m from "
        f"its shoulder, and no point within {abs(arm.beside):.3f} m of its vertical axis. Move "
        "start or end."
    )


def _nearest(start: Array, way: Array) -> float:
    """Where, from 0 to 1, start + s way comes nearest to the origin."""
    square = way @ way
    return float(np.clip(-(start @ way) / square, 0.0, 1.0)) if square > 0 else 0.0


def _refuse_singular(branch: Branch, path: Path, values: Array) -> None:
    k = int(np.argmin(values))
    if values[k] < _SINGULAR:
        raise SingularLineError(
            f"{branch}: the arm is singular at t = {path.t[k]:.3f} s, where no joint speeds follow "
            "the line; choose another branch, orientation or line."
        )


def _refuse_jump(branch: Branch, path: Path, q: Array, v: Array) -> None:
    """Angles must change as the speeds say; where they jump, the arm passed a singularity."""
    expected = (v[1:] + v[:-1]) / 2 * np.diff(path.t)[:, None]
    excess = np.abs(np.diff(q, axis=0) - expected).max(axis=1)
    k = int(np.argmax(excess))
    if excess[k] > _JUMP:
        raise SingularLineError(
            f"{branch}: joints jump by {excess[k]:.2f} rad between t = {path.t[k]:.3f} and "
            f"{path.t[k + 1]:.3f} s, as they do past a singularity; choose another branch, "
            "orientation or line, or more samples."
        )


def _continuous(q: Array) -> Array:
    """The same angles without steps of a turn, the first within half a turn of zero."""
    first = np.arctan2(np.sin(q[0]), np.cos(q[0]))
    return np.unwrap(np.vstack([first, q]), axis=0)[1:]


def _residual(T: Array, path: Path) -> float:
    reached = [T[:, :3, 3] - path.position, T[:, :3, :3] - path.R]
    return float(max(np.abs(error).max() for error in reached))


def _solve(J: Array, x: Array) -> Array:
    return np.linalg.solve(J, np.broadcast_to(x, J.shape[:-1])[..., None])[..., 0]
