"""Every quantity of a robot beside Pinocchio's, on random trees and on robots people know.

python -m benchmarks.agreement --trees 200          # prints and writes docs/agreement.md

Trees have joints of every kind (revolute, prismatic, helical, spherical, free) and branch, on fixed
and free bases. Equations are asked uncompiled, at one state each; that kernels give what equations
give is checked by tests. A difference is relative to the largest number of Pinocchio's answer, or
to 1 if that is less.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pinocchio as pin
from rich.progress import track

from benchmarks.both import ROOT, Both

REAL = (
    "ur5", "panda", "kinova", "xarm7", "z1", "baxter", "tiago_no_hand",
    "solo12", "anymal", "go2", "talos", "icub",
)  # fmt: skip
Row = tuple[str, Any, Any]  # a quantity, what is found and what Pinocchio says


# Named after Pinocchio's unit tests


def rnea(both: Both) -> Iterator[Row]:
    """Inverse dynamics, also with external forces; bias, gravity and Coriolis forces."""
    model, data, (q, v, a) = both.other, both.data, both.there(both.a)
    yield (
        "inverse_dynamics",
        both.ask("inverse_dynamics", both.q, both.v, both.a),
        _on(both, pin.rnea(model, data, q, v, a)),
    )
    yield "bias", both.ask("bias", both.q, both.v), _on(both, pin.nle(model, data, q, v))
    yield (
        "gravity",
        both.ask("gravity", both.q),
        _on(both, pin.computeGeneralizedGravity(model, data, q)),
    )
    C = pin.computeCoriolisMatrix(model, data, q, v) @ v
    yield "coriolis_matrix", both.ask("coriolis_matrix", both.q, both.v) @ both.v, _on(both, C)
    for axes in ("base", "local"):
        on = both.pushed(axes, both.chosen[-2:])
        options = {"forces": tuple(both.chosen[-2:]), "axes": axes}
        wrenches = [both.push] * len(options["forces"])
        found = both.ask("inverse_dynamics", both.q, both.v, both.a, *wrenches, **options)
        yield "inverse_dynamics, forces", found, _on(both, pin.rnea(model, data, q, v, a, on))


def crba(both: Both) -> Iterator[Row]:
    """The mass matrix and its inverse."""
    M = _on2(both, pin.crba(both.other, both.data, both.there()[0]))
    yield "mass_matrix", both.ask("mass_matrix", both.q), M
    yield "inverse_mass_matrix", both.ask("inverse_mass_matrix", both.q), np.linalg.inv(M)


def aba(both: Both) -> Iterator[Row]:
    """Forward dynamics, also with external forces."""
    model, data, (q, v, tau) = both.other, both.data, both.there(both.tau)
    yield (
        "forward_dynamics",
        both.ask("forward_dynamics", both.q, both.v, both.tau),
        _on(both, pin.aba(model, data, q, v, tau)),
    )
    on = both.pushed("base", both.chosen[-2:])
    options = {"forces": tuple(both.chosen[-2:]), "axes": "base"}
    wrenches = [both.push] * len(options["forces"])
    found = both.ask("forward_dynamics", both.q, both.v, both.tau, *wrenches, **options)
    yield "forward_dynamics, forces", found, _on(both, pin.aba(model, data, q, v, tau, on))


def derivatives(both: Both) -> Iterator[Row]:
    """Of dynamics, of a frame's motion and of the momentum's rate, by all arguments."""
    model, data, (q, v, a, tau) = both.other, both.data, both.there(both.a, both.tau)
    state, link = (both.q, both.v, both.a), both.chosen[0]
    momentum = pin.computeCentroidalDynamicsDerivatives(model, data, q, v, a)[1:]
    asked = {
        "inverse_dynamics": ("qva", state, {}, [
            _on2(both, x) for x in pin.computeRNEADerivatives(model, data, q, v, a)]),
        "forward_dynamics": ("qvt", (both.q, both.v, both.tau), {}, [
            _on2(both, x) for x in pin.computeABADerivatives(model, data, q, v, tau)]),
        "momentum_rate": ("qva", state, {}, [np.array(x)[:, both.iv] for x in momentum]),
    }  # fmt: skip
    pin.computeForwardKinematicsDerivatives(model, data, q, v, a)
    local = {"frame": link, "axes": "local"}
    by = pin.getFrameVelocityDerivatives(model, data, both.links[link], pin.LOCAL)
    asked["velocity"] = "qv", state[:2], local, [x[:, both.iv] for x in by]
    by = pin.getFrameAccelerationDerivatives(model, data, both.links[link], pin.LOCAL)[-3:]
    asked["spatial_acceleration"] = "qva", state, local, [x[:, both.iv] for x in by]
    for quantity, (names, states, options, expected) in asked.items():
        found = both.derivatives(quantity, names, *states, **options)
        for x, y in zip(found, expected, strict=True):
            yield f"{quantity}, derivatives", x, y


def energy(both: Both) -> Iterator[Row]:
    """Energies, and their regressors."""
    model, data, (q, v) = both.other, both.data, both.there()
    T, U = pin.computeKineticEnergy(model, data, q, v), pin.computePotentialEnergy(model, data, q)
    p = both.robot.parameters
    yield "kinetic_energy", both.ask("kinetic_energy", both.q, both.v), T
    yield "kinetic_energy_regressor", both.ask("kinetic_energy_regressor", both.q, both.v) @ p, T
    yield "potential_energy_regressor", both.ask("potential_energy_regressor", both.q) @ p, U
    yield "potential_energy", both.ask("potential_energy", both.q), U


def frames(both: Both) -> Iterator[Row]:
    """Poses, velocities, accelerations, Jacobians and their rates, in base and local axes."""
    model, data, (q, v, a) = both.other, both.data, both.there(both.a)
    pin.forwardKinematics(model, data, q, v, a)
    pin.updateFramePlacements(model, data)
    pin.computeJointJacobiansTimeVariation(model, data, q, v)
    poses = dict(zip(both.robot.link_names, both.ask("poses", both.q), strict=True))
    for link in both.links:
        yield "poses", poses[link], data.oMf[both.links[link]].homogeneous
    state = both.q, both.v, both.a
    for link in both.chosen:
        k = both.links[link]
        found = both.ask("forward_kinematics", both.q, frame=link)
        yield "forward_kinematics", found, data.oMf[k].homogeneous
        for axes, there in {"base": pin.LOCAL_WORLD_ALIGNED, "local": pin.LOCAL}.items():
            for quantity, expected in {
                "velocity": pin.getFrameVelocity(model, data, k, there).vector,
                "acceleration": pin.getFrameClassicalAcceleration(model, data, k, there).vector,
                "spatial_acceleration": pin.getFrameAcceleration(model, data, k, there).vector,
                "jacobian": pin.getFrameJacobian(model, data, k, there)[:, both.iv],
                "jacobian_rate": pin.getFrameJacobianTimeVariation(model, data, k, there)[
                    :, both.iv
                ],
            }.items():
                given = state[: len(both.robot.system.quantities[quantity].inputs)]
                yield quantity, both.ask(quantity, *given, frame=link, axes=axes), expected
    of, to = both.chosen[0], both.chosen[-1]
    at = {x: data.oMf[both.links[x]] for x in (of, to)}
    seen = both.ask("forward_kinematics", both.q, frame=of, relative_to=to)
    yield "forward_kinematics, relative", seen, (at[to].inverse() * at[of]).homogeneous
    V = {x: pin.getFrameVelocity(model, data, both.links[x]) for x in (of, to)}
    expected = V[of] - (at[of].inverse() * at[to]).act(V[to])
    found = both.ask("velocity", both.q, both.v, frame=of, relative_to=to, axes="local")
    yield "velocity, relative", found, expected.vector


def com(both: Both) -> Iterator[Row]:
    """Centres of mass, of the whole and of what a link carries."""
    model, data, (q, v) = both.other, both.data, both.there()
    pin.centerOfMass(model, data, q, v, True)
    pin.computeSubtreeMasses(model, data)
    yield "mass", both.robot.mass(), pin.computeTotalMass(model)
    yield "centre_of_mass", both.ask("centre_of_mass", both.q), data.com[0]
    found = both.ask("centre_of_mass_velocity", both.q, both.v)
    yield "centre_of_mass_velocity", found, data.vcom[0]
    J = pin.jacobianCenterOfMass(model, model.createData(), q)[:, both.iv]
    yield "centre_of_mass_jacobian", both.ask("centre_of_mass_jacobian", both.q), J
    for link in both.chosen:
        joint = model.frames[both.links[link]].parentJoint
        if joint == 0:
            continue  # fixed to the base, which Pinocchio does not count among the moving
        yield "mass of a subtree", both.robot.mass(link), data.mass[joint]
        found = both.ask("subtree_centre_of_mass", both.q, frame=link)
        yield "subtree_centre_of_mass", found, data.oMi[joint].act(data.com[joint])
        J = pin.jacobianSubtreeCenterOfMass(model, model.createData(), q, joint)[:, both.iv]
        found = both.ask("subtree_centre_of_mass_jacobian", both.q, frame=link)
        yield "subtree_centre_of_mass_jacobian", found, J


def centroidal(both: Both) -> Iterator[Row]:
    """Momentum, its matrix and their rates."""
    model, data, (q, v, a) = both.other, both.data, both.there(both.a)
    A = pin.ccrba(model, data, q, v)[:, both.iv].copy()
    yield "momentum_matrix", both.ask("momentum_matrix", both.q), A
    yield "momentum", both.ask("momentum", both.q, both.v), data.hg.vector
    dA = pin.dccrba(model, data, q, v)[:, both.iv].copy()
    yield "momentum_matrix_rate", both.ask("momentum_matrix_rate", both.q, both.v), dA
    pin.computeCentroidalMomentumTimeVariation(model, data, q, v, a)
    found = both.ask("momentum_rate", both.q, both.v, both.a)
    yield "momentum_rate", found, data.dhg.vector


def regressor(both: Both) -> Iterator[Row]:
    """Of joint forces, of bodies and of the momentum."""
    model, data, (q, v, a) = both.other, both.data, both.there(both.a)
    tau = _on(both, pin.rnea(model, data, q, v, a))
    p = both.robot.parameters
    yield "regressor", both.ask("regressor", both.q, both.v, both.a) @ p, tau
    for link in both.chosen:
        found = both.ask("body_regressor", both.q, both.v, both.a, frame=link)
        yield "body_regressor", found, pin.frameBodyRegressor(model, data, both.links[link])
    M = _on2(both, pin.crba(model, data, q))
    yield "momentum_regressor", both.ask("momentum_regressor", both.q, both.v) @ p, M @ both.v


def wrenches(both: Both) -> Iterator[Row]:
    """What every joint transmits, and the base."""
    model, data, (q, v, a) = both.other, both.data, both.there(both.a)
    pin.rnea(model, data, q, v, a)
    found = both.ask("joint_wrenches", both.q, both.v, both.a)
    for body, w in zip(both.robot.model.links.values(), found, strict=True):
        frame = model.frames[both.links[body.name]]
        expected = frame.placement.actInv(data.f[frame.parentJoint])
        yield "joint_wrenches", w, expected.vector
    on_base = pin.Force.Zero()
    for joint in range(1, model.njoints):
        if model.parents[joint] == 0:
            on_base = on_base + data.liMi[joint].act(data.f[joint])
    yield "base_wrench", both.ask("base_wrench", both.q, both.v, both.a), on_base.vector


def operational(both: Both) -> Iterator[Row]:
    """The inertia that a frame feels, inverted."""
    model, data, (q, _) = both.other, both.data, both.there()
    M = _on2(both, pin.crba(model, data, q))
    link = both.chosen[0]
    axes = pin.LOCAL_WORLD_ALIGNED
    J = pin.computeFrameJacobian(model, data, q, both.links[link], axes)[:, both.iv]
    found = both.ask("operational_mobility", both.q, frame=link)
    yield "operational_inertia, inverse", found, J @ np.linalg.solve(M, J.T)


def configurations(both: Both) -> Iterator[Row]:
    """Displacements, and back."""
    q, _, d = both.there(both.to)
    moved = pin.integrate(both.other, q, d)
    ours = both.robot.integrate(both.q, both.to)
    apart = pin.difference(both.other, both.there(at=ours)[0], moved)
    yield "integrate", apart, np.zeros(both.robot.nv)
    back = pin.difference(both.other, q, moved)
    yield "difference", both.robot.difference(both.q, ours), _on(both, back)


TESTS = (
    rnea, crba, aba, derivatives, energy, frames, com, centroidal, regressor, wrenches, operational,
    configurations,
)  # fmt: skip
# What is divided by the mass matrix loses digits to its condition.
INVERTING = (
    "inverse_mass_matrix", "forward_dynamics", "forward_dynamics, forces",
    "forward_dynamics, derivatives", "operational_inertia, inverse",
)  # fmt: skip


def differences(both: Both, tests: Any = TESTS) -> Iterator[tuple[str, float]]:
    """Each quantity compared, and its difference."""
    for test in tests:
        for quantity, found, expected in test(both):
            expected = np.asarray(expected)
            size = max(np.abs(expected).max(initial=0), 1.0)
            yield quantity, float(np.abs(found - expected).max(initial=0) / size)


def condition(both: Both) -> float:
    """That of the mass matrix: how many times its inverse enlarges rounding."""
    return float(np.linalg.cond(both.ask("mass_matrix", both.q)))


def _on(both: Both, x: Any) -> Any:
    return np.array(x)[both.iv]


def _on2(both: Both, M: Any) -> Any:
    return np.array(M)[both.iv][:, both.iv]


HEAD = """# Beside Pinocchio

Every quantity of {trees} random trees, with joints of every kind, and of {real} robots of
example-robot-data on fixed and free bases, as the equations give it and as Pinocchio does: the
largest difference, relative to the largest number of the answer (or to 1). Those marked * divide by
the mass matrix; their differences are divided by its condition.
`python -m benchmarks.agreement --trees {trees}` writes this page; a test compares a sample of it.

Robots: {names}.

| quantity | compared | trees | robots |
| --- | ---: | ---: | ---: |
"""


def main() -> None:
    """Print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=200)
    count = parser.parse_args().trees
    bases = ("fixed", "free")
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: {"trees": [], "robots": []})
    cases = [(Both.tree, seed, bases[seed % 2], "trees") for seed in range(count)]
    cases += [(Both.real, name, base, "robots") for name in REAL for base in bases]
    for make, which, base, group in track(cases, "Comparing"):
        both = make(which, base)
        size = condition(both)
        for quantity, difference in differences(both):
            scale = size if quantity in INVERTING else 1.0
            found[quantity][group].append(difference / scale)
    page = HEAD.format(trees=count, real=len(REAL), names=", ".join(REAL))
    for quantity, at in found.items():
        mark = " *" if quantity in INVERTING else ""
        worst = (f"{max(x):.0e}" for x in at.values())
        page += f"| {quantity}{mark} | {sum(map(len, at.values()))} | {' | '.join(worst)} |\n"
    (ROOT / "docs" / "agreement.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
