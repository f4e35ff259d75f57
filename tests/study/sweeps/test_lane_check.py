"""Fields are parts of a rollout only if nothing else depends on them, for any values and groups."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from appell.study import Study, sweep
from appell.study.sweeps.points import Points

CHAIN = {"model": "planar_chain", "options": {"n": 2}, "payload": {"mass": 1.0}}
MOVES = {"kind": "moves", "moves": [{"to": [0.6, -0.3], "duration": 0.4}]}
HOLD = {"kind": "hold", "at": {"joint2": 0.1}, "until": 0.3}
UNKNOWN = {"believes": {"payload": {"mass": 0}}}
SAMPLING = {"period": 0.005}
ONE_JOINT = """<robot name="one"><link name="base"/><link name="l"><inertial>
  <origin xyz="0.3 0 0"/><mass value="1"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="l"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="100" velocity="100"/></joint></robot>"""


def both(scenario, vary, measures, sampling="list", **more):
    """The same points as rollouts, if they can be, and one by one."""
    given = {"scenario": scenario, "vary": vary, "sampling": sampling, "measures": measures,
             "rollout": {"compare": 0}, **more}  # fmt: skip
    return (sweep(Study(**given, method=method)) for method in ("auto", "runs"))


def agree(scenario, vary, measures, rtol=1e-3, **more):
    many, single = both(scenario, vary, measures, **more)
    assert not single.failed.any()
    for name in measures:
        np.testing.assert_allclose(many[name], single[name], rtol=rtol, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("law", "field", "values"),
    [  # a nominal value, and few others: each sets a gain that is not given, too
        ({"name": "sliding-mode"}, "law.layer", [0.1, 0.3, 0.05, *[0.1] * 7]),
        ({"name": "joint-impedance", "stiffness": 100.0}, "law.stiffness",
         [100.0, 50.0, 400.0, *[100.0] * 7]),
    ],
)  # fmt: skip
def test_a_value_that_is_often_repeated_hides_no_other(law, field, values):
    scenario = {"robot": CHAIN, "task": MOVES, "law": law | UNKNOWN, "sampling": SAMPLING}
    loads = [1.0, 1.0, 1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    vary = {field: {"values": values}, "robot.payload.mass": {"values": loads}}
    agree(scenario, vary, ("rms_error",))


def test_a_start_that_moves_what_is_held_is_no_lane_however_often_it_is_repeated():
    law = {"name": "computed-torque", "kp": 100.0, "kd": 20.0} | UNKNOWN
    start = {"q": {"joint1": 0.0, "joint2": 0.0}}
    scenario = {"robot": CHAIN, "task": HOLD, "start": start, "law": law, "sampling": SAMPLING}
    vary = {"start.q.joint1": {"values": [0.0, -0.5, 0.5, *[0.0] * 7]}}
    agree(scenario, vary, ("worst_error",))


def test_the_only_value_may_differ_from_the_scenarios():
    law = {"name": "joint-impedance", "stiffness": 100.0} | UNKNOWN
    scenario = {"robot": CHAIN, "task": MOVES, "law": law, "sampling": SAMPLING}
    vary = {"law.stiffness": {"values": [400.0]}, "robot.payload.mass": {"uniform": [0, 1]}}
    agree(scenario, vary, ("peak_torque",), sampling="sobol", points=4)


@pytest.mark.parametrize("order", [("Critical", "Plain"), ("Plain", "Critical")])
def test_each_group_has_its_own_check(order, tmp_path, monkeypatch):
    """A gain is all of its lane with one law, and sets another gain with the other."""
    (tmp_path / "two_laws.py").write_text("""
from dataclasses import dataclass
from typing import Any
import numpy as np
from appell.control.laws.computed_torque import ComputedTorque

@dataclass(frozen=True, eq=False, repr=False)
class Plain(ComputedTorque):
    kp: Any = 100.0
    kd: Any = 20.0

@dataclass(frozen=True, eq=False, repr=False)
class Critical(ComputedTorque):
    kp: Any = 100.0
    kd: Any = None
    def _usual(self, what):
        return 2 * np.sqrt(self.kp * np.ones(self.robot.nv)) if what == "kd" else None
""")
    monkeypatch.chdir(tmp_path)
    law = {"name": "two_laws:Plain"} | UNKNOWN
    scenario = {"robot": CHAIN, "task": MOVES, "law": law, "sampling": SAMPLING}
    vary = {"law.name": {"values": [f"two_laws:{x}" for x in order]},
            "law.kp": {"linear": [50, 400, 3]}}  # fmt: skip
    try:
        agree(scenario, vary, ("worst_error",), sampling="grid")
    finally:
        sys.modules.pop("two_laws", None)


@pytest.fixture
def one_joint(tmp_path):
    file = tmp_path / "one.urdf"
    file.write_text(ONE_JOINT)
    return str(file)


def test_a_start_beyond_a_stop_that_all_points_share_fails_as_alone(one_joint):
    robot = {"model": one_joint, "payload": {"mass": 1.0}}
    scenario = {"robot": robot, "task": {"kind": "fall", "until": 0.1}, "start": {"q": [1.2]}}
    vary = {"robot.payload.mass": {"values": [0.5, 1.0]}}
    many, single = both(scenario, vary, ("peak_speed",))
    assert many.failed.all()
    assert many.reasons() == single.reasons()
    assert "starts 0.2 behind upper limit" in next(iter(many.reasons()))


def test_a_stop_that_is_reached_between_two_samples_stops(one_joint):
    """The joint passes its limit and is pulled back within one period of the law."""
    scenario = {
        "robot": {"model": one_joint}, "task": {"kind": "hold", "until": 0.3, "at": [0.9]},
        "start": {"q": [0.98], "v": [1.0]}, "law": {"kp": 20.0, "kd": 19.0},
        "contacts": {"stop_restitution": 1.0}, "sampling": {"period": 0.1},
    }  # fmt: skip
    vary = {"law.kp": {"values": [20.0, 25.0]}}
    # Impulses at the end of a step are late by up to a step, here of 0.1 ms.
    agree(scenario, vary, ("effort", "q.j"), rtol=5e-3, rollout={"compare": 0, "step": 1e-4})
    rolled, _ = both(scenario, vary, ("success",), tolerance=1.0)
    assert rolled["success"].tolist() == [1, 1]


def test_why_points_run_one_by_one_names_the_start(one_joint):
    scenario = {"robot": one_joint, "task": {"kind": "fall", "until": 0.1}, "start": {"q": [1.2]}}
    study = Study(scenario=scenario, vary={"start.v.j": {"uniform": (0, 1)}}, points=2)
    assert Points(study).why_one_by_one == "the runs start beyond a limit at which a joint stops"


@pytest.mark.parametrize("law", [{}, {"damping": 10.0}, {"stiffness": -1.0}])
def test_a_scenario_that_needs_what_varies_is_no_reason_to_refuse(law):
    """Its law has no stiffness, or none that can be, but every point has one."""
    scenario = {"robot": CHAIN, "task": MOVES, "law": {"name": "joint-impedance", **UNKNOWN, **law},
                "sampling": SAMPLING}  # fmt: skip
    vary = {"law.stiffness": {"values": [50.0, 100.0, 200.0]}}
    agree(scenario, vary, ("worst_error",))
