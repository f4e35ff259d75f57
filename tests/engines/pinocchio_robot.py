"""Pinocchio's answers about a robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio
from descriptions import Links, about_com, urdf
from joint_order import at_states

from appell.maths.rotation import Rotation
from appell.maths.vector import Vector
from appell.model.axes import as_array
from appell.model.hinges import Hinge
from appell.model.model import BASE, Model

_BASE_AXES = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED


def from_model(model: Model) -> pinocchio.Model:
    """The bodies of an assembled model, each on a joint along z: the equations' own input."""
    robot = pinocchio.Model()
    robot.gravity.linear = np.array(model.gravity, dtype=float)
    at = {BASE: 0}
    # Depth first: Pinocchio's matrices are right only if a joint's descendants follow it.
    for i in sorted(range(len(model.bodies)), key=lambda i: model.ancestors[i]):
        body = model.bodies[i]
        joint = pinocchio.JointModelRZ() if body.rho else pinocchio.JointModelPZ()
        at_zero = _pose(body.rotation(body.shift), body.offset(body.shift))
        at[i] = robot.addJoint(at[body.parent], joint, at_zero, body.joint.name)
        inertia = pinocchio.Inertia(*about_com(body.inertia))
        robot.appendBodyToJoint(at[i], inertia, pinocchio.SE3.Identity())
        robot.armature[robot.joints[at[i]].idx_v] = body.joint.reflected
    for frame in model.frames:
        robot.addBodyFrame(frame.name, at[frame.body], _pose(frame.R, frame.s), 0)
    return robot


def from_description(links: Links, hinges: Sequence[Hinge]) -> pinocchio.Model:
    """Links and hinges as Pinocchio reads them from URDF: nothing of Appell's build is shared."""
    robot = pinocchio.buildModelFromXML(urdf(links, hinges))
    for h in hinges:
        if h.joint:
            robot.armature[robot.joints[robot.getJointId(h.name)].idx_v] = h.joint.reflected
    return robot


def answers(
    robot: pinocchio.Model, joints: Sequence[str], link: str, *states: np.ndarray
) -> dict[str, np.ndarray]:
    """Every quantity at states q, v, a, tau (N, n), by its name in Appell."""
    order = [robot.joints[robot.getJointId(name)].idx_v for name in joints]
    data, frame = robot.createData(), robot.getFrameId(link)

    # Pinocchio gives views of its own memory, which the next call may write to: all are copied.
    def at(q, v, a, tau) -> dict[str, np.ndarray]:
        bias = pinocchio.nle(robot, data, q, v).copy()
        g = pinocchio.computeGeneralizedGravity(robot, data, q).copy()
        M = pinocchio.crba(robot, data, q).copy()
        J = pinocchio.computeFrameJacobian(robot, data, q, frame, _BASE_AXES).copy()
        pinocchio.framesForwardKinematics(robot, data, q)
        results = {
            "inverse_dynamics": pinocchio.rnea(robot, data, q, v, a).copy(),
            "forward_dynamics": pinocchio.aba(robot, data, q, v, tau).copy(),
            "bias": bias,
            "gravity": g,
            "C v": bias - g,
            "mass_matrix": M,
            # Its own kinetic energy leaves out rotors on joints along no coordinate axis.
            "kinetic_energy": v @ M @ v / 2,
            "potential_energy": pinocchio.computePotentialEnergy(robot, data, q),
            "jacobian": J.reshape(6, robot.nv),
            "forward_kinematics": data.oMf[frame].homogeneous.copy(),
        }
        by_motion = pinocchio.computeRNEADerivatives(robot, data, q, v, a)
        for name, x in zip(("dtau_dq", "dtau_dv", "dtau_da"), by_motion, strict=True):
            results[name] = x.copy()
        by_force = pinocchio.computeABADerivatives(robot, data, q, v, tau)
        for name, x in zip(("da_dq", "da_dv", "da_dtau"), by_force, strict=True):
            results[name] = x.copy()
        return results

    return at_states(at, order, states)


def _pose(R: Rotation, s: Vector) -> pinocchio.SE3:
    return pinocchio.SE3(as_array(R), np.array(s, dtype=float))
