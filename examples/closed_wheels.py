"""Wheels: a mobile arm drives a circle, a disc rolls, a snakeboard snakes."""

import numpy as np

import appell

# The wheels' torques while the platform goes in a circle and its arm swings.
mobile = appell.load("differential_drive")
t = np.linspace(0, 2, 201)
v = np.stack([7 + 0 * t, 9 + 0 * t, np.cos(3 * t), 0 * t], axis=-1)  # left, right, shoulder, elbow
a = np.gradient(v, t, axis=0, edge_order=2)
q = np.zeros((201, mobile.nq))
q[:, mobile.coordinates()] = np.cumsum(v, axis=0) * t[1]
tau = mobile.inverse_dynamics(q, v, a)
print(f"wheels: {tau[:, :2].min():.2f} to {tau[:, :2].max():.2f} N m")

# A disc set rolling while it leans.
disc = appell.load("rolling_disc")
start = disc.assemble([0, 0, 0.3, 0.65, 0, 0, 0.75])
run = disc.simulate(start, [0.0, 0.0, 6.0], until=3.0)
drift = np.abs(run.energy - run.energy[0]).max()
print(
    f"disc: {np.ptp(run.q[:, 0]):.2f} x {np.ptp(run.q[:, 1]):.2f} m, energy kept to {drift:.0e} J"
)

# A snakeboard swings its rotor and steers in step.
board = appell.load("snakeboard")


def gait(t, q, v):
    rotor = 0.4 * np.sin(4 * t)
    steer = 2.0 * (0.5 * np.sin(4 * t + 0.8) - q[-1]) - 0.3 * v[2]
    return [rotor, steer]


run = board.simulate(board.reference, until=6.0, torque=gait)
print(f"snakeboard: {np.hypot(*run.q[-1, :2]):.2f} m from where it started, from rest")
