"""MuJoCo: its C functions called from Python state by state, constraints and contacts off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.peers.common import Array, Read, Run, as_is, call_by_call, placement


class MuJoCo:
    def __init__(self) -> None:
        import mujoco

        self.version = mujoco.__version__

    def prepare(self, case: Case, *states: Array) -> tuple[Run, Read]:
        import mujoco

        model = mujoco.MjModel.from_xml_string(mjcf(case.model()))
        call = _CALLS[case.quantity](mujoco, model, mujoco.MjData(model))
        return call_by_call(call, states), as_is


def inverse_dynamics(mujoco: Any, model: Any, data: Any) -> Callable[..., Array]:
    """The steps of mj_inverse that joint forces need: faster than all of it."""
    tau = np.empty(model.nv)

    def call(q: Array, v: Array, a: Array) -> Array:
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 1, tau)
        return tau

    return call


def forward_dynamics(mujoco: Any, model: Any, data: Any) -> Callable[..., Array]:
    def call(q: Array, v: Array, tau: Array) -> Array:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
        mujoco.mj_forward(model, data)
        return data.qacc

    return call


def mass_matrix(mujoco: Any, model: Any, data: Any) -> Callable[..., Array]:
    M = np.empty((model.nv, model.nv))

    def call(q: Array) -> Array:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        mujoco.mj_fullM(model, data, M)
        return M

    return call


_CALLS = {
    "inverse_dynamics": inverse_dynamics,
    "forward_dynamics": forward_dynamics,
    "mass_matrix": mass_matrix,
}


def mjcf(model: Any) -> str:
    """Our model as MuJoCo's XML, body by body in the same frames."""
    return (
        f'<mujoco><compiler angle="radian"/><option gravity="{_text(model.gravity)}">'
        '<flag constraint="disable" contact="disable" actuation="disable" sensor="disable"/>'
        f"</option><worldbody>{_children(model, -1)}</worldbody></mujoco>"
    )


def _children(model: Any, parent: int) -> str:
    return "".join(_body(model, i) for i, b in enumerate(model.bodies) if b.parent == parent)


def _body(model: Any, i: int) -> str:
    body = model.bodies[i]
    R, s = placement(body)
    m, c = float(body.mass), np.array(body.inertia.com, dtype=float)
    about_origin = np.array([[*row] for row in body.tensor.tensor], dtype=float)
    about_com = about_origin - m * (c @ c * np.eye(3) - np.outer(c, c))
    six = about_com[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    kind = "hinge" if body.rho else "slide"
    return (
        f'<body pos="{_text(s)}" xyaxes="{_text(R[:, 0])} {_text(R[:, 1])}">'
        f'<joint type="{kind}" axis="0 0 1" armature="{float(body.joint.reflected)!r}"/>'
        f'<inertial pos="{_text(c)}" mass="{m!r}" fullinertia="{_text(six)}"/>'
        f"{_children(model, i)}</body>"
    )


def _text(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in numbers)
