"""From links and joints as people describe them to a Model.

Fixed joints are merged (their links stay as named frames), every body gets a
frame whose z is its joint's axis, and frames are turned about that axis so that
one child of each body is reached by a rotation about x alone, as in the modified
Denavit-Hartenberg convention: an equation then turns a vector by 8 products
instead of 13.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import atan2, cos, hypot, isfinite, sin
from operator import index
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from appell.errors import ModelError, nearest
from appell.maths.rotation import AboutX, AboutZ, After, Matrix, Rotation, as_matrix
from appell.maths.scalar import SNAP, snap
from appell.maths.vector import ZERO, Tensor, Vector
from appell.model.inertia import (
    LARGEST,
    NOTHING,
    Inertia,
    check_finite,
    check_inertia,
    snapped,
    with_sizes,
)
from appell.model.model import BASE, CYCLE, FREE, Body, Compound, Frame, Joint, Model
from appell.model.physical_bodies import judge

Array = npt.NDArray[np.float64]
_CYCLE: Array = np.array(CYCLE.rows, dtype=float)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
Base = Literal["fixed", "free", "planar"]


@dataclass(frozen=True)
class Mimic:
    """This joint's position is ``ratio`` times that of ``joint``, plus ``shift``."""

    joint: str
    ratio: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True)
class CompoundJoint:
    """A joint with a quaternion: a ball, or none at all. It has neither limits nor friction."""

    name: str
    kind: Literal["spherical", "free"]


@dataclass(frozen=True)
class Hinge:
    """How a child link hangs on its parent.

    The joint's frame is at ``position`` with axes ``rotation`` in the parent's; what moves does
    so along or about ``axis`` (in the joint's frame), and carries the child's own frame at
    ``link_position`` with axes ``link_rotation``. ``joint`` is None where nothing moves; its kind
    "spherical" turns about every axis, and "free" slides along them besides: see
    :class:`~appell.model.model.Compound`.
    """

    name: str
    parent: str
    child: str
    joint: Joint | CompoundJoint | None
    rotation: Array
    position: Array
    axis: Array | tuple[float, float, float] = (0.0, 0.0, 1.0)
    mimic: Mimic | None = None
    shift: float = 0.0
    link_rotation: Array = field(default_factory=lambda: np.eye(3))
    link_position: Array = field(default_factory=lambda: np.zeros(3))


def assemble(
    name: str,
    links: Mapping[str, Inertia],
    hinges: Sequence[Hinge],
    *,
    gravity: Sequence[float] | Array = (0.0, 0.0, -9.81),
    tip: str | None = None,
    physical: bool | None = True,
    order: Sequence[str] | None = None,
    points: Sequence[str] = (),
    base: Base = "fixed",
    root: str | None = None,
) -> Model:
    """Build and check a model.

    Bodies whose inertia no body can have are refused; ``physical=None`` warns of them, ``False``
    accepts them. ``order`` names the independent joints in the order of the coordinates, that of
    the tree without it; ``points`` names the links whose origins can touch a wall. A ``base`` that
    is "free" moves in space; one that is "planar" slides along the world's x and y and turns about
    its z. ``root`` names another link than the description's to stand on the base.
    """
    if base not in get_args(Base):
        known = ", ".join(get_args(Base))
        raise ModelError(f"'{name}': base = {base!r}; expected one of {known}.")
    if root is not None:
        as_described = _tree(name, links, hinges)[1]  # whose order the coordinates keep
        hinges = rerooted(name, links, hinges, root)
        if order is None:
            order = [x.name for h in as_described if not h.mimic for x in single_joints(h)]
            order = [*(["X1", "X2", "turn"] if base == "planar" else ()), *order]
    if base == "planar":
        links, hinges = _on_a_plane(name, links, hinges)
    free = base == "free"
    root, ordered = _tree(name, links, hinges)
    for link, inertia in links.items():
        check_finite(link, inertia)
    moving = [(h, joint) for h in ordered for joint in single_joints(h)]
    if not moving and not free:
        raise ModelError(
            f"'{name}' has no moving joint: there is no dynamics to compute. For a robot that "
            'moves as a whole, say base="free".'
        )

    # Every link's place on a body, in the body's frame whose z is its joint's axis.
    place: dict[str, tuple[int, Array, Array]] = {root: (BASE, np.eye(3), np.zeros(3))}
    parents: list[int] = []
    R0s: list[Array] = []
    s0s: list[Array] = []
    inertias: list[Inertia] = []
    compounds: list[tuple[str, int, int]] = []
    for h in ordered:
        body, R, s = place[h.parent]
        R, s = R @ exact_rotation(h.rotation), s + R @ h.position
        onwards = exact_rotation(h.link_rotation)
        if h.joint is None:
            place[h.child] = (body, R @ onwards, s + R @ h.link_position)
            continue
        n = len(single_joints(h))
        fixed = n > 1  # axes that are those of the joint's frame in turn
        Rz = _CYCLE if fixed else frame_along(np.asarray(h.axis, dtype=float), h.name)
        first = len(parents)
        if fixed:
            compounds.append((h.name, first, n))
        parents += [body, *range(first, first + n - 1)]
        R0s += [R @ Rz, *[_CYCLE] * (n - 1)]
        s0s += [s, *[np.zeros(3)] * (n - 1)]
        inertias += [NOTHING] * n
        Rz = np.eye(3) if fixed else Rz
        place[h.child] = (first + n - 1, Rz.T @ onwards, Rz.T @ h.link_position)

    held = {i for _, first, n in compounds for i in range(first, first + n)}
    turn, shifts = _planar_frames(parents, R0s, s0s, [joint for _, joint in moving], held)
    Rzs = [_about_z(b) for b in turn]

    frames = []
    root_inertia = NOTHING
    lengths = [x for h in ordered for x in (*h.position, *h.link_position)]
    size = max(map(abs, lengths), default=0.0)
    for link, (body, R, s) in place.items():
        if body != BASE:
            R, s = Rzs[body].T @ R, Rzs[body].T @ s
        frame = Frame(link, body, as_rotation(R), as_vector(s, size))
        carried = with_sizes(links[link]).moved(frame.R, frame.s)
        if body == BASE:
            root_inertia = root_inertia + carried
        else:
            inertias[body] = inertias[body] + carried
        frames.append(frame)

    joints = _ordered([joint for h, joint in moving if h.mimic is None], order, name)
    index = {j.name: k for k, j in enumerate(joints)}
    bodies = []
    for i, (h, joint) in enumerate(moving):
        p = parents[i]
        toparent = Rzs[p].T if p != BASE else np.eye(3)
        R0 = toparent @ R0s[i] @ _about_z(-shifts[i]) @ Rzs[i]
        leader = index.get(h.mimic.joint if h.mimic else joint.name)
        if leader is None:
            raise ModelError(
                f"'{name}': joint '{h.name}' mimics '{h.mimic.joint if h.mimic else ''}', which is "
                f"not an independent moving joint; those are {', '.join(index)}."
            )
        bodies.append(
            Body(
                name=h.child if i + 1 == len(moving) or moving[i + 1][0] is not h else joint.name,
                parent=p,
                joint=joint,
                R0=as_rotation(R0),
                s0=as_vector(toparent @ s0s[i], size),
                inertia=snapped(inertias[i]),
                coordinate=leader,
                ratio=_whole(h.mimic.ratio) if h.mimic else 1,
                shift=snap(
                    h.shift + (h.mimic.shift if h.mimic else 0) + shifts[i],
                    SNAP if joint.screw.angle else SNAP * size,
                ),
                zero=h.mimic.shift if h.mimic else 0,
            )
        )
    tips = {h.child for h in ordered} - {h.parent for h in ordered}
    if tip is None and len(tips) == 1:
        (tip,) = tips
    model = Model(
        name=name,
        bodies=tuple(bodies),
        joints=tuple(joints),
        frames=tuple(frames),
        gravity=gravity_field(name, gravity),
        tip=tip,
        points=tuple(points),
        compounds=_in_order(name, bodies, compounds),
        ground=NOTHING if free else snapped(root_inertia),
    )
    if free:
        model = _set_free(model, root, snapped(root_inertia))
    judge(model, links, physical)
    return model


def single_joints(hinge: Hinge) -> list[Joint]:
    """The joints that move a hinge's child: one, or those of a compound joint."""
    joint = hinge.joint
    if not isinstance(joint, CompoundJoint):
        return [] if joint is None else [joint]
    turns = [Joint(f"{joint.name} turn {x}") for x in "xyz"]
    return (
        turns
        if joint.kind == "spherical"
        else [*(Joint(f"{joint.name} {x}", "prismatic") for x in "xyz"), *turns]
    )


def _in_order(
    name: str, bodies: Sequence[Body], found: Sequence[tuple[str, int, int]]
) -> tuple[Compound, ...]:
    """The compound joints by their speeds, which must follow each other."""
    compounds = [Compound(x, first, bodies[first].coordinate, n) for x, first, n in found]
    for c in compounds:
        speeds = [b.coordinate for b in bodies[c.body : c.last + 1]]
        if speeds != list(range(c.speed, c.speed + c.size)):
            raise ModelError(
                f"'{name}': order: the speeds of joint '{c.name}' must follow each other."
            )
    return tuple(sorted(compounds, key=lambda c: c.speed))


def _set_free(model: Model, root: str, inertia: Inertia) -> Model:
    """The model with its root on three slides and three turns, along and about x, y and z."""
    if not inertia.mass > 0:
        raise ModelError(
            f"'{model.name}': link '{root}' is to be free but has no mass; give it one, or name "
            "a massive link as the root: root=."
        )
    kinds = dict.fromkeys(("x", "y", "z"), "prismatic")
    kinds |= dict.fromkeys(("turn x", "turn y", "turn z"), "revolute")
    free = [
        Body(
            name=root if k == FREE - 1 else f"free {way}",
            parent=k - 1 if k else BASE,
            joint=Joint(f"free {way}", kind),
            R0=CYCLE,
            s0=ZERO,
            inertia=inertia if k == FREE - 1 else NOTHING,
            coordinate=k,
        )
        for k, (way, kind) in enumerate(kinds.items())
    ]
    carried = [
        replace(b, parent=b.parent + FREE, coordinate=b.coordinate + FREE) for b in model.bodies
    ]
    return replace(
        model,
        bodies=(*free, *carried),
        joints=(*(b.joint for b in free), *model.joints),
        frames=tuple(replace(f, body=f.body + FREE) for f in model.frames),
        compounds=(Compound("free", 0, 0, FREE), *(c.behind(FREE) for c in model.compounds)),
    )


def _on_a_plane(
    name: str, links: Mapping[str, Inertia], hinges: Sequence[Hinge]
) -> tuple[dict[str, Inertia], list[Hinge]]:
    """The description with its root on two slides and a turn."""
    root, _ = _tree(name, links, hinges)
    for link in ("world", "slide", "slider"):
        if link in links:
            raise ModelError(f"'{name}': base = 'planar' needs the name '{link}' for a carrier.")
    slides = [(Joint("X1", "prismatic"), X), (Joint("X2", "prismatic"), Y), (Joint("turn"), Z)]
    carriers, carried = in_series("world", root, slides, carriers=("slide", "slider"))
    return {"world": NOTHING, **carriers, **links}, [*carried, *hinges]


def in_series(
    parent: str,
    child: str,
    joints: Sequence[tuple[Joint, Sequence[float] | Array]],
    rotation: Array | None = None,
    position: Array | None = None,
    carriers: Sequence[str] = (),
) -> tuple[dict[str, Inertia], list[Hinge]]:
    """One joint after another, each with its axis, between two links: carriers of no mass, named
    after their joints unless ``carriers`` does, and hinges. Planar, universal and cylindrical
    joints are such."""
    between = [*(carriers or (joint.name for joint, _ in joints[:-1]))]
    R = np.eye(3) if rotation is None else rotation
    s = np.zeros(3) if position is None else position
    hinges = []
    for (joint, axis), above, below in zip(
        joints, [parent, *between], [*between, child], strict=True
    ):
        hinges.append(Hinge(joint.name, above, below, joint, R, s, np.asarray(axis, dtype=float)))
        R, s = np.eye(3), np.zeros(3)
    return dict.fromkeys(between, NOTHING), hinges


def on_a_plane(name: str) -> list[Joint]:
    """The joints that slide in a plane and turn about its normal."""
    slides = [Joint(f"{name} {x}", "prismatic") for x in "xy"]
    return [*slides, Joint(f"{name} turn")]


def rerooted(
    name: str, links: Mapping[str, Inertia], hinges: Sequence[Hinge], root: str
) -> list[Hinge]:
    """The same hinges seen from another link: those between it and the root are turned round, which
    leaves their coordinates what they are."""
    if root not in links:
        near = nearest(root, links)
        cure = f"did you mean '{near}'?" if near else f"the links are {', '.join(links)}."
        raise ModelError(f"'{name}': root = {root!r} is no link; {cure}")
    above = {h.child: h for h in hinges}
    turned: dict[str, Hinge] = {}
    link = root
    while link in above:
        h = above[link]
        turned[h.name] = _turned_round(name, h)
        link = h.parent
    return [turned.get(h.name, h) for h in hinges]


def _turned_round(name: str, h: Hinge) -> Hinge:
    """A joint's inverse at q: the same about the opposite axis at q, its two ends exchanged."""
    if isinstance(h.joint, CompoundJoint):
        raise ModelError(
            f"'{name}': the root cannot be beyond joint '{h.name}', which is {h.joint.kind}: seen "
            "from its other end its coordinates would be others; name a link before it."
        )
    R, S = h.rotation, h.link_rotation
    return replace(
        h, parent=h.child, child=h.parent, axis=-np.asarray(h.axis, dtype=float),
        rotation=S.T, position=-(S.T @ h.link_position),
        link_rotation=R.T, link_position=-(R.T @ h.position),
    )  # fmt: skip


def _ordered(joints: list[Joint], order: Sequence[str] | None, name: str) -> list[Joint]:
    if order is None:
        return joints
    known = {j.name: j for j in joints}
    if sorted(order) != sorted(known):
        raise ModelError(
            f"'{name}': order = {list(order)}; expected each of {', '.join(known)} once."
        )
    return [known[j] for j in order]


def attach(
    model: Model, load: Inertia, frame: Frame, *, name: str = "payload", physical: bool = True
) -> Model:
    """The model with a load fixed to the frame, given in the frame's axes."""
    if physical:
        check_inertia(name, load)
    if frame.body == BASE:
        raise ModelError(
            f"'{model.name}': link '{frame.name}' does not move, so a payload there changes "
            "nothing; name a moving link."
        )
    bodies = list(model.bodies)
    body = bodies[frame.body]
    carried = snapped(with_sizes(body.inertia) + with_sizes(load).moved(frame.R, frame.s))
    bodies[frame.body] = replace(body, inertia=carried)
    return replace(model, bodies=tuple(bodies))


def whole_number(what: str, n: Any, least: int) -> int:
    """A number that counts something; NumPy's whole numbers count as well."""
    try:
        number = -1 if isinstance(n, bool) else index(n)
    except TypeError:
        number = -1
    if number < least:
        raise ModelError(f"{what} = {n!r}: expected a whole number, {least} or more.")
    return number


def as_vector(v: Sequence[float] | Array, size: float = 0.0) -> Vector:
    """Zeros exact: components that are rounding beside the largest, or beside ``size``, the
    largest number of the sums that made the vector."""
    largest = max(size, *(abs(float(x)) for x in v))
    return Vector(*(snap(float(x), SNAP * largest) for x in v))


def as_rotation(R: Array) -> Rotation:
    """A rotation about x or z where the matrix is one, the matrix otherwise."""
    m = [[snap(float(x)) for x in row] for row in R]
    for row in m:
        if row.count(0) == 2:  # a unit vector along an axis
            row[:] = [round(x) for x in row]
    if m[0] == [1, 0, 0]:
        return AboutX(m[1][1], m[2][1])
    if m[2] == [0, 0, 1]:
        return AboutZ(m[0][0], m[1][0])
    # Rz(b) Rx(a): the first column has no z, so neither step needs the full matrix.
    if m[2][0] == 0:
        return After(AboutZ(m[0][0], m[1][0]), AboutX(m[2][2], m[2][1]))
    return Matrix(Tensor(*(Vector(*row) for row in m)))


def exact_rotation(R: Array) -> Array:
    """The rotation nearest to a matrix that is almost one, as a file's or a person's digits give
    it: a step of Newton's to the polar decomposition squares the error. Zeros and ones stay."""
    return np.asarray(R) @ (1.5 * np.eye(3) - 0.5 * np.asarray(R).T @ R)


def as_array(R: Rotation) -> Array:
    """A rotation as an array (3, 3)."""
    return np.array([[*row] for row in as_matrix(R).rows], dtype=float)


def _whole(ratio: float) -> float | int:
    """A mimic's ratio; 1 as a whole number. It has a size of its own: none is too small."""
    return round(ratio) if abs(ratio) in (0, 1) else float(ratio)


def _tree(
    name: str, links: Mapping[str, Inertia], hinges: Sequence[Hinge]
) -> tuple[str, list[Hinge]]:
    """The root link, and the hinges ordered so that a parent stands before its children."""
    for what, names in (
        ("joint", [h.name for h in hinges]),
        ("child link", [h.child for h in hinges]),
    ):
        for repeated, count in Counter(names).items():
            if count > 1:
                cure = "a link hangs on one joint" if what == "child link" else "names are unique"
                raise ModelError(f"'{name}': {what} '{repeated}' is given {count} times; {cure}.")
    for h in hinges:
        for link in (h.parent, h.child):
            if link not in links:
                raise ModelError(
                    f"'{name}': joint '{h.name}' names link '{link}', which is not there; the "
                    f"links are {', '.join(links)}."
                )
        what = f"'{name}': joint '{h.name}'"
        follows = (h.mimic.ratio, h.mimic.shift) if h.mimic else ()
        _finite([*h.position, *h.link_position, h.shift, *follows], what)
        for R in (h.rotation, h.link_rotation):
            if not np.allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-9) or np.linalg.det(R) < 0:
                raise ModelError(
                    f"{what}: {R.tolist()} is no rotation; expected a matrix whose rows are unit "
                    "vectors at right angles, right-handed."
                )
    children = {h.child for h in hinges}
    roots = [link for link in links if link not in children]
    if len(roots) != 1:
        raise ModelError(
            f"'{name}' has {len(roots)} root links ({', '.join(roots) or 'every link is a child'});"
            " a tree has one: join the others to it by fixed joints, and open any loop."
        )
    # Of the joints whose parent is reached, the first of the description comes next.
    below: dict[str, list[int]] = {link: [] for link in links}
    for i, h in enumerate(hinges):
        below[h.parent].append(i)
    ordered: list[Hinge] = []
    ready = below.pop(roots[0])
    while ready:
        h = hinges[heappop(ready)]
        ordered.append(h)
        for i in below.pop(h.child):
            heappush(ready, i)
    if below:
        stuck = ", ".join(h.name for h in hinges if h.parent in below)
        raise ModelError(f"'{name}': joints {stuck} form a loop apart from '{roots[0]}'.")
    return roots[0], ordered


def gravity_field(name: str, field: Any) -> Vector:
    """A field of gravity that can be."""
    try:
        numbers = np.asarray(field, dtype=float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (3,):
        raise ModelError(
            f"'{name}': gravity = {field!r}; expected three numbers, x, y, z in m/s^2 (on Earth "
            "0, 0, -9.81)."
        )
    return as_vector(_finite(numbers, f"'{name}': gravity"))


def _finite(numbers: Sequence[float] | Array, what: str) -> Sequence[float] | Array:
    for x in numbers:
        if not isfinite(x) or abs(x) > LARGEST:
            raise ModelError(f"{what}: expected finite numbers of at most {LARGEST:g}, got {x}.")
    return numbers


def frame_along(axis: Array, joint: str) -> Array:
    """A rotation whose z is the axis; a coordinate axis gives a matrix of zeros and ones."""
    largest = np.abs(axis).max(initial=0.0)
    if axis.shape != (3,) or not np.isfinite(axis).all() or largest == 0:
        raise ModelError(
            f"joint '{joint}': axis {axis.tolist()} has no direction; give three finite numbers, "
            "not all zero."
        )
    z = axis / largest  # its square neither vanishes nor overflows
    z = np.where(np.abs(z) <= SNAP, 0.0, z)
    z /= np.linalg.norm(z)
    if z[2] == 1 and not z[:2].any():
        return np.eye(3)
    x = np.zeros(3)
    # Across the axis, in the plane of its two largest components.
    i, j = sorted(np.argsort(-np.abs(z), kind="stable")[:2])
    x[i], x[j] = (z[j], -z[i])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def from_rpy(rpy: Sequence[float]) -> Array:
    """The rotation Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, cp, cy), (sr, sp, sy) = map(cos, rpy), map(sin, rpy)
    R = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return np.array(R)


def rpy(R: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw of R = Rz(yaw) Ry(pitch) Rx(roll). Roll is what is left once yaw is
    undone, so that both fit each other where neither is well defined."""
    yaw = atan2(R[1, 0], R[0, 0])
    pitch = atan2(-R[2, 0], hypot(R[0, 0], R[1, 0]))
    c, s = cos(yaw), sin(yaw)
    middle = c * R[1] - s * R[0]
    return atan2(-middle[2], middle[1]), pitch, yaw


def _about_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _planar_frames(
    parents: Sequence[int],
    R0s: Sequence[Array],
    s0s: Sequence[Array],
    joints: Sequence[Joint],
    held: Collection[int] = (),
) -> tuple[list[float], list[float]]:
    """By which angle to turn each body's frame about its z, and what to add to its coordinate.

    With R0 = Rz(b) Rx(a) Rz(d), a parent turned by b and an angle shifted by d plus the body's
    own turn leave Rx(a) alone; what slides as it turns is not shifted. Only one child can ask
    its parent to turn; the one with most descendants does. Those of compound joints are ``held``.
    """
    n = len(parents)
    weight = [1] * n
    for i in reversed(range(n)):
        if parents[i] != BASE:
            weight[parents[i]] += weight[i]
    heir: dict[int, int] = {}
    for i, p in enumerate(parents):
        if p not in heir or weight[i] > weight[heir[p]]:
            heir[p] = i
    turn = [0.0] * n
    angles = [_zxz(R0, s0) for R0, s0 in zip(R0s, s0s, strict=True)]
    for i in range(n):
        if i in held:
            continue
        if i in heir:
            turn[i] = angles[heir[i]][0]
        elif not joints[i].screw.periodic:
            turn[i] = -angles[i][1]
    shifts = [
        (angles[i][1] + turn[i]) * (joints[i].screw.periodic and i not in held) for i in range(n)
    ]
    return turn, [float(np.arctan2(np.sin(x), np.cos(x))) if abs(x) > np.pi else x for x in shifts]


def _zxz(R: Array, s: Array) -> tuple[float, float]:
    """The angles b and d of R = Rz(b) Rx(a) Rz(d)."""
    parallel = hypot(R[2, 0], R[2, 1]) <= SNAP
    if not parallel:
        b = atan2(R[0, 2], -R[1, 2])
    else:  # b is free, and x along the offset keeps its y zero
        b = atan2(s[1], s[0]) if abs(s[1]) > SNAP * hypot(s[0], s[1]) else 0.0
    # The first row of Rz(-b) R is cos d, -sin d, 0. Where the axes are nearly parallel b is known
    # to few digits, but b and d fit each other.
    row = cos(b) * R[0] + sin(b) * R[1]
    d = atan2(-row[1], row[0])
    return (b, d) if parallel else _principal(b, d)


def _principal(b: float, d: float) -> tuple[float, float]:
    """Of the two equal pairs, (b, d) and (b + pi, d + pi) with -a, the one that turns less."""
    if abs(b) > np.pi / 2 + 1e-12:
        return b - np.copysign(np.pi, b), d - np.copysign(np.pi, d)
    return b, d
