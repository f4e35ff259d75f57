"""A 3-RRR platform: where its motors lose their hold."""

import numpy as np
from scipy.optimize import minimize_scalar

import appell

robot = appell.load("planar_3rrr")


def turned(angle):
    return robot.inverse_kinematics([0.0, 0.0, angle])


# Turned in its middle, the platform comes to where all three forearms point at one place.
found = minimize_scalar(
    lambda angle: robot.margins(turned(angle)).actuators,
    bounds=(0.3, 0.9),
    method="bounded",
    options={"xatol": 1e-12},
)
print(f"at {np.degrees(found.x):.3f} degrees the motors' margin is {found.fun:.0e}")

still = np.zeros(3)
for angle in (found.x - 0.5, found.x - 0.01, found.x):
    try:
        tau = robot.inverse_dynamics(turned(angle), [0.5, 0.0, 0.0], still)
        print(f"{np.degrees(angle):.3f} degrees: {np.abs(tau).max():.2f} N m at most")
    except appell.InputError as problem:
        print(f"{np.degrees(angle):.3f} degrees: {problem}")

# Forward dynamics knows no such trouble: motors at rest or not, the platform gives way.
a = robot.forward_dynamics(turned(found.x), [0.5, 0.0, 0.0], still)
print(f"there it accelerates by {np.round(a, 2).tolist()} (m/s^2, rad/s^2)")
