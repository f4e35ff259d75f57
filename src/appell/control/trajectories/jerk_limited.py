"""Jerk-limited trajectories, by the library ruckig."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.control.trajectories.joint_space import identity
from appell.control.trajectories.piecewise import Piecewise
from appell.control.trajectories.trajectory import Timed, Trajectory
from appell.errors import AppellError, InputError
from appell.given import ends, limits, positions
from appell.robots.robot import Array, Numbers


def jerk_limited(
    q0: Numbers,
    q1: Numbers,
    speed: Numbers,
    acceleration: Numbers,
    jerk: Numbers,
    *,
    v0: Numbers = 0.0,
    v1: Numbers = 0.0,
    a0: Numbers = 0.0,
    a1: Numbers = 0.0,
) -> Trajectory:
    """The fastest motion within limits of velocity, acceleration and jerk: jerk is piecewise
    constant, accelerations are continuous.

    The joint that needs longest is as fast as it can be, and the others end with it. It may begin
    and end in motion.

    Args:
        q0: Where it begins, (n,), rad or m.
        q1: Where it ends, (n,), rad or m.
        speed: The limit of velocities, rad/s or m/s, one number or one per joint.
        acceleration: Of accelerations, rad/s^2 or m/s^2.
        jerk: Of their rates, rad/s^3 or m/s^3.
        v0: Velocities at the start, rad/s or m/s, one number or one per joint.
        v1: Velocities at the end, rad/s or m/s.
        a0: Accelerations at the start, rad/s^2 or m/s^2.
        a1: Accelerations at the end, rad/s^2 or m/s^2.

    Returns:
        A `Trajectory`.

    Examples:
        >>> move = appell.control.jerk_limited([0, 0], [1, 0.5], speed=1, acceleration=2, jerk=10)
        >>> round(move.duration, 3)
        1.7
    """
    ruckig = _ruckig()
    start, end = ends("jerk_limited", q0, q1)
    n = len(start)
    asked = ruckig.InputParameter(n)
    asked.current_position, asked.target_position = list(start), list(end)
    for name, (x, y) in {"velocity": (v0, v1), "acceleration": (a0, a1)}.items():
        for side, given, label in (("current", x, "0"), ("target", y, "1")):
            vector = positions(f"jerk_limited: {name[0]}{label}", given, None, n)
            setattr(asked, f"{side}_{name}", list(np.broadcast_to(vector, n)))
    for name, x in {"velocity": speed, "acceleration": acceleration, "jerk": jerk}.items():
        what = "speed" if name == "velocity" else name
        setattr(asked, f"max_{name}", list(limits(f"jerk_limited: {what}", x, n)))
    if np.array_equal(start, end) and not any(np.any(x) for x in (v0, v1, a0, a1)):
        raise InputError("jerk_limited: q0 and q1 are the same, so the way takes no time.")
    made = ruckig.Trajectory(n)
    try:
        result = ruckig.Ruckig(n).calculate(asked, made)
    except (RuntimeError, getattr(ruckig, "RuckigError", RuntimeError)) as problem:
        result = problem
    if result not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise InputError(
            f"jerk_limited: ruckig found no motion ({_first_line(result)}); the "
            "speeds and accelerations at the ends must be within the limits, and so must those "
            "that bring them to rest."
        )
    return Timed("jerk-limited", _pieces(made.profiles[0]), identity(float(made.duration)))


def _pieces(profiles: Any) -> Piecewise:
    """Cubic polynomials between all times at which the jerk of a joint changes."""
    joints = [_phases(profile) for profile in profiles]
    changes = np.unique(np.concatenate([starts for starts, _ in joints]))
    end = max(profile.brake.duration + sum(profile.t) for profile in profiles)
    keep = np.diff(changes, prepend=-1.0) > 1e-12
    knots = np.append(changes[keep & (changes < end - 1e-12)], end)
    c = np.empty((len(knots) - 1, 4, len(joints)))
    for k, (starts, phases) in enumerate(joints):
        # A knot that stands for several changes within rounding belongs to the last of them.
        which = np.searchsorted(starts, knots[:-1] + 1e-12, side="right") - 1
        p, v, a, j = phases[:, which]
        h = knots[:-1] - starts[which]
        c[:, 0, k] = p + h * (v + h * (a / 2 + h * j / 6))
        c[:, 1, k] = v + h * (a + h * j / 2)
        c[:, 2, k] = (a + h * j) / 2
        c[:, 3, k] = j / 6
    return Piecewise(knots, c)


def _phases(profile: Any) -> tuple[Array, Array]:
    """When a joint's phases begin, and its position, speed, acceleration and jerk there. Braking
    comes first, where a motion begins beyond its limits; after the last phase nothing moves but
    at the final speed."""
    brake = profile.brake
    durations = [*brake.t, *profile.t]
    rows = [[*getattr(brake, x), *getattr(profile, x)] for x in "pva"]
    rows.append([*brake.j, *profile.j, 0.0])
    starts = np.concatenate([[0.0], np.cumsum(durations)])
    real = np.append(np.array(durations) > 0, True)  # phases without length have no meaning
    return starts[real], np.array(rows)[:, real]


def _first_line(result: Any) -> str:
    return str(result).strip().removeprefix("[ruckig] ").splitlines()[0].rstrip(".")


def _ruckig() -> Any:
    try:
        import ruckig
    except ImportError:
        raise AppellError(
            "jerk-limited trajectories need the library ruckig: pip install 'appell[control]'."
        ) from None
    return ruckig
