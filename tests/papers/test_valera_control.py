"""Valera's controllers: what the paper says of them comes out."""

from __future__ import annotations

import numpy as np
import pytest

from appell.papers import valera2003_control
from appell.papers.valera2003_control import (
    CONTROLLERS,
    DURATION,
    POINTS,
    REFERENCES,
    controller,
    followed,
    pictures,
    reference,
)

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


def test_figures_three_and_four_are_there():
    shown = pictures()
    assert [p.title.partition(":")[0] for p in shown[:2]] == ["Figure 3", "Figure 4"]


def test_a_controllers_step_is_timed(monkeypatch):
    monkeypatch.setattr(valera2003_control, "quickest", lambda work, calls: 2e-6 if work() else 0)
    rows = valera2003_control._step().rows
    assert [row.ours for row in rows] == [[0.225, 0.061, pytest.approx(2e-3)]] * 3
