"""Control: laws, trajectories, inverse kinematics, closed loops that try them, and the rig."""

from appell.control import rig
from appell.control.closed_form import closed_form
from appell.control.closed_loop import track
from appell.control.gains import GainWarning
from appell.control.hardware import Adc, Friction, Motor
from appell.control.inverse_kinematics import inverse_kinematics
from appell.control.jerk_limited import jerk_limited
from appell.control.law import Law
from appell.control.laws import (
    Adaptive,
    CartesianImpedance,
    ComputedTorque,
    Feedforward,
    JointImpedance,
    PDGravity,
    PointToPoint,
    SlidingMode,
    Tracking,
    TrackingIntegral,
)
from appell.control.refusals import SingularWarning, UnreachableError
from appell.control.task_space import circle, line
from appell.control.time_optimal import time_optimal
from appell.control.trajectories import cubic, quintic, ramp, septic, spline, trapezoidal
from appell.control.trajectory import Trajectory
from appell.equations.spherical_wrist import BRANCHES, Branch

__all__ = [
    "BRANCHES",
    "Adaptive",
    "Adc",
    "Branch",
    "CartesianImpedance",
    "ComputedTorque",
    "Feedforward",
    "Friction",
    "GainWarning",
    "JointImpedance",
    "Law",
    "Motor",
    "PDGravity",
    "PointToPoint",
    "SingularWarning",
    "SlidingMode",
    "Tracking",
    "TrackingIntegral",
    "Trajectory",
    "UnreachableError",
    "circle",
    "closed_form",
    "cubic",
    "inverse_kinematics",
    "jerk_limited",
    "line",
    "quintic",
    "ramp",
    "rig",
    "septic",
    "spline",
    "time_optimal",
    "track",
    "trapezoidal",
]
