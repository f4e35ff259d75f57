"""Tuning finds optima that are known from elsewhere: by hand, and from dense grids."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import appell
from appell.study import Study, tune
from appell.study.tuning.aims import Aim
from appell.study.tuning.slopes import Row, Slopes
from appell.study.tuning.trials import Trials

KP = 20.0
ARM = {
    "robot": {"model": "planar_chain", "options": {"n": 1}, "gravity": (0.0, 0.0, 0.0)},
    "start": {"q": (0.0,)},
    "task": {"kind": "hold", "at": (0.5,), "until": 4.0},
    "law": {"kp": KP, "kd": 1.0},
    "sampling": {"period": 0.002},
}
DAMPING = {"law.kd": {"between": (0.5, 30.0), "logarithmic": True}}
BOWL = """
def bowl(x, y, shift=0.0):
    return {"value": (x - 1 - shift) ** 2 + 10 * (y + 2) ** 2 + 3, "radius": (x * x + y * y) ** 0.5}
"""
BOX = {"x": {"between": (-10.0, 10.0)}, "y": {"between": (-10.0, 10.0), "start": 3.0}}


@pytest.fixture
def bowl(tmp_path, monkeypatch):
    """(tune, **study) -> the tuned bowl, whose optimum is known."""
    (tmp_path / "bowl_function.py").write_text(BOWL)
    monkeypatch.chdir(tmp_path)

    def tuned(asked, **more):
        asked = {"parameters": BOX, "tolerance": 1e-10, "iterations": 200, **asked}
        return tune(Study(function="bowl_function:bowl", tune=asked, **more))

    return tuned


# Optima that are known


def test_the_least_of_a_quadratic_function_is_found(bowl):
    found = bowl({"minimise": "value"})
    assert found.ok
    assert found.converged
    assert found.objective == pytest.approx(3.0, abs=1e-8)
    # Near its least the value is flat: 1e-8 of it is 1e-4 of x.
    assert found.parameters == pytest.approx({"x": 1.0, "y": -2.0}, abs=1e-4)
    assert np.isnan(found.objective_before)  # x has no start, and a function no value of its own
    assert found.verdict.startswith("value is 3")


def test_what_is_to_be_large_is(bowl):
    asked = {"maximise": "radius", "constraints": {"value": {"at_most": 40.0}}}
    found = bowl(asked)
    # By Lagrange along the ellipse, which is scanned.
    angle = np.linspace(0, 2 * np.pi, 200_001)
    x, y = 1 + np.sqrt(37) * np.cos(angle), -2 + np.sqrt(3.7) * np.sin(angle)
    assert found.objective == pytest.approx(np.hypot(x, y).max(), rel=1e-6)
    assert found.constraints[0].kept


def test_a_constraint_is_active_at_the_optimum_where_it_must_be(bowl):
    found = bowl({"minimise": "value", "constraints": {"radius": {"at_most": 1.5}}})

    def excess(multiplier):
        return np.hypot(1 / (1 + multiplier), -20 / (10 + multiplier)) - 1.5

    multiplier = brentq(excess, 0, 100)
    exact = {"x": 1 / (1 + multiplier), "y": -20 / (10 + multiplier)}
    assert found.parameters == pytest.approx(exact, abs=1e-4)
    (held,) = found.constraints
    assert 0 <= held.margin < 1e-6
    assert found.verdict.endswith("the constraint kept")


@pytest.mark.parametrize(
    ("over", "x", "value"),
    [
        ("mean", 1.0, 3 + np.mean(np.linspace(-1, 1, 5) ** 2)),
        ("worst", 1.0, 4.0),
        (0.8, 0.75, 3 + 0.75**2),  # four of five samples: shifts from -1 to 0.5, or from -0.5 to 1
    ],
)
def test_over_samples_the_mean_the_worst_and_a_quantile_have_their_own_optima(bowl, over, x, value):
    vary = {"shift": {"linear": (-1.0, 1.0, 5)}}
    found = bowl({"minimise": "value", "over": over}, vary=vary, sampling="grid")
    assert found.count == 5
    assert found.objective == pytest.approx(value, abs=1e-6)
    nearest = min(abs(found.parameters["x"] - x), abs(found.parameters["x"] - (2 - x)))
    assert nearest < 1e-3
    assert len(found.samples["after"]["value"]) == 5


def test_a_quantile_is_what_a_share_of_the_samples_does_not_exceed():
    values = np.array([5.0, 1.0, np.inf, 3.0])
    assert Aim("m", 1, 0.5).of(values) == 3.0
    assert Aim("m", 1, 0.75).of(values) == 5.0
    assert Aim("m", 1, "worst").of(values) == np.inf
    assert Aim("m", -1, "worst").of(values) == 1.0  # where a small one is bad
    assert Aim("m", -1, 0.75).of(values) == 3.0


def damped(method="differential_evolution", **asked):
    tuning = {"minimise": "rms_error", "parameters": DAMPING, "method": method, **asked}
    return tune(Study(scenario=ARM, tune=tuning))


def test_the_damping_of_least_squared_error_is_half_the_critical_one():
    """The integral of e^2 of e'' + kd e' + kp e = 0 from rest is (kp + kd^2) / (2 kd kp) e0^2: it
    is least at kd^2 = kp. Samples that are held for 2 ms, which is 1 ms of delay, move that by
    0.5 %, and steps of the grid below are 0.2 %."""
    found = damped("gradient")
    assert found.converged
    assert found.parameters["law.kd"] == pytest.approx(np.sqrt(KP), rel=0.01)
    samples = 2001
    exact = np.sqrt(0.25 * (2 * KP) / (2 * KP**1.5) / (samples * 0.002))
    assert found.objective == pytest.approx(exact, rel=0.01)
    assert found.own == {"law.kd": 1.0}
    assert found.objective < 0.8 * found.objective_before
    assert found.scenario.law.kd == found.parameters["law.kd"]
    rollout, exactly = found.compared["rms_error"][0]
    assert rollout == pytest.approx(exactly, rel=1e-6)


def dense(kd, **options):
    """Rollouts of gains without any of the machinery of studies."""
    robot = appell.load("planar_chain", n=1).with_gravity((0.0, 0.0, 0.0))
    law = appell.control.ComputedTorque(robot, kp=KP, kd=1.0)
    return appell.rollout(
        robot, law, [0.5], [0.0], dt=0.002, steps=2000, substeps=2,
        gains={"kd": np.reshape(kd, (-1, 1))}, **options,
    )  # fmt: skip


def test_both_methods_find_the_best_of_a_dense_grid():
    kd = np.geomspace(0.5, 30, 2001)
    scanned = dense(kd, reduce=["rms_error"]).rms_error[:, 0]
    for method in ("gradient", "differential_evolution"):
        found = damped(method, tolerance=1e-8)
        assert found.objective <= scanned.min() * (1 + 1e-9)
        assert found.objective == pytest.approx(scanned.min(), rel=1e-5)
        assert found.parameters["law.kd"] == pytest.approx(kd[scanned.argmin()], rel=3e-3)


def test_a_bound_on_the_effort_holds_the_error_back_as_on_the_grid():
    kd = np.geomspace(0.5, 30, 20_001)
    scanned = dense(kd, reduce=["rms_error", "peak_speed"])
    allowed = scanned.peak_speed[:, 0] <= 0.7
    error = np.where(allowed, scanned.rms_error[:, 0], np.inf)
    assert error.min() > 1.01 * scanned.rms_error.min()  # the bound is in the way
    for method in ("gradient", "differential_evolution"):
        found = damped(method, constraints={"peak_speed": {"at_most": 0.7}}, tolerance=1e-7)
        assert found.ok
        assert 0 <= found.constraints[0].margin < 1e-4
        assert found.objective == pytest.approx(error.min(), rel=1e-4)


@pytest.mark.parametrize("over", ["mean", "worst", 0.75])
def test_robust_gains_are_those_of_a_grid_of_gains_and_loads(over):
    """Loads that the law does not know, of which it takes the mean, the worst or a quantile."""
    loads = np.linspace(0, 2, 5)
    scenario = ARM | {"law": {"kp": KP, "kd": 1.0, "believes": {"payload": {"mass": 0.0}}}}
    kd = np.geomspace(0.5, 30, 401)
    carried = [appell.control.Payload(np.full(len(kd), m)) for m in loads]
    each = [dense(kd, reduce=["rms_error"], payload=load) for load in carried]
    table = np.stack([x.rms_error[:, 0] for x in each])
    scanned = {"mean": table.mean(axis=0), "worst": table.max(axis=0)}.get(
        over, np.sort(table, axis=0)[3]
    )
    for method in ("gradient", "differential_evolution"):
        tuning = {"minimise": "rms_error", "over": over, "method": method, "parameters": DAMPING}
        vary = {"robot.payload.mass": {"linear": (0.0, 2.0, 5)}}
        found = tune(Study(scenario=scenario, vary=vary, sampling="grid", tune=tuning))
        assert found.ok
        # A grid of 1 % of kd is within 1e-4 of the best, of which a thousandth is asked.
        assert found.objective == pytest.approx(scanned.min(), rel=1.2e-3), method
        assert found.objective <= scanned.min() * (1 + 1e-3)


# Derivatives

TWO = {
    "robot": {
        "model": "planar_chain",
        "options": {"n": 2},
        "friction": {"viscous": 0.3, "coulomb": 0.0},
        "gravity": (0.0, -9.81, 0.0),
    },
    "start": {"q": (0.1, 0.2), "v": (0.3, -0.2)},
    "task": {"kind": "hold", "at": (0.5, -0.3), "until": 0.3},
    "law": {"kp": (50.0, 40.0), "kd": (5.0, 4.0), "believes": {"gravity": (0.0, -9.0, 0.0)}},
    "actuators": {"torque_limit": (30.0, 30.0)},
}
MEASURES = (
    "rms_error", "worst_error", "final_error", "peak_torque", "peak_speed", "effort", "work",
    "energy_end", "q.joint1", "v.joint2", "cost",
)  # fmt: skip
COST = """
def cost(t, q, v, tau, qd, vd):
    return t * q[0] * q[1] + v[0] * v[0] + 1e-2 * tau[1] ** 2
"""


def test_derivatives_of_every_measure_are_those_of_differences(tmp_path, monkeypatch):
    (tmp_path / "a_cost.py").write_text(COST)
    monkeypatch.chdir(tmp_path)
    parameters = {
        "law.kp.0": {"between": (10.0, 200.0), "logarithmic": True},
        "damping": {"between": (0.5, 2.0), "scales": ("law.kd",)},
        "start.v.0": {"between": (-1.0, 1.0)},
        "robot.friction.viscous": {"between": (0.0, 1.0)},
        "robot.gravity.1": {"between": (-12.0, -8.0)},
    }
    for measure in MEASURES:
        asked = {"minimise": measure, "parameters": parameters, "method": "gradient"}
        vary = {"robot.friction.coulomb": {"linear": (0.0, 0.2, 2)}}
        trials = Trials(
            Study(scenario=TWO, vary=vary, sampling="grid", tune=asked, cost="a_cost:cost"),
            "cpu", parts=True,
        )  # fmt: skip
        space = trials.space
        x = space.start
        assert x is not None
        columns = [name for name in trials.columns(x, 0, 2) if name.startswith(measure)]
        split = [name for name in columns if name[-1].isdigit() and name != measure] or [measure]
        rows = [Row(s, name) for s in range(2) for name in split]
        slopes = Slopes(trials).of(x, rows)
        step = 1e-6 * np.maximum(np.abs(x), 0.1)
        both = [trials.columns(np.stack([x + d, x - d]), 0, 2) for d in np.diag(step)]
        for k, h in enumerate(step):
            differences = [
                (both[k][row.measure][row.sample] - both[k][row.measure][2 + row.sample]) / (2 * h)
                for row in rows
            ]
            # Central differences of 1e-6 have an error of about 1e-9 of the value over the step.
            scale = 1e-6 * max(1.0, np.abs(slopes).max())
            np.testing.assert_allclose(slopes[:, k], differences, rtol=1e-4, atol=scale)


def test_an_error_that_is_exactly_zero_has_a_derivative_of_zero():
    """The root of a mean square has none at zero; a joint that never errs would stop a search."""
    still = TWO | {
        "robot": {"model": "planar_chain", "options": {"n": 2}, "gravity": (0.0, 0.0, 0.0)},
        "start": {"q": (0.1, 0.2)},
        "task": {"kind": "hold", "at": (0.1, 0.2), "until": 0.1},
        "law": {"kp": 50.0, "kd": 5.0},
    }
    asked = {"minimise": "rms_error", "method": "gradient",
             "parameters": {"law.kp": {"between": (10.0, 90.0)}}}  # fmt: skip
    found = tune(Study(scenario=still, tune=asked))
    assert found.objective == 0.0
    assert found.ok


def test_coordinates_and_parameters_are_each_other_s_inverse():
    parameters = {
        "law.kd": {"between": (0.5, 30.0), "logarithmic": True},
        "law.kp": {"between": (-0.0, 50.0)},
        "sampling.delay": {"between": (0, 4), "whole": True},
    }
    space = Trials(Study(scenario=ARM, tune={"minimise": "effort", "parameters": parameters})).space
    u = np.random.default_rng(0).random((50, 3))
    x = space.values(u)
    np.testing.assert_allclose(space.coordinates(x)[:, :2], u[:, :2], atol=1e-12)
    assert set(x[:, 2]) == {0.0, 1.0, 2.0, 3.0, 4.0}
    assert (space.values(np.ones(3)) == [30.0, 50.0, 4.0]).all()
    assert (space.values(space.coordinates(np.array([1.0, KP, 0.0]))) == [1.0, KP, 0.0]).all()
    d = 1e-6
    ahead = (space.values(u + d) - space.values(u - d)) / (2 * d)
    for row, slope in zip(x, ahead, strict=True):
        np.testing.assert_allclose(space.slope(row)[:2], slope[:2], rtol=1e-6)


def test_whole_numbers_are_searched():
    asked = {"minimise": "rms_error", "iterations": 3, "population": 5,
             "parameters": {"sampling.delay": {"between": (0, 40), "whole": True}}}  # fmt: skip
    scenario = ARM | {"sampling": {"period": 0.002, "delay": 7}, "law": {"kp": KP, "kd": 9.0}}
    found = tune(Study(scenario=scenario, tune=asked))
    assert found.parameters["sampling.delay"] == round(found.parameters["sampling.delay"])
    assert found.scenario.sampling.delay == found.parameters["sampling.delay"]
    assert found.own["sampling.delay"] == 7
    assert found.objective <= found.objective_before


def test_the_worst_is_least_where_two_samples_are_as_bad():
    """Thrown from two places at a target that is 0.5 and 0.3 rad away, nearly without a law: after
    0.1 s both are 0.1 rad from it at best, one before and one behind. There the worst has no
    derivative, which is what the epigraph form is for."""
    scenario = ARM | {
        "task": {"kind": "hold", "at": (0.5,), "until": 0.1},
        "law": {"kp": 1e-4, "kd": 1e-2},
        "start": {"q": (0.0,), "v": (1.0,)},
    }
    asked = {
        "minimise": "final_error", "over": "worst", "method": "gradient",
        "parameters": {"start.v.0": {"between": (0.0, 20.0)}},
    }  # fmt: skip
    vary = {"start.q.0": {"values": (0.0, 0.2)}}
    found = tune(Study(scenario=scenario, vary=vary, sampling="grid", tune=asked))
    assert found.converged
    assert found.objective == pytest.approx(0.1, rel=1e-3)
    assert found.parameters["start.v.0"] == pytest.approx(4.0, rel=2e-3)
    # A law of 1e-2 / s takes 1e-3 of the speed in this time.
    one, other = found.samples["after"]["final_error"]
    assert one == pytest.approx(other, rel=1e-5)
