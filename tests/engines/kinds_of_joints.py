"""Trees whose joints are of every kind, here and in Pinocchio."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
from descriptions import about_com

from appell.model.hinges import CompoundJoint
from appell.model.library.random import random_description
from appell.model.model import Joint

KINDS = ("revolute", "prismatic", "helical", "spherical", "free")


def described(n, seed):
    """Links and hinges of a tree whose joints are of every kind."""
    draw = np.random.default_rng(seed)
    links, hinges = random_description(
        n, seed, branching=0.4, prismatic=0.0, fixed=0.2, rotors=False, friction=False
    )
    return links, [_of_kind(h, str(draw.choice(KINDS)), draw) for h in hinges]


def _of_kind(hinge, kind, draw):
    if hinge.joint is None:
        return hinge
    if kind in ("spherical", "free"):
        return replace(hinge, joint=CompoundJoint(hinge.name, kind))
    pitch = draw.uniform(-0.5, 0.5) if kind == "helical" else 0
    return replace(hinge, joint=Joint(hinge.name, kind, pitch=pitch))


def in_pinocchio(links, hinges, free):
    """The same, depth first: Pinocchio's matrices want a joint's descendants to follow it."""
    robot = pinocchio.Model()
    places = {"base": (0, pinocchio.SE3.Identity())}
    if free:
        on = robot.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), "free")
        places["base"] = on, pinocchio.SE3.Identity()
        robot.appendBodyToJoint(on, pinocchio.Inertia(*about_com(links["base"])), places["base"][1])
        robot.addBodyFrame("base", on, places["base"][1], 0)
    waiting = [h for h in hinges if h.parent == "base"][::-1]
    while waiting:
        h = waiting.pop()
        on, at = places[h.parent]
        at = at * pinocchio.SE3(h.rotation, h.position)
        if h.joint is not None:
            axis = np.array(h.axis, dtype=float)
            joint = {
                "revolute": lambda: pinocchio.JointModelRevoluteUnaligned(axis),  # noqa: B023
                "prismatic": lambda: pinocchio.JointModelPrismaticUnaligned(axis),  # noqa: B023
                "helical": lambda: pinocchio.JointModelHelicalUnaligned(axis, h.joint.pitch),  # noqa: B023
                "spherical": pinocchio.JointModelSpherical,
                "free": pinocchio.JointModelFreeFlyer,
            }[h.joint.kind]()
            on, at = robot.addJoint(on, joint, at, h.name), pinocchio.SE3.Identity()
        places[h.child] = on, at
        robot.appendBodyToJoint(on, pinocchio.Inertia(*about_com(links[h.child])), at)
        robot.addBodyFrame(h.child, on, at, 0)
        waiting += [x for x in hinges if x.parent == h.child][::-1]
    return robot


def orders(robot, names):
    """Where Pinocchio has our coordinates and our speeds; ours are named after joints."""
    q, v = [], []
    done = set()
    for name in names:
        joint = name.removesuffix(name[-7:]) if name[-7:-1] == " turn " else name
        joint = joint[:-2] if joint[-2:] in (" x", " y", " z") else joint
        if joint not in done:
            done.add(joint)
            of = robot.joints[robot.getJointId(joint)]
            q += range(of.idx_q, of.idx_q + of.nq)
            v += range(of.idx_v, of.idx_v + of.nv)
    return q, v
