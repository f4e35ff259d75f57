"""Variables keep their order: points, replays and Sobol indices depend on it."""

from __future__ import annotations

import numpy as np

from appell.study import Study, open_sweep, sweep
from appell.study.sweeps.bundle import bundle_of
from appell.study.sweeps.design import Design

FALL = {"robot": "planar_chain", "task": {"kind": "fall", "until": 0.02}}
NAMES = ("start.v.joint2", "start.v.joint1")  # not in the order of the alphabet


def study(names=NAMES):
    vary = {name: {"uniform": (0.0, 1.0)} for name in names}
    return Study(scenario=FALL, vary=vary, points=8)


def test_points_of_a_sweep_are_those_of_its_study_also_when_they_are_read_again(tmp_path):
    wanted = Design(study()).values(0, 8)
    found = sweep(study(), tmp_path / "s")
    again = open_sweep(tmp_path / "s")
    for one in (found, again, sweep(study())):
        assert one.variables == NAMES
        for name in NAMES:
            assert np.array_equal(one[name], wanted[name])
        values = one._points.values_at(3)
        assert values == {name: one[name][3] for name in NAMES}
        assert one.scenario(3).start.v["joint1"] == one["start.v.joint1"][3]


def test_another_order_is_another_study():
    assert bundle_of(study()).hash != bundle_of(study(NAMES[::-1])).hash
