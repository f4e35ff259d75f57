"""Hinges: how links hang on each other, as people describe it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Literal

import numpy as np

from appell.errors import ModelError, nearest
from appell.model.axes import Array, finite
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint


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
    `appell.model.model.Compound`.
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


def in_tree(
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
        finite([*h.position, *h.link_position, h.shift, *follows], what)
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
