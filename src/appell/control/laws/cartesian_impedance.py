"""Cartesian impedance: the tool on a spring and a damper (Hogan 1985), without a force sensor.

The tool is drawn to where the desired joint positions have it, by a force and a moment in the
base's axes; the arm keeps the inertia it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from appell.control.laws.feedback import DEFAULT, Desired, evaluated, passive_dynamics
from appell.control.laws.gains import ANY, Kind
from appell.control.laws.law import Law, Numbers
from appell.maths.lists import Gain, Scalars, minus, plus, times, transposed
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Vector, cross
from appell.model.model import FrameName

Rows = list[list[Scalar]]

_TOOL = Kind("direction of the tool (three lengths, three angles)")


def cartesian_impedance(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    stiffness: Gain,
    damping: Gain,
    joint_damping: Gain,
    frame: Any,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """tau = M a_d + C v_d + g + J^T (stiffness x + damping x') + joint_damping e', where x is the
    tool's displacement, three lengths and three angles."""
    J, J_d = (evaluated(model, "jacobian", "bodies", x, frame) for x in (q, desired.q))
    T, T_d = (evaluated(model, "forward_kinematics", "bodies", x, frame) for x in (q, desired.q))
    x, dx = displacement(T_d, T), minus(times(J_d, desired.v), times(J, v))
    wrench = plus(times(stiffness, x), times(damping, dx))
    return plus(
        passive_dynamics(model, q, v, desired.v, desired.a, formulation),
        times(transposed(J), wrench),
        times(joint_damping, minus(desired.v, v)),
    )


def displacement(desired: Rows, actual: Rows) -> list[Scalar]:
    """What takes one pose to another, 6: the way of the origin, then sin(angle) times the axis, as
    half the sum of the axes' cross products."""
    turn = ZERO
    for k in range(3):
        turn = turn + cross(_axis(actual, k), _axis(desired, k))
    return [*(desired[i][3] - actual[i][3] for i in range(3)), *(turn * 0.5)]


def _axis(T: Rows, k: int) -> Vector:
    return Vector(T[0][k], T[1][k], T[2][k])


@dataclass(frozen=True, eq=False, repr=False)
class CartesianImpedance(Law):
    """The tool on a spring and a damper, in the base's axes.

    tau = M a_d + C v_d + g + J^T (stiffness x + damping x') + joint_damping e', where x leads from
    where the tool is to where the desired joints have it. Angles count by their sine, so the tool
    must be within a right angle.

    Args:
        robot: What the law believes it moves.
        stiffness: Six numbers, N/m along the base's axes and N m/rad about them.
        damping: Six numbers, N s/m and N m s/rad.
        joint_damping: N m s/rad or N s/m, one number or one per joint.
        frame: The tool's link, or an `appell.Frame`; the tip without it.
        formulation: The equations of its dynamics; the fastest without it.

    Examples:
        >>> puma = appell.load("puma560")
        >>> spring, damper = [500] * 3 + [20] * 3, [50] * 3 + [2] * 3
        >>> law = appell.control.CartesianImpedance(puma, spring, damper, joint_damping=1)
        >>> law.actuators
        6
    """

    stiffness: Numbers
    damping: Numbers
    joint_damping: Numbers = 0.0
    frame: FrameName | None = None

    equation = staticmethod(cartesian_impedance)
    gains: ClassVar = {"stiffness": _TOOL, "damping": _TOOL, "joint_damping": ANY}

    def _refuse(self) -> None:
        self.robot.system.frame(self.frame)

    def _chosen(self) -> list[str]:
        frame = self.robot.system.frame(self.frame)
        return [f"frame={getattr(frame, 'name', frame)}", *super()._chosen()]

    def _extra(self, model: Any) -> dict[str, Any]:
        return {"frame": model.frame(self.frame)}
