"""Model predictive path integral control (MPPI, Williams et al., ICRA 2017) in thirty lines: it
swings up a pendulum whose motor is too weak to lift it. One line is a rollout of 512 futures."""

import numpy as np

import appell
from appell.maths.scalar import cos, sin

LIMIT, DT, HORIZON, RUNS, HEAT, STEPS = 2.0, 0.02, 50, 512, 0.05, 250  # 4.9 N m would lift it
pendulum = appell.load("planar_chain", n=1)  # a bar of 1 m and 1 kg; upright at pi/2


def cost(t, q, v, tau):  # of a second: away from upright, fast, forceful
    return 10 * ((sin(q[0]) - 1) ** 2 + cos(q[0]) ** 2) + 0.1 * v[0] ** 2 + 0.01 * tau[0] ** 2


rng = np.random.default_rng(0)
q, v, plan, motion = np.array([-np.pi / 2]), np.zeros(1), np.zeros((HORIZON, 1)), []  # it hangs
for k in range(STEPS):  # torques about the plan: the better a future, the more it counts
    tau = np.clip(plan + rng.normal(scale=1.0, size=(RUNS, HORIZON, 1)), -LIMIT, LIMIT)
    ahead = appell.rollout(pendulum, q0=q, v0=v, tau=tau, steps=HORIZON, dt=DT, cost=cost)
    weight = np.exp((ahead.cost.min() - ahead.cost) / HEAT)
    plan = np.einsum("r,rsn->sn", weight / weight.sum(), tau)
    done = appell.rollout(pendulum, q0=q, v0=v, tau=plan[:1], steps=1, dt=DT)
    q, v, plan = done.q[0], done.v[0], np.concatenate([plan[1:], plan[-1:]])
    motion.append(q)
    if k % 25 == 24:
        print(f"{DT * (k + 1):4.1f} s  {np.degrees(q[0]):7.1f} degrees  {v[0]:6.2f} rad/s")
away = np.abs((q[0] - np.pi / 2 + np.pi) % (2 * np.pi) - np.pi)
print(f"{np.degrees(away):.1f} degrees from upright after {DT * STEPS:g} s")
