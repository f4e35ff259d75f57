"""A robot under computed torque, RK4 in time, as a program whose gradients are tested."""

from __future__ import annotations

import numpy as np

import appell
from appell.compile.program import Loop, Program
from appell.compile.trace import largest, trace
from appell.control.laws.compiled import of_state
from appell.robots.recipe import equation_of, recipe_for

DT = 1e-3
STAGES = ((DT / 2, DT / 6), (DT / 2, DT / 3), (DT, DT / 3), (0.0, DT / 6))  # on, and in the sum


def closed_loop(robot) -> Program:
    """The loop of a law with a wrong model, whose gains, masses and pushes are given by run.

    Inputs q0, v0, kp, kd, mass; tables qd, vd, ad; a series of pushes; outputs: the last q and v,
    the worst and the root-mean-square error.
    """
    n = robot.nv
    system = robot.system
    motion = equation_of(system, recipe_for(system, "forward_dynamics", parameters=("mass",)))
    law = of_state(appell.control.ComputedTorque(robot, kp=1.0, kd=1.0), True)
    widths = dict.fromkeys(("q0", "v0", "q", "v", "qd", "vd", "ad", "kp", "kd", "push"), n)
    widths |= dict.fromkeys(("at", "speed", "moved", "gained", "tau", "mass"), n)
    widths |= {"worst": 1, "squares": 1, "rms": 1, "count": 1, "turn": 2}

    def tape(equation, reads, writes):
        return trace(equation, {x: (widths[x],) for x in reads}, {x: (widths[x],) for x in writes})

    def control(q, v, qd, vd, ad, kp, kd, push, worst, squares, count):
        force = law(q, v, qd, vd, ad, kp, kd)
        errors = [a - b for a, b in zip(qd, q, strict=True)]
        most, total = worst[0], squares[0]
        for e in errors:
            most, total = largest(most, abs(e)), total + e * e
        pushed = [a + b for a, b in zip(force, push, strict=True)]
        return pushed, q, v, [0] * n, [0] * n, [most], [total], [count[0] + n]

    def stage(q, v, at, speed, moved, gained, tau, mass, turn):
        a, (on, weight) = motion(at, speed, tau, mass), turn

        def plus(x, step, y):
            return [b + step * c for b, c in zip(x, y, strict=True)]

        return (
            plus(q, on, speed), plus(v, on, a), plus(moved, weight, speed), plus(gained, weight, a),
        )  # fmt: skip

    def end(q, v, moved, gained):
        return [[x + y for x, y in zip(*pair, strict=True)] for pair in ((q, moved), (v, gained))]

    return Program(
        dict.fromkeys(("q0", "v0", "kp", "kd", "mass"), n),
        dict.fromkeys(("qd", "vd", "ad"), n),
        {"push": n},
        (
            tape(
                lambda q0, v0: (q0, v0, [0], [0], [0]),
                ("q0", "v0"),
                ("q", "v", "worst", "squares", "count"),
            ),
        ),
        (
            tape(
                control,
                ("q", "v", "qd", "vd", "ad", "kp", "kd", "push", "worst", "squares", "count"),
                ("tau", "at", "speed", "moved", "gained", "worst", "squares", "count"),
            ),
            Loop(
                STAGES,
                (
                    tape(
                        stage,
                        ("q", "v", "at", "speed", "moved", "gained", "tau", "mass", "turn"),
                        ("at", "speed", "moved", "gained"),
                    ),
                ),
            ),
            tape(end, ("q", "v", "moved", "gained"), ("q", "v")),
        ),
        (
            tape(
                lambda squares, count: [(squares[0] / count[0]).sqrt()],
                ("squares", "count"),
                ("rms",),
            ),
        ),
        ("q",),
        ("q", "v", "worst", "rms"),
    )


def drawn(robot, runs: int, steps: int, seed: int = 0):
    """Inputs, tables and series of some runs that start beside a motion through random angles."""
    rng, n = np.random.default_rng(seed), robot.nv
    t = DT * np.arange(steps)[:, None]
    amplitude, rate = rng.uniform(0.2, 0.8, n), rng.uniform(1, 3, n)
    tables = {
        "qd": amplitude * np.sin(rate * t),
        "vd": amplitude * rate * np.cos(rate * t),
        "ad": -amplitude * rate**2 * np.sin(rate * t),
    }
    mass = robot.system.values("mass")
    inputs = {
        "q0": rng.normal(0, 0.1, (runs, n)),
        "v0": rng.normal(0, 0.1, (runs, n)),
        "kp": rng.uniform(50, 150, (runs, n)),
        "kd": rng.uniform(10, 30, (runs, n)),
        "mass": mass * rng.uniform(0.8, 1.2, (runs, n)) + 0.1,
    }
    return inputs, tables, {"push": rng.normal(0, 1, (runs, steps, n))}
