"""Robots from Denavit-Hartenberg parameters, in either convention."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.errors import ModelError
from appell.maths.vector import Symmetric, Vector
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint, Model

Numbers = Sequence[float] | npt.NDArray[np.float64]


def from_dh(
    *,
    convention: str,
    alpha: Numbers,
    a: Numbers,
    d: Numbers,
    theta: Numbers | None = None,
    kinds: Sequence[str] | str | None = None,
    mass: Numbers,
    com: Sequence[Numbers],
    inertia: Sequence[Numbers],
    name: str = "robot",
    gravity: Numbers = (0.0, 0.0, -9.81),
    limits: Sequence[tuple[float, float]] | None = None,
    speed: Numbers | None = None,
    effort: Numbers | None = None,
    viscous: Numbers | None = None,
    coulomb: Numbers | None = None,
    rotor: Numbers | None = None,
    gear: Numbers | None = None,
    joint_names: Sequence[str] | None = None,
    link_names: Sequence[str] | None = None,
    physical: bool | None = True,
) -> Model:
    """A chain from its Denavit-Hartenberg table; one entry per joint in every argument.

    ``convention="modified"`` (Craig: T = Rx(alpha) Tx(a) Rz(theta) Tz(d), frame i on joint i)
    or ``"standard"`` (Paul: T = Rz(theta) Tz(d) Tx(a) Rx(alpha), frame i at the end of link i).
    ``kinds`` is a string of R and P or a list of "revolute" and "prismatic"; all revolute
    without it. ``theta`` and ``d`` are constants of the joint; its coordinate is added to
    theta (revolute) or d (prismatic). ``com`` is in the link's frame, ``inertia`` about the
    centre of mass: Ixx, Iyy, Izz, or six numbers Ixx, Ixy, Iyy, Ixz, Iyz, Izz, or 3 x 3.
    """
    if convention not in ("modified", "standard"):
        raise ModelError(
            f"convention={convention!r}: say 'modified' (Craig, frame i on joint i) or 'standard' "
            "(Paul, frame i at the end of link i)."
        )
    n = _count(alpha)
    types = _kinds(kinds, n)
    for label, given in {
        "com": com, "inertia": inertia, "limits": limits, "joint_names": joint_names,
        "link_names": link_names,
    }.items():  # fmt: skip
        entries = n if given is None and label not in ("com", "inertia") else _count(given, label)
        if entries != n:
            raise ModelError(f"{label} has {entries} entries and alpha {n}: one per joint.")
    angles, lengths, offsets = (
        _column(label, x, n) for label, x in (("alpha", alpha), ("a", a), ("d", d))
    )
    turns = _column("theta", theta, n, default=0.0)
    masses = _column("mass", mass, n, finite=False)  # check_inertia names the link
    drives = {
        "speed": _column("speed", speed, n, default=inf),
        "effort": _column("effort", effort, n, default=inf),
        "viscous": _column("viscous", viscous, n, default=0.0),
        "coulomb": _column("coulomb", coulomb, n, default=0.0),
        "rotor": _column("rotor", rotor, n, default=0.0),
        "gear": _column("gear", gear, n, default=1.0),
    }
    if link_names and "base" in link_names:
        raise ModelError("link_names: 'base' is the name of the immobile link; choose another.")
    links = {"base": NOTHING}
    hinges = []
    at = "base"
    for i in range(n):
        low, high = _limits(limits[i], i) if limits is not None else (-inf, inf)
        joint = Joint(
            name=joint_names[i] if joint_names else f"joint{i + 1}",
            kind=types[i],
            lower=low,
            upper=high,
            **{what: column[i] for what, column in drives.items()},
        )
        link = link_names[i] if link_names else f"link{i + 1}"
        links[link] = link_inertia(link, masses[i], com[i], inertia[i])
        turned, slid = turns[i], offsets[i]
        revolute = joint.kind == "revolute"
        rx, rz = _about_x(angles[i]), _about_z(turned)
        reach = np.array([lengths[i], 0.0, 0.0])
        rise = np.array([0.0, 0.0, slid])
        if convention == "modified":
            # Rx Tx, then the joint; what is constant of theta or d goes before it.
            R = rx if revolute else rx @ rz
            s = reach + rx @ rise if revolute else reach
            shift = turned if revolute else slid
            hinges.append(Hinge(joint.name, at, link, joint, R, s, shift=shift))
        else:
            hinges.append(
                Hinge(
                    joint.name,
                    at,
                    link,
                    joint,
                    np.eye(3) if revolute else rz,
                    np.zeros(3),
                    shift=turned if revolute else slid,
                    link_rotation=rx,
                    link_position=reach + rise if revolute else reach,
                )
            )
        at = link
    return assemble(name, links, hinges, gravity=gravity, tip=at, physical=physical)


def _count(given: Any, label: str = "alpha") -> int:
    try:
        n = len(given)
    except TypeError:
        raise ModelError(
            f"{label} = {given!r}: expected a list with one entry per joint."
        ) from None
    if n == 0:
        raise ModelError(f"{label} is empty: a robot has at least one joint.")
    return n


def _limits(given: Any, i: int) -> tuple[float, float]:
    try:
        low, high = (float(x) for x in given)
    except (TypeError, ValueError):
        raise ModelError(f"limits of joint {i + 1} = {given!r}: expected lower, upper.") from None
    return low, high


def _column(
    label: str,
    numbers: Numbers | None,
    n: int,
    default: float | None = None,
    *,
    finite: bool = True,
) -> list[float]:
    """One number per joint; finite ones, unless infinity is what is meant without them."""
    if numbers is None and default is not None:
        return [default] * n
    try:
        column = np.asarray(numbers, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{label} = {numbers!r}: expected {n} numbers, one per joint.") from None
    if column.shape != (n,):
        raise ModelError(f"{label} has shape {column.shape}; expected {n} numbers, one per joint.")
    for i, x in enumerate(column):
        if finite and not (np.isfinite(x) or (x == inf and default == inf)):
            raise ModelError(f"{label} of joint {i + 1} is {x}; expected a finite number.")
    return [float(x) for x in column]


def _kinds(kinds: Sequence[str] | str | None, n: int) -> list[str]:
    letters = {
        "R": "revolute",
        "P": "prismatic",
        "revolute": "revolute",
        "prismatic": "prismatic",
    }
    given = list(kinds) if isinstance(kinds, (str, list, tuple)) else ["R"] * n
    if kinds is not None and not isinstance(kinds, (str, list, tuple)):
        given = [repr(kinds)]
    unknown = [k for k in given if k not in letters]
    if unknown or len(given) != n:
        raise ModelError(
            f"kinds={kinds!r}: expected {n} joint kinds, each 'revolute' ('R') or 'prismatic' "
            "('P')."
        )
    return [letters[k] for k in given]


def link_inertia(name: str, mass: float, com: Numbers, inertia: Numbers) -> Inertia:
    """From a mass, its centre, and the inertia about it as 3, 6 or 3 x 3 numbers."""
    try:
        I = np.asarray(inertia, dtype=float)
        centre = np.asarray(com, dtype=float)
        weight = float(mass)
    except (TypeError, ValueError):
        raise ModelError(
            f"link '{name}': expected numbers, got mass = {mass!r}, com = {com!r}, inertia = "
            f"{inertia!r}."
        ) from None
    if I.shape == (3,):
        tensor = Symmetric(I[0], 0.0, I[1], 0.0, 0.0, I[2])
    elif I.shape == (6,):
        tensor = Symmetric(*I)
    elif I.shape == (3, 3):
        if not np.allclose(I, I.T, rtol=1e-9, atol=0):
            raise ModelError(f"link '{name}': inertia {I.tolist()} is not symmetric.")
        tensor = Symmetric(I[0, 0], I[1, 0], I[1, 1], I[2, 0], I[2, 1], I[2, 2])
    else:
        raise ModelError(
            f"link '{name}': inertia of shape {I.shape}; expected 3 principal moments, 6 numbers "
            "(Ixx, Ixy, Iyy, Ixz, Iyz, Izz) or a 3 x 3 matrix."
        )
    if centre.shape != (3,):
        raise ModelError(f"link '{name}': com = {com!r}; expected x, y, z.")
    return Inertia.about_com(weight, Vector(*map(float, centre)), Symmetric(*map(float, tensor)))


def _about_x(angle: float) -> npt.NDArray[np.float64]:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def _about_z(angle: float) -> npt.NDArray[np.float64]:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
