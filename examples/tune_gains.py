"""Gains of computed torque, tuned by gradient for an arm as it is: loaded, with friction, motors
that have limits, and torques that come five samples late, so that high gains shake it."""

import sys

import numpy as np
from scipy.optimize import minimize

import appell

puma = appell.load("puma560")
# The motors' inertias at the joints (Corke, Visual Control of Robots, 1996); law and arm have them.
motors = dict(zip(puma.joint_names, [0.78, 2.33, 0.58, 0.19, 0.17, 0.19], strict=True))
puma = puma.with_armature(motors)
start, end = np.radians([90, 0, 90, 0, 0, 0]), np.radians([45, 30, 0, 45, 60, 90])
move = appell.control.quintic(start, end, duration=1.5)
law = appell.control.ComputedTorque(puma, kp=100, kd=20)
arm = {
    "payload": appell.control.Payload(1.0, (0, 0, 0.1)),
    "coulomb": [6, 6, 4, 0.4, 0.3, 0.2],
    "delay": 5,
    "torque_limit": [90, 180, 90, 25, 25, 20],
}


def cost(t, q, v, tau, qd, vd):
    """Errors of positions, and a little for errors of speeds and for torques, each second."""
    return 1e4 * squares(qd, q) + 10 * squares(vd, v) + 1e-6 * sum(x * x for x in tau)


def squares(x, y):
    return sum((a - b) * (a - b) for a, b in zip(x, y, strict=True))


def tracked(x, **more):
    """The rollout of gains whose logarithms are the rows of x: six kp and six kd."""
    kp, kd = np.split(np.exp(np.atleast_2d(x)), 2, axis=1)
    gains = {"kp": kp, "kd": kd}
    return appell.rollout(puma, law, move, start, dt=0.002, gains=gains, cost=cost, **arm, **more)


def gradient(x):
    """The cost at x and its derivatives: one run forwards, and one sweep back through it."""
    found = tracked(x, gradient="cost", by=["kp", "kd"])
    slope = np.concatenate([found.gradient["kp"][0], found.gradient["kd"][0]])
    return found.cost[0], slope * np.exp(x)


def told(x):
    """A line of progress."""
    kp, kd = np.exp(x).round().astype(int).reshape(2, 6)
    print(f"cost {tracked(x).cost[0]:8.4f}  kp {kp}  kd {kd}")


x0 = np.log([100.0] * 6 + [20.0] * 6)
told(x0)
found = minimize(
    gradient,
    x0,
    jac=True,
    method="L-BFGS-B",
    bounds=[np.log([20, 20_000])] * 6 + [np.log([5, 500])] * 6,
    callback=told,
    options={"maxiter": int(sys.argv[1]) if len(sys.argv) > 1 else 20},
)
before, after = tracked(np.stack([x0, found.x])).cost
print(f"cost {before:.4f} before, {after:.4f} after")
