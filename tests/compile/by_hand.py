"""Tapes and programs run in NumPy, operation by operation, on complex numbers too.

An imaginary part of 1e-30 is carried along as a derivative, without rounding of differences.
"""

from __future__ import annotations

from math import prod

import numpy as np

from appell.compile.program import TURN, Program
from appell.compile.tape import Tape

STEP = 1e-30  # of the imaginary part: its square is below all rounding


def angle(y, x):
    """atan2 for complex numbers near the real ones, by the smaller quotient."""
    steep = np.abs(np.real(y)) > np.abs(np.real(x))
    with np.errstate(all="ignore"):
        part = np.arctan(np.where(steep, x / y, y / x))
    whole = np.arctan2(np.real(y), np.real(x))
    exact = np.where(steep, -part, part)
    return exact + (whole - np.real(exact))


OPERATIONS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative,
    "abs": lambda x: np.where(np.real(x) < 0, -x, x), "inv": lambda x: 1 / x, "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "sign": lambda x: np.sign(np.real(x)), "atan2": angle,
    "exp": np.exp, "log": np.log, "pow": np.power, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "round": lambda x: np.rint(np.real(x)),
    "choose": lambda x, y, less, other: np.where(np.real(x) < np.real(y), less, other),
}  # fmt: skip


def computed(tape: Tape, *inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs (..., width) for inputs (..., width)."""
    values: list = []
    for step in tape.steps:
        if step.op == "constant":
            values.append(np.array(step.a))
        elif step.op == "input":
            values.append(inputs[step.a][..., step.b])
        else:
            values.append(OPERATIONS[step.op](*(values[p] for p in step.operands)))
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in inputs))
    return [np.stack([np.broadcast_to(values[p], batch) for p in row], -1) for row in tape.results]


def run(program: Program, inputs: dict, tables: dict, series: dict, steps: int) -> dict:
    """The outputs of a program; inputs (runs, width), tables (steps, width), series (runs, steps,
    width)."""
    known = dict(inputs)

    def parts(those, row):
        for part in those:
            if isinstance(part, Tape):
                read = {name: row.get(name, known.get(name)) for name in part.inputs}
                results = computed(part, *read.values())
                known.update(zip(part.outputs, results, strict=True))
            else:
                for numbers in part.rows:
                    parts(part.body, {**row, TURN: np.array(numbers)})

    def row(k):
        return {name: x[k] for name, x in tables.items() if k < len(x)}

    parts(program.first, row(0))
    for k in range(steps):
        parts(program.each, {**row(k), **{name: x[..., k, :] for name, x in series.items()}})
    parts(program.last, row(steps))
    return {name: known[name] for name in program.outputs}


def derivatives(
    program: Program, seeds: dict, by: dict, inputs: dict, tables: dict, series: dict, steps: int
):
    """The gradients of one run's objective by complex steps: inputs, tables and series in ``by``
    (name: shape) are changed number by number, all in one batch."""
    count = sum(prod(shape) for shape in by.values())
    given, start = {**inputs, **series}, 0
    given = {
        name: np.broadcast_to(x, (count, *x.shape)).astype(complex) for name, x in given.items()
    }
    for name, shape in by.items():
        for k, at in enumerate(np.ndindex(*shape)):
            given[name][(start + k, *at)] += 1j * STEP
        start += prod(shape)
    own = {name: given[name] for name in inputs}
    results = run(program, own, tables, {name: given[name] for name in series}, steps)
    slopes = sum(np.imag(results[y]) @ seed for y, seed in seeds.items()) / STEP
    found, start = {}, 0
    for name, shape in by.items():
        found[name] = slopes[start : start + prod(shape)].reshape(shape)
        start += prod(shape)
    return found
