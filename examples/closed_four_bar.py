"""A four-bar linkage, built bar by bar: one turn of its crank, and what drives it."""

import numpy as np

import appell
from appell.maths.vector import Symmetric, Vector
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint
from appell.robots.closed import Loop, Place


def bar(length):
    """A slender bar of 2 kg/m along x."""
    mass = 2.0 * length
    across = mass * length**2 / 12
    centre = Vector(length / 2, 0, 0)
    return Inertia.about_com(mass, centre, Symmetric(0, 0, across, 0, 0, across))


def hinge(name, parent, at):
    return Hinge(name, parent, name, Joint(name), np.eye(3), np.array([at, 0.0, 0.0]))


# The tree: crank and coupler in a row, the rocker beside them. Its loop is open.
links = {"ground": NOTHING, "crank": bar(0.3), "coupler": bar(0.8), "rocker": bar(0.7)}
hinges = [
    hinge("crank", "ground", 0),
    hinge("coupler", "crank", 0.3),
    hinge("rocker", "ground", 0.9),
]
tree = appell.Robot(assemble("my_linkage", links, hinges, gravity=(0, -9.81, 0)))

# A hinge between the ends of coupler and rocker closes it. Of its five rows in space only two
# say anything here; the others are redundant, and found to be.
ends = Place("rocker", (0.7, 0, 0)), Place("coupler", (0.8, 0, 0))
robot = appell.close(tree, [Loop("revolute", *ends)], independent=["crank"], guess=[1.0, 0.0, 2.0])
print(robot)

# One turn at a constant speed: configurations one after the other, then all torques at once.
turn, q = np.linspace(0, 2 * np.pi, 181), []
for angle in turn:
    q.append(robot.assemble(q[-1] if q else None, fixed={"crank": angle}))
q = np.array(q)
speed, still = np.full((181, 1), 5.0), np.zeros((181, 1))
tau = robot.inverse_dynamics(q, speed, still)
print(f"the rocker swings over {np.degrees(np.ptp(q[:, 2])):.1f} degrees")
print(f"the crank needs {tau.min():.2f} to {tau.max():.2f} N m at 5 rad/s")
print(f"margin to a singular configuration: {robot.margins(q).loops.min():.2f}")

# Set free, it keeps its energy and its loop.
run = robot.simulate(q[0], [5.0], until=2.0)
drift = np.abs(run.energy - run.energy[0]).max()
print(f"2 s free: energy drifts by {drift:.0e} J, the loop opens by {run.opening.max():.0e} m")
