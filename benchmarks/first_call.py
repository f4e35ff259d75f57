"""One process that loads a robot and calls a method once, and prints how long each step took.

    python -m benchmarks.first_call QUANTITY [JOINTS]

The PUMA 560, or a random chain of so many joints. Nothing is imported before it is timed.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from time import perf_counter


def first_call(quantity: str, joints: str | None = None) -> dict[str, float]:
    """Seconds of each step; ``kernel`` is the part of the call that made the kernel."""
    marks = [perf_counter()]
    import appell

    marks.append(perf_counter())
    if joints is None:
        robot = appell.load("puma560")
    else:
        robot = appell.load("random_tree", n=int(joints), branching=0, prismatic=0)
    marks.append(perf_counter())
    getattr(robot, quantity)(*[[0.1] * robot.nv] * 3)
    marks.append(perf_counter())
    steps = zip(("import", "load", "call"), pairwise(marks), strict=True)
    seconds = {name: end - start for name, (start, end) in steps}
    return seconds | {"kernel": robot.kernel(quantity).seconds_to_compile}


if __name__ == "__main__":
    print(json.dumps(first_call(*sys.argv[1:])))
