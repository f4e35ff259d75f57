"""Fused steps: which there are, and that code rounds where the tape says and nowhere else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import appell
from appell.compile import kernel as kernels
from appell.compile.fuse import fused
from appell.compile.make import kernel_of
from appell.compile.record import record
from appell.robots.recipe import Recipe, recorded


def tape(equation, n: int = 4):
    return record(lambda x: [equation(*x)], {"x": (n,)}, {"y": (1,)})


@pytest.mark.parametrize(
    ("equation", "operations"),
    [
        (lambda a, b, c, d: a * b + c, {"fma": 1}),
        (lambda a, b, c, d: a * b - c, {"fms": 1}),
        (lambda a, b, c, d: c - a * b, {"fnma": 1}),
        (lambda a, b, c, d: a * b + c * d, {"mul": 1, "fma": 1}),
        (lambda a, b, c, d: a * b - c * d, {"mul": 1, "fms": 1}),
        (lambda a, b, c, d: (a * b + c) * (a * b - d), {"mul": 2, "add": 1, "sub": 1}),
        (lambda a, b, c, d: a * b + 3 * c + d * d, {"mul": 1, "fma": 2}),
        (lambda a, b, c, d: a + b + c, {"add": 2}),
    ],
)
def test_a_product_that_one_sum_uses_is_fused_with_it(equation, operations):
    counts = fused(tape(equation)).counts
    assert {k: n for k, n in counts.items() if k not in ("input", "constant")} == operations


def test_fusing_again_changes_nothing():
    robot = appell.load("puma560")
    once = fused(recorded(robot.system, Recipe("bias", "gibbs_lean", None, (), (), True)))
    assert once.counts["fma"] > 20
    assert fused(once) == once


def by_hand(steps, x: list[float]) -> list[float]:
    """Each step in Python, rounded once: fractions are exact, and their floats are rounded."""
    values: list[float] = []
    for op, a, b in steps:
        if op == "constant":
            values.append(a)
        elif op == "input":
            values.append(x[b])
        elif op in ("fma", "fms", "fnma"):
            product = Fraction(values[a[0]]) * Fraction(values[a[1]])
            c = Fraction(values[b])
            exact = {"fma": product + c, "fms": product - c, "fnma": c - product}[op]
            values.append(float(exact))
        elif op == "neg":
            values.append(-values[a])
        elif op == "inv":
            values.append(1 / values[a])
        elif op == "sqrt":
            values.append(float(np.sqrt(values[a])))
        else:
            p, q = values[a], values[b]
            values.append({"add": p + q, "sub": p - q, "mul": p * q}[op])
    return values


@pytest.mark.usefixtures("nothing_kept")
def test_code_rounds_where_the_tape_says_and_nowhere_else():
    """A determinant, a norm and a quotient of sums of products, with values used twice."""

    def equation(x):
        a, b, c, d, e, f, g, h, i = x
        det = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
        trace = a * a + e * e + i * i
        return [det, trace, det / trace, (a * b + det) * (a * b - trace), -(a * d) - c * 0.3]

    inputs, outputs = {"x": (9,)}, {"y": (5,)}
    plain = record(equation, inputs, outputs)
    whole = fused(plain)
    made = kernel_of("rounding", plain, inputs, outputs)
    for x in np.random.default_rng(4).normal(size=(200, 9)):
        values = by_hand(whole.steps, x.tolist())
        assert made(x).tolist() == [values[k] for k in whole.results[0]]


@pytest.mark.usefixtures("nothing_kept")
def test_processors_without_the_instruction_do_not_fuse(monkeypatch):
    monkeypatch.setattr(kernels, "fuses", lambda: False)
    plain = tape(lambda a, b, c, d: a * b + c)
    made = kernel_of("unfused", plain, plain.inputs, plain.outputs)
    for x in np.random.default_rng(4).normal(size=(50, 4)):
        assert made(x).tolist() == [x[0] * x[1] + x[2]]
