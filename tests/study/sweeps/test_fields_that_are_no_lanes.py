"""Fields that change more than one number of a rollout: found, and run one by one."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import appell
from appell.study import Study, sweep
from appell.study.sweeps.points import Points

CHAIN = {"model": "planar_chain", "options": {"n": 2}}
MOVE = {"kind": "moves", "moves": [{"to": {"joint1": 0.8, "joint2": -0.4}, "duration": 0.2}]}
FALL = {"kind": "fall", "until": 0.1}
URDF = """<robot name="turns_and_slides">
  <link name="base"/>
  {links}
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="one"/><axis xyz="0 0 1"/>
    <limit lower="-2.5" upper="2.5" effort="1000" velocity="100"/>
    <dynamics damping="0.3" friction="0.1"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="one"/><child link="two"/><axis xyz="0 0 1"/>
    <limit lower="-0.5" upper="0.5" effort="1000" velocity="100"/>
  </joint>
  <joint name="bend" type="continuous">
    <parent link="two"/><child link="three"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="follow" type="continuous">
    <parent link="three"/><child link="four"/><axis xyz="1 0 0"/>
    <dynamics damping="0.4"/><mimic joint="bend" multiplier="-0.6" offset="0.2"/>
  </joint>
</robot>"""
LINK = """<link name="{}"><inertial><origin xyz="0.1 0.02 0.1"/><mass value="1"/>
  <inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0" ixz="0.001" iyz="0"/></inertial></link>"""
OWN_LAW = """
from dataclasses import dataclass
from typing import Any
from appell.control import Law
from appell.control.laws.gains import ANY


def equation(model, q, v, desired, kp, delay, torque_limit, viscous):
    terms = zip(kp, desired.q, q, v, delay, torque_limit, viscous)
    return [a * (x - y) - 5 * w + b + c - d * w for a, x, y, w, b, c, d in terms]


@dataclass(frozen=True, eq=False, repr=False)
class Named(Law):
    kp: Any = 50.0
    delay: Any = 0.1
    torque_limit: Any = 0.3
    viscous: Any = 0.1
    equation = staticmethod(equation)
    gains = dict.fromkeys(("kp", "delay", "torque_limit", "viscous"), ANY)
"""
NAMED = {"name": "law_of_a_test:Named"}
LIMIT = {"torque_limit": 20.0}


def arm(task, law=None, robot=CHAIN, **more):
    return {"robot": robot, "task": task, **({"law": law} if law else {}), **more}


def rubbing(model, viscous, **options):
    return {"model": model, "options": options, "friction": {"viscous": viscous}}


# (scenario, field, values from and to, why it is no lane; None if it is)
FIELDS = {
    "a gain that another follows": (
        arm(MOVE, {"name": "joint-impedance", "stiffness": 100.0}),
        "law.stiffness", (10.0, 200.0), "changes law.damping, too",
    ),
    "a gain beside the other": (
        arm(MOVE, {"name": "joint-impedance", "stiffness": 100.0, "damping": 20.0}),
        "law.stiffness", (10.0, 200.0), None,
    ),
    "a layer": (
        arm(MOVE, {"name": "sliding-mode", "rate": 10.0}),
        "law.layer", (0.05, 1.0), "changes law.k, too",
    ),
    "the start of a joint that is held there": (
        arm({"kind": "hold", "at": {"joint1": 0.2}, "until": 0.2}, {"name": "computed-torque"}),
        "start.q.joint2", (0.0, 1.0), "changes the motion that is followed, too",
    ),
    "a speed beside those of a motion": (
        arm({"kind": "via", "points": [{"joint1": 0.5}, {"joint1": 0.2}], "times": [0.1, 0.2],
             "ends": "natural"}, {"name": "computed-torque"}),
        "start.v.joint2", (0.0, 0.5), None,
    ),
    "friction of a free body": (
        arm(FALL, robot=rubbing("free_chain", 0.5, n=3)), "robot.friction.viscous", (0.0, 5.0), None
    ),
    "friction by another order of joints": (
        arm(FALL, robot=rubbing("tree_of_bars", [0.5, 0.4, 0.3, 0.2, 0.1])),
        "robot.friction.viscous.1", (0.0, 5.0), None,
    ),
    "friction beside that of a joint that follows": (
        arm(FALL, robot=rubbing("own.urdf", [0.5, 0.4, 0.1])),
        "robot.friction.viscous.2", (0.0, 5.0), "is not all of viscous",
    ),
    "a gain called as the delay": (arm(MOVE, NAMED), "law.delay", (0.0, 3.0), None),
    "a limit called as a gain": (
        arm(MOVE, NAMED, actuators=LIMIT), "actuators.torque_limit", (5.0, 30.0), None
    ),
    "a gain called as friction": (
        arm(MOVE, NAMED | {"viscous": [0.1, 0.2]}, robot=CHAIN | {"friction": {"viscous": 2.0}}),
        "law.viscous.0", (0.1, 1.0), None,
    ),
    "friction called as a gain": (
        arm(MOVE, NAMED, robot=CHAIN | {"friction": {"viscous": 2.0}}),
        "robot.friction.viscous", (0.1, 1.0), None,
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Has the robot's file and the law's module."""
    links = "".join(LINK.format(name) for name in ("one", "two", "three", "four"))
    (tmp_path / "own.urdf").write_text(URDF.format(links=links))
    (tmp_path / "law_of_a_test.py").write_text(OWN_LAW)
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("law_of_a_test", None)


def studied(scenario, field, ends, **more):
    vary = {field: {"uniform": ends}}
    given = {"points": 4, "rollout": {"compare": 0}, **more}
    return Study(scenario=scenario, vary=vary, **given)


def test_what_a_field_changes_besides_is_found():
    for name, (scenario, field, ends, why) in FIELDS.items():
        alone = Points(studied(scenario, field, ends)).why_one_by_one
        told = None if why is None else f"'{field}' {why}, and has too many values"
        assert alone == told, name


@pytest.mark.parametrize("name", FIELDS)
def test_points_have_the_numbers_of_runs_by_themselves(name):
    scenario, field, ends, _ = FIELDS[name]
    kept = ("rms_error", "peak_torque") if "law" in scenario else ("energy_end",)
    many, single = (
        sweep(studied(scenario, field, ends, measures=kept, method=x)) for x in ("auto", "runs")
    )
    assert not many.failed.any()
    for measure in kept:
        # Steps of 1 ms; the torques of the stiffest of these arms are some hundred N m.
        np.testing.assert_allclose(many[measure], single[measure], rtol=1e-3, atol=1e-5)


def test_a_joint_that_strikes_its_stop_succeeds_if_it_ends_well():
    """A joint is beyond a stop for a part of a step only, which is no violation."""
    scenario = {
        "robot": "own.urdf",
        "start": {"q": {"slide": 0.1}},
        "task": {"kind": "hold", "at": {"turn": 0, "slide": 0.45, "bend": 0}, "until": 2.0},
        "law": {"name": "computed-torque", "kp": 40.0, "kd": 4.0},
    }
    kept = ("success", "first_violation", "q.slide")
    given = {"measures": kept, "tolerance": 0.05}
    many, single = (
        sweep(studied(scenario, "law.kd", (3.0, 6.0), method=x, **given))
        for x in ("rollout", "runs")
    )
    assert single["success"].all()
    for measure in kept:
        np.testing.assert_allclose(many[measure], single[measure], rtol=1e-3)
    robot = appell.load("own.urdf")
    free = appell.rollout(
        robot, appell.control.ComputedTorque(robot, kp=40.0, kd=3.0), [0, 0.45, 0], [0, 0.1, 0],
        steps=200, dt=0.01,
    )  # fmt: skip
    assert np.isfinite(free.first_violation).all()  # it does strike
