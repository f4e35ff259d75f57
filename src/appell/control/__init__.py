"""Control: laws, trajectories, inverse kinematics, and closed loops that try them."""

from typing import TYPE_CHECKING

from appell.homes import found_at_home

if TYPE_CHECKING:
    from appell.control.kinematics.closed_form import closed_form
    from appell.control.kinematics.dexterity import analytical_jacobian, manipulability
    from appell.control.kinematics.inverse_kinematics import inverse_kinematics
    from appell.control.kinematics.servo import servo
    from appell.control.kinematics.spherical_wrist import BRANCHES, Branch
    from appell.control.kinematics.tasks import (
        CentreOfMassTask,
        FrameTask,
        GazeTask,
        PostureTask,
    )
    from appell.control.kinematics.unreachable import SingularWarning, UnreachableError
    from appell.control.laws.adaptive import Adaptive
    from appell.control.laws.cartesian_impedance import CartesianImpedance
    from appell.control.laws.computed_torque import ComputedTorque
    from appell.control.laws.feedforward import Feedforward
    from appell.control.laws.gains import GainWarning
    from appell.control.laws.joint_impedance import JointImpedance
    from appell.control.laws.law import Law
    from appell.control.laws.pd_gravity import PDGravity
    from appell.control.laws.point_to_point import PointToPoint
    from appell.control.laws.sliding_mode import SlidingMode
    from appell.control.laws.tracking import Tracking
    from appell.control.laws.tracking_integral import TrackingIntegral
    from appell.control.regulator import Linear, Regulator, linearise, lqr
    from appell.control.rollouts.payload import Payload
    from appell.control.rollouts.rollout import Rollout
    from appell.control.rollouts.rollout_setup import Noise
    from appell.control.tracking.closed_loop import track
    from appell.control.tracking.hardware import Adc, Friction, Motor
    from appell.control.trajectories.jerk_limited import jerk_limited
    from appell.control.trajectories.joint_space import (
        cubic,
        quintic,
        ramp,
        septic,
        spline,
        trapezoidal,
    )
    from appell.control.trajectories.task_space import circle, line
    from appell.control.trajectories.time_optimal import time_optimal
    from appell.control.trajectories.trajectory import Trajectory

__all__ = [
    "BRANCHES",
    "Adaptive",
    "Adc",
    "Branch",
    "CartesianImpedance",
    "CentreOfMassTask",
    "ComputedTorque",
    "Feedforward",
    "FrameTask",
    "Friction",
    "GainWarning",
    "GazeTask",
    "JointImpedance",
    "Law",
    "Linear",
    "Motor",
    "Noise",
    "PDGravity",
    "Payload",
    "PointToPoint",
    "PostureTask",
    "Regulator",
    "Rollout",
    "SingularWarning",
    "SlidingMode",
    "Tracking",
    "TrackingIntegral",
    "Trajectory",
    "UnreachableError",
    "analytical_jacobian",
    "circle",
    "closed_form",
    "cubic",
    "inverse_kinematics",
    "jerk_limited",
    "line",
    "linearise",
    "lqr",
    "manipulability",
    "quintic",
    "ramp",
    "septic",
    "servo",
    "spline",
    "time_optimal",
    "track",
    "trapezoidal",
]

__getattr__, __dir__ = found_at_home(
    __name__,
    {
        "BRANCHES": "kinematics.spherical_wrist",
        "Adaptive": "laws.adaptive",
        "Adc": "tracking.hardware",
        "Branch": "kinematics.spherical_wrist",
        "CartesianImpedance": "laws.cartesian_impedance",
        "CentreOfMassTask": "kinematics.tasks",
        "ComputedTorque": "laws.computed_torque",
        "Feedforward": "laws.feedforward",
        "FrameTask": "kinematics.tasks",
        "Friction": "tracking.hardware",
        "GainWarning": "laws.gains",
        "GazeTask": "kinematics.tasks",
        "JointImpedance": "laws.joint_impedance",
        "Law": "laws.law",
        "Linear": "regulator",
        "Motor": "tracking.hardware",
        "Noise": "rollouts.rollout_setup",
        "PDGravity": "laws.pd_gravity",
        "Payload": "rollouts.payload",
        "PointToPoint": "laws.point_to_point",
        "PostureTask": "kinematics.tasks",
        "Regulator": "regulator",
        "Rollout": "rollouts.rollout",
        "SingularWarning": "kinematics.unreachable",
        "SlidingMode": "laws.sliding_mode",
        "Tracking": "laws.tracking",
        "TrackingIntegral": "laws.tracking_integral",
        "Trajectory": "trajectories.trajectory",
        "UnreachableError": "kinematics.unreachable",
        "analytical_jacobian": "kinematics.dexterity",
        "circle": "trajectories.task_space",
        "closed_form": "kinematics.closed_form",
        "cubic": "trajectories.joint_space",
        "inverse_kinematics": "kinematics.inverse_kinematics",
        "jerk_limited": "trajectories.jerk_limited",
        "line": "trajectories.task_space",
        "linearise": "regulator",
        "lqr": "regulator",
        "manipulability": "kinematics.dexterity",
        "quintic": "trajectories.joint_space",
        "ramp": "trajectories.joint_space",
        "septic": "trajectories.joint_space",
        "servo": "kinematics.servo",
        "spline": "trajectories.joint_space",
        "time_optimal": "trajectories.time_optimal",
        "track": "tracking.closed_loop",
        "trapezoidal": "trajectories.joint_space",
    },
)
