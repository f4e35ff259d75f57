"""Studies that would give wrong columns, or none, are refused before a point is computed."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from appell.cli import app
from appell.errors import InputError
from appell.study import Study, read_study, sweep, tune
from appell.study.sweeps.design import Design
from appell.study.sweeps.study_file import checked_study

FUNCTIONS = """
import sys

def plain(x, **others):
    return {"y": x}

def named_as_its_variable(x):
    return {"x": 100 * x}

def named_as_a_column(x):
    return {"failed": 1.0}

def sometimes_a_number(x):
    return {"y": [1.0, float("inf"), float("nan")][round(2 * x)]}

def leaves(x):
    sys.exit("bye")
"""


def _study(tmp_path, function, vary="x = {linear = [0, 1, 3]}"):
    (tmp_path / "swept_functions.py").write_text(FUNCTIONS)
    text = f'function = "swept_functions:{function}"\nsampling = "grid"\n[vary]\n{vary}\n'
    (tmp_path / "study.toml").write_text(text)
    return read_study(tmp_path / "study.toml")


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("named_as_its_variable", "'x' is a variable and a measure"),
        ("named_as_a_column", "the name 'failed'"),
        ("nowhere", "no attribute 'nowhere'"),
    ],
)
def test_measures_take_no_other_column_s_name(tmp_path, function, told):
    with pytest.raises(InputError, match=told):
        sweep(_study(tmp_path, function))


def test_a_function_that_is_tuned_gets_each_number_once_and_is_there(tmp_path):
    swept = _study(tmp_path, "plain", '"a.b" = {values = [1.0]}')
    asked = {"minimise": "y", "parameters": {"a_b": {"between": (0.0, 1.0)}}}
    parameters = checked_study(swept.model_dump(exclude_none=True) | {"tune": asked}, swept.source)
    with pytest.raises(InputError, match="'a_b' varies, too"):
        tune(parameters)
    with pytest.raises(InputError, match="no_such_module"):
        tune(Study(function="no_such_module:f", tune=asked))


def test_the_table_counts_what_it_leaves_out(tmp_path, monkeypatch):
    _study(tmp_path, "sometimes_a_number")
    monkeypatch.chdir(tmp_path)
    printed = CliRunner().invoke(app, ["sweep", "study.toml"]).output
    assert "y: 1 of 2 are infinite" in printed
    assert "y: 1 of the 3 that did not fail have no number" in printed


def test_a_point_of_a_folder_is_run_by_itself(tmp_path, monkeypatch):
    """The command that a report gives where it does not know the study's file."""
    sweep(_study(tmp_path, "plain"), tmp_path / "kept")
    (tmp_path / "swept_functions.py").unlink()
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(app, ["sweep", "kept", "--point", "1", "--json"])
    assert json.loads(told.output)["measures"] == {"y": 0.5}


def test_a_function_that_exits_is_a_failed_point(tmp_path):
    found = sweep(_study(tmp_path, "leaves"))
    assert found.failed.all()
    assert found.reasons() == {"SystemExit: bye": 3}


@pytest.mark.parametrize(
    ("vary", "told"),
    [
        ("point = {values = [1]}", "'point' is a column of every sweep"),
        ('"a.b" = {values = [1]}\na_b = {values = [1]}', "'a.b' and 'a_b' are the same argument"),
        ('x = {values = [1, "two"]}', "several kinds"),
        ("x = {values = [1.0, true]}", "several kinds"),
        ("x = {whole = [0, 10000000000000000000000]}", "less than or equal"),
        ("x = {uniform = [-1e308, 1e308]}", "expected from < to"),
    ],
)
def test_variables_that_no_table_holds(tmp_path, vary, told):
    with pytest.raises(InputError, match=told):
        _study(tmp_path, "plain", vary)


def test_a_syntax_error_is_told_with_its_module(tmp_path):
    (tmp_path / "broken_module.py").write_text("def f(:")
    (tmp_path / "study.toml").write_text(
        'function = "broken_module:f"\npoints = 1\n[vary]\nx = {uniform = [0, 1]}\n'
    )
    with pytest.raises(InputError, match="broken_module:f': SyntaxError"):
        sweep(tmp_path / "study.toml")


def test_so_many_points_are_refused_at_once():
    many = {name: {"linear": (0.0, 1.0, 10_000)} for name in "abcd"}
    with pytest.raises(InputError, match="points; expected 1,073,741,824 at most"):
        _ = Design(Study(function="x:y", vary=many, sampling="grid")).count


def test_refusals_are_told_in_their_own_words():
    with pytest.raises(InputError, match=r"^the study: nothing varies; expected at least one"):
        checked_study({"function": "x:y"})


def test_whole_values_stay_whole():
    scenario = {"robot": {"model": "planar_chain"}, "task": {"kind": "fall", "until": 0.01}}
    vary = {"robot.options.n": {"values": (1, 2)}}
    found = sweep(Study(scenario=scenario, vary=vary, sampling="list", measures=("peak_speed",)))
    assert not found.failed.any()
    assert found["robot.options.n"].tolist() == [1, 2]


def test_a_field_that_counts_asks_for_whole_numbers():
    told = r"sampling\.delay = 1\.5: expected a whole number.* Give whole = \[from, to\]\."
    with pytest.raises(InputError, match=told):
        sweep(Study(scenario=MOVE, vary={"sampling.delay": {"uniform": (0.0, 3.0)}}, points=4))
    found = sweep(Study(scenario=MOVE, vary={"sampling.delay": {"whole": (0, 2)}}, points=4))
    assert not found.failed.any()


PARTS = [
    {"a": {"values": [2.0], "scales": ["law.kp"]}, "b": {"values": [3.0], "scales": ["law.kp.1"]}},
    {"law.kp.1": {"values": [300.0]}, "b": {"values": [2.0], "scales": ["law.kp"]}},
    {"law.kp.0": {"values": [300.0]}, "law.kp": {"values": [50.0]}},
]
MOVE = {
    "robot": {"model": "planar_chain", "options": {"n": 2}},
    "start": {"q": [0.2, -0.4]},
    "task": {"kind": "moves", "moves": [{"to": [0.7, 0.3], "duration": 0.2}]},
    "law": {"name": "computed-torque", "kp": [100.0, 120.0]},
}


@pytest.mark.parametrize("vary", PARTS)
def test_a_field_and_a_part_of_it_do_not_both_vary(vary):
    with pytest.raises(InputError, match=r"'law\.kp\.\d' is a part of 'law\.kp'"):
        sweep(Study(scenario=MOVE, vary=vary, sampling="grid"))


def test_a_field_and_a_part_of_it_are_not_both_tuned_or_varied():
    whole = {"all": {"between": (0.5, 3.0), "scales": ["law.kp"]}}
    part = {"between": (0.5, 3.0), "scales": ["law.kp.1"]}
    for vary, parameters in [
        ({}, whole | {"second": part}),
        ({"law.kp.1": {"uniform": (1.0, 2.0)}}, whole),
    ]:
        asked = {"parameters": parameters, "minimise": "rms_error"}
        study = Study(scenario=MOVE, vary=vary, points=4 if vary else None, tune=asked)
        with pytest.raises(InputError, match="is a part of"):
            tune(study)


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([("a", "a")], "goes with itself"),
        ([("a", "b"), ("b", "a")], "goes with the same one, twice"),
    ],
)
def test_a_variable_goes_with_another_one_and_once(pairs, told):
    vary = {name: {"normal": (0.0, 1.0)} for name in "ab"}
    correlated = [{"between": pair, "coefficient": 0.25} for pair in pairs]
    data = {"function": "math:hypot", "vary": vary, "points": 8, "correlated": correlated}
    with pytest.raises(InputError, match=told):
        checked_study(data)


def test_a_function_that_does_not_take_the_variables_is_refused_at_once(tmp_path):
    study = _study(tmp_path, "leaves", "x = {linear = [0, 1, 3]}\ny = {linear = [0, 1, 3]}")
    with pytest.raises(InputError, match=r"leaves\(x\): .*'y'; it is called with .* x, y"):
        sweep(study)


def test_what_is_wrong_in_a_study_is_told_with_its_file_and_line(tmp_path):
    (tmp_path / "move.json").write_text(json.dumps(MOVE))
    told = {
        '[vary]\n"law.kpp" = {uniform = [1, 2]}': r"study\.toml:4: vary\.law\.kpp: ",
        'measures = ["efort"]\n[vary]\n"law.kd" = {uniform = [1, 2]}':
            r"study\.toml:3: measures: there is no 'efort'; did you mean 'effort'",
        'measures = ["q.joint9"]\n[vary]\n"law.kd" = {uniform = [1, 2]}':
            r"study\.toml:3: measures: 'q\.joint9'",
        '[vary]\n"law.kd.1" = {uniform = [1, 2]}': r"'law\.kd' is .*an array",
    }  # fmt: skip
    for text, problem in told.items():
        (tmp_path / "study.toml").write_text(f'scenario = "move.json"\npoints = 4\n{text}\n')
        if "law.kd.1" in text:
            (tmp_path / "move.json").write_text(
                json.dumps(MOVE | {"law": {"name": "computed-torque", "kd": 20.0}})
            )
        with pytest.raises(InputError, match=problem):
            sweep(tmp_path / "study.toml")


CHAIN = {
    "robot": {"model": "planar_chain", "options": {"n": 2}},
    "task": {"kind": "fall", "until": 0.1},
}


def test_what_is_zero_has_nothing_to_scale():
    """Also where a default is zero: a factor of nothing would look as if it did not matter."""
    scenario = CHAIN | {"robot": CHAIN["robot"] | {"friction": {"viscous": [0.1, 0.1]}}}
    vary = {"factor": {"uniform": (0.5, 1.5), "scales": ("robot.friction.coulomb",)}}
    with pytest.raises(InputError, match=r"'robot\.friction\.coulomb' is (zero|not) in the scen"):
        sweep(Study(scenario=scenario, vary=vary, points=2))
    vary = {"factor": {"uniform": (0.5, 1.5), "scales": ("robot.gravity",)}}
    weightless = CHAIN | {"robot": CHAIN["robot"] | {"gravity": [0, 0, 0]}}
    with pytest.raises(InputError, match=r"'robot\.gravity' is zero in the scenario"):
        sweep(Study(scenario=weightless, vary=vary, points=2))


def test_paths_may_stand_without_quotes():
    """TOML makes tables of them: law.kp = {...} is law = {kp = {...}}."""
    entry = {"uniform": [0, 1]}
    plain = checked_study({"scenario": CHAIN, "points": 2, "vary": {"start.v.joint1": entry}})
    nested = {"start": {"v": {"joint1": entry}}}
    assert checked_study({"scenario": CHAIN, "points": 2, "vary": nested}) == plain
    twice = nested | {"start.v.joint1": entry}
    with pytest.raises(InputError, match=r"'start\.v\.joint1' is given twice"):
        checked_study({"scenario": CHAIN, "points": 2, "vary": twice})
    tune = {
        "minimise": "peak_speed",
        "parameters": {"start": {"v": {"joint1": {"between": [0, 1]}}}},
        "constraints": {"peak_speed": {"joint1": {"at_most": 3}}},
    }
    asked = checked_study({"scenario": CHAIN, "tune": tune}).tune
    assert [*asked.parameters, *asked.constraints] == ["start.v.joint1", "peak_speed.joint1"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"vary": {"start.v.joint1": [0, 1]}},
            r"joint1 = \[0, 1\]: expected a table, such as {unif",
        ),
        ({"vary": {"start.v.joint1": {"uniform": [0, 1, 2]}}}, "expected 2 entries at most"),
        ({"tolerance": -1.0}, "tolerance = -1.0: expected"),
        ({"tune": {"minimise": "peak_speed", "parameters": {"x": 3}}}, r"such as {between = "),
    ],
)
def test_mistakes_are_told_with_what_is_expected(more, told):
    data = {"scenario": CHAIN, "points": 2, "vary": {"start.v.joint1": {"uniform": [0, 1]}}} | more
    with pytest.raises(InputError, match=told):
        checked_study(data)


def test_a_tolerance_of_other_joints_is_refused_at_once():
    vary = {"start.v.joint1": {"uniform": (0.0, 1.0)}}
    with pytest.raises(
        InputError, match="tolerance: 3 numbers; expected one for all joints, or one"
    ):
        sweep(Study(scenario=CHAIN, vary=vary, points=2, tolerance=(0.1, 0.1, 0.1)))


def test_only_a_field_that_takes_whole_numbers_is_told_to():
    scenario = CHAIN | {"start": {"v": [0.1, 0.2]}}
    with pytest.raises(InputError, match="'joint1' is not in it") as told:
        sweep(Study(scenario=scenario, vary={"start.v.joint1": {"uniform": (0, 1)}}, points=2))
    assert "whole = [from, to]" not in str(told.value)
