"""The verdict on a run, the bounds that it is held to, and the files that say so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tomllib

import appell
from appell.errors import InputError
from appell.study import build, run
from appell.study.run_motion import motion_csv
from appell.study.scenario import Source
from appell.study.scenario_file import checked
from appell.study.starter import new_scenario
from tests.study.test_scenario_units import urdf

CHAIN = {"model": "planar_chain", "options": {"n": 1}}
MOVES = {"kind": "moves", "moves": [{"to": [0.5], "duration": 1.0}]}
VIA = {"kind": "via", "points": [[0.5], [0.2]], "times": [0.5, 1.0]}


@pytest.mark.parametrize("task", [MOVES, VIA])
def test_a_run_that_ends_before_its_motion_has_not_arrived(task):
    short = run(checked({"robot": CHAIN, "task": task | {"until": 0.3}})).verdict
    assert not short.ok
    assert short.text.startswith("ended at 0.3 s of 1 s, before the motion's end")
    for until in (1.0, 1.2):
        whole = run(checked({"robot": CHAIN, "task": task | {"until": until}})).verdict
        assert whole.ok, whole.text
        assert whole.text.startswith("arrived")


@pytest.mark.parametrize("kinds", [["prismatic"], ["revolute", "prismatic"]])
def test_a_new_scenario_holds_slides_to_a_bound_in_m(tmp_path, kinds):
    model = urdf(tmp_path, [(f"j{k}", kind, "") for k, kind in enumerate(kinds)])
    data = tomllib.loads(new_scenario(model, "hold", file=tmp_path / "new.toml"))
    source = Source(tmp_path / "new.toml")
    assert run(checked(data, source)).verdict.ok
    slide, data["start"]["q"] = kinds.index("prismatic"), dict(data["start"]["q"])
    data["task"]["at"] = dict(data["start"]["q"])
    data["start"]["q"][f"j{slide}"] += 0.005  # m: a quarter of what a new scenario moves
    data["task"]["until"] = 0.01
    verdict = run(checked(data, source)).verdict
    assert not verdict.ok
    assert verdict.text.startswith("ended")


def test_bounds_by_joint_are_checked_by_joint_and_unknown_ones_refused():
    data = {"robot": {"model": "planar_chain", "options": {"n": 2}}, "start": {"q": [0.1, 0.2]}}
    data |= {"task": {"kind": "hold", "until": 0.1, "at": [0.0, 0.2]}}
    verdict = run(checked(data | {"expect": {"max_error": {"joint1": 0.01, "joint2": 9}}})).verdict
    assert [(x.what, x.ok) for x in verdict.checks] == [
        ("max_error of joint1", False),
        ("max_error of joint2", True),
    ]
    with pytest.raises(InputError, match=r"expect\.max_error\.elbow: .*expected joint1, joint2"):
        build(checked(data | {"expect": {"max_error": {"elbow": 1}}}))


def test_scale_is_of_the_model_and_numbers_stay_as_given():
    believes = {"scale": 1.3, "armature": {"joint1": 0.5}, "payload": {"mass": 0.2}}
    law = {"name": "computed-torque", "believes": believes}
    model = build(checked({"robot": CHAIN, "task": MOVES, "law": law})).law.robot
    arm = appell.load("planar_chain", n=1)
    expected = arm.with_parameters(1.3 * arm.parameters).with_payload(0.2).mass_matrix([0.0]) + 0.5
    assert np.allclose(model.mass_matrix([0.0]), expected)


def test_a_summary_has_null_where_json_has_no_number(tmp_path):
    result = run(checked({"robot": CHAIN, "task": {"kind": "fall", "until": 0.1}}))
    result.run.tau[-1] = np.inf
    text = result.contents(tmp_path)[Path("summary.json")]
    told = json.loads(text, parse_constant=lambda x: pytest.fail(f"{x} is no JSON"))
    assert told["largest_torques"] == {"joint1": None}


def test_the_motion_of_a_closed_robot_is_followed_again(tmp_path):
    task = {"kind": "moves", "moves": [{"to": {"left shoulder": 2.2}, "duration": 0.5}]}
    first = run(checked({"robot": "five_bar", "task": task}))
    (tmp_path / "motion.csv").write_text(motion_csv(first.built, first.run))
    task = {"kind": "file", "path": str(tmp_path / "motion.csv")}
    again = run(checked({"robot": "five_bar", "task": task}))
    assert again.verdict.ok
    assert np.abs(again.run.desired - first.run.q).max() < 1e-6


def test_columns_may_be_named_after_joints_that_are_called_as_speeds_are(tmp_path):
    model = urdf(tmp_path, [("a1", "revolute", ""), ("v1", "revolute", "")])
    (tmp_path / "m.csv").write_text("t,a1 [deg],v1\n0,0,0\n0.5,9,0.1\n1,18,0.3\n")
    task = {"kind": "file", "path": str(tmp_path / "m.csv")}
    first = run(checked({"robot": model, "task": task}))
    assert np.allclose(first.built.trajectory.end, [np.pi / 10, 0.3])
    (tmp_path / "m.csv").write_text(motion_csv(first.built, first.run))
    again = build(checked({"robot": model, "task": task}))
    assert np.allclose(again.trajectory.end, first.run.q[-1])
