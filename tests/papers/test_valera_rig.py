"""Figure 5 through the rig: joints follow their references without problems."""

from __future__ import annotations

import numpy as np
import pytest

from appell.papers import valera2003_rig
from appell.papers.valera2003_control import DURATION, REFERENCES, reference
from appell.papers.valera2003_rig import Mirror, driven, positions_picture
from appell.rig.log.log_file import LogWriter


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
    assert positions_picture.title.startswith("Figure 5")
    assert [len(panel.lines) for panel in positions_picture.draw().panels] == [12, 12]


def test_tables_hold_what_was_run(monkeypatch):
    monkeypatch.setattr(valera2003_rig, "cycle_times", lambda *_, **__: (1e-4, 2e-4))
    followed, cycle = valera2003_rig.tables()
    assert [row.what for row in followed.rows] == list(REFERENCES)
    assert not followed.failures
    assert followed.rows[0].ours[2] == np.abs(driven("ramp").volts).max()
    assert cycle.columns[-1] == "ours, this machine"
    assert cycle.rows[0].ours == [0.225, 0.061, None]
    assert [row.ours[2] for row in cycle.rows[1:]] == [pytest.approx(x) for x in (0.1, 0.2, 0.2)]


def test_the_law_runs_by_the_papers_equations():
    assert "formulation=gibbs_vector" in driven("ramp").log.metadata["law"]
    assert "formulation" not in driven("ramp", "gibbs_lean").log.metadata["law"]


def test_a_whole_cycle_reads_decides_writes_and_logs(monkeypatch):
    """The time of each part is within the whole."""
    done = []
    for where, name in ((Mirror, "read"), (Mirror, "write"), (LogWriter, "cycle")):
        kept = getattr(where, name)

        def noted(self, *given, _kept=kept, _name=name):
            done.append(_name)
            return _kept(self, *given)

        monkeypatch.setattr(where, name, noted)
    decided, whole = valera2003_rig.cycle_times(20)
    assert 0 < decided < whole
    assert done[-3:] == ["read", "write", "cycle"]
