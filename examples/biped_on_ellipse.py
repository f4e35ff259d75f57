"""A planar biped is dropped on a hill, an ellipse: it lands on its feet and stays there."""

import sys

import numpy as np

import appell
from appell.maths.vector import Symmetric, Vector
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint


def bar(mass, length):
    """A slender bar that hangs down from its joint, along -y."""
    across = mass * length**2 / 12
    centre = Vector(0, -length / 2, 0)
    return Inertia.about_com(mass, centre, Symmetric(across, 0, 0, 0, 0, across))


def hinge(name, parent, at, **limits):
    return Hinge(name, parent, name, Joint(name, **limits), np.eye(3), np.array([0.0, at, 0.0]))


# A trunk whose origin is the hip, two thighs, two shanks; knees bend one way only.
links = {"trunk": Inertia.about_com(20.0, Vector(0, 0.3, 0), Symmetric(0.6, 0, 0, 0, 0, 0.6))}
hinges = []
for side in ("left", "right"):
    links |= {f"{side} thigh": bar(5.0, 0.4), f"{side} shank": bar(3.0, 0.4)}
    hinges += [
        hinge(f"{side} thigh", "trunk", 0.0, lower=-1.2, upper=1.2),
        hinge(f"{side} shank", f"{side} thigh", -0.4, lower=-2.0, upper=0.0),
    ]
    links[f"{side} foot"] = NOTHING
    at = np.array([0.0, -0.4, 0.0])
    hinges.append(Hinge(f"{side} foot", f"{side} shank", f"{side} foot", None, np.eye(3), at))
links["head"] = NOTHING
hinges.append(Hinge("head", "trunk", "head", None, np.eye(3), np.array([0.0, 0.6, 0.0])))
biped = appell.Robot(assemble("biped", links, hinges, base="planar", gravity=(0, -9.81, 0)))
print(biped, biped.joint_names)

# It stands over the top of the hill, a little to the right, and is dropped.
hill = appell.walls.Ellipse((2.0, 1.0), inside=False, name="hill")
q = np.array([0.15, 2.1, 0.0, 0.35, -0.2, -0.25, -0.2])


def posture(t, q, v):
    """Springs and dampers in hips and knees."""
    tau = np.zeros(7)
    tau[3:] = 300 * (np.array([0.35, -0.2, -0.25, -0.2]) - q[3:]) - 15 * v[3:]
    return tau


until = float(sys.argv[1]) if len(sys.argv) > 1 else 1.5
run = appell.simulate(
    biped,
    q,
    until=until,
    walls=hill,
    restitution=0.2,
    mu=0.4,
    torque=posture,
    rtol=1e-9,
    atol=1e-10,
)
print(run)
for impact in run.impacts[:6]:
    print(impact)
for t in np.linspace(0, run.t[-1], 7):
    k = np.searchsorted(run.t, t, side="right") - 1
    on = [point for (point, wall), f in zip(run.contacts, run.reactions[k], strict=True) if f > 0]
    print(f"{t:4.2f} s  hip at {run.q[k, :2].round(3)}  held at: {', '.join(on) or '-'}")
