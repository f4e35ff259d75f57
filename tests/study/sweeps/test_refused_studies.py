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
    assert "y: 1 of 3 have none" in printed


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
