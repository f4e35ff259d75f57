"""Figure 5 through the rig: joints follow their references without problems."""

from __future__ import annotations

import numpy as np
import pytest

from appell.papers import valera2003_rig
from appell.papers.valera2003_control import DURATION, REFERENCES, reference
from appell.papers.valera2003_rig import driven, picture


@pytest.mark.parametrize("of", REFERENCES)
def test_the_arm_follows(of):
    report = driven(of)
    assert report.ok, report.reason
    on = report.following
    error = np.degrees(np.abs(report.error[on]))
    assert error.max() < 2.5
    settled = report.t[on] - report.t[on][0]
    assert error[(settled > 0.5) & (settled < DURATION)].max() < 1.0
    assert np.abs(report.volts).max() < 10
    np.testing.assert_allclose(
        report.qd[on][: round(1000 * DURATION)],
        reference(of)(np.arange(round(1000 * DURATION)) / 1000)[0],
        atol=1e-9,
    )


def test_the_figure_has_both_references():
    made = picture()
    assert made.title.startswith("Figure 5")
    assert [len(axes.lines) for axes in made.draw().axes] == [12, 12]


def test_tables_hold_what_was_run(monkeypatch):
    monkeypatch.setattr(valera2003_rig, "cycle_time", lambda: 1e-4)
    followed, cycle = valera2003_rig.tables()
    assert [row.what for row in followed.rows] == list(REFERENCES)
    assert followed.rows[0].ours[3] == driven("ramp").cycles
    assert cycle.rows[0].ours == [0.225, 0.061, pytest.approx(0.1)]


def test_a_cycle_is_timed():
    assert 1e-6 < valera2003_rig.cycle_time(20) < 1.0
