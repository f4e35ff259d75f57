"""How robust is computed torque? Many PUMAs with loads and friction that the law does not know.

python examples/robust_puma.py --runs 1000000
"""

import argparse
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np

import appell
from appell.charts.chart import Chart, Level, Panel, lines
from appell.show.figure import svg_of
from appell.show.svg import whole

CHUNK = 20_000  # runs in memory at a time
TOLERANCE = np.radians(1.0)  # what the largest error may be

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--runs", type=int, default=4_000)
options.add_argument("--picture", default="robust_puma.svg")
given = options.parse_args()

# A move of one second, controlled a thousand times a second by a law that knows the empty arm.
puma = appell.load("puma560")
# The motors' inertias at the joints (Corke, Visual Control of Robots, 1996); law and arm have them.
motors = dict(zip(puma.joint_names, [0.78, 2.33, 0.58, 0.19, 0.17, 0.19], strict=True))
puma = puma.with_armature(motors)
start, end = np.radians([90, 0, 90, 0, 0, 0]), np.radians([45, 30, 0, 45, 60, 90])
move = appell.control.quintic(start, end, duration=1.0)
law = appell.control.ComputedTorque(puma, kp=400, kd=40)
coulomb = np.array([12.0, 12.0, 8.0, 0.8, 0.6, 0.3])  # N m, at its worst
viscous = np.array([8.0, 8.0, 4.0, 0.4, 0.3, 0.1])  # N m s, at its worst


def errors(runs: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Loads in kg, friction as a share of its worst, and the largest error of each run in rad."""
    rng = np.random.default_rng(seed)
    load, friction = rng.uniform(0, 2.5, runs), rng.uniform(0, 1, runs)
    found = appell.rollout(
        puma,
        law,
        move,
        start + rng.normal(scale=1e-3, size=(runs, 6)),
        dt=0.001,
        payload=appell.control.Payload(load, (0, 0, 0.1)),
        coulomb=friction[:, None] * coulomb,
        viscous=friction[:, None] * viscous,
        reduce=["worst_error"],
    )
    return load, friction, np.where(found.failed, np.inf, found.worst_error.max(axis=1))


begun = perf_counter()
sizes = [min(CHUNK, given.runs - k) for k in range(0, given.runs, CHUNK)]
load, friction, worst = (
    np.concatenate(x) for x in zip(*(errors(n, k) for k, n in enumerate(sizes)), strict=True)
)
taken = perf_counter() - begun
print(f"{given.runs:,} runs of {move.duration:g} s in {taken:.2f} s")

# Runs within the tolerance, by load and friction.
loads, shares = np.linspace(0, 2.5, 6), np.linspace(0, 1, 5)
print(f"\nruns whose joints stay within {np.degrees(TOLERANCE):g} degree, by friction")
print("load, kg  " + "".join(f"{a:.0%} to {b:.0%}".rjust(14) for a, b in pairwise(shares)))
quantiles = []
for low, high in pairwise(loads):
    row = (load >= low) & (load <= high)
    cells = [worst[row & (friction >= a) & (friction <= b)] for a, b in pairwise(shares)]
    good = [np.mean(x < TOLERANCE) if len(x) else np.nan for x in cells]
    print(f"{low:g} to {high:g}".ljust(10) + "".join(f"{x:14.1%}" for x in good))
    quantiles.append(np.degrees(np.quantile(worst[row], [0.05, 0.5, 0.95])))

middle = (loads[:-1] + loads[1:]) / 2
named = lines(["best 5 %", "median", "worst 5 %"], middle, np.array(quantiles), drawn="both")
panel = Panel(
    "Largest error of a run",
    "error, degrees",
    named,
    x="load that the law does not know, kg",
    levels=[Level(float(np.degrees(TOLERANCE)), "tolerance")],
)
drawn = svg_of(Chart([panel]), "Computed torque with an unknown load")
Path(given.picture).write_text(whole(drawn))
print(f"\nwritten: {given.picture}")
