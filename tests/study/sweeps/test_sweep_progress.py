"""What a user sees while a sweep runs, by a clock that the tests move."""

from __future__ import annotations

import re

import pytest

import appell
from appell.study import Study, sweep
from appell.study.sweeps import sweep_progress
from appell.study.sweeps.storage.dataset import parts
from appell.study.sweeps.sweep_progress import Bar, Lines, Progress, duration

FALL = {"robot": "planar_chain", "task": {"kind": "fall", "until": 0.05}}
SOME_FAIL = {"task.until": {"linear": (-0.01, 0.03, 40)}}  # s: those below zero are refused


@pytest.fixture
def clock(monkeypatch):
    """Time in seconds, [now]."""
    now = [100.0]
    monkeypatch.setattr(sweep_progress, "monotonic", lambda: now[0])
    return now


class Heard(Progress):
    """Keeps what is shown, and what is logged."""

    def __init__(self):
        self.shown, self.logged = [], []
        self.log = self.logged.append

    def show(self, text):
        self.shown.append(text)


def test_a_line_has_rate_time_left_and_failures(clock):
    heard = Heard()
    with heard.running(1000, 1000) as seen:
        assert seen.line() == "0 of 1,000 points, 0/s, unknown time left"
        clock[0] += 10
        seen.advance(100)
        assert seen.line() == "100 of 1,000 points, 10/s, 2 min left"
        seen.failed(3)
        clock[0] += 10
        seen.advance(300)
        assert seen.line() == "400 of 1,000 points, 20/s, 30 s left, 3 failed"
    assert heard.rate == 20


def test_what_was_there_before_counts_as_done_and_failed_but_not_for_the_rate(clock):
    heard = Heard()
    with heard.running(1000, 400, 7) as seen:
        clock[0] += 5
        seen.advance(50)
        assert seen.line() == "650 of 1,000 points, 10/s, 35 s left, 7 failed"
        seen.failed(2)
        assert seen.line().endswith(", 9 failed")


def test_a_line_is_shown_and_logged_every_half_minute(clock):
    heard = Heard()
    with heard.running(1000, 1000) as seen:
        for _ in range(65):
            clock[0] += 1
            seen.advance(1)
    assert heard.shown == [
        "30 of 1,000 points, 1/s, 16 min left",
        "60 of 1,000 points, 1/s, 16 min left",
    ]
    assert heard.logged == heard.shown


def test_lines_go_to_the_standard_error_output(clock, capsys):
    with Lines().running(100, 100) as seen:
        clock[0] += 30
        seen.advance(60)
    assert capsys.readouterr() == ("", "60 of 100 points, 2/s, 20 s left\n")


def test_the_bar_logs_its_lines_and_knows_earlier_failures(clock):
    bar, logged = Bar(), []
    bar.log = logged.append
    with bar.running(100, 60, 4) as seen:
        clock[0] += 30
        seen.advance(30)
    assert logged == ["70 of 100 points, 1/s, 30 s left, 4 failed"]
    assert bar.rate == 1


@pytest.mark.parametrize(
    ("seconds", "words"), [(12.4, "12 s"), (200, "3 min"), (7500, "2 h 5 min")]
)
def test_a_duration_in_words(seconds, words):
    assert duration(seconds) == words


def test_a_resumed_sweep_counts_the_failures_of_the_dataset(tmp_path, monkeypatch):
    study = Study(scenario=FALL, vary=SOME_FAIL, sampling="grid", block=4, method="runs")
    found = sweep(study, tmp_path / "x")
    assert found.failed[:8].all()
    parts(tmp_path / "x")[1].unlink()  # four points that failed
    monkeypatch.setattr(sweep_progress, "_EVERY", 0.0)  # s: a line at every step
    heard = Heard()
    sweep(study, tmp_path / "x", progress=heard)
    total = int(found.failed.sum())
    assert heard.shown[0] == "4 of 40 points to compute"
    assert heard.shown[1].startswith("points run one by one (method = 'runs')")
    assert {x.rpartition(", ")[2] for x in heard.shown[2:]} == {f"{total - 4} failed"}
    log = (tmp_path / "x" / "sweep.log").read_text().splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", line) for line in log)
    told = [line.partition(" ")[2] for line in log]
    again = told[told.index("done") + 1 :]
    assert again[:-1] == heard.shown
    assert again[-1] == "done"


@pytest.mark.parametrize(
    ("method", "cores", "workers", "told"),
    [
        ("auto", 8, None, "points run as rollouts"),
        ("runs", 1, None, "points run one by one (method = 'runs')"),
        ("runs", 8, None, "points run one by one (method = 'runs'), on one of 8 cores; "
                          "--workers 8 uses all of them"),
        ("runs", 8, 1, "points run one by one (method = 'runs')"),
    ],
)  # fmt: skip
def test_how_points_run_is_told_with_what_would_be_faster(method, cores, workers, told):
    heard = Heard()
    vary = {"start.v.joint1": {"linear": (0.0, 1.0, 2)}}
    study = Study(scenario=FALL, vary=vary, sampling="grid", method=method)
    appell.set_threads(cores)
    try:
        sweep(study, workers=workers, progress=heard)
    finally:
        appell.set_threads()
    assert told in heard.shown


def test_the_log_says_why_a_sweep_stopped(tmp_path):
    class Stop(Progress):
        def running(self, *given):
            raise KeyboardInterrupt("by the user")

    study = Study(scenario=FALL, vary=SOME_FAIL, sampling="grid", method="runs")
    with pytest.raises(KeyboardInterrupt):
        sweep(study, tmp_path / "x", progress=Stop())
    last = (tmp_path / "x" / "sweep.log").read_text().splitlines()[-1]
    assert last.endswith("stopped: KeyboardInterrupt: by the user")
