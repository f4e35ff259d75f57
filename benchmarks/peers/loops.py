"""Pinocchio's constrained dynamics of our closed robots, by points that are joined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio

from appell.model.axes import as_array
from appell.model.model import BASE, FREE
from appell.robots.closed import Place

SETTINGS = pinocchio.ProximalSettings(1e-14, 1e-8, 200)


class Loops:
    """A closed robot in Pinocchio."""

    def __init__(self, closed: Any) -> None:
        self.ours = closed.model
        self.model, at = _tree(closed.model)
        self.contacts = pinocchio.StdVec_RigidConstraintModel()
        self.datas = pinocchio.StdVec_RigidConstraintData()
        for loop in closed.constraints:
            self.contacts.append(_contact(self.model, at, closed.model, loop))
            self.datas.append(self.contacts[len(self.contacts) - 1].createData())
        self.data = self.model.createData()
        pinocchio.initConstraintDynamics(self.model, self.data, self.contacts, self.datas)
        self.order = _order(closed.model, self.model, at)

    def accelerations(self, q: Any, v: Any, force: Any) -> Any:
        """Of the tree's joints, in our order."""
        return self.prepared(q, v, force)()[self.order]

    def prepared(self, q: Any, v: Any, force: Any) -> Callable[[], Any]:
        """The bare call, with everything in Pinocchio's order."""
        shift = int(self.ours.free)
        there = np.zeros(self.model.nq), np.zeros(self.model.nv), np.zeros(self.model.nv)
        if shift:
            there[0][:7] = q[:7]
        for k, place in enumerate(self.order):
            there[1][place], there[2][place] = v[k], force[k]
            if not shift or k >= FREE:
                there[0][place + shift] = q[k + shift]
        loops = self.contacts, self.datas, SETTINGS
        return lambda: pinocchio.constraintDynamics(self.model, self.data, *there, *loops)


def _tree(model: Any) -> tuple[Any, dict[int, int]]:
    robot = pinocchio.Model()
    robot.gravity.linear = np.array(model.gravity, dtype=float)
    at = {BASE: 0}
    depth_first = sorted(range(len(model.bodies)), key=lambda i: model.ancestors[i])
    for i in depth_first:
        body = model.bodies[i]
        if model.free and i < FREE:
            if i < FREE - 1:
                continue
            joint, place = pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity()
            at[i] = robot.addJoint(0, joint, place, "root")
        else:
            joint = pinocchio.JointModelRZ() if body.rho else pinocchio.JointModelPZ()
            place = _se3(body.rotation(body.shift), body.offset(body.shift))
            at[i] = robot.addJoint(at[body.parent], joint, place, body.joint.name)
        robot.appendBodyToJoint(at[i], _inertia(body.inertia), pinocchio.SE3.Identity())
    return robot, at


def _inertia(inertia: Any) -> Any:
    mass, *numbers = map(float, inertia.parameters)
    if not mass:
        return pinocchio.Inertia.Zero()
    c = np.array(numbers[:3]) / mass
    xx, xy, yy, xz, yz, zz = numbers[3:]
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return pinocchio.Inertia(mass, c, tensor - mass * (c @ c * np.eye(3) - np.outer(c, c)))


def _order(model: Any, robot: Any, at: dict[int, int]) -> list[int]:
    """Where each of our speeds stands among Pinocchio's."""
    places = {}
    for i, body in enumerate(model.bodies):
        if model.free and i < FREE:
            places[body.coordinate] = i
        else:
            places[body.coordinate] = robot.joints[at[i]].idx_v
    return [places[k] for k in range(model.nv)]


def _contact(robot: Any, at: dict[int, int], model: Any, loop: Any) -> Any:
    """Joined points: enough for balls, and for hinges of a planar mechanism."""
    a, b = (_on_body(model, x) for x in (loop.a, loop.b))
    return pinocchio.RigidConstraintModel(
        pinocchio.ContactType.CONTACT_3D, robot, at[b[0]], b[1], at[a[0]], a[1],
        pinocchio.ReferenceFrame.LOCAL,
    )  # fmt: skip


def _on_body(model: Any, place: Place) -> tuple[int, Any]:
    if place.link not in [f.name for f in model.frames]:
        return BASE, pinocchio.SE3(np.eye(3), np.array(place.position))
    frame = model.frame(place.link)
    here = pinocchio.SE3(np.eye(3), np.array(place.position))
    return frame.body, _se3(frame.R, frame.s) * here


def _se3(R: Any, s: Any) -> Any:
    return pinocchio.SE3(as_array(R), np.array(s, dtype=float))
