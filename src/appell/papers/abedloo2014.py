"""Abedloo, Molaei, Taghirad 2014: the Agile Wrist on a trajectory, Figures 5, 6 and 7.

A multibody model of the wrist (abedloo_simulator) is driven along the trajectory of equation 52 by
a high-gain PD loop. Its platform's motion is given to the closed equations, and the joints' motion
and the torques that come out are compared with the simulator's own.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from appell.charts.chart import Chart, Line, Panel, lines
from appell.charts.palette import COLOURS, INK
from appell.papers.abedloo2014_simulator import PSI, THETA, Simulator, WristMotion, read, simulate
from appell.robots.registry import load
from appell.robots.robot import Array
from appell.robots.spherical import SphericalRobot
from appell.show.document import Document, Row, Table
from appell.show.figure import Drawing, picture
from appell.show.motion_film import motion_film
from appell.show.rules import AtLeast, AtMost, Ratio, Rule
from appell.show.scene import View
from appell.show.sketch import Sketch

# Equation 52.
AMPLITUDES = np.radians([10.0, 30.0, 20.0])
FREQUENCIES = np.pi * np.array([1.0, 0.5, 1.5])
UNTIL, SAMPLES = 4.0, 401  # s: the three sines repeat together

FORMULATION = "gibbs_jacobian"  # the paper's

# The PD loop of Figure 4, N m/rad and N m s/rad.
STIFFNESS, DAMPING = 1000.0, 3.0

# The orders of the errors that section IV gives.
ORDERS = {
    "joint variables, rad": 1e-7,
    "their velocities, rad/s": 1e-6,
    "their accelerations, rad/s²": 1e-5,
    "actuator torques, N m": 1e-5,
}


def document() -> Document:
    """The tables of section IV, and figures 3, 5, 6 and 7."""
    return Document(
        name="abedloo2014",
        title="Closed-Form Dynamic Formulation of Spherical Parallel Manipulators by Gibbs-Appell "
        "Method",
        source="E. Abedloo, A. Molaei, H. D. Taghirad, 2014",
        tables=[errors_table(), projected_table(), formulations_table(), coriolis_table()],
        pictures=PICTURES,
        models=[wrist().model],
    )


def trajectory(t: Array | float) -> tuple[Array, Array, Array]:
    """q, q', q'' (52), each (..., 3)."""
    a, b = AMPLITUDES, FREQUENCIES
    x = np.multiply.outer(t, b)
    return a * np.sin(x), a * b * np.cos(x), -a * b * b * np.sin(x)


# How far ours are below: three times more or less than is had with one kind of processor, as the
# integrator's steps depend on rounding.
BELOW = {
    "joint variables, rad": (6.3e-4, 5.7e-3),
    "their velocities, rad/s": (1.5e-3, 1.3e-2),
    "their accelerations, rad/s²": (1.1e-2, 9.8e-2),
    "actuator torques, N m": (2.7e-5, 2.4e-4),
}
_ORDER = "the paper gives the order; ours are smaller, as our loops open less"


@cache
def wrist() -> SphericalRobot:
    """The wrist with the paper's numbers, and the library's where it gives none."""
    return load("agile_wrist")


def law(t: float, theta: Array, dtheta: Array) -> Array:
    """The PD loop of figure 4."""
    q, v, _ = trajectory(t)
    wanted, rate = wrist().inverse_kinematics(q).theta, wrist().actuator_jacobian(q) @ v
    return STIFFNESS * (wanted - theta) + DAMPING * (rate - dtheta)


@cache
def simulated() -> tuple[Simulator, Array, Array]:
    """The simulator under the PD loop, from the trajectory's start: it, times and states."""
    robot = wrist()
    simulator = Simulator(robot.model)
    q, v, _ = trajectory(0.0)
    s: Array = np.zeros(7)
    s[THETA], s[PSI] = robot.inverse_kinematics(q)
    s[2] = _last_angle(simulator, s, q)
    s, _ = simulator.closed(s, np.zeros(7))
    ds = simulator.driven(s, robot.actuator_jacobian(q) @ v)
    t = np.linspace(0, UNTIL, SAMPLES)
    return simulator, t, simulate(simulator, s, ds, law, t)


@cache
def motion(projected: bool = False) -> WristMotion:
    """What the simulator did, as integrated or ``projected`` onto its loops."""
    return read(*simulated(), law, projected)


def _last_angle(simulator: Simulator, s: Array, q: Array) -> float:
    """xi of the first limb's chain, which turns its platform to where the Euler angles have it."""
    open_chain = simulator.pose(s)[:3, :3]
    wanted = wrist().forward_kinematics(q)[:3, :3]
    turn = wanted @ open_chain.T
    v = np.array(wrist().model.limbs[0].platform_axis, dtype=float)
    sine = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    return float(np.arctan2(sine @ (wanted @ v), np.trace(turn) - 1))


class PrintedModel(NamedTuple):
    """What the closed equations make of the platform's motion: theta and psi of all limbs, their
    velocities and accelerations, (N, 6), and the actuators' torques, (N, 3)."""

    angles: Array
    velocities: Array
    accelerations: Array
    torques: Array


@cache
def model(formulation: str = FORMULATION, projected: bool = False) -> PrintedModel:
    """The closed equations by a formulation, given the simulated platform."""
    robot, platform = wrist(), motion(projected).platform
    angles = robot.inverse_kinematics(platform.q)
    rates, accelerations = robot.kernel("joint_motion", formulation=formulation)(*platform)
    torques = robot.kernel("inverse_dynamics", formulation=formulation)(*platform)
    return PrintedModel(np.hstack([angles.theta, angles.psi]), rates, accelerations, torques)


@cache
def differences(projected: bool = False) -> dict[str, Array]:
    """Closed equations minus simulator, (N, 6) or (N, 3), by what is compared."""
    simulated = *motion(projected).joints, motion(projected).tau
    pairs = zip(model(FORMULATION, projected), simulated, strict=True)
    return dict(zip(ORDERS, (ours - theirs for ours, theirs in pairs), strict=True))


def largest(x: Array) -> float:
    """The largest absolute value."""
    return float(np.abs(x).max())


def errors_table() -> Table:
    """The errors of section IV."""
    found, links = motion(), wrist().model.limbs[0].links
    astray = largest(found.platform.q - trajectory(found.t)[0])
    return Table(
        "Section IV: closed equations minus simulator, the largest on the trajectory",
        ["error"],
        [
            Row(what, (ORDERS[what],), (largest(x),), _ORDER, Ratio(*BELOW[what]))
            for what, x in differences().items()
        ],
        note="In the place of SimMechanics stands an open tree of seven joints, closed by "
        f"Lagrange's multipliers and driven for {UNTIL:g} s by a PD loop ({STIFFNESS:g} N m/rad, "
        f"{DAMPING:g} N m s/rad; the paper gives no gains). Joint variables are theta and psi of "
        "all limbs. The states are as the integrator leaves them: the loops are open by "
        f"{found.open:.0e} at most, which is what the closed equations, for which they are "
        "closed, differ by. The platform left the trajectory by "
        f"{np.degrees(astray):.2f} degrees. The paper gives neither the radius of the links' arcs "
        "(here 0.1 m) nor the platform's centre of mass and its inertia's reference point (here "
        f"the wrist's centre). A first link weighs {links[0].inertia.mass:.4f} kg, a second "
        f"{links[1].inertia.mass:.4f} kg. Torques depend on these choices; the agreement "
        "does not.",
    )


def projected_table() -> Table:
    """The errors after each sample is projected onto the loops."""
    return Table(
        "The same after each sample is projected onto the loops",
        ["error"],
        [
            Row.own(what, (largest(x),), AtMost(1e-10))
            for what, x in differences(projected=True).items()
        ],
        note="Before a sample is read, its angles and speeds are moved to the nearest that close "
        "the loops. No simulator does that by itself; it leaves the difference of the equations "
        "alone, which is rounding.",
    )


def formulations_table() -> Table:
    """The paper's equations beside our default's, and its matrices (21) multiplied out."""
    ours, default, q, v, a = model(), model("quasi_speeds"), *motion().platform
    robot = wrist()
    M, G = (robot.kernel(x, formulation=FORMULATION)(q) for x in ("mass_matrix", "gravity"))
    C = robot.coriolis_matrix(q, v, formulation="printed")
    Q = np.einsum("nij,nj->ni", M, a) + np.einsum("nij,nj->ni", C, v) + G
    J = np.swapaxes(robot.actuator_jacobian(q), 1, 2)
    torques = np.linalg.solve(J, Q[..., None])[..., 0]
    rows = {
        "torques less those of M q'' + C q' + G (19, 21, 51), C as printed, N m": (
            ours.torques - torques
        ),
        "torques less our default's (quasi_speeds), N m": ours.torques - default.torques,
        "accelerations less our default's, rad/s²": ours.accelerations - default.accelerations,
    }
    return Table(
        f"The figures are by the paper's equations ({FORMULATION})",
        ["largest difference"],
        [Row.own(what, (largest(x),), AtMost(1e-10)) for what, x in rows.items()],
    )


def coriolis_table() -> Table:
    """What the printed C and the default one do to dM/dt - 2C, on the trajectory."""
    robot = wrist()
    q, v, _ = trajectory(motion().t)
    rate = np.einsum("nijk,nk->nij", robot.kernel("mass_matrix", wrt="q")(q), v)
    printed, skew = (robot.coriolis_matrix(q, v, formulation=x) for x in ("printed", None))
    asymmetry = [x + np.swapaxes(x, 1, 2) for x in (rate - 2 * printed, rate - 2 * skew)]
    apart = np.einsum("nij,nj->ni", printed - skew, v)
    rows: dict[str, tuple[Array, Rule]] = {
        "dM/dt - 2C plus its transpose, printed C": (asymmetry[0], AtLeast(1e-3)),
        "dM/dt - 2C plus its transpose, our C": (asymmetry[1], AtMost(1e-12)),
        "C q', printed C less ours": (apart, AtMost(1e-12)),
    }
    return Table(
        "Equation 21: two Coriolis matrices",
        ["largest on the trajectory"],
        [Row.own(what, (largest(x),), rule) for what, (x, rule) in rows.items()],
        note="The paper's C (21, 47, 48) gives the right C q', but dM/dt - 2C is not "
        "skew-symmetric with it. Ours is J^T I dJ/dt - J^T [I w]~ J with the true dJ/dt.",
    )


# Figures 3, 5, 6 and 7


@picture(
    "Figure 3: kinematic structure",
    "First links are broad, second ones narrow; the platform's axes end at the corners of the "
    "triangle.",
)
def structure_picture() -> Drawing:
    """A drawing of the links as arcs on the sphere, at the start and at a turned pose."""
    poses = (np.zeros(3), trajectory(0.8)[0])
    return Drawing([_sketch(View(azimuth=35, elevation=-18), q) for q in poses], columns=2)


def _sketch(view: View, q: Array) -> Sketch:
    robot = wrist()
    sketch = Sketch(f"q = {np.degrees(q).round(1).tolist()}°")
    corners = []
    for i, limb in enumerate(robot.model.limbs):
        for which, link, width in zip(("first", "second"), limb.links, (5.0, 3.0), strict=True):
            x = np.linspace(0, link.alpha, 40)
            arc = np.stack([0 * x, -np.sin(x), np.cos(x)], axis=-1)
            points = arc @ robot.forward_kinematics(q, f"{which}{i + 1}")[:3, :3].T
            sketch.line(view(points), COLOURS[i], width)
        corners.append(points[-1])
    sketch.fill(view(np.array(corners)), INK, opacity=0.25)
    sketch.dot(view(np.zeros(3)))
    return sketch


@picture(
    "Figure 5: the actuators' angles",
    "Of the simulator, and of the model given the simulated platform.",
)
def angles_picture() -> Chart:
    """A chart of the actuators' angles over time."""
    angles = np.degrees(motion().joints[0]), np.degrees(model().angles)
    return Chart([Panel("", "angle, °", _both("θ", *angles))])


@picture(
    "Figure 6: the actuators' torques",
    "Of the simulator's PD loop, and of the model given the simulated motion.",
)
def torques_picture() -> Chart:
    """A chart of the actuators' torques over time, and of their errors."""
    errors = differences()["actuator torques, N m"]
    return Chart([
        Panel("", "actuator torque, N m", _both("τ", motion().tau, model().torques)),
        Panel("model minus simulator", "torque, N m", _errors(errors)),
    ])  # fmt: skip


@picture(
    "Figure 7: errors of the actuators' angles, velocities and accelerations",
    "Model minus simulator.",
)
def errors_picture() -> Chart:
    """A chart of the errors of the actuators' motion over time."""
    shown = [*differences().items()][:3]
    return Chart([Panel("", what, _errors(x[:, :3])) for what, x in shown])


PICTURES = (
    structure_picture,
    angles_picture,
    torques_picture,
    errors_picture,
    motion_film(
        "The motion",
        "The wrist in the simulator, one period of its three sines.",
        lambda: (wrist(), motion().t, motion().platform.q),
    ),
)


def _both(symbol: str, simulated: Array, ours: Array) -> list[Line]:
    """Lines of a quantity of the three actuators, of the simulator and of the model."""
    names = [f"{symbol}{i + 1}" for i in range(3)]
    wide = {"width": 3.4, "opacity": 0.35}
    return [
        *lines([f"{name}, simulator" for name in names], motion().t, simulated[:, :3], **wide),
        *lines([f"{name}, model" for name in names], motion().t, ours[:, :3], width=1.0),
    ]


def _errors(x: Array) -> list[Line]:
    """Lines of the errors of the three limbs."""
    return lines([f"limb {i + 1}" for i in range(3)], motion().t, x, width=1.0)
