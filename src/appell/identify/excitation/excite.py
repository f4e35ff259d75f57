"""Excitation: motions from which a robot's parameters can be told apart, however noisy the data.

A motion is a Fourier series or a spline, exactly periodic, that starts and ends at rest. It is
chosen by IPOPT so that the observation matrix is well conditioned (``criterion="condition"``) or
has a large determinant, so that the estimates' confidence ellipsoid is small (``"d_optimal"``),
within the limits of the joints and of the room there is (Swevers et al. 1997; Gautier 1992).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from appell.control.trajectories.trajectory import Joined, State, Trajectory
from appell.errors import InputError, interrupted
from appell.given import limits as positive
from appell.given import number, whole
from appell.identify.data.checks import named
from appell.identify.excitation.basis import Basis, fourier, splines
from appell.identify.excitation.motion_limits import Box, HalfSpace, MotionLimits, limits
from appell.identify.excitation.observation import Observation
from appell.identify.excitation.within import Fitting
from appell.identify.single_thread import alone
from appell.robots.robot import Array, Numbers, Robot

Kind = Literal["fourier", "spline"]
Criterion = Literal["condition", "d_optimal"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)


class ExcitationStep(NamedTuple):
    """How far the search is: which start of how many, which iteration of at most how many, and
    the criterion there (log of the condition number, or minus the mean log of the singular
    values)."""

    start: int
    starts: int
    iteration: int
    iterations: int
    value: float


@dataclass(frozen=True, eq=False)
class Compared:
    """Random motions of the same kind within the same limits, each as large as they let it be."""

    conditions: Array
    log_dets: Array

    @property
    def median(self) -> float:
        """The median of their condition numbers."""
        return float(np.median(self.conditions))

    @property
    def best(self) -> float:
        """The least of their condition numbers."""
        return float(self.conditions.min())


@dataclass(frozen=True, eq=False, repr=False)
class Excitation(Trajectory):
    """A periodic trajectory from rest to rest: ``q, v, a = excitation(t)``.

    ``condition`` is that of the observation matrix, ``log_det`` the logarithm of the determinant of
    W^T W / samples; ``compared`` has both of random motions. ``used`` is the largest part of each
    limit that the motion needs.

    Examples:
        >>> robot = appell.load("planar_chain", n=2)
        >>> limits = dict(position=1.0, speed=2.0, acceleration=5.0, torque=60.0)
        >>> few = dict(starts=1, iterations=1, random=2)
        >>> motion = appell.identify.excite(robot, duration=4.0, harmonics=2, **limits, **few)
        >>> motion.periods(3).duration
        12.0
    """

    kind: str
    basis: Basis
    x: Array  # (d, n): the basis' weights for each joint
    limits: MotionLimits
    criterion: str
    condition: float
    log_det: float
    compared: Compared
    used: dict[str, float] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def n(self) -> int:
        """The number of joints."""
        return self.x.shape[1]

    @property
    def duration(self) -> float:
        """The length of a period, s."""
        return self.basis.duration

    def _at(self, t: Array) -> State:
        within = np.clip(t, 0.0, self.duration)
        q, v, a = (part @ self.x for part in self.basis(within))
        moving = (within == t)[..., None]
        return q, np.where(moving, v, 0.0), np.where(moving, a, 0.0)

    def periods(self, count: int) -> Trajectory:
        """The motion several times, one after another.

        Args:
            count: How many times.

        Returns:
            A trajectory.
        """
        return Joined((self,) * whole("periods", count, least=1))

    def __repr__(self) -> str:
        return (
            f"<{self.kind} excitation of {self.n} joints, {self.duration:g} s: condition "
            f"{self.condition:.4g} (random motions: median {self.compared.median:.4g}, best "
            f"{self.compared.best:.4g})>"
        )


@alone
def excite(
    robot: Robot,
    *,
    duration: float,
    harmonics: int = 5,
    kind: Kind = "fourier",
    criterion: Criterion = "condition",
    position: Any = None,
    speed: Numbers | None = None,
    acceleration: Numbers | None = None,
    torque: Numbers | None = None,
    workspace: Sequence[Box | HalfSpace] | Box | HalfSpace = (),
    friction: bool = False,
    rotors: bool = False,
    noise: Numbers = 1.0,
    starts: int = 3,
    iterations: int = 100,
    random: int = 100,
    seed: int = 0,
    progress: Callable[[ExcitationStep], None] | None = None,
) -> Excitation:
    """A motion that excites all base parameters of a robot.

    The search begins with the best of ``random`` motions, ``starts`` times. Control-C ends it and
    keeps the best so far (``interrupted`` is then True). The search amplifies rounding: another
    processor may find another motion, about as good. It takes from seconds to some minutes (the
    Panda with friction).

    Args:
        robot: Whose parameters.
        duration: Of the motion, s.
        harmonics: Of a Fourier series; a spline has 2 harmonics + 1 pieces, and as many numbers to
            choose.
        kind: "fourier" or "spline".
        criterion: What is best: the "condition" of the observation matrix, or its determinant,
            "d_optimal".
        position: Limits: a number (both ways) or a pair (lower, upper), for all joints or one per
            joint; the model's without it.
        speed: The largest, rad/s or m/s, one number or one per joint; the model's without it.
        acceleration: The largest, rad/s^2 or m/s^2.
        torque: The largest, N m or N; the model's without it.
        workspace: Holds points of frames in a `Box` or a `HalfSpace`, or several.
        friction: Whether friction's parameters are excited, too.
        rotors: Whether rotors' are.
        noise: Of the torques, N m or N, one number or one per joint: a noisy one counts less.
        starts: How many searches.
        iterations: At most, of each.
        random: How many random motions are tried first.
        seed: Of these.
        progress: A function that is told of every iteration.

    Returns:
        An `Excitation`.

    Examples:
        >>> robot = appell.load("planar_chain", n=2)
        >>> limits = dict(position=1.0, speed=2.0, acceleration=5.0, torque=60.0)
        >>> few = dict(starts=1, iterations=2, random=5)
        >>> motion = appell.identify.excite(robot, duration=4.0, harmonics=2, **limits, **few)
        >>> motion(1.0)[0].shape, motion.periods(3).duration
        ((2,), 12.0)
    """
    _refuse(robot, harmonics, kind, criterion)
    starts = whole("excite: starts", starts, least=1)
    random = whole("excite: random", random, least=1)
    iterations = whole("excite: iterations", iterations, least=1)
    T = number("excite: duration", duration)
    basis = fourier(T, harmonics) if kind == "fourier" else splines(T, 2 * harmonics + 1)
    allowed = limits(robot, position, speed, acceleration, torque, workspace)
    weights = 1 / positive("excite: noise", noise, robot.nv)
    observation = Observation(robot, basis, weights / weights.max(), friction, rotors)
    fitting = Fitting(robot, allowed, basis)
    candidates = _random(robot, fitting, basis, random, seed)
    spectra = [observation.spectrum(x) for x in candidates]
    compared = Compared(
        np.array([condition(s) for s in spectra]), np.array([log_det(s) for s in spectra])
    )
    score = _SCORES[criterion]
    order = np.argsort([score(s) for s in spectra], kind="stable")
    best = [candidates[k] for k in order[:starts]]

    def watch(start: int, iteration: int, value: float) -> None:
        if progress is not None:
            progress(ExcitationStep(start, len(best), iteration, iterations, value))

    x, broken_off = _searched(observation, fitting, criterion, best, watch, iterations)
    s = observation.spectrum(x)
    return Excitation(
        kind, basis, x, allowed, criterion, condition(s), log_det(s), compared,
        fitting.used(x), broken_off,
    )  # fmt: skip


def condition(s: Array) -> float:
    """The condition number, from singular values."""
    return float(s[0] / s[-1]) if s[-1] > 0 else np.inf


def log_det(s: Array) -> float:
    """The logarithm of the determinant of W^T W, from the singular values of W."""
    return float(2 * np.log(s).sum()) if s[-1] > 0 else -np.inf


_SCORES: dict[str, Callable[[Array], float]] = {
    "condition": condition,
    "d_optimal": lambda s: -log_det(s),
}


def _searched(
    observation: Observation,
    fitting: Fitting,
    criterion: Criterion,
    starts: Sequence[Array],
    watch: Callable[[int, int, float], None],
    iterations: int,
) -> tuple[Array, bool]:
    """The best motion found from several starts, and whether the search was interrupted."""
    from appell.identify.excitation.problem import Interrupted, Problem
    from appell.identify.excitation.spectral import CRITERIA

    motions, broken_off = [starts[0]], False
    try:
        problem = Problem(observation, fitting.limits, CRITERIA[criterion])
        for k, start in enumerate(starts, 1):
            motions += problem.solve(start, iterations, partial(watch, k))
    except Interrupted as so_far:
        motions += so_far.found
        broken_off = True
    except KeyboardInterrupt:
        broken_off = True
    if broken_off:
        interrupted()
    kept = [x for x in map(fitting.fitted, motions) if x is not None]
    return min(kept, key=lambda x: _SCORES[criterion](observation.spectrum(x))), broken_off


def _random(robot: Robot, fitting: Fitting, basis: Basis, count: int, seed: int) -> list[Array]:
    """Motions about random positions, as large as the limits let them be."""
    draw = np.random.default_rng(whole("excite: seed", seed, least=0))
    allowed = fitting.limits
    found: list[Array] = []
    for _ in range(_TRIES * count):
        middle = allowed.middle + 0.5 * allowed.half * draw.uniform(-1, 1, robot.nv)
        x = np.vstack([middle, draw.normal(size=(basis.d - 1, robot.nv))])
        fitted = fitting.fitted(fitting.grown(x))
        if fitted is not None:
            found.append(fitted)
        if len(found) == count:
            return found
    if found:
        return found
    used = fitting.used(np.vstack([allowed.middle, np.zeros((basis.d - 1, robot.nv))]))
    over = [f"needs {x:.3g} times the limit of {k}" for k, x in used.items() if x > 1]
    if used.get("workspace", 0) > 1:
        over[-1] = f"is {used['workspace'] - 1:.3g} m out of the workspace"
    where = f" (standing still in the middle of its range it {' and '.join(over)})" if over else ""
    raise InputError(
        f"excite: none of {_TRIES * count} random motions of '{robot.name}' keeps within the limits"
        f"{where}; widen them: check the torques against gravity, and the workspace."
    )


_TRIES = 20  # per motion, before it is given up
_HARMONICS = 1000  # at most: matrices grow with their square


def _refuse(robot: Any, harmonics: Any, kind: Any, criterion: Any) -> None:
    if not isinstance(robot, Robot):
        raise InputError(f"excite({robot!r}): expected a Robot; appell.load gives one.")
    if robot.model.compounds or robot.nv != robot.model.nv:
        raise InputError(
            f"excite: '{robot.name}' has a free base or loops; excitations are for robots on a "
            "fixed base whose joints are all driven."
        )
    if whole("excite: harmonics", harmonics, least=1) > _HARMONICS:
        raise InputError(f"excite: harmonics = {harmonics}; expected {_HARMONICS} at most.")
    if harmonics < 2:
        raise InputError(
            f"excite: harmonics = {harmonics}; expected 2 or more: of fewer, nothing is left once "
            "the motion starts and ends at rest."
        )
    named("excite: kind", kind, KINDS)
    named("excite: criterion", criterion, CRITERIA)
