"""Robots built in code, link by link and joint by joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isfinite
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from appell.errors import ModelError, nearest, quoted
from appell.given import is_number
from appell.model.axes import frame_along
from appell.model.build import Base, X, Y, Z, assemble
from appell.model.description.dh import link_inertia
from appell.model.hinges import CompoundJoint, Hinge, Mimic, in_series, on_a_plane
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint
from appell.model.place import WORLD, Pose, pose_of
from appell.robots.robot import Robot

Array = npt.NDArray[np.float64]
Axis = str | Sequence[float] | Array

KINDS = (
    "revolute", "continuous", "prismatic", "helical", "fixed", "universal", "cylindrical",
    "planar", "spherical", "free",
)  # fmt: skip
_COMPOUND: dict[str, Literal["spherical", "free"]] = {"spherical": "spherical", "free": "free"}
_PLAIN = {  # a drive that is none
    "speed": inf, "effort": inf, "viscous": 0, "coulomb": 0, "gear": 1, "rotor": 0, "stiffness": 0,
    "rest": 0,
}  # fmt: skip
_AXES = {"x": X, "y": Y, "z": Z}


class Builder:
    """A robot in the making: links, joints between them, and then ``robot()``.

    The link that no joint carries is the root. "world" is a link that need not be added. Units are
    SI and radians.

    Args:
        name: The robot's name.
        base: How the root stands: "fixed", "free" to move, or "planar": free in the world's x, y
            plane.
        gravity: The field of gravity in the world's axes, m/s^2.

    Examples:
        >>> build = appell.Builder("arm")
        >>> rod = appell.inertia.cylinder(2.0, radius=0.04, length=0.5, com=(0, 0, 0.25))
        >>> shoulder = dict(pose=(0, 0, 1), axis="y", limits=(-2, 2))
        >>> _ = build.link("upper", rod)
        >>> _ = build.link("fore", mass=1.0, com=(0, 0, 0.2), inertia=(0.01, 0.01, 0.001))
        >>> _ = build.joint("shoulder", "revolute", "world", "upper", **shoulder)
        >>> _ = build.joint("elbow", "revolute", "upper", "fore", pose=(0, 0, 0.5), axis="y")
        >>> robot = build.robot(tip="fore")
        >>> robot.joint_names
        ('shoulder', 'elbow')
        >>> print(np.round(robot.gravity([0.5, 0.2]), 3))
        [-5.967 -1.264]
    """

    def __init__(
        self,
        name: str = "robot",
        *,
        base: Base = "fixed",
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
    ) -> None:
        self.name, self.base, self.gravity = name, base, gravity
        self._links: dict[str, Inertia] = {}
        self._hinges: list[Hinge] = []
        self._joints: set[str] = set()

    def link(
        self,
        name: str,
        body: Inertia | None = None,
        *,
        mass: float | None = None,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
    ) -> Builder:
        """Add a link.

        Args:
            name: Its name.
            body: An inertia of `appell.inertia`; or ``mass``, ``com`` and ``inertia`` instead. A
                link with neither weighs nothing.
            mass: kg.
            com: Its centre of mass in the link's axes, m.
            inertia: About the centre of mass, in the link's axes, kg m^2: Ixx, Iyy, Izz, or six
                numbers Ixx, Ixy, Iyy, Ixz, Iyz, Izz, or 3 x 3.

        Returns:
            The builder itself.
        """
        if not isinstance(name, str) or not name:
            raise ModelError(f"'{self.name}': link({quoted(name)}): expected a name.")
        if name in self._links:
            raise ModelError(f"'{self.name}': there is a link '{name}' already; choose another.")
        if body is not None and not isinstance(body, Inertia):
            raise ModelError(
                f"link '{name}': {quoted(body)} is no inertia; expected one of appell.inertia, or "
                "mass=, com= and inertia=."
            )
        if body is not None and mass is not None:
            raise ModelError(f"link '{name}': give either an inertia or mass=, com= and inertia=.")
        if body is None:
            body = NOTHING if mass is None else link_inertia(name, mass, com, inertia)
        self._links[name] = body
        return self

    def joint(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        pose: Pose = None,
        axis: Axis | None = None,
        *,
        limits: Any = None,
        speed: Any = inf,
        effort: Any = inf,
        viscous: Any = 0.0,
        coulomb: Any = 0.0,
        armature: Any = 0.0,
        rotor: Any = 0.0,
        gear: Any = 1.0,
        coulomb_backwards: Any = None,
        stiffness: Any = 0.0,
        rest: Any = 0.0,
        pitch: float = 0.0,
        mimic: str | tuple[str, float] | tuple[str, float, float] | None = None,
    ) -> Builder:
        """Add a joint; the child's frame is where the joint's is while the joint is at zero.

        A joint in series takes a number for all of its joints or a list, and a list of limits.

        Args:
            name: Its name.
            kind: "revolute", "continuous", "prismatic", "helical", "fixed", "spherical", "free", or
                a series of single joints: "universal" (a turn about each of two axes, x and y
                unless ``axis`` is a pair of others: "NAME 1" and "NAME 2"), "cylindrical" (a turn
                and a slide along the axis: "NAME turn", "NAME slide"), "planar" (two slides in the
                plane across the axis, and a turn: "NAME x", "NAME y", "NAME turn").
            parent: The link it stands on.
            child: The link it carries.
            pose: Where its frame is in the parent's: see `appell.Frame` for the ways to write a
                pose.
            axis: "x", "y", "z" or "-z", or three numbers in the joint's frame; z without one.
            limits: (lower, upper), rad or m.
            speed: The largest, rad/s or m/s.
            effort: The largest torque or force, N m or N.
            viscous: Friction per velocity, N m s/rad or N s/m.
            coulomb: Dry friction, N m or N.
            armature: Inertia felt at the joint, kg m^2 or kg; or ``rotor`` with ``gear``.
            rotor: A motor's inertia before the gear, kg m^2.
            gear: Turns of the motor per turn of the joint.
            coulomb_backwards: Dry friction while the velocity is negative, where it is another, N m
                or N.
            stiffness: Of a spring, N m/rad or N/m.
            rest: The position to which the spring pulls, rad or m.
            pitch: Of a helical joint, m/rad.
            mimic: Another joint that it follows, or that with a ratio, or with a ratio and an
                offset, rad or m.

        Returns:
            The builder itself.
        """
        what = f"joint '{name}'"
        for word, given in (("its name", name), ("parent", parent), ("child", child)):
            if not isinstance(given, str):
                raise ModelError(f"{what}: {word} = {quoted(given)}; expected a name.")
        if not is_number(pitch) or not isfinite(pitch) or (kind in _COMPOUND and pitch):
            raise ModelError(f"{what}: pitch = {quoted(pitch)}; a helical joint has one, in m/rad.")
        if kind not in KINDS:
            near = nearest(str(kind), KINDS)
            hint = f" Did you mean '{near}'?" if near else ""
            raise ModelError(f"{what}: kind = {kind!r}; expected one of {', '.join(KINDS)}.{hint}")
        if name in self._joints:
            raise ModelError(f"'{self.name}': there is a joint '{name}' already; choose another.")
        R, s = pose_of(what, pose)
        drive = {
            "speed": speed, "effort": effort, "viscous": viscous, "coulomb": coulomb, "gear": gear,
            "rotor": _felt(what, armature, rotor, gear), "stiffness": stiffness, "rest": rest,
        }  # fmt: skip
        if coulomb_backwards is not None:
            drive["coulomb_backwards"] = coulomb_backwards
        if kind == "fixed":
            hinges = [Hinge(name, parent, child, None, R, s)]
        elif kind in _COMPOUND:
            if drive != _PLAIN or limits is not None or mimic is not None or axis is not None:
                raise ModelError(
                    f"{what} is {kind}: it takes neither axis, limits, drive, spring nor mimic; "
                    "leave them out, or build it of single joints."
                )
            hinges = [Hinge(name, parent, child, CompoundJoint(name, _COMPOUND[kind]), R, s)]
        else:
            singles = _singles(what, name, kind, axis, pitch)
            driven = _driven(what, [joint for joint, _ in singles], limits, drive)
            axes = [x for _, x in singles]
            carriers, hinges = in_series(parent, child, [*zip(driven, axes, strict=True)], R, s)
            self._links |= carriers
            if mimic is not None:
                if len(hinges) > 1:
                    raise ModelError(f"{what}: a {kind} joint is several, which mimic no other.")
                hinges = [replace(hinges[0], mimic=_mimic(what, mimic))]
        for link in (parent, child):
            if link == WORLD and WORLD not in self._links:
                self._links[WORLD] = NOTHING
        self._joints.add(name)
        self._hinges += hinges
        return self

    def robot(
        self,
        *,
        root: str | None = None,
        tip: str | None = None,
        points: Sequence[str] = (),
        physical: bool | None = True,
    ) -> Robot:
        """The robot made of what was added.

        Args:
            root: Another link to stand on the base than the one that no joint carries.
            tip: The link that methods mean where none is named.
            points: Links whose origins can touch walls.
            physical: Inertias that no body can have are refused; None warns of them, False takes
                them.

        Returns:
            A `Robot`.
        """
        for hinge in self._hinges:
            for link in (hinge.parent, hinge.child):
                if link not in self._links:
                    near = nearest(str(link), self._links)
                    cure = f"did you mean '{near}'?" if near else f"add it: build.link({link!r})."
                    raise ModelError(
                        f"'{self.name}': joint '{hinge.name}' names link '{link}', which is not "
                        f"there; {cure}"
                    )
        for link in (*([tip] if tip else ()), *points):
            if link not in self._links:
                raise ModelError(
                    f"'{self.name}': there is no link '{link}'; there are {', '.join(self._links)}."
                )
        return Robot(
            assemble(
                self.name, self._links, self._hinges, gravity=self.gravity, base=self.base,
                root=root, tip=tip, points=points, physical=physical,
            )
        )  # fmt: skip


def _singles(what: str, name: str, kind: str, axis: Any, pitch: float) -> list[tuple[Joint, Array]]:
    """The single joints that a joint is, each with its axis."""
    if pitch and kind != "helical":
        raise ModelError(f"{what} is {kind} and has no pitch; a helical joint has one.")
    if kind == "universal":
        try:
            first, second = axis if axis is not None else (X, Y)
        except (TypeError, ValueError):
            raise ModelError(f"{what}: axis = {axis!r}; expected a pair of axes.") from None
        axes = _axis(what, first), _axis(what, second)
        lengths = np.linalg.norm(axes, axis=1)
        if np.linalg.norm(np.cross(*axes)) < 1e-6 * lengths.prod():
            raise ModelError(
                f"{what}: axis = {axis!r}, which are parallel; expected two that cross."
            )
        return [(Joint(f"{name} {k}"), x) for k, x in enumerate(axes, start=1)]
    along = _axis(what, "z" if axis is None else axis)
    if kind == "planar":
        return [*zip(on_a_plane(name), frame_along(along, name).T, strict=True)]
    if kind == "cylindrical":
        return [(Joint(f"{name} turn"), along), (Joint(f"{name} slide", "prismatic"), along)]
    return [(Joint(name, "revolute" if kind == "continuous" else kind, pitch=pitch), along)]


def _axis(what: str, axis: Any) -> Array:
    if isinstance(axis, str):
        if axis.removeprefix("-") not in _AXES:
            raise ModelError(f"{what}: axis = {axis!r}; expected x, y, z, -x, or three numbers.")
        return np.array(_AXES[axis.removeprefix("-")]) * (-1) ** axis.count("-") + 0.0
    try:
        numbers = np.array(axis, dtype=float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (3,) or not np.isfinite(numbers).all() or not numbers.any():
        raise ModelError(f"{what}: axis = {quoted(axis)}; expected x, y, z, -x, or three numbers.")
    return numbers


def _driven(what: str, joints: list[Joint], limits: Any, drive: dict[str, Any]) -> list[Joint]:
    """The joints with their limits and drives, each given for all of them or one by one."""
    n = len(joints)
    several = [limits] if n == 1 else [None] * n if limits is None else limits
    try:
        pairs = [_pair(what, x) for x in several]
    except TypeError:
        pairs = []
    if len(pairs) != n:
        raise ModelError(
            f"{what}: limits = {quoted(limits)}; expected (lower, upper) for each of {n} joints."
        )
    rows: dict[str, Any] = {key: _each(f"{what}: {key}", value, n) for key, value in drive.items()}
    return [
        replace(joint, lower=low, upper=high, **{key: row[k] for key, row in rows.items()})
        for k, (joint, (low, high)) in enumerate(zip(joints, pairs, strict=True))
    ]


def _pair(what: str, limits: Any) -> tuple[float, float]:
    if limits is None:
        return -inf, inf
    try:
        lower, upper = map(float, limits)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: limits = {quoted(limits)}; expected (lower, upper).") from None
    return lower, upper


def _each(what: str, value: Any, n: int) -> list[float]:
    try:
        return [float(x) for x in np.broadcast_to(np.array(value, dtype=float), (n,))]
    except (TypeError, ValueError):
        wanted = "a number" if n == 1 else f"a number, or {n}"
        raise ModelError(f"{what} = {quoted(value)}; expected {wanted}.") from None


def _felt(what: str, armature: Any, rotor: Any, gear: Any) -> Any:
    """The rotor's inertia: an armature is one without a gear."""
    if not np.any(armature):
        return rotor
    if np.any(rotor) or np.any(np.asarray(gear) != 1):
        raise ModelError(
            f"{what}: armature is inertia felt at the joint, gear squared times the rotor's; give "
            "either armature, or rotor and gear."
        )
    return armature


def _mimic(what: str, mimic: Any) -> Mimic:
    try:
        leader, *numbers = (mimic,) if isinstance(mimic, str) else mimic
        return Mimic(str(leader), *map(float, numbers))
    except (TypeError, ValueError):
        raise ModelError(
            f"{what}: mimic = {quoted(mimic)}; expected a joint, (joint, ratio) or (joint, ratio, "
            "offset)."
        ) from None
