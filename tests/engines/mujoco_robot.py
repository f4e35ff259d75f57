"""MuJoCo's answers about a robot."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
from joint_order import at_states


def answers(
    xml: str, joints: Sequence[str], link: str, *states: np.ndarray
) -> dict[str, np.ndarray]:
    """Every quantity at states q, v, a, tau (N, n), by its name in Appell."""
    robot = mujoco.MjModel.from_xml_string(xml)
    order = [robot.joint(name).dofadr[0] for name in joints]

    def at(q, v, a, tau) -> dict[str, np.ndarray]:
        data, body = mujoco.MjData(robot), robot.body(link).id
        data.qpos, data.qvel = q, 0
        mujoco.mj_forward(robot, data)
        g = data.qfrc_bias - data.qfrc_passive  # springs are passive forces
        data.qvel, data.qacc = v, a
        mujoco.mj_inverse(robot, data)
        torques = data.qfrc_inverse.copy()
        data.qfrc_applied = tau
        mujoco.mj_forward(robot, data)
        M = np.zeros((robot.nv, robot.nv))
        mujoco.mj_fullM(robot, data, M)
        J = np.zeros((6, robot.nv))
        mujoco.mj_jacBody(robot, data, J[:3], J[3:], body)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
        return {
            "inverse_dynamics": torques,
            "forward_dynamics": data.qacc.copy(),
            "bias": data.qfrc_bias - data.qfrc_passive,
            "gravity": g,
            "C v": data.qfrc_bias - data.qfrc_passive - g,
            "mass_matrix": M,
            "kinetic_energy": data.energy[1],
            "potential_energy": data.energy[0],
            "jacobian": J,
            "forward_kinematics": pose,
        }

    return at_states(at, order, states)
