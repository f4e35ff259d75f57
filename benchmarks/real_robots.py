"""One state of a robot from a file, called from Python, here and in Pinocchio: frames, momentum
and external forces, with the same numbers. Pinocchio wants wrenches in the joints' axes; taking
them there is not timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

ROBOTS = {"ur5": "UR5", "talos": "TALOS, 38 speeds"}
Call = Callable[[], Any]


def pairs() -> Iterator[tuple[str, Call, Call]]:
    """What is computed, our call and Pinocchio's; raises where they differ."""
    import pinocchio as pin

    from benchmarks.both import Both

    for name, shown in ROBOTS.items():
        both = Both.real(name, "fixed" if name == "ur5" else "free")
        robot, model, data = both.robot, both.other, both.data
        q, v, a, tau, w = both.q, both.v, both.a, both.tau, both.push
        p, pv, pa, ptau = both.there(a, tau)
        link = str(both.chosen[0])
        k, iv = both.links[link], both.iv
        on, push = both.pushed("base", [link]), {link: w}

        def pose(model: Any = model, data: Any = data, p: Any = p, k: int = k) -> Any:
            pin.framesForwardKinematics(model, data, p)
            return data.oMf[k]

        calls: dict[str, tuple[Call, Call, Callable[[Any], Any]]] = {
            "pose of a named frame": (
                lambda r=robot, q=q, f=link: r.forward_kinematics(q, f), pose,
                lambda x: x.homogeneous,
            ),
            "Jacobian of a named frame": (
                lambda r=robot, q=q, f=link: r.jacobian(q, f),
                lambda m=model, d=data, p=p, k=k: pin.computeFrameJacobian(
                    m, d, p, k, pin.LOCAL_WORLD_ALIGNED
                ),
                lambda J, iv=iv: J[:, iv],
            ),
            "poses of all frames": (
                lambda r=robot, q=q: r.poses(q), pose, lambda _: None,
            ),
            "centre of mass": (
                lambda r=robot, q=q: r.centre_of_mass(q),
                lambda m=model, d=data, p=p: pin.centerOfMass(m, d, p), np.asarray,
            ),
            "momentum matrix": (
                lambda r=robot, q=q: r.momentum_matrix(q),
                lambda m=model, d=data, p=p, v=pv: pin.ccrba(m, d, p, v),
                lambda A, iv=iv: A[:, iv],
            ),
            "inverse dynamics with a force on a frame": (
                lambda r=robot, x=(q, v, a), f=push: r.inverse_dynamics(*x, forces=f),
                lambda m=model, d=data, x=(p, pv, pa), f=on: pin.rnea(m, d, *x, f),
                lambda x, iv=iv: x[iv],
            ),
            "forward dynamics with a force on a frame": (
                lambda r=robot, x=(q, v, tau), f=push: r.forward_dynamics(
                    *x, forces=f),
                lambda m=model, d=data, x=(p, pv, ptau), f=on: pin.aba(m, d, *x, f),
                lambda x, iv=iv: x[iv],
            ),
        }  # fmt: skip
        if name == "talos":
            calls["dynamics on two fixed feet"] = _on_two_feet(both)
        for what, (ours, theirs, read) in calls.items():
            expected = read(theirs())
            if expected is not None and not np.allclose(ours(), expected, rtol=1e-6, atol=1e-6):
                raise RuntimeError(f"{shown}, {what}: Pinocchio's is another")
            yield f"{shown}: {what}", ours, theirs


def _on_two_feet(both: Any) -> tuple[Call, Call, Callable[[Any], Any]]:
    """Constrained forward dynamics with both soles held."""
    import pinocchio as pin

    import appell

    model, data = both.other, both.data
    feet = [f"{side}_sole_link" for side in ("left", "right")]
    held = pin.StdVec_RigidConstraintModel()
    for foot in feet:
        frame = model.frames[both.links[foot]]
        place = pin.LOCAL_WORLD_ALIGNED
        held.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_6D, model, frame.parentJoint, frame.placement, place
            )
        )
    theirs = pin.StdVec_RigidConstraintData()
    theirs.extend(x.createData() for x in held)
    pin.initConstraintDynamics(model, data, held, theirs)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    # Feet at rest: of those that move Pinocchio holds the spatial acceleration, we the true one.
    J = np.vstack([both.robot.jacobian(both.q, foot) for foot in feet])
    both.v = both.v - np.linalg.pinv(J) @ (J @ both.v)
    p, pv, ptau = both.there(both.tau)
    contacts = [appell.Contact(foot, "fixed") for foot in feet]
    q, v, tau = both.q, both.v, both.tau
    return (
        lambda: both.robot.contact_dynamics(q, v, tau, contacts=contacts).acceleration,
        lambda: pin.constraintDynamics(model, data, p, pv, ptau, held, theirs, settings),
        lambda a: a[both.iv],
    )
