"""Joints with several speeds may be named as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from batches import AsWritten

import appell
from appell.robots.named_joints import speeds_named


def jointed():
    """A body that carries a link on each kind of joint with several speeds, and on a plain one."""
    build = appell.Builder("jointed", base="free")
    build.link("body", appell.inertia.box(3, (0.2, 0.3, 0.4)))
    for kind in ("spherical", "universal", "cylindrical", "planar", "free", "revolute"):
        build.link(f"on {kind}", appell.inertia.box(1, (0.1, 0.2, 0.3), com=(0.1, 0.2, 0.3)))
        build.joint(f"{kind} hip", kind, "body", f"on {kind}", pose=(0.1, 0.2, 0.3))
    return AsWritten(build.robot().model)


@pytest.mark.parametrize(
    ("kind", "count"),
    [("spherical", 3), ("universal", 2), ("cylindrical", 2), ("planar", 3), ("free", 6)],
)
def test_a_joints_name_stands_for_all_its_speeds(kind, count):
    robot = jointed()
    parts = [name for name in robot.joint_names if name.startswith(f"{kind} hip")]
    assert len(parts) == count
    draw = np.random.default_rng(0)
    q, (v, a, tau) = robot.random(draw), draw.normal(size=(3, robot.nv))
    whole = robot.hybrid_dynamics(q, v, a, tau, [f"{kind} hip", "revolute hip"])
    single = robot.hybrid_dynamics(q, v, a, tau, [*parts, "revolute hip"])
    assert all(np.array_equal(x, y) for x, y in zip(whole, single, strict=True))
    passive = robot.contact_inverse_dynamics(q, v, a, contacts=["body"], passive=f"{kind} hip")
    assert passive.residual.shape == (count,)


def test_a_name_is_the_joints_whole_name():
    names = ("left hip", "left knee 1", "left knee 2", "free x", "free")
    assert speeds_named("x", names, "left knee") == [1, 2]
    assert speeds_named("x", names, ["free", "left hip"]) == [0, 4]  # its own name comes first
    for name in ("left", "hip", "knee", "left knee 3", "", 3):
        with pytest.raises(appell.InputError, match=r"its joints are .* whole joints: left knee"):
            speeds_named("x", names, [name])
