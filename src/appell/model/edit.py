"""Models made from others: with joints locked, with another robot attached, with a frame added.

A model is taken apart into the links and hinges that describe it, these are changed, and the result
is assembled again. Coordinates, names and frames of what is not changed stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from warnings import warn

import numpy as np
import numpy.typing as npt

from appell.errors import InputError, ModelError, did_you_mean, quoted
from appell.maths.rotation import After
from appell.model.axes import as_array
from appell.model.build import Base, assemble
from appell.model.hinges import CompoundJoint, Hinge, Mimic, single_joints
from appell.model.inertia import NOTHING, Inertia
from appell.model.limits import limits
from appell.model.model import BASE, CYCLE, FREE, Body, Frame, Joint, Model
from appell.model.parameters import link_inertia
from appell.model.place import WORLD, Pose, frame_on, pose_of

Array = npt.NDArray[np.float64]


class Description(NamedTuple):
    """What `appell.model.build.assemble` makes a model from."""

    links: dict[str, Inertia]
    hinges: list[Hinge]
    order: list[str]
    base: Base
    root: str

    def assembled(self, model: Model, **changes: Any) -> Model:
        """The model of this description, otherwise as ``model`` is."""
        same = {"gravity": model.gravity, "tip": model.tip, "points": model.points} | changes
        links, hinges, order, base, _ = self
        same |= {"order": order, "base": base}
        changed = assemble(model.name, links, hinges, physical=False, **same)
        return replace(changed, shapes=model.shapes)


def described(model: Model) -> Description:
    """The links and hinges of a model; a body's inertia is that of the link it is named after."""
    root = model.frames[0]
    free = model.free and root.body != BASE
    bodies = {b.name: b for b in model.links.values()}
    compounds = {c.last: c for c in model.compounds}
    links, hinges = {root.name: model.ground}, []
    for frame in model.frames:
        body = bodies.get(frame.name)
        if body is not None:
            links[frame.name] = link_inertia(model, body)
        if frame is root:
            continue
        if body is None:
            links[frame.name] = NOTHING
            R, s = _seen_from(_owner(model, frame.body), as_array(frame.R), frame.s)
            above = _owner(model, frame.body).name
            hinges.append(Hinge(f"fixed {frame.name}", above, frame.name, None, R, s))
            continue
        compound = compounds.get(frame.body)
        first = model.bodies[compound.body] if compound else body
        R0 = as_array(After(first.R0, CYCLE.T) if compound else first.R0)
        owner = _owner(model, first.parent)
        R, s = _seen_from(owner, R0, first.s0)
        joint: Joint | CompoundJoint = body.joint
        if compound:
            joint = CompoundJoint(compound.name, "free" if compound.free else "spherical")
        hinges.append(
            Hinge(
                joint.name, owner.name, frame.name, joint, R, s, mimic=_mimic(model, body),
                shift=body.shift - body.zero, link_rotation=as_array(frame.R),
                link_position=np.array(frame.s, dtype=float),
            )
        )  # fmt: skip
    order = [joint.name for joint in model.joints[FREE if free else 0 :]]
    return Description(links, hinges, order, "free" if free else "fixed", root.name)


def locked(model: Model, positions: Mapping[str, Any]) -> Model:
    """The model with these joints held at these positions, their bodies merged. A ball joint's
    position is a quaternion, a free joint's and a free base's ("free") a position and one."""
    whole = described(model)
    joints = [h.joint for h in whole.hinges if h.joint is not None and h.mimic is None]
    known = [*(joint.name for joint in joints), *(["free"] if whole.base == "free" else [])]
    if not isinstance(positions, Mapping):
        raise InputError(
            f"locked({quoted(positions)}): expected positions by joint, {{{known[0]!r}: 0.5}}."
        )
    for name in positions:
        if name not in known:
            raise InputError(_unknown(model, whole, str(name), known))
    _warn_beyond(model, positions)
    hinges = [_held(h, positions) for h in whole.hinges]
    if whole.base == "free" and "free" in positions:
        R, s = _pose_at("free", positions["free"], 7)
        world = WORLD if WORLD not in whole.links else f"{WORLD} "
        hinges.insert(0, Hinge("fixed base", world, whole.root, None, R, s))
        whole = whole._replace(base="fixed", links={world: NOTHING, **whole.links})
    moving = {x.name for h in hinges for x in single_joints(h)}
    order = [name for name in whole.order if name in moving]
    return whole._replace(hinges=hinges, order=order).assembled(model)


def attached(
    model: Model, other: Model, link: str | None, pose: Pose = None, *, prefix: str = ""
) -> Model:
    """The model with the root of another fixed to a link, at a pose in the link's axes. The names
    of the other's links and joints get the prefix."""
    on = model.frame(link, "link")
    if on.name not in [frame.name for frame in model.frames]:
        raise InputError(f"attached(link={quoted(link)}): expected the name of a link.")
    one, two = described(model), _renamed(described(other), prefix)
    names = {*one.links, *(h.name for h in one.hinges), *one.order}
    twins = [x for x in (*two.links, *(h.name for h in two.hinges), *two.order) if x in names]
    if twins:
        raise ModelError(
            f"'{model.name}' and '{other.name}' both have {', '.join(dict.fromkeys(twins))}; give "
            'the names of the second a prefix: attached(..., prefix="tool_").'
        )
    R, s = pose_of(f"attached to '{on.name}'", pose)
    joint = Hinge(f"fixed {two.root}", on.name, two.root, None, R, s)
    both = one._replace(
        links=one.links | two.links,
        hinges=[*one.hinges, joint, *two.hinges],
        order=[*one.order, *two.order],
    )
    tip = f"{prefix}{other.tip}" if other.tip and model.tip == on.name else model.tip
    points = (*model.points, *(prefix + x for x in other.points)) if model.points else ()
    shapes = (replace(shape, link=prefix + shape.link) for shape in other.shapes)
    whole = both.assembled(model, tip=tip, points=points)
    return replace(whole, shapes=(*model.shapes, *shapes))


def with_frame(model: Model, name: str, link: str, pose: Pose = None) -> Model:
    """The model with one more frame, fixed to a link at a pose in the link's axes."""
    if not isinstance(name, str) or not name:
        raise InputError(f"with_frame({quoted(name)}): expected a name for the frame.")
    if name in [frame.name for frame in model.frames]:
        raise InputError(f"'{model.name}' has a frame '{name}' already; choose another name.")
    frame = replace(frame_on(link, pose).on(model), name=name)
    return replace(model, frames=(*model.frames, frame))


def with_armature(model: Model, armature: Mapping[str, Any]) -> Model:
    """The model with other inertias felt at its joints."""
    felt = _by_joint(model, "with_armature", "inertias", "kg m^2", armature)
    return _with_joints(model, {x: {"rotor": value, "gear": 1} for x, value in felt.items()})


def with_springs(model: Model, springs: Mapping[str, Any]) -> Model:
    """The model with other springs in its joints, by their stiffness, or stiffness and rest."""
    if isinstance(springs, Mapping):  # a stiffness alone is that of a spring at rest at zero
        springs = {x: s if np.ndim(s) else (s, 0.0) for x, s in springs.items()}
        for name, pair in springs.items():
            if np.shape(pair) != (2,):
                raise InputError(
                    f"joint '{name}': spring {quoted(pair)}; expected its stiffness, or "
                    "(stiffness, rest position)."
                )
        stiffness, rest = ({x: pair[k] for x, pair in springs.items()} for k in (0, 1))
    else:
        stiffness, rest = springs, {}
    levels = _by_joint(model, "with_springs", "springs", "N m/rad", stiffness)
    places = _by_joint(model, "with_springs", "springs", "N m/rad", rest)
    return _with_joints(model, {x: {"stiffness": k, "rest": places[x]} for x, k in levels.items()})


def with_friction(model: Model, viscous: Any, coulomb: Any, coulomb_backwards: Any) -> Model:
    """The model with other friction in its joints."""
    changed: dict[str, dict[str, Any]] = {}
    told = {"viscous": viscous, "coulomb": coulomb, "coulomb_backwards": coulomb_backwards}
    for what, given in told.items():
        for name, level in _by_joint(model, "with_friction", what, "level", given).items():
            both = {"coulomb_backwards": None} if what == "coulomb" else {}
            changed.setdefault(name, {}).update(both | {what: level})
    return _with_joints(model, changed)


def _by_joint(model: Model, method: str, what: str, unit: str, given: Any) -> dict[str, float]:
    """Numbers by the joint that has them, of those that can have drives."""
    driven = [body.joint.name for body in model.driven.values()]
    if not isinstance(given, Mapping):
        raise InputError(f"{method}({quoted(given)}): expected {what} by joint, {{joint: {unit}}}.")
    for name in given:
        if name not in driven:
            raise InputError(
                f"'{model.name}' has no joint '{name}' that can have a rotor, a spring or friction;"
                f" there are {', '.join(sorted(driven))}."
                f"{did_you_mean(name, driven)}"
            )
    return {name: _number(name, value) for name, value in given.items()}


def _with_joints(model: Model, changes: Mapping[str, Mapping[str, Any]]) -> Model:
    """The model with these fields of its joints, by the joints' names."""

    def changed(joint: Joint) -> Joint:
        return replace(joint, **changes.get(joint.name, {}))

    bodies = tuple(replace(b, joint=changed(b.joint)) for b in model.bodies)
    return replace(model, bodies=bodies, joints=tuple(map(changed, model.joints)))


def _warn_beyond(model: Model, positions: Mapping[str, Any]) -> None:
    """Warn of joints that are locked beyond their limits, or hold others there that mimic them."""
    leaders = {
        model.place(k): joint.name
        for k, joint in enumerate(model.joints)
        if model.is_coordinate[k] and joint.name in positions
    }
    for limit in limits(model):
        leader = leaders.get(limit.coordinate)
        if leader is None:
            continue
        q = _number(leader, positions[leader])
        if limit.side * (q - limit.value) < -1e-9 * max(1.0, abs(limit.value)):
            warn(f"locked: '{leader}' at {q:g} is beyond {limit}.", stacklevel=4)


# Parts of a description


def _owner(model: Model, body: int) -> Frame:
    """The link on which what hangs on a body is put."""
    return model.frames[0] if body == BASE else model.frame(model.bodies[body].name)


def _seen_from(owner: Frame, R: Array, s: Any) -> tuple[Array, Array]:
    """A pose on a body in the axes of a link of it."""
    E = as_array(owner.R).T
    return E @ R, E @ (np.array(s, dtype=float) - np.array(owner.s, dtype=float))


def _mimic(model: Model, body: Body) -> Mimic | None:
    leader = model.joints[body.coordinate].name
    return None if leader == body.joint.name else Mimic(leader, body.ratio, body.zero)


def _held(h: Hinge, positions: Mapping[str, Any]) -> Hinge:
    """A hinge that is fixed where the joint that it follows is locked."""
    if h.joint is None or (h.mimic.joint if h.mimic else h.joint.name) not in positions:
        return h
    if isinstance(h.joint, CompoundJoint):
        n = 7 if h.joint.kind == "free" else 4
        R, s = _pose_at(h.joint.name, positions[h.joint.name], n)
    else:
        follows = h.mimic or Mimic(h.joint.name)
        q = follows.ratio * _number(follows.joint, positions[follows.joint]) + follows.shift
        q += h.shift
        angle = h.joint.screw.rho * q
        c, s1 = np.cos(angle), np.sin(angle)
        R = np.array([[c, -s1, 0.0], [s1, c, 0.0], [0.0, 0.0, 1.0]])
        s = np.array([0.0, 0.0, float(h.joint.screw.sigma) * q])
    return replace(
        h, joint=None, mimic=None, shift=0.0, rotation=h.rotation @ R,
        position=h.position + h.rotation @ s,
    )  # fmt: skip


def _number(name: str, value: Any) -> float:
    try:
        position = float(value)
    except (TypeError, ValueError):
        position = np.nan
    if not np.isfinite(position):
        raise InputError(f"joint '{name}' at {quoted(value)}; expected a finite number.")
    return position


def _pose_at(name: str, value: Any, n: int) -> tuple[Array, Array]:
    what = f"locked: joint '{name}'"
    if np.shape(value) != (n,):
        kind = "a quaternion x, y, z, w" if n == 4 else "a position and a quaternion, 7 numbers"
        raise InputError(f"{what} at {quoted(value)}; expected {kind}.")
    return pose_of(what, value if n == 7 else [0.0, 0.0, 0.0, *value])


def _unknown(model: Model, whole: Description, name: str, known: Sequence[str]) -> str:
    """Why a joint cannot be locked."""
    follower = next((h for h in whole.hinges if h.name == name and h.mimic), None)
    if follower is not None and follower.mimic:
        return f"joint '{name}' mimics '{follower.mimic.joint}'; lock that one."
    part = next((c.name for c in model.compounds if name.startswith(f"{c.name} ")), None)
    if part is not None:
        return f"joint '{part}' is locked as a whole, with its quaternion: {{{part!r}: (...)}}."
    hint = did_you_mean(name, known)
    return f"'{model.name}' has no joint '{name}' to lock; it has {', '.join(known)}.{hint}"


def _renamed(whole: Description, prefix: str) -> Description:
    if not isinstance(prefix, str):
        raise InputError(f"attached(prefix={quoted(prefix)}): expected a text.")
    return Description(
        {prefix + name: inertia for name, inertia in whole.links.items()},
        [
            replace(
                h,
                name=prefix + h.name,
                parent=prefix + h.parent,
                child=prefix + h.child,
                joint=replace(h.joint, name=prefix + h.joint.name) if h.joint else None,
                mimic=replace(h.mimic, joint=prefix + h.mimic.joint) if h.mimic else None,
            )
            for h in whole.hinges
        ],
        [prefix + name for name in whole.order],
        whole.base,
        prefix + whole.root,
    )
