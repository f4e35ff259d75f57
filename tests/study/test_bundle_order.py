"""A study in one piece is the same study: also its variables are in the same order."""

from __future__ import annotations

import numpy as np

from appell.study import Study, sweep
from appell.study.sweeps.points import Points


def test_variables_keep_their_order_on_the_way_to_where_points_are_computed():
    task = {"kind": "fall", "until": 0.01}
    scenario = {"robot": {"model": "planar_chain", "options": {"n": 2}}, "task": task}
    kind = {"uniform": (0.0, 1.0)}
    study = Study(
        scenario=scenario, vary={"start.v.joint2": kind, "start.v.joint1": kind}, points=4
    )
    found, design = sweep(study), Points(study).design.values(0, 4)
    for name in study.vary:
        np.testing.assert_array_equal(found[name], design[name])
    assert found.scenario(2).start.v["joint1"] == found["start.v.joint1"][2]
