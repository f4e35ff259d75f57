"""From links and joints as people describe them to a Model.

Fixed joints are merged (their links stay as named frames), and every body gets a frame of its
joint's: see `appell.model.axes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from appell.errors import ModelError
from appell.maths.scalar import SNAP, snap
from appell.model.axes import (
    Array,
    about_z_axis,
    as_rotation,
    as_vector,
    exact_rotation,
    frame_along,
    gravity_field,
    planar_frames,
)
from appell.model.hinges import (
    CompoundJoint,
    Hinge,
    in_series,
    in_tree,
    rerooted,
    single_joints,
)
from appell.model.inertia import (
    NOTHING,
    Inertia,
    check_finite,
    check_inertia,
    snapped,
    with_sizes,
)
from appell.model.model import BASE, CYCLE, Body, Compound, Frame, Joint, Model
from appell.model.physical_bodies import judge

_CYCLE: Array = np.array(CYCLE.rows, dtype=float)
_HERE: Array = np.zeros(3)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
Base = Literal["fixed", "free", "planar"]


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
        as_described = in_tree(name, links, hinges)[1]  # whose order the coordinates keep
        hinges = rerooted(name, links, hinges, root)
        if order is None:
            order = [x.name for h in as_described if not h.mimic for x in single_joints(h)]
            order = [*(["X1", "X2", "turn"] if base == "planar" else ()), *order]
    if base == "planar":
        links, hinges = _on_a_plane(name, links, hinges)
    root, ordered = in_tree(name, links, hinges)
    for link, inertia in links.items():
        check_finite(link, inertia)
    ground = root
    if base == "free":
        ground = ""  # which is no link
        ordered = [
            Hinge("free", ground, root, CompoundJoint("free", "free"), np.eye(3), _HERE),
            *ordered,
        ]
        order = None if order is None else [*(x.name for x in single_joints(ordered[0])), *order]
    moving = [(h, joint) for h in ordered for joint in single_joints(h)]
    if not moving:
        raise ModelError(
            f"'{name}' has no moving joint: there is no dynamics to compute. For a robot that "
            'moves as a whole, say base="free".'
        )

    # Every link's place on a body, in the body's frame whose z is its joint's axis. The bodies of a
    # compound joint have the axes of its frame, one after another.
    place: dict[str, tuple[int, Array, Array]] = {ground: (BASE, np.eye(3), _HERE)}
    parents: list[int] = []
    R0s: list[Array] = []
    s0s: list[Array] = []
    compounds: list[tuple[str, int, int]] = []
    for h in ordered:
        body, R, s = place[h.parent]
        R, s = R @ exact_rotation(h.rotation), s + R @ h.position
        first, n = len(parents), len(single_joints(h))
        if n > 1:
            compounds.append((h.name, first, n))
            parents += [body, *range(first, first + n - 1)]
            R0s += [R @ _CYCLE, *[_CYCLE] * (n - 1)]
            s0s += [s, *[_HERE] * (n - 1)]
            R, s = np.eye(3), _HERE  # once round, the axes are those of the joint again
        elif n:
            Rz = frame_along(np.asarray(h.axis, dtype=float), h.name)
            parents.append(body)
            R0s.append(R @ Rz)
            s0s.append(s)
            R, s = Rz.T, _HERE
        onwards = exact_rotation(h.link_rotation)
        place[h.child] = (first + n - 1 if n else body, R @ onwards, s + R @ h.link_position)

    held = {i for _, first, n in compounds for i in range(first, first + n)}
    turn, shifts = planar_frames(parents, R0s, s0s, [joint for _, joint in moving], held)
    Rzs = [about_z_axis(b) for b in turn]

    frames = []
    carried = dict.fromkeys(range(BASE, len(parents)), NOTHING)
    lengths = [x for h in ordered for x in (*h.position, *h.link_position)]
    size = max(map(abs, lengths), default=0.0)
    for link, (body, R, s) in place.items():
        if link not in links:
            continue
        if body != BASE:
            R, s = Rzs[body].T @ R, Rzs[body].T @ s
        frame = Frame(link, body, as_rotation(R), as_vector(s, size))
        carried[body] = carried[body] + with_sizes(links[link]).moved(frame.R, frame.s)
        frames.append(frame)

    joints = _ordered([joint for h, joint in moving if h.mimic is None], order, name)
    index = {j.name: k for k, j in enumerate(joints)}
    bodies = []
    for i, (h, joint) in enumerate(moving):
        p = parents[i]
        toparent = Rzs[p].T if p != BASE else np.eye(3)
        R0 = toparent @ R0s[i] @ about_z_axis(-shifts[i]) @ Rzs[i]
        leader = index.get(h.mimic.joint if h.mimic else joint.name)
        if leader is None:
            raise ModelError(
                f"'{name}': joint '{h.name}' mimics '{h.mimic.joint if h.mimic else ''}', which is "
                f"not an independent moving joint; those are {', '.join(index)}."
            )
        bodies.append(
            Body(
                name=h.child if place[h.child][0] == i else joint.name,
                parent=p,
                joint=joint,
                R0=as_rotation(R0),
                s0=as_vector(toparent @ s0s[i], size),
                inertia=snapped(carried[i]),
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
        ground=snapped(carried[BASE]),
    )
    if model.free and not next(iter(model.links.values())).mass > 0:
        raise ModelError(
            f"'{name}': link '{root}' is to be free but has no mass; give it one, or name "
            "a massive link as the root: root=."
        )
    judge(model, links, physical)
    return model


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


def _on_a_plane(
    name: str, links: Mapping[str, Inertia], hinges: Sequence[Hinge]
) -> tuple[dict[str, Inertia], list[Hinge]]:
    """The description with its root on two slides and a turn."""
    root, _ = in_tree(name, links, hinges)
    for link in ("world", "slide", "slider"):
        if link in links:
            raise ModelError(f"'{name}': base = 'planar' needs the name '{link}' for a carrier.")
    slides = [(Joint("X1", "prismatic"), X), (Joint("X2", "prismatic"), Y), (Joint("turn"), Z)]
    carriers, carried = in_series("world", root, slides, carriers=("slide", "slider"))
    return {"world": NOTHING, **carriers, **links}, [*carried, *hinges]


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


def _whole(ratio: float) -> float | int:
    """A mimic's ratio; 1 as a whole number. It has a size of its own: none is too small."""
    return round(ratio) if abs(ratio) in (0, 1) else float(ratio)
