"""Lee's simulation: his claim, and what it rests on."""

from __future__ import annotations

import numpy as np
import pytest

from appell.papers import lee1982_control
from appell.papers.lee1982_control import BIT, GOAL, PATHS, START, followed, through_a_converter


def test_every_joint_stays_within_a_bit():
    table = lee1982_control._claim()
    assert not table.failures
    assert len(table.rows) == 6
    largest = [row.ours[0] for row in table.rows]
    np.testing.assert_array_equal(largest, np.abs(followed().error).max(axis=0))


def test_the_claim_can_fail(monkeypatch):
    monkeypatch.setattr(lee1982_control, "BIT", 1e-4)
    failed = lee1982_control._claim().failures
    assert [row.what for row in failed] == [f"joint {j}" for j in (1, 3, 4, 5, 6)]


def test_the_motion_is_the_papers():
    run = followed()
    np.testing.assert_allclose(np.degrees(run.q[0]), [90, 0, 90, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(np.degrees(run.desired[-1]), [45, 30, 0, 45, 60, 90], atol=1e-9)
    assert run.t[1] == 0.01


def test_errors_oscillate_about_the_set_points():
    """As the paper says of its figures: every joint's error changes its sign."""
    error = followed().error[1:]
    assert (error.max(axis=0) > 2e-5).all()
    assert (error.min(axis=0) < -2e-5).all()


@pytest.mark.parametrize("path", PATHS)
def test_paths_lead_from_start_to_goal_at_rest(path):
    way = PATHS[path](START, GOAL, 3.0)
    assert way.duration == pytest.approx(3.0)
    q, v, _ = way(np.array([0.0, 3.0]))
    np.testing.assert_allclose(q, [START, GOAL], atol=1e-12)
    np.testing.assert_allclose(v, 0, atol=1e-12)


def test_a_faster_motion_does_not_stay_within_a_bit():
    assert followed("quintic", 1.0).max_error > BIT > followed("quintic", 3.0).max_error


def test_a_converter_of_the_papers_bit():
    run = through_a_converter()
    assert 0.49 * BIT < np.abs(run.measured - run.q).max() < 0.51 * BIT


def test_pictures_have_a_line_a_joint():
    figure = lee1982_control.errors_picture()
    assert len(figure.axes) == 6
    for j, axes in enumerate(figure.axes):
        np.testing.assert_allclose(axes.lines[0].get_ydata(), 1e4 * followed().error[:, j])


def test_steps_are_timed(monkeypatch):
    tried = []

    def quickest(work, calls=1):
        made = work()
        tried.append((made[0] if isinstance(made, tuple) else made).shape)
        return 1e-6

    monkeypatch.setattr(lee1982_control, "quickest", quickest)
    (row,) = lee1982_control._step().rows
    assert row.ours == (3.0, pytest.approx(1e-3), pytest.approx(1e-7))
    assert tried == [(6,), (10_000, 6)]
