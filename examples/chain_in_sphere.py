"""Six bars in a chain tumble inside a sphere, in space: a free body with a quaternion, impacts at
any of its seven points."""

import sys
from collections import Counter

import numpy as np

import appell

chain = appell.load("free_chain", n=6, length=0.5)
print(chain)

# q: where the first bar is (x, y, z), how it stands (a quaternion x, y, z, w), then five joints.
q = np.array([-0.5, 0.2, 0.1, 0, 0, 0, 1, 2.2, 0.3, 2.0, 0.3, 2.2])
# v: velocity and angular velocity of the first bar in its own axes, then the joints'.
v = np.array([0, 0, 0, 1.0, 2.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])

until = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
run = appell.simulate(chain, q, v, until=until, walls=appell.walls.Sphere(1.6))
print(run)
for impact in run.impacts[:5]:
    print(impact)

struck = Counter(point for impact in run.impacts for point in impact.points)
print("impacts:", ", ".join(f"{point} {count}" for point, count in sorted(struck.items())))

# Nothing is lost where restitution is 1, and the quaternion keeps its length.
print(f"energy varies by {np.ptp(run.energy):.0e} J")
print(f"quaternion's length by {np.abs(np.linalg.norm(run.q[:, 3:7], axis=1) - 1).max():.0e}")

# run(t) gives the state at any time: the path of the chain's end, say.
times = np.linspace(0, until, 7)
ends = chain.forward_kinematics(run(times)[0], "P6")[:, :3, 3]
for t, place in zip(times, ends, strict=True):
    print(f"{t:4.1f} s  P6 at {place.round(3)}")
