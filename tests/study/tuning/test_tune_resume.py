"""A tune that was killed goes on where it stood, and comes to the same bits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from appell import AppellError, InputError
from appell.study import Study, tune
from appell.study.tuning import tune as tune_module
from appell.study.tuning.tune_folder import TuneFolder
from appell.study.tuning.tune_progress import TuneProgress
from appell.whole_file import DiskError

STUDY = """
[scenario]
robot = {model = "planar_chain", options = {n = 1}}
task = {kind = "hold", at = [0.5], until = 0.5}
law = {kp = 20.0, kd = 1.0, believes = {payload = {mass = 0}}}
[vary]
"robot.payload.mass" = {linear = [0, 1, 3]}
[tune]
minimise = "rms_error"
over = "worst"
method = "%s"
iterations = %d
parameters = {"law.kp" = {between = [10, 60]}, "law.kd" = {between = [0.5, 30], logarithmic = true}}
constraints = {peak_torque = {at_most = 40}}
"""
HEAD = 'sampling = "grid"\ntitle = "Gains"\n'

# Kills itself while an evaluation is written: half a line is on the disk.
KILLED = """
import os, signal, sys
from appell.cli import app
from appell.study.tuning.tune_folder import TuneFolder
write, calls = TuneFolder._write, 0
def torn(self, line):
    global calls
    calls += 1
    if calls == {call}:
        self._file.write(b'{{"kind": "value", "x": [1.0, 2.0], "obj')
        self._file.flush()
        os.kill(os.getpid(), signal.{signal})
    write(self, line)
TuneFolder._write = torn
sys.argv = ["appell", "tune", "study.toml", "-o", "tuned", "-q"]
if "{signal}" == "SIGINT":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
app()
"""


def command(folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "appell", "tune", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=600, env={**os.environ, **environment},
    )  # fmt: skip


def died(folder, call, how="SIGKILL"):
    code = KILLED.format(call=call, signal=how)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=600
    )


@pytest.mark.parametrize(("method", "iterations"), [("gradient", 8), ("differential_evolution", 4)])
def test_a_killed_tune_goes_on_and_ends_with_the_same_bits(tmp_path, method, iterations):
    (tmp_path / "study.toml").write_text(HEAD + STUDY % (method, iterations))
    whole = command(tmp_path, "study.toml", "-o", "whole")
    assert whole.returncode == 0, whole.stderr
    evaluations = (tmp_path / "whole" / "evaluations.jsonl").read_bytes()
    half = evaluations.count(b"\n") // 2
    for call in (3, half) if method == "differential_evolution" else (half,):
        done = died(tmp_path, call)
        assert done.returncode == -signal.SIGKILL, done.stderr
        kept = (tmp_path / "tuned" / "evaluations.jsonl").read_bytes()
        assert kept.endswith(b'"obj')
        assert evaluations.startswith(kept.rpartition(b"\n")[0])
        assert not (tmp_path / "tuned" / "summary.json").exists()
    again = command(tmp_path, "study.toml", "-o", "tuned", OPENBLAS_NUM_THREADS="1")
    assert again.returncode == 0, again.stderr
    assert "continues from" in again.stderr
    for name in ("evaluations.jsonl", "summary.json", "scenario.json"):
        one, other = ((tmp_path / x / name).read_bytes() for x in ("whole", "tuned"))
        assert one == other, name
    # Once more, nothing is computed: no line is added.
    once_more = tune(tmp_path / "study.toml", tmp_path / "tuned")
    assert once_more.ok
    assert (tmp_path / "tuned" / "evaluations.jsonl").read_bytes() == evaluations


def test_an_interrupted_tune_tells_the_best_so_far(tmp_path):
    (tmp_path / "study.toml").write_text(HEAD + STUDY % ("differential_evolution", 4))
    done = died(tmp_path, 40, "SIGINT")
    assert done.returncode == 130, done.stderr
    assert "Interrupted: this is the best so far" in done.stderr
    assert "Traceback" not in done.stderr
    summary = json.loads((tmp_path / "tuned" / "summary.json").read_text())
    assert summary["interrupted"]
    assert summary["verdict"].startswith("interrupted; so far, worst rms_error fell from")
    assert "Interrupted; so far" in (tmp_path / "tuned" / "report.html").read_text()


# In one process

BOWL = """
import os
def bowl(x, y):
    with open("calls", "a") as file:
        file.write("x")
    return (x - 1) ** 2 + (y + 2) ** 2
"""
TUNE = {
    "minimise": "bowl", "iterations": 3, "population": 4, "seed": 3,
    "parameters": {"x": {"between": (-4.0, 4.0)}, "y": {"between": (-4.0, 4.0)}},
}  # fmt: skip


@pytest.fixture
def bowl(tmp_path, monkeypatch):
    """(**entries of tune) -> the study of a function that writes down its calls."""
    (tmp_path / "a_bowl.py").write_text(BOWL)
    monkeypatch.chdir(tmp_path)
    return lambda **more: Study(function="a_bowl:bowl", tune=TUNE | more)


def calls(folder):
    return len((folder / "calls").read_text())


def test_what_is_kept_is_not_computed_again_and_more_iterations_go_on(bowl, tmp_path):
    first = tune(bowl(), tmp_path / "tuned")
    made = calls(tmp_path)
    assert len(first.history["objective"]) == made  # each is computed once
    again = tune(bowl(), tmp_path / "tuned")
    assert calls(tmp_path) <= made + 1  # the samples of the best, for the report
    assert again.summary() == first.summary()
    before = calls(tmp_path)
    further = tune(bowl(iterations=6), tmp_path / "tuned")
    assert calls(tmp_path) > before
    assert len(further.history["objective"]) > made
    fresh = tune(bowl(iterations=6), tmp_path / "fresh")
    assert fresh.summary() == further.summary()
    assert fresh.parameters == further.parameters


def test_another_study_is_refused_with_what_changed(bowl, tmp_path):
    tune(bowl(), tmp_path / "tuned")
    with pytest.raises(InputError, match=r"holds another tune: tune\.seed changed"):
        tune(bowl(seed=4), tmp_path / "tuned")
    (tmp_path / "a_bowl.py").write_text(BOWL + "\n# other\n")
    with pytest.raises(InputError, match=r"holds another tune: a_bowl\.py changed"):
        tune(bowl(), tmp_path / "tuned")


def test_other_versions_are_refused(bowl, tmp_path):
    tune(bowl(), tmp_path / "tuned")
    head = json.loads((tmp_path / "tuned" / "study.json").read_text())
    head["versions"]["numpy"] = "1.0"
    (tmp_path / "tuned" / "study.json").write_text(json.dumps(head))
    with pytest.raises(InputError, match="begun with other versions; here there is numpy"):
        tune(bowl(), tmp_path / "tuned")


def test_folders_that_hold_something_else_are_left_alone(bowl, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"no folder of a tune: it holds 'mine\.txt'"):
        tune(bowl(), tmp_path / "other")
    (tmp_path / "other" / "study.json").write_text('{"study": {}, "hash": "", "versions": {}}')
    with pytest.raises(InputError, match="is no folder of a tune"):
        tune(bowl(), tmp_path / "other")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        tune(bowl(), tmp_path / "file")


def test_two_processes_do_not_write_to_one_folder(bowl, tmp_path):
    class Second(TuneProgress):
        refused = ""

        def iterated(self, iteration):
            try:
                tune(bowl(), tmp_path / "tuned")
            except InputError as problem:
                self.refused = str(problem)

    second = Second()
    tune(bowl(), tmp_path / "tuned", progress=second)
    assert "is being written by another process" in second.refused


def test_a_damaged_line_is_computed_again(bowl, tmp_path):
    first = tune(bowl(), tmp_path / "tuned")
    path = tmp_path / "tuned" / "evaluations.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = b"\0" * len(lines[5])  # its end, too, so that the next line is a part of it
    path.write_bytes(b"".join([*lines[:5], damaged, *lines[6:]]))
    assert tune(bowl(), tmp_path / "tuned").summary() == first.summary()
    assert path.read_bytes() == b"".join([*lines[:5], *lines[7:], *lines[5:7]])  # both anew


def test_evaluations_of_another_study_are_not_taken(bowl, tmp_path):
    tune(bowl(), tmp_path / "one")
    tune(bowl(seed=4), tmp_path / "two")
    expected = (tmp_path / "two" / "summary.json").read_bytes()
    lines = (tmp_path / "one" / "evaluations.jsonl").read_bytes()
    (tmp_path / "two" / "evaluations.jsonl").write_bytes(lines)
    tune(bowl(seed=4), tmp_path / "two")
    assert (tmp_path / "two" / "summary.json").read_bytes() == expected
    assert "damaged, or of another study" in (tmp_path / "two" / "tune.log").read_text()


def test_a_full_disk_is_told_and_what_was_written_is_kept(bowl, tmp_path, monkeypatch):
    class Full:
        def __init__(self, file):
            self.file, self.lines = file, 0

        def write(self, text):
            self.lines += 1
            if self.lines > 4:
                raise OSError(28, "No space left on device")
            return self.file.write(text)

        def __getattr__(self, name):
            return getattr(self.file, name)

    class OnFullDisk(TuneFolder):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self._file = Full(self._file)

    with monkeypatch.context() as patched:
        patched.setattr(tune_module, "TuneFolder", OnFullDisk)
        with pytest.raises(
            DiskError, match=r"the disk is full; make room\. What was written before"
        ):
            tune(bowl(), tmp_path / "tuned")
    assert (tmp_path / "tuned" / "evaluations.jsonl").read_bytes().count(b"\n") == 4
    assert tune(bowl(), tmp_path / "tuned").summary() == tune(bowl()).summary()


# Workers

DEADLY = """
import os
def bowl(x, y):
    if x > 3:
        os.kill(os.getpid(), 9)
    if x < -3:
        raise ValueError("too far")
    return (x - 1) ** 2 + (y + 2) ** 2
"""


def test_workers_give_the_same_and_survive_points_that_kill_them(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deadly_bowl.py").write_text(DEADLY)
    asked = TUNE | {"iterations": 2, "population": 3}
    study = Study(function="deadly_bowl:bowl", tune=asked)
    found = tune(study, tmp_path / "tuned", workers=2)
    assert found.ok
    assert any("the workers that ran it died" in why for why in found.failures)
    (tmp_path / "deadly_bowl.py").write_text(
        DEADLY.replace("os.kill(os.getpid(), 9)", 'raise ValueError("died")')
    )
    alone = tune(study)
    assert alone.parameters == found.parameters
    assert alone.objective == found.objective
    for name, x in alone.history.items():
        assert (x == found.history[name]).all() or name == "objective", name


def test_workers_need_dask(bowl, tmp_path, monkeypatch):
    monkeypatch.setattr("appell.study.sweeps.require.find_spec", lambda name: None)
    with pytest.raises(AppellError, match=r"pip install 'appell\[cluster\]'"):
        tune(bowl(), workers=2)
