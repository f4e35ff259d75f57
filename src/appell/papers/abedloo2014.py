"""Abedloo, Molaei, Taghirad 2014: the Agile Wrist on a trajectory, Figures 5, 6 and 7.

A multibody model of the wrist (abedloo_simulator) is driven along the trajectory of equation 52 by
a high-gain PD loop. Its platform's motion is given to the closed equations, and the joints' motion
and the torques that come out are compared with the simulator's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from appell.papers.abedloo2014_simulator import PSI, THETA, Simulator, WristMotion, read, simulate
from appell.robots.registry import load
from appell.robots.robot import Array
from appell.robots.spherical import SphericalRobot
from appell.show.document import Document, Row, Table
from appell.show.figures import picture
from appell.show.rules import AtLeast, AtMost, Ratio, Rule
from appell.show.scene import View
from appell.show.style import INK, JOINTS

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
    7.2, 3.6,
)  # fmt: skip
def structure_picture(figure: Any) -> None:
    """Draw the links as arcs on the sphere, at the start and at a turned pose."""
    view = View(azimuth=35, elevation=-18)
    for k, q in enumerate((np.zeros(3), trajectory(0.8)[0])):
        axes = figure.add_axes((0.5 * k, 0.0, 0.5, 0.92), aspect="equal")
        axes.set_axis_off()
        axes.set_title(f"q = {np.degrees(q).round(1).tolist()} degrees", loc="center")
        _draw(axes, view, q)


def _draw(axes: Any, view: View, q: Array) -> None:
    robot = wrist()
    model = robot.model
    corners = []
    for i, limb in enumerate(model.limbs):
        for which, link, width in zip(("first", "second"), limb.links, (5.0, 3.0), strict=True):
            x = np.linspace(0, link.alpha, 40)
            arc = np.stack([0 * x, -np.sin(x), np.cos(x)], axis=-1)
            points = arc @ robot.forward_kinematics(q, f"{which}{i + 1}")[:3, :3].T
            axes.plot(*view(points).T, color=JOINTS[i], lw=width, solid_capstyle="round")
        corners.append(points[-1])
    axes.fill(*view(np.array(corners)).T, fc=INK, ec=INK, alpha=0.25, lw=1.5)
    axes.plot(*view(np.zeros(3)), "o", color=INK, ms=4)


@picture(
    "Figure 5: the actuators' angles",
    "Of the simulator, and of the model given the simulated platform.",
    7.2, 3.2, 1, 1, legend=3, below=0.5,
)  # fmt: skip
def angles_picture(panels: Sequence[Any]) -> None:
    """Draw the actuators' angles over time."""
    _both(panels[0], "θ", np.degrees(motion().joints[0]), np.degrees(model().angles))
    panels[0].set(xlabel="time, s", ylabel="angle, degrees", xlim=(0, UNTIL))


@picture(
    "Figure 6: the actuators' torques",
    "Of the simulator's PD loop, and of the model given the simulated motion.",
    7.2, 4.4, 2, 1, legend=3, below=0.5,
)  # fmt: skip
def torques_picture(panels: Sequence[Any]) -> None:
    """Draw the actuators' torques over time, and their errors."""
    upper, lower = panels
    _both(upper, "τ", motion().tau, model().torques)
    power = _errors(lower, differences()["actuator torques, N m"])
    upper.set(title="actuator torques, N m", xlim=(0, UNTIL))
    lower.set(title=f"model minus simulator, {_times(power)} N m", xlabel="time, s")


@picture(
    "Figure 7: errors of the actuators' angles, velocities and accelerations",
    "Model minus simulator.",
    7.2, 5.2, 3, 1, legend=3,
)  # fmt: skip
def errors_picture(panels: Sequence[Any]) -> None:
    """Draw the errors of the actuators' motion over time."""
    for axes, (what, x) in zip(panels, differences().items(), strict=False):
        power = _errors(axes, x[:, :3])
        axes.set(title=what.replace(", ", f", {_times(power)} "), xlim=(0, UNTIL))
    panels[-1].set(xlabel="time, s")


PICTURES = structure_picture, angles_picture, torques_picture, errors_picture


def _both(axes: Any, symbol: str, simulated: Array, ours: Array) -> None:
    """Draw a quantity of the three actuators, of the simulator and of the model."""
    for i, colour in enumerate(JOINTS[:3]):
        name, wide = f"{symbol}{i + 1}", {"lw": 3.4, "alpha": 0.35}
        axes.plot(motion().t, simulated[:, i], color=colour, label=f"{name}, simulator", **wide)
        axes.plot(motion().t, ours[:, i], color=colour, lw=1.0, label=f"{name}, model")


def _errors(axes: Any, x: Array) -> int:
    """Draw the errors of the three limbs by the power of ten of the largest, which is returned."""
    power = _power(x)
    for i, colour in enumerate(JOINTS[:3]):
        y = x[:, i] / 10.0**power
        axes.plot(motion().t, y, color=colour, lw=1.0, label=f"limb {i + 1}")
    return power


def _power(x: Array) -> int:
    """The power of ten of the largest of them."""
    return int(np.floor(np.log10(largest(x)))) if x.any() else 0


def _times(power: int) -> str:
    return "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
