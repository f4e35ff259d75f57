"""Derivatives of tapes: each operation against complex steps, tangents against adjoints."""

from __future__ import annotations

import numpy as np
import pytest

from appell.compile.differentiate import adjoint, adjoint_of, depends, tangent, tangent_of
from appell.compile.elementary import ROUTINES
from appell.compile.fuse import fused
from appell.compile.tape import Builder
from appell.compile.trace import choose, trace
from tests.compile.by_hand import STEP, computed

# Each operation at a point where it is smooth: a few roundings of numbers near 1 follow.
POINTS = {
    "add": (0.3, -1.2), "sub": (0.3, -1.2), "mul": (0.3, -1.2), "div": (0.3, -1.2), "neg": (0.7,),
    "abs": (-0.7,), "inv": (-0.7,), "sqrt": (0.7,), "sin": (0.7,), "cos": (0.7,), "sign": (-0.7,),
    "atan2": (-0.8, -0.3), "exp": (0.7,), "log": (0.7,), "pow": (0.7, -1.3), "sinh": (0.7,),
    "cosh": (0.7,), "tanh": (0.7,), "round": (0.7,), "choose": (0.1, 0.2, 0.4, 0.5),
}  # fmt: skip
CLOSE = 1e-14


def one_step(op, count):
    """The tape of an operation, as it is, of one input's numbers."""
    on = Builder()
    places = [on.step("input", 0, k) for k in range(count)]
    result = on.several(op, *places) if count > 2 else on.step(op, *places)
    return on.tape({"x": (count,)}, {"y": (1,)}, [[result]])


def slopes(tape, x):
    """dy/dx of one output, number by number, by complex steps."""
    (y,) = computed(tape, x + 1j * STEP * np.eye(len(x)))
    return np.imag(y) / STEP  # (numbers of x, numbers of y)


def gradients(tape, x):
    """The same by the adjoint, and by tangents."""
    (y,) = computed(tape, x)
    read, made = tape.inputs, tape.outputs
    back, _ = computed(adjoint(tape, made, read), x, np.eye(y.size), np.zeros((y.size, x.size)))
    batch = np.broadcast_to(x, (x.size, x.size))
    _, ahead = computed(tangent(tape, read, made), batch, np.eye(x.size))
    return back.T, ahead


def test_every_operation_of_tapes_has_a_point():
    assert ROUTINES.keys() - {"sincos", "far", "uniform"} < POINTS.keys()


@pytest.mark.parametrize("op", POINTS)
def test_operations_have_the_slopes_that_complex_steps_have(op):
    x = np.array(POINTS[op])
    tape = one_step(op, len(x))
    back, ahead = gradients(tape, x)
    exact = slopes(tape, x)
    assert np.abs(back - exact).max() <= CLOSE
    assert np.abs(ahead - exact).max() <= CLOSE


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5, -1.0, 1.0])
def test_powers_by_a_number(exponent):
    tape = trace(lambda x: [x[0] ** exponent], {"x": (1,)}, {"y": (1,)})
    back, ahead = gradients(tape, np.array([0.7]))
    exact = exponent * 0.7 ** (exponent - 1)
    assert (back.item(), ahead.item()) == pytest.approx((exact, exact), rel=CLOSE)


def test_a_square_costs_one_product_and_its_slope_two():
    tape = trace(lambda x: [x[0] * x[0]], {"x": (1,)}, {"y": (1,)})
    counts = fused(adjoint(tape, {"y"}, {"x"})).counts
    assert counts["mul"] == 1
    assert counts["fma"] == 1


def test_where_there_is_no_derivative():
    """abs, a norm and x^y at 0 have the slope 0; a choice at a tie that of the branch it takes."""

    def equation(x, g):
        norm = (x[0] * x[0] + x[1] * x[1]).sqrt()
        tie = choose(x[0], x[1], 3 * x[0], 5 * x[1])
        return [abs(x[0]), norm, tie, abs(x[0]) ** g[0]]

    tape = trace(equation, {"x": (2,), "g": (1,)}, {"y": (4,)})
    old = np.zeros((4, 2)), np.zeros((4, 1))
    with np.errstate(all="ignore"):
        back = adjoint(tape, {"y"}, {"x", "g"})
        x, g, _ = computed(back, np.zeros(2), np.array([1.5]), np.eye(4), *old)
    assert x.tolist() == [[0, 0], [0, 0], [0, 5], [0, 0]]
    assert g.tolist() == [[0], [0], [0], [0]]


def test_variables_are_replaced_in_place():
    """q is read and written, w written, c read: their adjoints are replaced, set to 0, added to."""
    tape = trace(
        lambda q, c: ([q[0] * c[0]], [c[0] * 2]), {"q": (1,), "c": (1,)}, {"q": (1,), "w": (1,)}
    )
    back = adjoint(tape, {"q", "w"}, {"q", "c"})
    given = {"q": 3.0, "c": 5.0, "adjoint q": 7.0, "adjoint w": 11.0, "adjoint c": 13.0}
    results = computed(back, *(np.array([given[x]]) for x in back.inputs))
    found = {name: x.item() for name, x in zip(back.outputs, results, strict=True)}
    assert found == {"adjoint q": 5 * 7, "adjoint c": 13 + 3 * 7 + 2 * 11, "adjoint w": 0}


def test_what_outputs_change_with():
    tape = trace(
        lambda a, b, c: ([a[0] * b[0].sign()], [choose(a[0], b[0], c[0], 1.0)]),
        {"a": (1,), "b": (1,), "c": (1,)},
        {"x": (1,), "y": (1,)},
    )
    assert depends(tape) == {"x": {"a"}, "y": {"c"}}


def scribbled(rng, steps=120, width=5):
    """A random tape of smooth operations whose values stay near 1, of two inputs and outputs."""
    on = Builder()
    places = [on.step("input", k, j) for k in (0, 1) for j in range(width)]
    places.append(on.constant(0.7))
    safe = {
        "sqrt": lambda x: on.step("sqrt", on.add(on.constant(1.0), on.mul(x, x))),
        "inv": lambda x: on.step("inv", on.add(on.constant(1.0), on.mul(x, x))),
        "exp": lambda x: on.step("exp", on.step("tanh", x)),
        "choose": lambda x: on.several("choose", x, places[0], on.step("abs", x), places[1]),
        "atan2": lambda x: on.atan2(x, places[2]),
        "sin": lambda x: on.step("sin", x),
        "cos": lambda x: on.step("cos", x),
    }
    while len(on.steps) < steps:
        a, b = (places[k] for k in rng.integers(len(places), size=2))
        op = rng.choice(["add", "sub", "mul", "neg", *safe])
        if op in safe:
            places.append(safe[op](a))
        else:
            places.append(on.step("tanh", on.apply(op, *((a,) if op == "neg" else (a, b)))))
    rows = [places[-width:], places[-2 * width : -width]]
    return on.tape({"a": (width,), "b": (width,)}, {"a": (width,), "y": (width,)}, rows)


@pytest.mark.parametrize("seed", range(20))
def test_tangents_and_adjoints_of_random_tapes_agree(seed):
    """y' . J dx = J^T y' . dx, to the rounding of some hundred operations on numbers near 1."""
    rng = np.random.default_rng(seed)
    tape = scribbled(rng)
    a, b, da, db, bar_a, bar_y, bar_b = rng.normal(size=(7, 40, 5))
    ahead, back = tangent(tape, {"a", "b"}, {"a", "y"}), adjoint(tape, {"a", "y"}, {"a", "b"})
    known = {"a": a, "b": b, tangent_of("a"): da, tangent_of("b"): db}
    known |= {adjoint_of("a"): bar_a, adjoint_of("y"): bar_y, adjoint_of("b"): bar_b}
    *values, new_a, new_y = computed(ahead, *(known[x] for x in ahead.inputs))
    for x, y in zip(values, computed(tape, a, b), strict=True):
        np.testing.assert_array_equal(x, y)
    results = computed(back, *(known[x] for x in back.inputs))
    got = dict(zip(back.outputs, results, strict=True))
    left = [bar_a * new_a, bar_y * new_y, bar_b * db]
    right = [got[adjoint_of("a")] * da, got[adjoint_of("b")] * db]
    difference = sum(x.sum(1) for x in left) - sum(x.sum(1) for x in right)
    size = sum(np.abs(x).sum(1) for x in (*left, *right))
    assert (np.abs(difference) / size).max() < 1e-13
    eps = computed(tape, a + 1j * STEP * da, b + 1j * STEP * db)
    for x, y in zip((new_a, new_y), eps, strict=True):
        assert np.abs(x - np.imag(y) / STEP).max() < 1e-12 * max(1.0, np.abs(x).max())
