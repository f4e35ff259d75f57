"""A Delta picks and places: torques of its three arms, with and without a load."""

import numpy as np

import appell

robot = appell.load("delta")
loaded = robot.with_payload(1.0, link="platform")

t = np.linspace(0, 0.4, 201)
s = t / t[-1]
quintic = 10 * s**3 - 15 * s**4 + 6 * s**5  # from rest to rest
lift = 0.08 * (16 * s**2 * (1 - s) ** 2)
point = np.stack([-0.15 + 0.3 * quintic, 0 * s, -0.55 + lift], axis=-1)

q = robot.inverse_kinematics(point)
v = np.gradient(point, t, axis=0, edge_order=2)  # its independent speeds are the platform's
a = np.gradient(v, t, axis=0, edge_order=2)
for name, machine in (("empty", robot), ("with 1 kg", loaded)):
    tau = machine.inverse_dynamics(q, v, a)
    print(f"{name}: {np.abs(tau).max(axis=0).round(2).tolist()} N m at most in the arms")

rods = robot.reactions(q, v, robot.inverse_dynamics(q, v, a)).reshape(-1, 6, 3)
print(f"a rod carries {rods[:, :, 0].min():.1f} to {rods[:, :, 0].max():.1f} N along itself")
margins = robot.margins(q)
print(f"margins: loops {margins.loops.min():.3f}, arms {margins.actuators.min():.2f}")
