"""The charts of a tune show every evaluation, or say how many they leave out."""

from __future__ import annotations

import re

import numpy as np
import pytest

from appell.charts.chart import Chart, Level, Line, Panel
from appell.show.tuning_report import html
from appell.study import Study, tune
from appell.study.tuning.tune_charts import convergence, convergence_caption, samples_caption

ARM = {
    "robot": {"model": "planar_chain", "options": {"n": 1}, "gravity": (0.0, 0.0, 0.0)},
    "start": {"q": (0.0,)},
    "task": {"kind": "hold", "at": (0.5,), "until": 0.5},
    "law": {"kp": 20.0, "kd": 1.0, "believes": {"payload": {"mass": 0.0}}},
    "sampling": {"period": 0.01},
}
ASKED = {
    "minimise": "rms_error", "over": "worst", "iterations": 1,
    "parameters": {"law.kd": {"between": (0.5, 30.0)}},
}  # fmt: skip


@pytest.fixture(scope="module")
def tuned():
    vary = {"robot.payload.mass": {"linear": (0.0, 1.0, 3)}}
    return tune(Study(scenario=ARM, vary=vary, sampling="grid", tune=ASKED))


class Told:
    """A tune with a history of its own."""

    def __init__(self, tuned, objective, feasible, before=np.nan):
        self._tuned, self.objective_before = tuned, before
        self.history = {"objective": np.array(objective), "feasible": np.array(feasible)}
        worth = np.where(feasible, objective, np.inf)
        best = np.minimum.accumulate(worth)
        self.best_so_far = np.where(np.isinf(best), np.nan, best)

    def __getattr__(self, name):
        return getattr(self._tuned, name)


def test_every_evaluation_is_on_the_axis_kept_or_not(tuned):
    told = Told(tuned, [0.5, 0.305, 0.4, 0.310, 0.36], [True, False, True, False, True], 0.5)
    [panel] = convergence(told).panels
    low, high = panel.visible_range()
    assert low < 0.305
    assert high > 0.5
    assert "utside" not in convergence_caption(told, 1200)


@pytest.mark.parametrize("sign", [1, -1])
def test_evaluations_that_are_left_out_are_counted(tuned, sign):
    objective = sign * np.concatenate([np.linspace(-1, -0.9, 58), [1e4, 2e4]])
    told = Told(tuned, objective, np.ones(60, dtype=bool))
    [panel] = convergence(told).panels
    low, high = panel.visible_range()
    outside = int(((objective < low) | (objective > high)).sum())
    assert outside == (2 if sign > 0 else 0)  # the best is never left out
    told_so = "Outside the axis: 2 of 60 evaluations" in convergence_caption(told, 1200)
    assert told_so is (outside == 2)


def test_evaluations_without_a_number_and_thinned_ones_are_told(tuned):
    told = Told(tuned, [0.5, np.inf, 0.4], [True, False, True])
    assert "Not drawn: 1 of 3 evaluations" in convergence_caption(told, 1200)
    assert "Every evaluation" not in convergence_caption(told, 2)
    nothing = Told(tuned, [np.nan, np.nan], [False, False])
    assert convergence(nothing).panels[0].lines == []


def test_the_axis_counts_and_the_best_holds(tuned):
    [panel] = convergence(tuned).panels
    assert panel.counts
    assert panel.lines[0].drawn == "held"
    assert {line.drawn for line in panel.lines[1:]} <= {"dots", "crosses"}  # over the line
    assert len({line.colour for line in panel.lines}) == len(panel.lines)


def test_bounds_are_told_where_they_are_drawn():
    line, level = Line("", [0, 1], [1.0, 2.0]), Level(1e6, "at most 1e6")
    assert "bounds" not in samples_caption(Chart([Panel("", "y", [line], levels=[level])]))
    near = Level(2.1, "at most 2.1")
    assert "bounds" in samples_caption(Chart([Panel("", "y", [line], levels=[near])]))


def test_a_warning_is_no_error(tuned):
    page = html(tuned)
    assert tuned.warnings
    assert '<ul class="warnings">' in page
    assert "warnings bad" not in page.partition("</style>")[2]
    red = re.search(r"--bad: (#\w+)", page).group(1)
    assert f"border-left: 3px solid {red}" not in page
    assert "robot.payload.mass, kg" in page
