"""Lee's simulation: his claim, and what it rests on."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.papers import lee1982_control, lee1982_equivalence
from appell.papers.lee1982_control import (
    BIT,
    CONVERTER,
    DEFAULT,
    DURATIONS,
    GOAL,
    LAGRANGE_EULER,
    NEWTON_EULER,
    PATHS,
    START,
    computed_torque,
    followed,
    robot,
)


def test_every_joint_stays_within_a_bit():
    table = lee1982_control._claim()
    assert not table.failures
    assert len(table.rows) == 6
    largest = [row.ours[0] for row in table.rows]
    np.testing.assert_array_equal(largest, np.abs(followed().error).max(axis=0))


def test_the_claim_can_fail(monkeypatch):
    monkeypatch.setattr(lee1982_control, "BIT", 1e-4)
    failed = lee1982_control._claim().failures
    assert [row.what for row in failed] == [f"joint {j}" for j in range(1, 7)]
    assert len(lee1982_control._by_path().failures) > 6


def test_errors_are_counted_until_the_arm_is_at_rest():
    """A cubic stops with a jump of its acceleration, and errs most after its end."""
    run = followed("cubic", 2.0)
    on_the_way = np.abs(run.error[run.t <= 2.0]).max()
    assert on_the_way == pytest.approx(2.45e-4, rel=0.01)
    assert run.max_error == pytest.approx(8.17e-4, rel=0.001)
    assert run.t[-1] == pytest.approx(3.0)
    assert np.abs(run.v[-1]).max() < 1e-4


def test_a_run_that_ends_with_its_path_is_not_at_rest(monkeypatch):
    monkeypatch.setattr(lee1982_control, "REST", 0.02)
    followed.cache_clear()
    try:
        assert lee1982_control._stillness().failures
    finally:
        followed.cache_clear()


def test_gravity_is_the_papers():
    g = robot().model.gravity
    assert (g.x, g.y, g.z) == (0.0, 0.0, -9.8)


def test_law_and_arm_run_by_the_papers_equations(monkeypatch):
    asked = []

    def track(arm, law, path, **options):
        asked.append((law.formulation, options["formulation"]))
        return appell.control.track(arm, law, path, **options)

    monkeypatch.setattr(lee1982_control, "track", track)
    for formulation in (NEWTON_EULER, LAGRANGE_EULER):
        lee1982_control.followed.__wrapped__("cubic", 0.1, 0.01, formulation)
    assert asked == [(NEWTON_EULER, NEWTON_EULER), (LAGRANGE_EULER, LAGRANGE_EULER)]
    assert computed_torque(NEWTON_EULER).robot is robot()


def test_where_the_claim_fails_is_said_in_words():
    table = lee1982_control._by_path()
    assert not table.failures
    assert len(table.rows) == len(PATHS) * len(DURATIONS)
    failing = {row.what for row in table.rows if row.ours[0] == "no"}
    assert "cubic, 2 s" in failing
    assert "quintic, 2 s" not in failing
    assert "a cubic of 1 and 2 s, a quintic of 1 s" in table.note
    assert "our choice" in lee1982_control._claim().note


@pytest.mark.parametrize("formulation", [LAGRANGE_EULER, DEFAULT])
def test_a_wrong_formulation_makes_its_row_fail(monkeypatch, formulation):
    """A law whose torques are off by a millionth of the largest, and a run off by 1e-8 rad."""
    torques = lee1982_equivalence.torques

    def wrong(name, states):
        return torques(name, states) * (1 + 1e-6 * (name == formulation))

    assert not lee1982_equivalence.torques_table().failures
    monkeypatch.setattr(lee1982_equivalence, "torques", wrong)
    (row,) = lee1982_equivalence.torques_table().failures
    assert ("Lagrange" in row.what) == (formulation == LAGRANGE_EULER)

    class Off:
        def __init__(self, run):
            self.error, self.max_error = run.error + 1e-8, run.max_error + 1e-8

    def displaced(path="quintic", duration=2.0, period=0.01, formulation_=NEWTON_EULER, **by):
        name = by.get("formulation", formulation_)
        run = followed(path, duration, period, name)
        return Off(run) if name == formulation else run

    monkeypatch.setattr(lee1982_control, "followed", displaced)
    assert len(lee1982_control._claim().failures) == 6
    if formulation == DEFAULT:
        assert len(lee1982_control._by_path().failures) == 16


def test_the_processors_time_follows_from_its_instructions(reproduced):
    tables = reproduced("lee1982").tables[:2]
    table = lee1982_equivalence.processor_table(*tables)
    assert not table.failures
    # 690 multiplications of 3.75 us and 621 additions of 0.95 us.
    assert table.rows[0].ours[0] == pytest.approx(2.5875 + 0.58995)


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
    run = followed(adc=CONVERTER)
    assert 0.49 * BIT < np.abs(run.measured - run.q).max() < 0.51 * BIT


def test_pictures_have_a_line_a_joint():
    figure = lee1982_control.errors_picture.draw()
    assert len(figure.panels) == 6
    for j, axes in enumerate(figure.panels):
        np.testing.assert_array_equal(axes.lines[0].y, followed().error[:, j])


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
