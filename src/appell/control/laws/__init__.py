"""Control laws, one per file: how joint forces follow from what is measured and what is desired.

Gains are a number for all joints, one per joint, or a matrix; of a closed robot per independent
joint, of a spherical parallel robot per coordinate. Those of laws that compensate the
inertia (ComputedTorque, PointToPoint, Tracking, TrackingIntegral) are in 1/s^2 and 1/s, the same
for light and heavy joints. Those of the others are in N m/rad and N m s/rad; not given, they
are what makes 100/s^2 and 20/s of each joint's inertia at the neutral configuration.

This file is the registry of their names, one spelling for every command.
"""

from __future__ import annotations

from appell.control.laws.adaptive import Adaptive
from appell.control.laws.cartesian_impedance import CartesianImpedance
from appell.control.laws.computed_torque import ComputedTorque
from appell.control.laws.feedforward import Feedforward
from appell.control.laws.joint_impedance import JointImpedance
from appell.control.laws.law import Law
from appell.control.laws.pd_gravity import PDGravity
from appell.control.laws.point_to_point import PointToPoint
from appell.control.laws.sliding_mode import SlidingMode
from appell.control.laws.tracking import Tracking
from appell.control.laws.tracking_integral import TrackingIntegral
from appell.errors import InputError, did_you_mean

LAWS: dict[str, type[Law]] = {
    "tracking-integral": TrackingIntegral,
    "tracking": Tracking,
    "point-to-point": PointToPoint,
    "computed-torque": ComputedTorque,
    "pd-gravity": PDGravity,
    "feedforward": Feedforward,
    "sliding-mode": SlidingMode,
    "adaptive": Adaptive,
    "joint-impedance": JointImpedance,
    "cartesian-impedance": CartesianImpedance,
}


def law_named(name: str) -> type[Law]:
    """The class of a law, by its name here (``computed-torque``) or that of the class."""
    laws = LAWS | {law.__name__: law for law in LAWS.values()}
    if name not in laws:
        hint = did_you_mean(name, laws)
        raise InputError(f"law {name!r}; expected one of {', '.join(LAWS)}.{hint}")
    return laws[name]
