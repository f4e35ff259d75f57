"""How much memory rollouts take for each run: their inputs, their results, and little else."""

from __future__ import annotations

import pytest

PROGRAM = """
import resource, sys
from pathlib import Path
import numpy as np, appell

runs = {runs}
plain = appell.load("puma560")
puma = plain.with_armature(dict.fromkeys(plain.joint_names, 1.0))
law = appell.control.ComputedTorque(puma, kp=100, kd=20)
move = appell.control.quintic(np.zeros(6), np.ones(6), 1.0)
rng = np.random.default_rng(0)
q0, load, viscous = (rng.random(out=np.empty(x)) for x in ((runs, 6), runs, (runs, 6)))
how = {how}
found = appell.rollout(puma, law, move, steps=1, runs=runs, reduce="worst_error", **how)
results = [found.q, found.v, *found.reductions.values()]
status = Path("/proc/self/status")
if status.exists():  # maxrss would have what the parent took, too
    peak = int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak *= 1 if sys.platform == "darwin" else 1024
held = (q0, load, viscous)
print(peak, sum(x.nbytes for x in held), sum(x.nbytes for x in results))
"""
FEW, MANY = 200_000, 1_000_000
# Bytes per run besides inputs and results: 0.3 GiB of ten million runs. A copy of the positions,
# 48 bytes, is beyond it.
MORE = 32


@pytest.mark.parametrize(
    "how",
    [
        "dict(q0=q0, viscous=viscous, payload=appell.control.Payload(load))",
        "dict(q0=q0, viscous=viscous, dtype='float32', final=False)",
    ],
)
def test_a_run_takes_the_memory_of_its_inputs_and_results(fresh, how):
    fresh(PROGRAM.format(runs=8, how=how))  # compiles, which takes memory, too
    few, many = (fresh(PROGRAM.format(runs=n, how=how)) for n in (FEW, MANY))
    grown, inputs, results = ((y - x) / (MANY - FEW) for x, y in zip(few, many, strict=True))
    assert grown < inputs + results + MORE
    assert grown > results  # it is the memory of this process that is measured
