"""Inertias of solid bodies of uniform density, for links: ``appell.inertia``.

Each function gives the inertia of a body in its link's frame, where its centre is at ``com`` and
its axes are turned by roll, pitch and yaw, ``rpy``. Lengths are in m, masses in kg. Inertias add
up: ``box(...) + sphere(...)`` is a body made of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from appell.errors import InputError, quoted
from appell.given import vector
from appell.maths.vector import ZERO, Symmetric
from appell.model.axes import as_rotation, as_vector, from_rpy
from appell.model.inertia import Inertia

__all__ = ["box", "capsule", "cylinder", "ellipsoid", "equal_box", "mesh", "point", "sphere"]

Three = Sequence[float]
_HERE = (0.0, 0.0, 0.0)


def point(mass: float, com: Three = _HERE) -> Inertia:
    """The inertia of a mass at one point.

    Args:
        mass: kg.
        com: The point in the link's frame, m.

    Returns:
        An inertia, for `Builder.link`.

    Examples:
        >>> appell.inertia.point(0.5, com=(0, 0, 0.1)).mass
        0.5
    """
    return _placed("point", mass, (0.0, 0.0, 0.0), com, _HERE)


def box(mass: float, size: Three, com: Three = _HERE, rpy: Three = _HERE) -> Inertia:
    """The inertia of a box.

    Args:
        mass: kg.
        size: Edges along x, y and z, m.
        com: Its centre in the link's frame, m.
        rpy: How its axes are turned: roll, pitch and yaw, rad.

    Returns:
        An inertia, for `Builder.link`; inertias add up.

    Examples:
        >>> body = appell.inertia.box(2.0, (0.1, 0.2, 0.3)) + appell.inertia.point(1.0)
        >>> body.mass
        3.0
    """
    x, y, z = (w * w for w in _lengths("box", "size", size))
    return _placed("box", mass, ((y + z) / 12, (x + z) / 12, (x + y) / 12), com, rpy)


def ellipsoid(mass: float, radii: Three, com: Three = _HERE, rpy: Three = _HERE) -> Inertia:
    """The inertia of an ellipsoid.

    Args:
        mass: kg.
        radii: Along x, y and z, m.
        com: Its centre in the link's frame, m.
        rpy: How its axes are turned: roll, pitch and yaw, rad.

    Returns:
        An inertia, for `Builder.link`.

    Examples:
        >>> appell.inertia.ellipsoid(2.0, (0.1, 0.2, 0.3)).mass
        2.0
    """
    x, y, z = (r * r for r in _lengths("ellipsoid", "radii", radii))
    return _placed("ellipsoid", mass, ((y + z) / 5, (x + z) / 5, (x + y) / 5), com, rpy)


def sphere(mass: float, radius: float, com: Three = _HERE) -> Inertia:
    """The inertia of a solid sphere.

    Args:
        mass: kg.
        radius: m.
        com: Its centre in the link's frame, m.

    Returns:
        An inertia, for `Builder.link`.

    Examples:
        >>> appell.inertia.sphere(2.0, radius=0.1).mass
        2.0
    """
    (r,) = _lengths("sphere", "radius", [radius])
    return _placed("sphere", mass, (0.4 * r * r,) * 3, com, _HERE)


def cylinder(
    mass: float, radius: float, length: float, com: Three = _HERE, rpy: Three = _HERE
) -> Inertia:
    """The inertia of a cylinder along z; of radius 0 it is a thin rod.

    Args:
        mass: kg.
        radius: m.
        length: m.
        com: Its centre in the link's frame, m.
        rpy: How its axes are turned: roll, pitch and yaw, rad.

    Returns:
        An inertia, for `Builder.link`.

    Examples:
        >>> rod = appell.inertia.cylinder(3.0, radius=0.0, length=2.0)
        >>> rod.mass
        3.0
    """
    r, h = _lengths("cylinder", "radius, length", [radius, length])
    across = (3 * r * r + h * h) / 12
    return _placed("cylinder", mass, (across, across, r * r / 2), com, rpy)


def capsule(
    mass: float, radius: float, length: float, com: Three = _HERE, rpy: Three = _HERE
) -> Inertia:
    """The inertia of a cylinder along z with half a ball at either end.

    Args:
        mass: kg.
        radius: m.
        length: Of the cylinder, m.
        com: Its centre in the link's frame, m.
        rpy: How its axes are turned: roll, pitch and yaw, rad.

    Returns:
        An inertia, for `Builder.link`.

    Examples:
        >>> appell.inertia.capsule(2.0, radius=0.05, length=0.3).mass
        2.0
    """
    r, h = _lengths("capsule", "radius, length", [radius, length])
    # Of volumes pi r^2 h and 4/3 pi r^3; half a ball's centre is 3/8 r beyond the cylinder's end.
    whole = h + 4 / 3 * r
    if whole == 0:
        return _placed("capsule", mass, _HERE, com, rpy)
    tube, balls = h / whole, 4 / 3 * r / whole
    along = (tube / 2 + 0.4 * balls) * r * r
    across = tube * (3 * r * r + h * h) / 12
    across += balls * (0.4 * r * r + h * h / 4 + 3 / 8 * r * h)
    return _placed("capsule", mass, (across, across, along), com, rpy)


def mesh(
    vertices: Any, faces: Any, mass: float | None = None, *, density: float | None = None
) -> Inertia:
    """The inertia of the body inside a closed surface of triangles.

    Args:
        vertices: (n, 3), in the link's frame, m.
        faces: (m, 3), which number the vertices from 0, counter-clockwise as seen from outside.
        mass: kg; or ``density`` instead.
        density: kg/m^3.

    Returns:
        An inertia, for `Builder.link`.

    Examples:
        >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
        >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
        >>> round(appell.inertia.mesh(corners, faces, density=600).mass, 9)
        100.0
    """
    points, triangles = _surface(vertices, faces)
    if (mass is None) == (density is None):
        raise InputError("mesh: give either mass or density.")
    a, b, c = points[triangles].transpose(1, 0, 2)
    # Tetrahedra from the origin to each triangle, with signs: their moments are those of their
    # corners and their sum (F. Tonon, J. Math. Stat. 1, 2005).
    volumes = np.einsum("ni,ni->n", a, np.cross(b, c)) / 6
    volume = volumes.sum()
    if not volume > 0:
        raise InputError(
            f"mesh: its volume is {volume:g} m^3; expected a closed surface whose triangles go "
            "counter-clockwise as seen from outside: exchange two columns of faces."
        )
    total = a + b + c
    first = np.einsum("n,ni->i", volumes, total) / 4
    corners = sum(np.einsum("n,ni,nj->ij", volumes, x, x) for x in (a, b, c, total)) / 20
    heavy = _mass("mesh", mass if density is None else density * volume)
    com, spread = first / volume, corners / volume
    tensor = heavy * (np.trace(spread) * np.eye(3) - spread)
    numbers = (tensor[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)))
    return Inertia(heavy, as_vector(heavy * com), Symmetric(*map(float, numbers)))


def equal_box(inertia: Inertia) -> tuple[Any, Any]:
    """The box that has an inertia's mass and moments. A moment that no body can have counts as a
    flat box's.

    Args:
        inertia: Of a link.

    Returns:
        The edges (3,), m, and the rotation (3, 3) to the box's axes from those of the link.

    Examples:
        >>> edges, rotation = appell.inertia.equal_box(appell.inertia.box(2.0, (0.1, 0.2, 0.3)))
        >>> print(np.round(np.sort(edges), 6))
        [0.1 0.2 0.3]
    """
    xx, xy, yy, xz, yz, zz = (float(x) for x in inertia.central)
    moments, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.linalg.det(axes) < 0:
        axes[:, 0] = -axes[:, 0]
    squares = 6 * (moments.sum() - 2 * moments) / max(float(inertia.mass), 1e-300)
    return np.sqrt(np.maximum(squares, 0.0)), axes


def _surface(vertices: Any, faces: Any) -> tuple[Any, Any]:
    try:
        points, triangles = np.array(vertices, dtype=float), np.array(faces)
    except (TypeError, ValueError):
        points, triangles = np.empty(0), np.empty(0)
    good = points.ndim == triangles.ndim == 2 and points.shape[1] == triangles.shape[1] == 3
    if not good or triangles.dtype.kind not in "iu" or not np.isfinite(points).all():
        raise InputError(
            f"mesh: vertices of shape {points.shape} and faces of shape {triangles.shape}; "
            "expected finite numbers (n, 3) and whole numbers (m, 3)."
        )
    if triangles.min(initial=0) < 0 or triangles.max(initial=0) >= len(points):
        raise InputError(f"mesh: faces name vertices beyond the {len(points)} there are.")
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    if (counts % 2).any():
        raise InputError(
            f"mesh: {int((counts % 2).sum())} edges belong to an odd number of triangles, so the "
            "surface is not closed; fill its holes, or merge vertices that are one."
        )
    return points, triangles


def _placed(what: str, mass: float, moments: Sequence[float], com: Three, rpy: Three) -> Inertia:
    """From principal moments of inertia per mass about the centre."""
    m = _mass(what, mass)
    x, y, z = (m * k for k in moments)
    R = from_rpy(vector(f"{what}: rpy", rpy, 3).tolist())
    s = vector(f"{what}: com", com, 3).tolist()
    turned = Inertia(m, ZERO, Symmetric(x, 0, y, 0, 0, z)).moved(as_rotation(R), ZERO)
    return Inertia.about_com(m, as_vector(s), turned.tensor)


def _mass(what: str, mass: Any) -> float:
    try:
        m = float(mass)
    except (TypeError, ValueError):
        m = -1.0
    if not 0 <= m < np.inf:
        raise InputError(f"{what}: mass = {quoted(mass)}; expected zero or more, in kg.")
    return m


def _lengths(what: str, names: str, values: Any) -> list[float]:
    try:
        lengths = [float(x) for x in values]
    except (TypeError, ValueError):
        lengths = []
    wanted = 3 if names in ("size", "radii") else len(names.split(","))
    if len(lengths) != wanted or not all(0 <= x < np.inf for x in lengths):
        raise InputError(f"{what}: {names} = {quoted(values)}; expected {wanted} lengths, in m.")
    return lengths
