"""Gradients of programs: against complex steps, JAX and tangents, and the same bits however run."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import appell
from appell.compile.gradients import BUDGET, gradient_kernel
from appell.compile.plan import LENGTH
from appell.compile.program import Loop, Program
from appell.compile.programs import compiled
from appell.compile.sweep import segments, swept, tangent_program
from appell.compile.trace import choose, nearest, random, trace
from appell.model.library.random import random_tree
from tests.compile import by_hand
from tests.compile.closed_loop import DT, STAGES, closed_loop, drawn

STATE, GAINS = ("q0", "v0"), ("kp", "kd", "mass")
EVERYTHING = (*STATE, *GAINS, "push", "qd")
OBJECTIVES = ("q", "v", "worst", "rms")


@cache
def puma():
    robot = appell.load("puma560")
    return robot, closed_loop(robot)


@cache
def kernel(by=EVERYTHING, of=OBJECTIVES, dtype="float64"):
    return gradient_kernel(puma()[1], by, of, dtype, "the PUMA's gradient")


def problem(runs, steps, seed=0):
    robot, program = puma()
    inputs, tables, series = drawn(robot, runs, steps, seed)
    rng = np.random.default_rng(seed + 1)
    seeds = {y: rng.normal(size=(runs, program.widths[y])) for y in OBJECTIVES}
    return inputs, tables, series, seeds


def solved(made, runs, steps, given, **options):
    inputs, tables, series, seeds = given
    return made(runs, inputs, np.hstack(list(tables.values())), series, steps, seeds, **options)


def exact(program, given, run, by, steps):
    """The gradients of one run by complex steps."""
    inputs, tables, series, seeds = given
    shapes = {x: inputs[x][run].shape if x in inputs else series[x][run].shape for x in by}
    own = [{name: x[run] for name, x in group.items()} for group in (seeds, inputs, series)]
    return by_hand.derivatives(program, own[0], shapes, own[1], tables, own[2], steps)


def far(x, y):
    return np.abs(x - y).max() / np.abs(y).max()


def test_steps_of_the_puma_against_complex_steps():
    """Within 1e-8 of the largest component, to which an optimiser's steps are the same; some 1e-15
    is seen: the closed loop forgets its roundings. A thousand are in test_rollout_gradients.py."""
    steps = 150
    given = problem(3, steps)
    outputs, gradients = solved(kernel(), 3, steps, given)
    by = (*STATE, *GAINS)
    found = exact(puma()[1], given, 1, by, steps)
    for name in by:
        assert far(gradients[name][1], found[name]) < 1e-8
    _, values = compiled(puma()[1], "float64", "the PUMA")(
        3, given[0], np.hstack(list(given[1].values())), given[2], steps
    )
    for name in OBJECTIVES:
        np.testing.assert_array_equal(outputs[name], values[name])


def test_series_and_tables_have_a_gradient_for_each_step():
    """A push on a joint is a force; a table's gradient is what the law makes of it."""
    steps = 12
    given = problem(2, steps)
    _, gradients = solved(kernel(), 2, steps, given)
    assert gradients["push"].shape == gradients["qd"].shape == (2, steps, 6)
    found = exact(puma()[1], given, 1, ("push",), steps)
    assert far(gradients["push"][1], found["push"]) < 1e-12  # rounding of some 12 x 4000 operations
    inputs, tables, series, seeds = given
    for k, j in ((0, 2), (5, 0), (11, 5)):
        moved = {**tables, "qd": tables["qd"].astype(complex)}
        moved["qd"][k, j] += 1j * by_hand.STEP
        results = by_hand.run(puma()[1], inputs, moved, series, steps)
        slopes = sum((np.imag(results[y]) * seeds[y]).sum(1) for y in seeds) / by_hand.STEP
        assert far(gradients["qd"][:, k, j], slopes) < 1e-10


def test_against_a_rollout_in_jax():
    """The same equations, differentiated by JAX."""
    import jax
    import jax.numpy as jnp

    from appell.control.laws.compiled import of_state
    from appell.robots.recipe import equation_of, recipe_for

    robot = appell.Robot(random_tree(2, 3, prismatic=0))  # of the PUMA it takes JAX two minutes
    program, runs, steps = closed_loop(robot), 2, 25
    inputs, tables, series = drawn(robot, runs, steps)
    seeds = {y: np.ones((runs, program.widths[y])) for y in OBJECTIVES}
    by = (*STATE, *GAINS, "push")
    made = gradient_kernel(program, by, OBJECTIVES, "float64", "a pendulum's gradient")
    _, gradients = solved(made, runs, steps, (inputs, tables, series, seeds))
    motion = equation_of(
        robot.system, recipe_for(robot.system, "forward_dynamics", parameters=("mass",))
    )
    law = of_state(appell.control.ComputedTorque(robot, kp=1.0, kd=1.0), True)

    def objective(by, push, seeds):
        kp, kd, mass = by["kp"], by["kd"], by["mass"]

        def step(state, row):
            q, v, worst, squares = state
            qd, vd, ad, force = row
            tau = jnp.array(law(q, v, qd, vd, ad, kp, kd)) + force

            def stage(stages, turn):
                at, speed, moved, gained = stages
                a, (on, weight) = jnp.array(motion(at, speed, tau, mass)), turn
                return (q + on * speed, v + on * a, moved + weight * speed, gained + weight * a), 0

            start = (q, v, 0 * q, 0 * v)
            (*_, moved, gained), _ = jax.lax.scan(stage, start, jnp.array(STAGES))
            most = jnp.maximum(worst, jnp.abs(qd - q).max())
            return (q + moved, v + gained, most, squares + ((qd - q) ** 2).sum()), 0

        rows = (*(jnp.array(x) for x in tables.values()), push)
        (q, v, worst, squares), _ = jax.lax.scan(step, (by["q0"], by["v0"], 0.0, 0.0), rows)
        rms = jnp.sqrt(squares / (steps * robot.nv))
        results = {"q": q, "v": v, "worst": worst[None], "rms": rms[None]}
        return sum((results[y] * seeds[y]).sum() for y in seeds)

    with jax.enable_x64(True):
        slope = jax.jit(jax.grad(objective, argnums=(0, 1)))
        for run in range(runs):
            own = [{k: jnp.array(x[run]) for k, x in group.items()} for group in (inputs, seeds)]
            by, push = slope(own[0], jnp.array(series["push"][run]), own[1])
            for name, x in {**by, "push": push}.items():
                assert far(gradients[name][run], np.array(x)) < 1e-10


def test_tangents_are_the_same_derivatives():
    """seed . dy = gradient . dx in every run, to the rounding of 50 x 4000 operations."""
    _, program = puma()
    runs, steps = 5, 50
    inputs, tables, series, seeds = given = problem(runs, steps)
    rng = np.random.default_rng(9)
    groups = {**inputs, **series, "qd": tables["qd"]}
    changes = {name: rng.normal(size=x.shape) for name, x in groups.items()}
    by, of = tuple(changes), ("q", "v", "worst", "rms")
    ahead = compiled(tangent_program(program, by, of), "float64", "the PUMA's tangents")
    more = {f"d {x}": d for x, d in changes.items()}
    kept, results = ahead(
        runs,
        {**inputs, **more},
        np.hstack([*tables.values(), more["d qd"]]),
        {**series, "d push": more["d push"]},
        steps,
    )
    outputs, gradients = solved(kernel(), runs, steps, given)
    left = sum((seeds[y] * results[f"d {y}"]).sum(1) for y in of)
    right = sum((gradients[x] * d).reshape(runs, -1).sum(1) for x, d in changes.items())
    assert np.abs(left - right).max() < 1e-11 * np.abs(right).max()
    np.testing.assert_allclose(results["q"], outputs["q"], rtol=1e-12)
    np.testing.assert_array_equal(kept["d q"][:, -1], results["d q"])


def test_bits_do_not_depend_on_memory_threads_lanes_or_neighbours():
    """A short trail, more threads, odd numbers of runs, another place in the batch."""
    runs, steps = 21, 60
    given = problem(runs, steps)
    outputs, gradients = solved(kernel(), runs, steps, given)

    def equal(found, rows=slice(None)):
        for mine, theirs in zip(found, (outputs, gradients), strict=True):
            for name, x in mine.items():
                np.testing.assert_array_equal(x, theirs[name][rows], err_msg=name)

    def segment(budget):
        made = kernel()
        return segments(steps, made._widths, made._values, made._lanes * 8, budget)[0]

    assert segment(BUDGET) == steps
    trail = kernel()._widths[1] * kernel()._lanes * 8  # bytes of a step
    for fitting in (0, 8, 21, 59):
        assert segment(fitting * trail) < steps
        equal(solved(kernel(), runs, steps, given, budget=fitting * trail))
    try:
        for count in (1, 2, 5):
            appell.set_threads(count)
            equal(solved(kernel(), runs, steps, given))
    finally:
        appell.set_threads()
    for rows in (slice(0, 1), slice(4, 13), slice(20, 21)):
        inputs, tables, series, seeds = given
        fewer = [{k: x[rows] for k, x in group.items()} for group in (inputs, series, seeds)]
        part = (fewer[0], tables, fewer[1], fewer[2])
        equal(solved(kernel(), len(fewer[0]["q0"]), steps, part), rows)


def test_a_run_that_is_no_number_leaves_the_others_alone():
    runs, steps = 9, 30
    given = problem(runs, steps)
    _, good = solved(kernel(), runs, steps, given)
    given[0]["q0"][4, 2] = np.nan
    given[0]["v0"][6] = 1e200
    _, gradients = solved(kernel(), runs, steps, given)
    others = [0, 1, 2, 3, 5, 7, 8]
    for name, x in gradients.items():
        np.testing.assert_array_equal(x[others], good[name][others])
        assert not np.isfinite(x[[4, 6]]).all()


def test_single_precision():
    """The relative error is that of 100 steps' roundings of 6e-8: some 1e-6 is seen."""
    runs, steps = 5, 100
    given = problem(runs, steps)
    _, double = solved(kernel(), runs, steps, given)
    _, single = solved(kernel(dtype="float32"), runs, steps, given)
    for name, x in single.items():
        assert x.dtype == np.float32
        if name != "worst":
            assert far(x, double[name]) < 1e-4


def test_only_what_is_asked_for_is_computed():
    """Adjoints of the state need none of the gains, and no trail of what they do not read."""
    _, program = puma()
    whole = swept(program, EVERYTHING, OBJECTIVES, False)
    state = swept(program, STATE, ("q",), False)
    assert set(state.active) < set(whole.active) - {"kp", "kd", "mass", "squares", "worst"}
    back = [sum(len(p.back or ()) for p in x.pairs.values()) for x in (state, whole)]
    assert back[0] < back[1]
    runs, steps = 3, 20
    given = problem(runs, steps)
    given[3].update({y: 0 * given[3][y] for y in ("v", "worst", "rms")})
    _, all_of_them = solved(kernel(), runs, steps, given)
    _, some = solved(kernel(STATE, ("q",)), runs, steps, given)
    for name in STATE:
        np.testing.assert_allclose(some[name], all_of_them[name], rtol=1e-9)


def test_a_long_chain_is_cut_into_several_functions():
    robot = appell.Robot(random_tree(20, 3, branching=0))
    program, steps = closed_loop(robot), 3
    inputs, tables, series = drawn(robot, 2, steps)
    seeds = {y: np.ones((2, program.widths[y])) for y in OBJECTIVES}
    by = (*STATE, *GAINS)
    made = gradient_kernel(program, by, OBJECTIVES, "float64", "a chain's gradient")
    assert max(len(p.back) for p in swept(program, by, OBJECTIVES, True).pairs.values()) > LENGTH
    given = (inputs, tables, series, seeds)
    _, gradients = solved(made, 2, steps, given)
    found = exact(program, given, 1, by, steps)
    for name in by:
        assert far(gradients[name][1], found[name]) < 1e-9  # M's condition times rounding


def every_operation():
    """A program that has them all, loops within loops, and tables before and after the steps."""

    def first(x, c, w):
        return [a * w[0] + b for a, b in zip(x, c, strict=True)]

    def mixed(y, w, turn):
        a, b = y[0].tanh(), y[1].tanh()
        small = 0.1 * turn[0]
        a = a + small * (b.sin() + (a * b).cos() + (1 + a * a).sqrt())
        b = b + small * (abs(a) + a.sinh() - b.cosh() + (a * 0.1).exp() + (2 + a * a).log())
        a = a - small * a.atan2(a, 2 + b * b) + small * (1 + b * b) ** a / (1 + b * b)
        b = b * choose(a, b, 0.9, 1.1) + small * choose(b, a, a, b) * a.sign() + nearest(a) * small
        return [a + w[0] * small, b - w[0] * 0.05 / (1 + a * a)]

    def last(y, c, w):
        return [y[0] * c[0] + y[1] * w[0]]

    pair, one = {"y": (2,)}, {"w": (1,)}
    step = trace(mixed, {**pair, **one, "turn": (1,)}, pair)
    twice = Loop(((1.0,), (0.5,)), (step, Loop(((0.3,), (0.2,), (0.7,)), (step,))))
    return Program(
        {"x": 2, "c": 2}, {"w": 1}, {},
        (trace(first, {"x": (2,), "c": (2,), **one}, pair),),
        (twice,),
        (trace(last, {**pair, "c": (2,), **one}, {"z": (1,)}),),
        (), ("y", "z"),
    )  # fmt: skip


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_every_operation_in_loops_within_loops(steps):
    program, runs = every_operation(), 5
    rng = np.random.default_rng(2)
    inputs = {name: rng.normal(0, 0.4, size=(runs, 2)) for name in ("x", "c")}
    table, seeds = rng.normal(size=(steps + 1, 1)), {"y": np.array([0.3, -2]), "z": np.ones(1)}
    made = gradient_kernel(program, ("x", "c", "w"), ("y", "z"), "float64", "a test")
    for budget in (2**20, 0):
        values, gradients = made(runs, inputs, table, {}, steps, seeds, budget)
        for name, x in by_hand.run(program, inputs, {"w": table}, {}, steps).items():
            np.testing.assert_allclose(values[name], x, rtol=1e-12)
        for run in range(runs):
            own = {name: x[run] for name, x in inputs.items()}
            found = by_hand.derivatives(
                program, seeds, {"x": (2,), "c": (2,)}, own, {"w": table}, {}, steps
            )
            for name, x in found.items():
                np.testing.assert_allclose(gradients[name][run], x, rtol=1e-11, atol=1e-13)
        assert gradients["w"].shape == (runs, steps + 1, 1)
        for k in range(steps + 1):
            moved = table + 1j * by_hand.STEP * (np.arange(steps + 1) == k)[:, None]
            results = by_hand.run(program, inputs, {"w": moved}, {}, steps)
            slopes = sum(np.imag(results[y]) @ seeds[y] for y in seeds) / by_hand.STEP
            np.testing.assert_allclose(gradients["w"][:, k, 0], slopes, rtol=1e-10, atol=1e-13)


def test_an_input_that_tapes_write_and_random_numbers_that_they_draw():
    """x <- x (1 + c u) + x^2/1000 in each step, u at random, against differences."""
    halves = dict.fromkeys(("low", "high"), (1,))

    def step(x, c, low, high, k):
        u = random((low[0], high[0]), (k[0], 0.0), (7.0, 0.0))
        return [x[0] * (1 + c[0] * u) + x[0] * x[0] / 1000], [k[0] + 1]

    one = (1,)
    tape = trace(step, {"x": one, "c": one, **halves, "k": one}, {"x": one, "k": one})
    start = trace(lambda c: [0], {"c": one}, {"k": one})
    program = Program(
        {"x": 1, "c": 1, "low": 1, "high": 1}, {}, {}, (start,), (tape,), (), (), ("x",)
    )
    runs, steps, none = 6, 40, np.zeros((40, 0))
    inputs = {"x": np.linspace(0.5, 1, runs)[:, None], "c": [0.02], "high": [0.0]}
    inputs["low"] = np.arange(runs)[:, None]
    made = gradient_kernel(program, ("x", "c"), ("x",), "float64", "a test")
    _, gradients = made(runs, inputs, none, {}, steps, {"x": [1.0]})
    plain = compiled(program, "float64", "a test")
    for name in ("x", "c"):

        def moved(by, name=name):
            changed = {**inputs, name: np.asarray(inputs[name]) + by}
            return plain(runs, changed, none, {}, steps)[1]["x"]

        slopes = (moved(1e-5) - moved(-1e-5)) / 2e-5  # third derivatives are below 100 times these
        np.testing.assert_allclose(gradients[name], slopes, rtol=1e-7)
    assert len(np.unique(gradients["c"] / gradients["x"])) == runs


def test_what_does_not_depend_on_it_has_the_gradient_zero():
    double = trace(lambda a: [2 * a[0]], {"a": (1,)}, {"x": (1,)})
    program = Program({"a": 1, "b": 1}, {}, {}, (double,), (double,), (), (), ("x",))
    made = gradient_kernel(program, ("a", "b"), ("x",), "float64", "a test")
    _, gradients = made(2, {"a": [1.0], "b": [2.0]}, np.zeros((3, 0)), {}, 3, {"x": [1.0]})
    assert gradients["a"].tolist() == [[2], [2]]
    assert gradients["b"].tolist() == [[0], [0]]


def test_names_and_shapes_that_do_not_fit_are_refused():
    _, program = puma()
    with pytest.raises(ValueError, match="with respect to speed; there are q0, v0"):
        swept(program, ("speed",), ("q",), True)
    with pytest.raises(ValueError, match="of tau; there are q, v, worst, rms"):
        tangent_program(program, STATE, ("tau",))
    inputs, tables, series, seeds = problem(3, 5)
    with pytest.raises(ValueError, match=r"q has the shape \(2, 6\), expected \(3, 6\)"):
        solved(kernel(), 3, 5, (inputs, tables, series, {**seeds, "q": np.ones((2, 6))}))
    with pytest.raises(ValueError, match=r"the table has the shape \(5, 18\), expected \(6, 18\)"):
        kernel()(3, inputs, np.hstack(list(tables.values())), series, 6, seeds)


def test_steps_are_as_long_as_the_program_says():
    assert sum(weight for _, weight in STAGES) == pytest.approx(DT)
