"""A Stewart-Gough platform rolls and heaves: leg forces, and a million states a second."""

from time import perf_counter

import numpy as np
from scipy.spatial.transform import Rotation

import appell

robot = appell.load("stewart_gough")
n = 20_000
t = np.linspace(0, 10, n)
pose = np.tile(np.eye(4), (n, 1, 1))
pose[:, :3, :3] = Rotation.from_rotvec(np.outer(0.2 * np.sin(2 * t), [1, 0, 0])).as_matrix()
pose[:, 2, 3] = 0.7 + 0.05 * np.sin(3 * t)

q = robot.inverse_kinematics(pose)
# v is the platform's velocity and angular velocity in its own axes; it turns about its x.
R = pose[:, :3, :3]
up, rolling = 0.15 * np.cos(3 * t), 0.4 * np.cos(2 * t)
v = np.concatenate([R[:, 2] * up[:, None], np.outer(rolling, [1, 0, 0])], axis=-1)
a = np.gradient(v, t, axis=0, edge_order=2)

legs = robot.inverse_dynamics(q, v, a)
print(f"legs: {legs.min():.0f} to {legs.max():.0f} N")
back = robot.forward_dynamics(q, v, legs)
print(f"forward dynamics returns the accelerations to {np.abs(back - a).max():.0e}")

appell.set_threads(1)
fast = robot.unchecked()
start = perf_counter()
fast.inverse_dynamics(q, v, a)
print(f"{(perf_counter() - start) / n * 1e6:.2f} us a state on one core")
