"""Valera's controllers: what the paper says of them comes out."""

from __future__ import annotations

import numpy as np
import pytest

from appell.papers import valera2003_control, valera2003_line
from appell.papers.valera2003_control import (
    CONTROLLERS,
    DURATION,
    POINTS,
    REFERENCES,
    controller,
    followed,
    reference,
)
from appell.papers.valera2003_line import DEFAULT, PAPER

POINT, TRACKING, INTEGRAL = CONTROLLERS


@pytest.mark.parametrize("of", REFERENCES)
def test_references_lead_from_the_first_point_to_the_last(of):
    way = reference(of)
    assert way.duration == pytest.approx(DURATION)
    np.testing.assert_allclose(way(np.array([0.0, DURATION]))[0], POINTS[[0, -1]], atol=1e-12)


@pytest.mark.parametrize("name", CONTROLLERS)
def test_all_poles_are_at_minus_ten(name):
    law = controller(name)
    polynomial = [1.0, law.kd[0], law.kp[0], *([law.ki[0]] if name == INTEGRAL else [])]
    np.testing.assert_allclose(np.roots(polynomial), -10, rtol=1e-4)


def test_joints_follow_without_problems():
    """Figure 5: with integral action, friction and an unknown load, within half a degree."""
    for of in REFERENCES:
        run = followed(INTEGRAL, of, "friction and unknown load")
        moving = (run.t > 0.3) & (run.t <= DURATION)
        assert np.degrees(np.abs(run.error[moving]).max()) < 0.5


def test_point_to_point_lags_where_tracking_follows():
    lag = followed(POINT, "spline", "exact model").max_error
    assert lag > 100 * followed(TRACKING, "spline", "exact model").max_error


def test_an_error_of_the_model_displaces_the_equilibrium():
    loaded = "unknown load"
    assert followed(TRACKING, "ramp", "exact model").final_error < 1e-9
    assert followed(TRACKING, "ramp", loaded).final_error > 0.01
    assert followed(INTEGRAL, "ramp", loaded).final_error < 1e-8


def test_the_dead_zone_leaves_an_error_that_integral_action_lessens():
    assert followed(TRACKING, "ramp", "friction").final_error > 0.01
    assert followed(INTEGRAL, "ramp", "friction").final_error < 1e-3


def test_what_the_paper_says_comes_out():
    for table in (valera2003_control._statements(), valera2003_control._equations()):
        assert table.compared
        assert not table.failures


def test_laws_and_arm_run_by_the_papers_equations(monkeypatch):
    asked = []

    def track(arm, law, way, **options):
        asked.append((law.formulation, options["formulation"]))

    monkeypatch.setattr(valera2003_control, "track", track)
    for formulation in (PAPER, DEFAULT):
        followed.__wrapped__(TRACKING, "ramp", "friction", formulation)
    assert asked == [("gibbs_vector", "gibbs_vector"), ("gibbs_lean", "gibbs_lean")]
    assert controller(TRACKING).formulation == "gibbs_vector"


def test_a_wrong_formulation_makes_its_rows_fail(monkeypatch):
    class Off:
        def __init__(self, run):
            self.q = run.q + 1e-8

    def displaced(name, of, situation, formulation=PAPER):
        run = followed(name, of, situation, formulation)
        return Off(run) if formulation == PAPER else run

    monkeypatch.setattr(valera2003_control, "followed", displaced)
    assert len(valera2003_control._equations().failures) == len(valera2003_control.SITUATIONS)


def test_a_controller_that_does_not_do_what_the_paper_says_makes_its_row_fail(monkeypatch):
    """Every row, by runs in which each situation is another one."""
    others = {"exact model": "friction", "friction": "exact model", "unknown load": "friction"}
    right = {row.what: row for row in valera2003_control._statements().rows}

    def swapped(name, of, situation, formulation=PAPER):
        return followed(name, of, others.get(situation, situation), formulation)

    monkeypatch.setattr(valera2003_control, "followed", swapped)
    failed = {row.what for row in valera2003_control._statements().failures}
    assert failed >= {what for what in right if what.endswith("left")}


def test_figures_three_and_four_are_there():
    shown = valera2003_line.pictures()
    assert [p.title.partition(":")[0] for p in shown] == ["Figure 3", "Figure 4"]
    assert "left-up-flip, one of the four" in shown[0].caption


def test_a_controllers_step_is_timed(monkeypatch):
    monkeypatch.setattr(valera2003_control, "quickest", lambda work, calls: 2e-6 if work() else 0)
    rows = valera2003_control._step().rows
    assert [row.ours for row in rows] == [[0.225, 0.061, pytest.approx(2e-3)]] * 3
