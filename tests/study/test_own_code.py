"""Code that a scenario names as module:name is that of its own folder, wherever it runs."""

from __future__ import annotations

import json
import sys

import pytest

from appell.errors import InputError
from appell.show.scenario_report import write_scenario
from appell.study import read_scenario, run
from appell.study.own_code import imported
from appell.study.sweeps.bundle import bundle_of, opened
from appell.study.sweeps.study_file import checked_study

NAME = "named_twice"  # a module that nobody else has


@pytest.fixture(autouse=True)
def forgotten():
    yield
    for name in [x for x in sys.modules if x.startswith((NAME, "beside_it"))]:
        del sys.modules[name]


def folder_with(place, torque):
    """A folder with a scenario whose torque is a function of a module that imports another."""
    place.mkdir(parents=True)
    (place / "beside_it.py").write_text(f"TORQUE = {torque}\n")
    code = "from beside_it import TORQUE\ndef tau(t, q, v):\n    return [TORQUE]\n"
    (place / f"{NAME}.py").write_text(code)
    task = {"kind": "torque", "until": 0.1, "torque": f"{NAME}:tau"}
    data = {"robot": {"model": "planar_chain", "options": {"n": 1}}, "task": task}
    (place / "s.json").write_text(json.dumps(data))
    return place / "s.json"


def test_each_folder_runs_its_own_module(tmp_path):
    files = [folder_with(tmp_path / f"f{k}", float(k)) for k in (1, 2)]
    for k in (0, 1, 0):
        assert (run(read_scenario(files[k])).run.tau == k + 1).all()
    functions = [imported(f"{NAME}:tau", file.parent) for file in files]
    assert functions[0].__module__ != functions[1].__module__
    assert functions == [imported(f"{NAME}:tau", file.parent) for file in files]


def test_what_a_run_leaves_finds_its_code_from_anywhere(tmp_path, monkeypatch):
    file = folder_with(tmp_path / "here", 3.0)
    saved = run(read_scenario(file)).save(tmp_path / "there" / "run")
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    scenario = read_scenario(saved / "scenario.json")
    assert scenario.task.torque == f"../../here/{NAME}:tau"
    assert (run(scenario).run.tau == 3).all()
    study = {"scenario": str(saved / "scenario.json"), "points": 1}
    study |= {"vary": {"start.v": {"values": [[0.1]]}}}
    taken = opened(bundle_of(checked_study(study)))
    assert (run(taken.base).run.tau == 3).all()


def test_a_module_that_is_not_there_is_refused(tmp_path):
    for name in (f"{NAME}:tau", f"../{NAME}:tau", "tau"):
        with pytest.raises(InputError, match="expected module:name"):
            imported(name, tmp_path)


def test_force_leaves_nothing_of_the_run_before(tmp_path):
    file = folder_with(tmp_path / "here", 3.0)
    first = read_scenario(file)
    write_scenario(run(first), tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    write_scenario(run(first.changed({"outputs.npz": False})), tmp_path / "out", force=True)
    names = {x.name for x in (tmp_path / "out").iterdir()}
    assert names == {"notes.txt", "report.html", "summary.json", "scenario.json", "motion.csv"}
