"""A multibody model of the Agile Wrist in the place of SimMechanics: Abedloo et al. 2014, IV.

It shares nothing with the closed equations but the robot's numbers. The wrist is cut open into a
tree of seven joints: three limbs of two links, the first of which carries the platform. The other
two limbs are held to it by constraints, whose forces are Lagrange's multipliers:

    M s'' + b = S^T tau + A^T lambda,    A s'' = -A' s' - stabilisation,

with s = (theta_1, psi_1, xi, theta_2, psi_2, theta_3, psi_3). A high-gain PD loop on the actuators'
angles moves it along a trajectory, as in Figure 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from appell.compile.make import kernel_of
from appell.equations.coordinates import in_joints
from appell.equations.motion.kinematics import Pose, poses
from appell.maths.scalar import Scalar
from appell.maths.vector import Vector, cross
from appell.model.axes import as_array
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING
from appell.model.model import Frame, Joint, Model
from appell.model.spherical import SphericalModel
from appell.robots.robot import Array, Robot

Rows = list[list[Scalar]]
Law = Callable[[float, Array, Array], Array]  # t, theta, theta' -> tau

THETA, PSI, PASSIVE = [0, 3, 5], [1, 4, 6], [1, 2, 4, 6]  # where they stand in s
_STIFFNESS = 50.0  # 1/s, with which errors of the constraints decay


def _about_x(angle: float) -> npt.NDArray[np.float64]:
    return Rotation.from_euler("x", angle).as_matrix()


def _platform_axes(wrist: SphericalModel, i: int) -> Array:
    """Rz(eta) Rx(-beta), whose z is v* (28)."""
    limb = wrist.limbs[i]
    return Rotation.from_euler("ZX", [limb.eta, -limb.beta]).as_matrix()


def tree(wrist: SphericalModel) -> Model:
    """The wrist cut open where limbs 2 and 3 meet the platform."""
    links = {"base": NOTHING, "platform": wrist.platform}
    hinges = []
    origin = np.zeros(3)
    for i, limb in enumerate(wrist.limbs):
        first, second = f"first{i + 1}", f"second{i + 1}"
        links |= {first: limb.links[0].inertia, second: limb.links[1].inertia}
        base, bend = as_array(limb.base), _about_x(limb.links[0].alpha)
        theta, psi = f"theta{i + 1}", f"psi{i + 1}"
        hinges += [
            Hinge(theta, "base", first, Joint(theta), base, origin),
            Hinge(psi, first, second, Joint(psi), bend, origin),
        ]
    bend, onward = _about_x(wrist.limbs[0].links[1].alpha), _platform_axes(wrist, 0).T
    hinges.append(
        Hinge("xi", "second1", "platform", Joint("xi"), bend, origin, link_rotation=onward)
    )
    order = ("theta1", "psi1", "xi", "theta2", "psi2", "theta3", "psi3")
    return assemble("open wrist", links, hinges, gravity=[*wrist.gravity], order=order)


class Loops(NamedTuple):
    """The constraints' errors (4,), their Jacobian A (4, 7), and A' s' (4,)."""

    error: Array
    A: Array
    bias: Array


class Platform(NamedTuple):
    """The platform's Euler angles and their first and second derivatives."""

    q: Array
    v: Array
    a: Array


def constraints(
    wrist: SphericalModel, model: Model, s: Sequence[Scalar]
) -> tuple[list[Scalar], Rows]:
    """v . e = 0 for limbs 2 and 3, where v is the last axis of the second link, and e are two of
    the platform's axes at right angles to it. The rate of v . e is (v x e) . (the second link's
    angular velocity minus the platform's)."""
    at = in_joints(poses, model, {"q": s})
    platform = model.frame("platform")
    error: list[Scalar] = []
    A: Rows = []
    for i in (1, 2):
        second = model.frame(f"second{i + 1}")
        v = _turned(at, second, _about_x(wrist.limbs[i].links[1].alpha)[:, 2])
        for axis in _platform_axes(wrist, i).T[:2]:
            e = _turned(at, platform, axis)
            normal, row = cross(v, e), [0] * model.nv
            for body, side in ((second.body, 1), (platform.body, -1)):
                for k in model.ancestors[body]:
                    joint = model.bodies[k].coordinate
                    row[joint] = row[joint] + side * (normal @ at[k].z)
            error.append(v @ e)
            A.append(row)
    return error, A


def _turned(at: Mapping[int, Pose], frame: Frame, axis: Array) -> Vector:
    return at[frame.body].R @ (frame.R @ Vector(*map(float, axis)))


class Simulator:
    """The open tree, closed by constraints."""

    def __init__(self, wrist: SphericalModel) -> None:
        model = tree(wrist)
        self.robot = Robot(model)
        self.pose = self.robot.kernel("forward_kinematics", frame="platform")
        self.jacobian = self.robot.kernel("jacobian", frame="platform")
        self.slope = self.robot.kernel("jacobian", frame="platform", wrt="q")

        def rate(s: Any, ds: Any) -> list[Scalar]:
            rows = constraints(wrist, model, s)[1]
            return [sum((x * y for x, y in zip(row, ds, strict=True)), start=0) for row in rows]

        s, ds = {"s": (7,)}, {"ds": (7,)}
        held = {"error": (4,), "A": (4, 7)}
        self.held = kernel_of("constraints", partial(constraints, wrist, model), s, held)
        self.rate = kernel_of("rate", rate, s | ds, {"rate": (4,)}, wrt=["s"])

    def loops(self, s: Array, ds: Array) -> Loops:
        """The constraints at a state."""
        error, A = self.held(s)
        return Loops(error, A, self.rate(s, ds) @ ds)

    def accelerations(self, s: Array, ds: Array, tau: Array, stabilised: bool = True) -> Array:
        """s'' under actuator torques, with Lagrange's multipliers."""
        error, A, bias = self.loops(s, ds)
        drift = _STIFFNESS * (2 * A @ ds + _STIFFNESS * error) if stabilised else 0.0
        matrix, rest = np.zeros((11, 11)), np.empty(11)
        matrix[:7, :7], matrix[:7, 7:], matrix[7:, :7] = self.robot.mass_matrix(s), A.T, A
        rest[:7], rest[7:] = -self.robot.bias(s, ds), -bias - drift
        rest[THETA] += tau
        found: Array = np.linalg.solve(matrix, rest)[:7]
        return found

    def closed(self, s: Array, ds: Array) -> tuple[Array, Array]:
        """The nearest state that satisfies the constraints."""
        for _ in range(3):
            error, A, _ = self.loops(s, ds)
            s = s - np.linalg.pinv(A) @ error
        A = self.loops(s, ds).A
        return s, ds - np.linalg.pinv(A) @ (A @ ds)

    def driven(self, s: Array, dtheta: Array) -> Array:
        """All joints' speeds that go with the actuators'."""
        A = self.loops(s, np.zeros(7)).A
        ds = np.zeros(7)
        ds[THETA] = dtheta
        ds[PASSIVE] = np.linalg.solve(A[:, PASSIVE], -A[:, THETA] @ dtheta)
        return ds

    def platform(self, s: Array, ds: Array, dds: Array) -> Platform:
        """Euler angles from the first limb's chain, and from W = E q' their derivatives."""
        R, J = self.pose(s)[:3, :3], self.jacobian(s)[3:]
        dJ = np.einsum("ijk,j,k->i", self.slope(s)[3:], ds, ds)
        q = Rotation.from_matrix(R).as_euler("ZYX")
        (c1, c2, _), (s1, s2, _) = np.cos(q), np.sin(q)
        E = np.array([[0, -s1, c1 * c2], [0, c1, s1 * c2], [1, 0, -s2]])
        v = np.linalg.solve(E, J @ ds)
        # Each axis of E moves with the turns before it.
        z, y, x = E.T
        dE = np.cross([0 * z, z * v[0], z * v[0] + y * v[1]], [z, y, x]).T
        return Platform(q, v, np.linalg.solve(E, J @ dds + dJ - dE @ v))


@dataclass(frozen=True)
class WristMotion:
    """What the simulator did, one row per sample: theta and psi of all limbs, their velocities and
    accelerations (3, N, 6), the platform, torques, and how far open the loops were."""

    t: Array
    joints: Array
    platform: Platform
    tau: Array
    open: float


def simulate(
    simulator: Simulator, s: Array, ds: Array, law: Law, t: Array, tolerance: float = 1e-10
) -> Array:
    """The states at the times, as the integrator leaves them: (N, 14), from a closed one. The
    loops open a little between, and stabilising terms close them again."""

    def rates(time: float, y: Array) -> Array:
        s, ds = y[:7], y[7:]
        dds = simulator.accelerations(s, ds, law(time, s[THETA], ds[THETA]))
        return np.concatenate([ds, dds])

    run: Any = solve_ivp(
        rates, (t[0], t[-1]), np.concatenate([s, ds]), "LSODA", t_eval=t,
        rtol=tolerance, atol=tolerance,
    )  # fmt: skip
    states: Array = run.y.T
    return states


def read(simulator: Simulator, t: Array, states: Array, law: Law, projected: bool) -> WristMotion:
    """What the sensors tell of the states. If ``projected``, each is first brought back onto the
    constraints, and its accelerations are those without the stabilising terms."""
    rows, platform, torques, gaps = [], [], [], []
    for time, y in zip(t, states, strict=True):
        s, ds = y[:7], y[7:]
        gaps.append(float(np.abs(simulator.loops(s, ds).error).max()))
        if projected:
            s, ds = simulator.closed(s, ds)
        tau = law(time, s[THETA], ds[THETA])
        dds = simulator.accelerations(s, ds, tau, stabilised=not projected)
        rows.append([s, ds, dds])
        platform.append(simulator.platform(s, ds, dds))
        torques.append(tau)
    return WristMotion(
        t=t,
        joints=np.array(rows)[..., [*THETA, *PSI]].swapaxes(0, 1),
        platform=Platform(*(np.array(x) for x in zip(*platform, strict=True))),
        tau=np.array(torques),
        open=max(gaps),
    )
