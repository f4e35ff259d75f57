"""The ten-link tree of Shafei 2018 falls in its circle and comes to rest: restitution 0.5 takes
the bounces away, friction the sliding."""

import sys
from math import pi, sqrt

import numpy as np

import appell

tree = appell.load("ten_link_tree")
start = [pi / 6, pi / 6, -2 * pi / 3, pi / 6, pi / 6, -2 * pi / 3, pi / 3, 0, 2 * pi / 3, -pi / 3]
start += [-(1 + sqrt(3)) / 2] * 2  # where the first bar begins: the tree is symmetric

# Bounces lower than atol end in lasting contact, so there are fewer with a coarser one.
until = float(sys.argv[1]) if len(sys.argv) > 1 else 9.0
run = appell.simulate(
    tree,
    start,
    until=until,
    walls=appell.walls.Circle(2.5),
    restitution=0.5,
    mu=0.2,
    rtol=1e-8,
    atol=1e-9,
)
print(run)

# Energy only falls. The paper's impacts, which lose none, begin alike.
for t in np.linspace(0, run.t[-1], 10):
    k = np.searchsorted(run.t, t, side="right") - 1
    resting = [point for (point, _), f in zip(run.contacts, run.reactions[k], strict=True) if f > 0]
    print(f"{t:4.1f} s  energy {run.energy[k]:8.2f} J  on the wall: {' '.join(resting) or '-'}")

# At rest the wall bears the weight: what it presses upwards, and rubs, is 10 kg times 9.81.
print(f"kinetic energy at the end {run.kinetic[-1]:.1e} J")
print(f"deepest penetration {run.residuals['penetration']:.1e} m")
