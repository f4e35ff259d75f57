"""Measures: of the joint that is named, under names that nothing else has."""

from __future__ import annotations

import numpy as np
import pytest

from appell.errors import InputError
from appell.study import Study, sweep

BALL = {"model": "free_chain"}
FALL = {"kind": "fall", "until": 0.05}


def of(scenario, vary, **more):
    given = {"sampling": "grid", "rollout": {"compare": 0}, **more}
    return sweep(Study(scenario=scenario, vary=vary, **given))


@pytest.mark.parametrize("method", ["rollout", "runs"])
def test_positions_of_joints_behind_a_free_base_are_their_own(method):
    """Before them in q are a position and a quaternion: one number more than speeds."""
    start = {"v": {"q1": 1.0, "q5": -0.5}}
    vary = {"start.q.q1": {"values": [0.1, 0.2]}, "start.q.q5": {"values": [-0.3]}}
    scenario = {"robot": {**BALL, "gravity": [0, 0, 0]}, "task": FALL, "start": start}
    kept = ("q.q1", "q.q5", "v.q1", "v.q5")
    found = of(scenario, vary, measures=kept, method="runs" if method == "runs" else "auto")
    # The joints move a little from where they start: 0.05 s at about their first speed.
    np.testing.assert_allclose(found["q.q1"], [0.15, 0.25], atol=0.04)
    np.testing.assert_allclose(found["q.q5"], [-0.325, -0.325], atol=0.04)
    for k in (0, 1):
        run = found.run(k).run
        names = [*run.robot.independent]
        assert found["v.q1"][k] == pytest.approx(run.v[-1, names.index("q1")], rel=1e-6)
        assert found["q.q5"][k] == pytest.approx(run.q[-1, -1], rel=1e-6)


def test_a_quaternion_has_numbers_and_no_unit():
    scenario = {"robot": BALL, "task": FALL}
    vary = {"start.v.q1": {"values": [0.1]}}
    base = of(scenario, vary, measures=("q.6",))  # after the position, x y z w: w is the last
    assert base["q.6"][0] == pytest.approx(1.0, abs=1e-2)
    assert base.statistics.unit("q.6") == "rad or m"
    with pytest.raises(InputError, match="has no 'free turn x'; expected one of q1, q2"):
        of(scenario, vary, measures=("q.free turn x",))
    with pytest.raises(InputError, match=r"several coordinates; number them, from q\.0 to q\.11"):
        of(scenario, vary, measures=("q.free",))


def test_impacts_on_walls_are_told_from_those_at_stops(tmp_path):
    (tmp_path / "slide.urdf").write_text(
        """<robot name="slide"><link name="base"/><link name="l"><inertial><mass value="1"/>
        <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
        <joint name="j" type="prismatic"><parent link="base"/><child link="l"/><axis xyz="0 0 1"/>
        <limit lower="-0.2" upper="1" effort="9" velocity="9"/></joint></robot>"""
    )
    scenario = {
        "robot": str(tmp_path / "slide.urdf"), "task": {"kind": "fall", "until": 0.3},
        "walls": [{"kind": "plane", "normal": [0, 0, 1], "offset": -0.1, "restitution": 0.0}],
    }  # fmt: skip
    kept = ("impacts", "wall_impacts", "first_impact", "first_wall_impact")
    found = of(scenario, {"walls.0.offset": {"values": [-0.1, -0.5]}}, measures=kept)
    assert found["wall_impacts"].tolist() == [1, 0]  # the wall is above the stop, or below it
    assert found["impacts"].tolist() == [1, 1]
    assert found["first_wall_impact"][1] == np.inf
    np.testing.assert_allclose(found["first_impact"], np.sqrt([0.2 / 9.81, 0.4 / 9.81]), rtol=1e-6)


def test_two_measures_do_not_share_a_column(tmp_path):
    for folder, sign in (("one", ""), ("two", "-")):
        (tmp_path / folder).mkdir()
        text = f"def g(result):\n    return {sign}result.run.q[-1, 0]\n"
        (tmp_path / folder / "mine.py").write_text(text)
    (tmp_path / "own.py").write_text(
        "def many(result):\n    return {'peak_speed': -1.0}\n"
        "def peak_speed(result):\n    return 1.0\n"
    )
    scenario, vary = {"robot": "planar_chain", "task": FALL}, {"start.v.joint1": {"values": [0.1]}}
    one, two = (f"{tmp_path}/{x}/mine:g" for x in ("one", "two"))
    with pytest.raises(InputError, match="are both called 'g' in the table; rename one"):
        of(scenario, vary, measures=(one, two))
    with pytest.raises(InputError, match="are both called 'peak_speed'"):
        of(scenario, vary, measures=("peak_speed", f"{tmp_path}/own:peak_speed"))
    for kept in (("peak_speed", f"{tmp_path}/own:many"), (f"{tmp_path}/own:many", "peak_speed")):
        found = of(scenario, vary, measures=kept)
        assert "gives 'peak_speed', which another measure is called" in next(iter(found.reasons()))
    asked = {"minimise": one, "constraints": {two: {"at_most": 1.0}},
             "parameters": {"start.v.joint2": {"between": (0.0, 1.0)}}}  # fmt: skip
    from appell.study import tune

    with pytest.raises(InputError, match="are both called 'g'"):
        tune(Study(scenario=scenario, vary=vary, sampling="grid", tune=asked))


def test_only_angles_of_a_scenario_in_degrees_are_in_degrees():
    robot = {"model": "planar_chain", "options": {"n": 1}, "friction": {"viscous": [0.1]}}
    scenario = {"angles": "degrees", "robot": robot, "task": FALL, "start": {"q": {"joint1": 5.0}}}
    vary = {"robot.friction.viscous": {"values": [0.1, 0.2]},
            "start.q.joint1": {"values": [5.0, 6.0]}}  # fmt: skip
    told = of(scenario, vary, measures=("energy_end",), sampling="list").statistics
    assert told.unit("start.q.joint1") == "deg"
    assert "deg" not in told.unit("robot.friction.viscous")
