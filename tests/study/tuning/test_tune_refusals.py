"""What goes wrong in a tune is told: failed samples, constraints that cannot be kept, mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from appell import InputError
from appell.cli import app
from appell.study import Study, read_scenario, read_study, run, tune
from tests.report_pages import examine

FUNCTION = """
def half(x, shift=0.0):
    if x + shift > 1:
        raise ValueError("too far")
    return {"value": (x - 3) ** 2, "size": abs(x)}


def nothing(x):
    raise ValueError("never")


def strange(x):
    return {"value": float("nan") if x < 0 else x, "late": float("inf") if x < 2 else 1.0}
"""
X = {"x": {"between": (-4.0, 4.0)}}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """(function, tune, **more) -> the study of a function."""
    (tmp_path / "some_functions.py").write_text(FUNCTION)
    monkeypatch.chdir(tmp_path)

    def made(function, asked, **more):
        asked = {"parameters": X, "iterations": 30, **asked}
        return Study(function=f"some_functions:{function}", tune=asked, **more)

    return made


# Samples that fail, constraints that are not kept


def test_parameters_with_failed_samples_are_never_the_best(study):
    vary = {"shift": {"linear": (-1.0, 0.5, 4)}}
    asked = {"minimise": "value", "tolerance": 1e-9, "iterations": 60}
    found = tune(study("half", asked, vary=vary, sampling="grid"))
    assert found.ok
    assert found.parameters["x"] == pytest.approx(0.5, abs=1e-4)  # the largest where none fails
    assert found.parameters["x"] <= 0.5
    assert found.failures == {"ValueError: too far": int((found.history["failed"] > 0).sum())}
    assert np.isnan(found.history["objective"][found.history["failed"] > 0]).all()
    assert np.isfinite(found.objective)


def test_where_all_fail_that_is_told(study):
    found = tune(study("nothing", {"minimise": "value", "iterations": 2}))
    assert not found.ok
    assert found.verdict == (
        "nothing was found without failed samples: at best, 1 of 1 failed (ValueError: never)"
    )
    assert found.summary()["objective"]["after"] is None


def test_constraints_that_cannot_be_kept_are_told_with_the_nearest(study):
    asked = {"minimise": "value", "constraints": {"size": {"at_least": 4.5}}, "tolerance": 1e-9}
    found = tune(study("half", asked))
    assert not found.ok
    assert found.verdict == (
        "nothing was found that keeps all constraints: at best, size is 4, and not at least 4.5"
    )
    assert found.parameters["x"] == pytest.approx(-4.0, abs=1e-3)
    assert found.constraints[0].margin == pytest.approx(-0.5, abs=1e-3)


def test_an_objective_that_pays_for_a_constraint_is_told_with_what_it_was_before(study):
    asked = {"minimise": "value", "constraints": {"size": {"at_most": 0.5}}, "tolerance": 1e-9,
             "parameters": {"x": {"between": (-1.0, 1.0), "start": 1.0}}}  # fmt: skip
    found = tune(study("half", asked))
    assert found.ok
    assert found.verdict == "value rose from 4 to 6.25, the constraint kept: size was 1 before"


def test_what_exact_runs_do_not_keep_is_not_found():
    """An arm sticks where Coulomb friction holds it; in these rollouts it creeps on, as friction
    fades below a speed that is much too large."""
    scenario = {
        "robot": {"model": "planar_chain", "options": {"n": 1}, "gravity": (0, 0, 0),
                  "friction": {"coulomb": 5.0}},
        "task": {"kind": "hold", "at": (0.5,), "until": 2.0},
        "law": {"name": "pd-gravity", "kp": 60.0, "kd": 20.0},
    }  # fmt: skip
    asked = {"minimise": "rms_error", "method": "gradient", "iterations": 3,
             "parameters": {"law.kd": {"between": (10.0, 30.0)}},
             "constraints": {"final_error": {"at_most": 0.01}}}  # fmt: skip
    found = tune(Study(scenario=scenario, tune=asked, rollout={"slip": 5.0}))
    assert found.constraints[0].kept
    assert not found.ok
    assert found.verdict.startswith(
        "rollouts keep all constraints, and exact runs do not: final_error of sample 0 is 0.0"
    )
    assert "a smaller [rollout] slip (5 rad/s or m/s now" in found.warnings[-1]
    mended = tune(Study(scenario=scenario, tune=asked, rollout={"slip": 0.01}))
    assert not mended.constraints[0].kept  # as it is


def test_what_is_not_a_number_is_a_failure_and_what_is_infinite_is_not(study):
    found = tune(study("strange", {"minimise": "value", "tolerance": 1e-9}))
    assert found.ok
    assert found.parameters["x"] == pytest.approx(0.0, abs=1e-3)
    assert found.parameters["x"] >= 0
    assert "value is not a number" in found.failures
    asked = {"minimise": "value", "constraints": {"late": {"at_least": 5.0}}}
    assert tune(study("strange", asked)).ok  # infinite is at least 5
    asked = {"minimise": "value", "constraints": {"late": {"at_most": 5.0}}, "iterations": 60}
    assert tune(study("strange", asked)).parameters["x"] == pytest.approx(2.0, abs=1e-2)


def test_a_step_of_the_gradient_method_into_failures_is_shortened():
    """Asked for the largest speed, it goes where late torques shake the arm ever more: beyond are
    runs whose numbers are not finite."""
    scenario = {
        "robot": {"model": "planar_chain", "options": {"n": 2}},
        "task": {"kind": "hold", "at": (0.5, 0.1), "until": 2.0},
        "law": {"kp": 20.0, "kd": 45.0},
        "sampling": {"period": 0.01, "delay": 3},
    }
    asked = {"maximise": "peak_speed", "method": "gradient", "iterations": 10,
             "parameters": {"law.kd": {"between": (0.5, 2000.0)}}}  # fmt: skip
    found = tune(Study(scenario=scenario, tune=asked))
    assert found.ok
    assert found.objective > 3 * found.objective_before
    (why,) = found.failures  # reasons that differ in numbers only are counted together
    assert why.startswith("numbers are not finite from")
    asked["parameters"]["law.kd"]["start"] = 300.0
    with pytest.raises(InputError, match="1 of 1 samples fail where the search starts"):
        tune(Study(scenario=scenario, tune=asked))


def test_a_name_that_a_function_does_not_give_is_refused_with_the_nearest(study):
    with pytest.raises(InputError, match=r"tune\.minimise: there is no 'valu'; did you mean 'val"):
        tune(study("half", {"minimise": "valu"}))
    with pytest.raises(InputError, match=r"tune\.constraints\.sice: there is no 'sice'"):
        tune(study("half", {"minimise": "value", "constraints": {"sice": {"at_most": 1.0}}}))


# Mistakes in a study

ARM = {
    "robot": {"model": "planar_chain", "options": {"n": 2}},
    "task": {"kind": "hold", "at": (0.5, 0.2), "until": 0.1},
    "law": {"kp": 20.0, "kd": (1.0, 2.0)},
}
GAIN = {"law.kd": {"between": (0.5, 30.0)}}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("law.kpp", r"tune\.parameters\.law\.kpp = .*: scenario\.law\.kpp.* did you mean 'kp'\?"),
        ("law.kd.5", r"tune\.parameters\.law\.kd\.5 = .*'5' is no place in an array of 2"),
        ("robott.payload.mass", r"tune\.parameters\.robott.* did you mean 'robot'\?"),
        ("task.untill", r"tune\.parameters\.task\.untill.* did you mean 'until'\?"),
        ("start.v.joint9", r"has no joint 'joint9' here; expected joint1, joint2"),
        ("sampling.delay", r"expected a whole number.* Give whole = true\."),
        ({"law.kp": {"between": (-3.0, 1.0), "start": 1.0}},
         r"tune\.parameters\.law\.kp\.between: -3 is not allowed: .*kp = -3; expected zero"),
        ({"sampling.period": {"between": (0.0, 1.0)}},
         r"tune\.parameters\.sampling\.period\.between: 0 is not allowed: .*greater than 0"),
        ({"factor": {"between": (0.5, 2.0), "scales": ("law.ki",)}},
         r"'law\.ki' is not in the scenario, so that there is nothing to scale"),
    ],
)  # fmt: skip
def test_a_parameter_that_is_none_is_refused_with_the_reason(parameters, message):
    given = parameters if isinstance(parameters, dict) else {parameters: {"between": (0.5, 1.0)}}
    with pytest.raises(InputError, match=message):
        tune(Study(scenario=ARM, tune={"minimise": "effort", "parameters": given}))


def test_a_measure_that_is_none_is_refused_with_the_nearest():
    with pytest.raises(InputError, match=r"tune\.minimise: there is no 'effrt'; did you mean 'eff"):
        tune(Study(scenario=ARM, tune={"minimise": "effrt", "parameters": GAIN}))
    asked = {"minimise": "effort", "parameters": GAIN,
             "constraints": {"peak_trque": {"at_most": 3.0}}}  # fmt: skip
    with pytest.raises(InputError, match=r"tune\.constraints\.peak_trque.* did you mean 'peak_t"):
        tune(Study(scenario=ARM, tune=asked))
    with pytest.raises(InputError, match="give it as cost = 'module:name'"):
        tune(Study(scenario=ARM, tune={"minimise": "cost", "parameters": GAIN}))
    with pytest.raises(InputError, match="there is no table"):
        tune(Study(scenario=ARM, vary={"law.kp": {"uniform": (1.0, 2.0)}}, points=2))
    twice = {"law.kd": {"uniform": (1.0, 2.0)}}
    with pytest.raises(InputError, match=r"'law\.kd' varies, too"):
        tune(Study(scenario=ARM, vary=twice, points=2, tune={"minimise": "effort",
                                                             "parameters": GAIN}))  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"minimise": "settling_time"}, "'settling_time' has no derivatives; expected a measure"),
        ({"parameters": {"sampling.period": {"between": (0.001, 0.01)}}},
         r"these points are none: 'sampling\.period' is no argument of a rollout"),
        ({"parameters": {"robot.payload.mass": {"between": (0.1, 1.0)}}},
         r"no derivative with respect to 'robot\.payload\.mass': a load is no number"),
        ({"parameters": {"sampling.delay": {"between": (0, 4), "whole": True}}},
         r"'sampling\.delay': whole numbers have none"),
        ({"parameters": GAIN}, r"law\.kd: there is no start: the scenario has no value of it"),
    ],
)  # fmt: skip
def test_without_derivatives_the_gradient_method_is_refused_with_the_reason(asked, message):
    law = ARM["law"] | {"believes": {"payload": {"mass": 0.0}}}
    asked = {"minimise": "effort", "method": "gradient", **asked}
    asked.setdefault("parameters", {"law.kp": {"between": (1.0, 50.0)}})
    with pytest.raises(InputError, match=message):
        tune(Study(scenario=ARM | {"law": law}, tune=asked))


def test_a_function_has_no_gradient_and_no_fields(study):
    with pytest.raises(InputError, match="a function has no derivatives here"):
        tune(study("half", {"minimise": "value", "method": "gradient"}))
    fields = {"x": {"between": (0.0, 1.0), "sets": ("law.kp",)}}
    with pytest.raises(InputError, match=r"tune\.parameters\.x: sets and scales are fields"):
        tune(study("half", {"minimise": "value", "parameters": fields}))


def test_mistakes_in_a_file_are_told_with_their_lines(tmp_path):
    file = tmp_path / "study.toml"
    text = 'scenario = {robot = "two_link", task = {kind = "hold", until = 1.0}}\n[tune]\n'
    file.write_text(text + 'minimise = "effort"\nparameters = {"law.kp" = {between = [3, 1]}}\n')
    with pytest.raises(InputError, match=r"study.toml:4: .*expected the smaller one first"):
        read_study(file)
    file.write_text(text + 'minimise = "efort"\nparameters = {"law.kp" = {between = [1, 3]}}\n')
    with pytest.raises(InputError, match=r"study.toml:3: tune.minimise: .* did you mean 'effort'"):
        tune(file)


# The command

GAINS = """
title = "Gains < of an arm"
sampling = "grid"
[scenario]
robot = {model = "arm.urdf"}
task = {kind = "hold", at = {shoulder = 0.5}, until = 0.4}
law = {kp = 20.0, kd = 25.0, believes = {payload = {mass = 0}}}
[vary]
"robot.payload.mass" = {linear = [0, 1, 3]}
[tune]
minimise = "rms_error"
over = "worst"
iterations = 3
population = 4
parameters = {"law.kd" = {between = [0.5, 30]}}
constraints = {peak_torque = {at_most = %s}}
"""
URDF = """
<robot name="arm"><link name="base"/><link name="bar"><inertial><origin xyz="0.2 0 0"/>
<mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>
</link><joint name="shoulder" type="continuous"><parent link="base"/><child link="bar"/>
<axis xyz="0 1 0"/></joint></robot>
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs ``appell ...`` in a folder with a robot."""
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(URDF)
    return lambda *arguments: CliRunner().invoke(app, [str(x) for x in arguments])


def test_the_command_leaves_a_scenario_that_runs_elsewhere_and_a_report(command, tmp_path):
    Path("gains.toml").write_text(GAINS % 60)
    result = command("tune", "gains.toml")
    assert result.exit_code == 0, result.output
    assert "ok: worst rms_error fell from" in result.stdout
    folder = tmp_path / "gains-tune"
    names = {"evaluations.jsonl", "report.html", "scenario.json", "study.json", "summary.json",
             "tune.log", "files", ".lock"}  # fmt: skip
    assert {x.name for x in folder.iterdir()} == names
    page = (folder / "report.html").read_text()
    assert "Gains &lt; of an arm" in page
    assert page.index("Worst rms_error fell from") < page.index("<figure")
    assert not re.search(r"https?:|<script[^>]*src|<link|@import", page)
    examine(folder / "report.html")
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["ok"]
    assert summary["constraints"][0]["kept"]
    assert summary["samples"] == 3
    # The scenario has its robot beside it, and is the tuned one.
    Path("arm.urdf").unlink()
    folder.rename(tmp_path / "moved")
    tuned = read_scenario(tmp_path / "moved" / "scenario.json")
    assert tuned.law.kd == summary["parameters"]["law.kd"]["after"]
    assert run(tuned).run.stopped is None
    log = (tmp_path / "moved" / "tune.log").read_text()
    assert re.search(r"iteration 3 of 3: worst rms_error [\d.]+; \d+ evaluations", log)


def test_status_1_says_that_nothing_keeps_the_constraints(command):
    Path("gains.toml").write_text(GAINS % 1)
    result = command("tune", "gains.toml", "-o", "tuned")
    assert result.exit_code == 1
    assert "not found: nothing was found that keeps all constraints" in result.stdout
    assert 'class="verdict bad">' in Path("tuned/report.html").read_text()


def test_json_and_quiet(command):
    Path("gains.toml").write_text(GAINS % 60)
    told = json.loads(command("tune", "gains.toml", "--json").stdout)
    assert told["ok"]
    assert told["report"] == "gains-tune/report.html"
    assert command("tune", "gains.toml", "-q").stdout == "gains-tune/report.html\n"
    refused = command("tune", "missing.toml")
    assert refused.exit_code == 2
    assert "cannot read the study 'missing.toml'" in refused.stderr


# Examples

EXAMPLES = Path(__file__).parents[3] / "examples" / "studies"


def shorter(name, **changes):
    """A study of the examples, with fewer iterations."""
    study = read_study(EXAMPLES / name)
    return study.model_copy(update={"tune": study.tune.model_copy(update=changes)})


def test_gains_of_the_puma_become_better_within_their_bound():
    found = tune(shorter("tune_gains.toml", iterations=4))
    assert found.ok
    assert found.count == 5
    assert found.objective < found.objective_before / 3
    (held,) = found.constraints
    assert held.after <= 120


def test_bars_of_a_five_bar_are_no_longer_and_do_more(tmp_path):
    found = tune(shorter("five_bar_workspace.toml", iterations=3, population=5), tmp_path / "five")
    assert found.ok
    assert found.objective > found.objective_before > 0.5
    assert found.constraints[0].after <= 1.5


def test_a_best_value_next_to_an_end_is_said_to_be_at_the_end(study):
    found = tune(study("half", {"minimise": "size", "parameters": {"x": {"between": (0.5, 0.9)}}}))
    assert found.parameters["x"] == pytest.approx(0.5, abs=4e-4)
    [told] = [x for x in found.warnings if "at an end" in x]
    assert "x" in told


def test_a_share_of_the_samples_is_told_in_the_direction_that_is_asked_for(study):
    vary = {"shift": {"linear": (-3.0, 0.0, 10)}}
    for verb, words in (("minimise", "do not exceed"), ("maximise", "reach")):
        parameters = {"x": {"between": (-0.5, 0.5)}}
        asked = {verb: "size", "over": 0.9, "parameters": parameters}
        found = tune(study("half", asked, vary=vary, sampling="grid"))
        assert f"size that 90 % of the samples {words}" in found.verdict


def test_samples_that_are_no_rollouts_are_refused_by_the_gradient_method():
    scenario = {
        "robot": {"model": "planar_chain", "options": {"n": 1}},
        "task": {"kind": "hold", "at": (0.5,), "until": 0.2},
        "law": {"kp": 20.0, "kd": 1.0},
        "sampling": {"period": 0.01},
    }
    asked = {"minimise": "rms_error", "parameters": GAIN, "method": "gradient"}
    vary = {"integrator.method": {"values": ["DOP853", "RK45", "DOP853"]}}
    with pytest.raises(InputError, match=r"samples with .*RK45.* are none: integrator\.method"):
        tune(Study(scenario=scenario, vary=vary, sampling="list", tune=asked))
