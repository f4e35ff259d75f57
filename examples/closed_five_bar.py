"""A five-bar linkage draws a circle: motors at the base, nothing to carry but bars."""

import numpy as np

import appell

robot = appell.load("five_bar")
t = np.linspace(0, 1, 401)
angle = 2 * np.pi * t
point = np.stack([0.125 + 0.1 * np.cos(angle), 0.5 + 0.1 * np.sin(angle)], axis=-1)

q = robot.inverse_kinematics(point)
motors = q[:, robot.coordinates()]
v = np.gradient(motors, t, axis=0, edge_order=2)
a = np.gradient(v, t, axis=0, edge_order=2)
tau = robot.inverse_dynamics(q, v, a)
print(f"tool on the circle to {np.abs(robot.forward_kinematics(q)[:, :2, 3] - point).max():.0e} m")
for name, x in zip(robot.actuated, tau.T, strict=True):
    print(f"{name}: {x.min():.2f} to {x.max():.2f} N m")

# With all four joints driven, the load is shared: the least squares of the torques.
tree = appell.Robot(robot.model)
shared = appell.close(
    tree, robot.constraints, guess=robot.reference,
    independent=robot.independent, actuated=robot.joint_names,
)  # fmt: skip
print(f"two motors: {np.abs(tau).max():.2f} N m at most;", end=" ")
print(f"four: {np.abs(shared.inverse_dynamics(q, v, a)).max():.2f} N m")
