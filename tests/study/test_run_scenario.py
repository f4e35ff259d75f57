"""What a scenario says is what is computed: against the functions that it stands for."""

from __future__ import annotations

import json
from math import pi, radians
from shutil import copy

import numpy as np
import pytest

import appell
from appell import control
from appell.errors import InputError
from appell.rig.log.motion_files import read_motion
from appell.show.scenario_report import html
from appell.study import build, read_scenario, run
from appell.study.run_motion import motion_csv
from appell.study.scenario_file import checked
from tests.study.test_gallery import FOLDER

MOVE = {"kind": "moves", "moves": [{"to": {"joint2": 30.0}, "duration": 0.5}]}
CHAIN = {"model": "planar_chain", "options": {"n": 2}}  # two bars of 1 m and 1 kg
SOFT = {"name": "pd-gravity", "kp": 3.0}
TWO = {"robot": CHAIN, "angles": "degrees", "task": MOVE}


def test_a_fall_is_that_of_simulate():
    given = {
        "robot": CHAIN | {"gravity": [0, -9, 0]},
        "angles": "degrees",
        "start": {"q": {"joint2": 45}, "v": [90.0, 0.0]},
        "task": {"kind": "fall", "until": 0.4},
        "walls": [{"kind": "plane", "normal": [0, 1, 0], "offset": -0.1}],
        "contacts": {"restitution": 0.5, "points": {"end": ["link2", [1, 0, 0]]}},
        "integrator": {"method": "RK45", "rtol": 1e-8, "atol": 1e-9},
    }
    result = run(checked(given))
    expected = appell.simulate(
        appell.load("planar_chain", n=2).with_gravity((0, -9, 0)),
        [0.0, radians(45)], [pi / 2, 0.0],
        until=0.4, walls=appell.walls.Plane((0, 1, 0), -0.1), restitution=0.5,
        points={"end": ("link2", (1, 0, 0))}, method="RK45", rtol=1e-8, atol=1e-9,
    )  # fmt: skip
    assert np.array_equal(result.run.q, expected.q)
    assert len(result.run.impacts) == len(expected.impacts) > 0


def test_a_tracked_scenario_is_that_of_track_with_all_that_hardware_does():
    given = TWO | {
        "robot": CHAIN | {
            "payload": {"mass": 0.2, "com": [0.1, 0, 0]},
            "friction": {"viscous": 0.02},
        },
        "start": {"q": [10, -10], "v": {"joint1": 5}},
        "law": {"name": "pd-gravity", "kp": [200.0, 30.0], "believes": {"payload": {"mass": 0}}},
        "sampling": {"period": 0.004, "delay": 1},
        "sensors": {"adc": {"bits": 16, "low": -180, "high": 180}},
        "actuators": {"torque_limit": [30.0, 20.0]},
        "disturbances": [
            {"force": [0, 1, 0], "start": 0.1, "end": 0.2},
            {"joint": "joint1", "force": 0.5, "start": 0.2},
        ],
    }  # fmt: skip
    result = run(checked(given))
    plain = appell.load("planar_chain", n=2)
    arm = plain.with_payload(0.2, (0.1, 0, 0))
    q0, q1 = np.radians([10, -10]), np.radians([10, 30])
    expected = control.track(
        arm, control.PDGravity(plain, kp=[200.0, 30.0]), control.quintic(q0, q1, 0.5),
        q0=q0, v0=np.radians([5, 0]), period=0.004, delay=1, adc=control.Adc(16, -pi, pi),
        torque_limit=[30.0, 20.0], friction=control.Friction(viscous=0.02),
        forces=lambda t, q, v: {"link2": [0, 25 * 0.004 <= t < 50 * 0.004, 0, 0, 0, 0]},
        external=lambda t, q, v: [0.5 * (t >= 50 * 0.004), 0.0],
    )  # fmt: skip
    assert np.array_equal(result.run.q, expected.q)
    assert np.array_equal(result.run.tau, expected.tau)


def test_angles_are_degrees_where_the_file_says_so_and_slides_stay_in_m():
    q = {"joint1": 90, "joint3": 0.4}
    given = {"robot": "stanford_arm", "start": {"q": q}, "task": {"kind": "hold", "until": 0.1}}
    held = {unit: build(checked(given | {"angles": unit})).trajectory for unit in UNITS}
    assert np.allclose(held["degrees"], [pi / 2, 0, 0.4, 0, 0, 0])
    assert np.allclose(held["radians"], [90, 0, 0.4, 0, 0, 0])


UNITS = ("degrees", "radians")
FALL = {"task": {"kind": "fall", "until": 0.3}}


@pytest.mark.parametrize("friction", [{"viscous": 1.0}, {"viscous": [0.1, 2], "coulomb": 0.5}])
def test_friction_in_numbers_acts_without_a_law_too(friction):
    levels = {
        what: dict(zip(("joint1", "joint2"), np.broadcast_to(x, 2).tolist(), strict=True))
        for what, x in friction.items()
    }
    robot = appell.load("planar_chain", n=2).with_friction(**levels)
    expected = appell.simulate(robot, [0.0, 0.0], until=0.3, friction=True)
    result = run(checked({"robot": CHAIN | {"friction": friction}} | FALL))
    assert np.array_equal(result.run.q, expected.q)
    assert result.run.energy[-1] < result.run.energy[0] - 0.01
    loop = run(checked({"robot": {"model": "five_bar", "friction": friction}} | FALL))
    assert loop.verdict.ok


def test_springs_rest_at_positions_in_the_unit_of_the_file():
    springs = {"joint1": 5.0, "joint2": [40.0, 90.0]}
    robot = build(checked(TWO | {"robot": CHAIN | {"springs": springs}})).robot
    bent = appell.load("planar_chain", n=2).with_springs({"joint1": 5.0, "joint2": (40.0, pi / 2)})
    assert np.allclose(robot.gravity([0.2, 0.3]), bent.gravity([0.2, 0.3]))


def test_a_line_is_drawn_by_the_frame_with_free_and_with_fixed_axes():
    start = [0.3, -0.8, 0.6, 0.2, 0.5, 0.1]
    for axes in ("fixed", "free"):
        line = {"kind": "line", "by": [0.05, 0.02, -0.04], "duration": 1.0, "orientation": axes}
        built = build(checked({"robot": "puma560", "start": {"q": start}, "task": line}))
        q, v, _ = built.trajectory(np.linspace(0, 1, 7))
        T = built.robot.forward_kinematics(q)
        along = (T[:, :3, 3] - T[0, :3, 3]) @ np.array([0.05, 0.02, -0.04]) / 0.0045
        off = T[:, :3, 3] - T[0, :3, 3] - along[:, None] * [0.05, 0.02, -0.04]
        assert np.abs(off).max() < 1e-5
        assert along[-1] == pytest.approx(1)
        assert np.abs(v[[0, -1]]).max() < 1e-9  # from rest to rest
        turned = np.abs(T[:, :3, :3] - T[0, :3, :3]).max()
        assert turned < 1e-8 if axes == "fixed" else turned > 1e-3


def test_a_circle_of_a_closed_robot_is_round():
    circle = {"kind": "circle", "centre": [0.125, 0.45, 0], "duration": 1.0}
    built = build(checked({"robot": "five_bar", "task": circle | {"orientation": "free"}}))
    robot = built.robot
    q = robot.neutral()
    first = np.linalg.norm(robot.forward_kinematics(q)[:2, 3] - [0.125, 0.45])
    for t in np.linspace(0, 1, 9):
        q = robot.assemble(
            q, dict(zip(robot.independent, built.trajectory(t)[0].tolist(), strict=True))
        )
        radius = np.linalg.norm(robot.forward_kinematics(q)[:2, 3] - [0.125, 0.45])
        assert radius == pytest.approx(first, abs=1e-5)


def test_time_optimal_via_points_use_a_motor_to_its_limit():
    via = {
        "kind": "via", "points": [[0.5, -0.4], [1.0, 0.2]], "timing": "time_optimal",
        "torque": [30.0, 10.0], "speed": 20.0,
    }  # fmt: skip
    built = build(checked({"robot": CHAIN, "task": via}))
    t = np.linspace(0, built.trajectory.duration, 400)
    used = np.abs(built.robot.inverse_dynamics(*built.trajectory(t))) / [30.0, 10.0]
    assert 0.9 < used.max() < 1.05  # between the nodes, a little more


def test_a_law_and_a_torque_of_ones_own_come_from_beside_the_scenario(tmp_path):
    (tmp_path / "mine_of_a_scenario.py").write_text(
        "from dataclasses import dataclass\nfrom appell.control import ComputedTorque\n"
        "@dataclass(frozen=True, eq=False, repr=False)\nclass Mine(ComputedTorque):\n"
        "    kp: float = 77.0\n"
        "def push(t, q, v):\n    return [0.1, -v[1]]\n"
    )
    for name, task, law in (
        ("law", MOVE, {"name": "mine_of_a_scenario:Mine"}),
        ("torque", {"kind": "torque", "until": 0.1, "torque": "mine_of_a_scenario:push"}, None),
    ):
        data = {"robot": CHAIN, "task": task} | ({"law": law} if law else {})
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    built = build(read_scenario(tmp_path / "law.json"))
    assert built.law.kp[0] == 77.0
    result = run(read_scenario(tmp_path / "torque.json"))
    assert result.run.tau[-1, 0] == 0.1


def test_a_gain_by_its_former_name_is_taken_with_a_note():
    old, new = ({"name": "computed-torque", "kp": 100.0, kd: 19.0} for kd in ("kv", "kd"))
    result = run(checked(TWO | {"law": old}))
    assert result.warnings == ("law.kv: the gain kv is now called kd",)
    assert np.array_equal(result.run.q, run(checked(TWO | {"law": new})).run.q)
    with pytest.raises(InputError, match=r"law.kv is now called kd, which is there, too"):
        build(checked(TWO | {"law": old | new}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"law": {"kpp": 1.0}}, "law.kpp: computed-torque has no such gain; did you mean 'kp'?"),
        ({"law": {"kp": -1.0}}, "law: ComputedTorque: "),
        ({"law": {"name": "pid"}}, "law.name: law 'pid'; expected one of tracking-integral"),
        ({"start": {"q": {"joint3": 1}}}, "start.q: 'planar_chain(2)' has no joint 'joint3' here"),
        ({"start": {"q": [1, 2, 3]}}, "start.q: the array has shape (3,)"),
        ({"contacts": {"gap": 1e-3}}, "contacts.gap: not with a law: contacts are kept to 1e-6 m"),
        ({"contacts": {"law": "poisson"}}, "contacts.law: not with a law: what is struck"),
        ({"contacts": {"max_impacts": 5}}, "[expect] max_impacts"),
        ({"integrator": {"rtol": 1e-9}}, "integrator.rtol: not with a law: between samples"),
        ({"integrator": {"atol": 1e-9}}, "integrator.atol: not with a law: between samples"),
        ({"integrator": {"max_step": 1e-3}}, "make [sampling] period shorter"),
        ({"integrator": {"max_steps": 9}}, "integrator.max_steps: not with a law"),
        ({"integrator": {"singular": 0.1}}, "integrator.singular: not with a law"),
        (FALL | {"robot": CHAIN | {"friction": {"stiction": 1}}}, "robot.friction: stiction is"),
        (
            FALL | {"robot": CHAIN | {"friction": {"viscous": [1, 2, 3]}}},
            "robot.friction: viscous has 3 numbers; expected one, or 2: joint1, joint2.",
        ),
        (FALL | {"robot": {"model": "agile_wrist", "friction": {"viscous": 1}}}, "no joints that"),
        ({"robot": CHAIN | {"base": "free"}}, "robot.model: load('planar_chain')"),
        ({"robot": CHAIN | {"locked": {"x": 1}}}, "robot.locked: "),
        ({"disturbances": [{"frame": "hand", "force": [1, 0, 0]}]}, "disturbances[0]: "),
        ({"disturbances": [{"joint": "joint1", "force": [1, 0, 0]}]}, "expected force = one"),
        (
            {"task": {"kind": "moves", "moves": [{"to": [1, 2]}]}},
            "task.moves[0]: profile 'quintic': missing a required argument: 'duration'",
        ),
        ({"task": {"kind": "line", "by": [9, 0, 0], "duration": 1}}, "task: line: "),
        ({"robot": "five_bar", "task": {"kind": "line", "by": [1, 0, 0], "duration": 1}}, "'free'"),
        ({"task": {"kind": "fall", "until": 1}, "law": {}}, "law: not with fall"),
        (
            {"task": {"kind": "fall", "until": 1}, "sampling": {"period": 0.1}},
            "sampling: not with fall",
        ),
        (
            {"task": {"kind": "fall", "until": 1}, "expect": {"max_error": 1}},
            "expect.max_error: not with fall",
        ),
        (
            {"task": {"kind": "fall", "until": 1}, "walls": [{"kind": "circle", "offset": 1}]},
            "walls[0].offset: a circle has no such entry; expected one of restitution",
        ),
        (
            {"task": {"kind": "torque", "until": 1, "torque": {"elbow": 1}}},
            "task.torque: 'elbow' is no actuated joint of 'planar_chain(2)'",
        ),
        ({"task": {"kind": "file", "path": "none.csv"}}, "none.csv: there is no such file"),
        (
            {"angles": "radians", "task": {"kind": "puma_line", "orientation": [1, 1, 1]}},
            "task.orientation is in degrees",
        ),
    ],
)
def test_what_does_not_fit_the_robot_is_told_with_its_place(change, message):
    with pytest.raises(InputError) as problem:
        build(checked(TWO | change))
    assert message in str(problem.value)


HOLD = {"task": {"kind": "hold", "until": 0.1}}
SHORT = {"task": {"kind": "fall", "until": 0.01}}
STRUCK = {"walls": [{"kind": "plane", "normal": [0, 1, 0], "offset": -9}]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (SHORT | {"integrator": {"formulation": "gibs_tree"}},
         "integrator.formulation: 'gibs_tree'; expected one of .* Did you mean 'gibbs_tree'?"),
        (HOLD | {"integrator": {"formulation": "gibs_tree"}},
         "integrator.formulation: .* Did you mean 'gibbs_tree'?"),
        (HOLD | {"law": {"formulation": "gibbs_tre"}},
         "law.formulation: .* Did you mean 'gibbs_tree'?"),
        (HOLD | {"law": {"name": "computed-torqe"}},
         "law.name: law 'computed-torqe'; .* Did you mean 'computed-torque'?"),
        (SHORT | {"integrator": {"rtol": 1e-20}}, "integrator.rtol: 1e-20; expected"),
        (SHORT | {"integrator": {"method": "RK4"}}, "integrator.method: 'RK4' takes steps"),
        (HOLD | STRUCK | {"contacts": {"points": ["hand"]}}, "contacts.points: .* no frame 'hand'"),
        (HOLD | {"sampling": {"period": 1e-12}}, "sampling.period: until = 0.1; expected"),
        (HOLD | {"sensors": {"encoder": [1, 2, 3]}}, "sensors.encoder: encoder has shape"),
        (HOLD | {"actuators": {"torque_limit": [1, 2, 3]}}, "actuators.torque_limit: "),
        (HOLD | {"robot": CHAIN | {"friction": {"viscous": [1, 2, 3]}}}, "robot.friction: "),
        (SHORT | {"robot": "ur5", "start": {"q": {"elbow_joint": 9}}, "angles": "radians"},
         r"start: .*, or set \[contacts\] stops = false"),
    ],
)  # fmt: skip
def test_what_simulate_or_track_refuse_has_the_place_of_its_entry(change, message):
    with pytest.raises(InputError, match=f"^{message}"):
        run(checked(TWO | change))


def test_a_formulation_in_braces_has_its_own_line(tmp_path):
    file = tmp_path / "fall.toml"
    file.write_text(
        'robot = "two_link"\ntask = {kind = "fall", until = 0.1}\n'
        'integrator = {formulation = "gibs_tree"}\n'
    )
    with pytest.raises(InputError, match=r"fall\.toml:3: integrator\.formulation: 'gibs_tree'"):
        run(read_scenario(file))


def test_a_fault_that_shows_with_the_robot_has_file_and_line(tmp_path):
    file = tmp_path / "task.toml"
    file.write_text('robot = "two_link"\n[task]\nkind = "hold"\nuntil = 1\n[law]\nki = 3\n')
    with pytest.raises(
        InputError, match=r"task\.toml:6: law\.ki: computed-torque has no such gain"
    ):
        run(read_scenario(file))


def test_the_verdict_fails_where_an_expectation_does_and_names_it():
    result = run(checked(TWO | {"expect": {"max_error": 1e-9, "max_torque": 1e9}}))
    assert not result.verdict.ok
    assert [check.ok for check in result.verdict.checks] == [False, True]
    assert "max_error is" in result.verdict.text
    assert "expected 1e-09" in result.verdict.text


LIMITED = """<robot name="limited"><link name="base"/>
<link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<link name="rod"><inertial><mass value="1"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="100" velocity="2"/></joint>
<joint name="slide" type="prismatic"><parent link="arm"/><child link="rod"/><axis xyz="1 0 0"/>
  <limit lower="-1" upper="1" effort="100" velocity="20"/></joint></robot>"""


@pytest.mark.parametrize(
    ("to", "duration", "more", "ok", "words"),
    [
        ({"turn": 0.5, "slide": 0.3}, 1.0, {}, True, ["arrived at 1 s, error"]),
        ({"turn": 0.5}, 0.1, {}, True, ["arrived at", "beyond the joints' limits: speed of turn"]),
        ({"turn": 1.3}, 1.0, {}, False, ["ended at 1 s, 0.3", "rad (turn) from its goal",
                                         "the upper limit of turn struck"]),
        ({"turn": 1.01}, 1.0, {}, False, ["arrived at 1 s", "the upper limit of turn struck"]),
        ({"turn": 1.01}, 1.0, {"expect": {"max_impacts": 9}}, True, ["struck"]),
        ({"slide": 0.5}, 0.1, {"law": SOFT}, False, ["ended", "m (slide) from its goal"]),
        ({"slide": 0.5}, 0.1, {"law": SOFT, "expect": {"final_error": 1.0}}, True, ["arrived at"]),
        ({"slide": 0.5}, 0.1, {"law": SOFT, "expect": {"max_error": 1.0}}, True, ["arrived at"]),
    ],
)  # fmt: skip
def test_the_verdict_says_whether_it_arrived_and_what_it_struck(
    to, duration, more, ok, words, tmp_path
):
    (tmp_path / "limited.urdf").write_text(LIMITED)
    task = {"kind": "moves", "moves": [{"to": to, "duration": duration}]}
    data = {"robot": str(tmp_path / "limited.urdf"), "task": task} | more
    verdict = run(checked(data)).verdict
    assert verdict.ok is ok, verdict.text
    assert all(x in verdict.text for x in words), verdict.text


def test_what_a_run_leaves_runs_again_from_there(tmp_path):
    """Its robot's file is found, though the scenario named it from another folder."""
    (tmp_path / "limited.urdf").write_text(LIMITED)
    (tmp_path / "fall.json").write_text(
        json.dumps({"robot": "limited.urdf", "task": {"kind": "fall", "until": 0.1}})
    )
    first = run(read_scenario(tmp_path / "fall.json"))
    again = run(read_scenario(first.save(tmp_path / "out" / "run") / "scenario.json"))
    np.testing.assert_array_equal(again.run.q, first.run.q)


def test_limits_that_are_exceeded_are_warned_of():
    task = {"kind": "moves", "moves": [{"to": {"shoulder_pan_joint": 1.0}, "duration": 0.3}]}
    result = run(checked({"robot": "ur5", "task": task}))
    assert any(x.startswith("shoulder_pan_joint: speed") for x in result.warnings)


def test_the_table_of_joints_says_the_speeds_of_the_warnings():
    result = run(checked({"robot": "ur5", "task": {"kind": "fall", "until": 1.0}}))
    speeds = [x for x in result.run.exceeded if x.quantity == "speed"]
    assert speeds
    joints = list(result.robot.joint_names)
    for x in speeds:
        assert result.run.largest_speeds[joints.index(x.joint)] == x.largest
        assert f"{x.largest:.4g} rad/s</td>" in html(result, {})


def test_a_saved_scenario_runs_again_from_its_own_folder(tmp_path):
    for name in ("four_bar.urdf", "four_bar_loops.toml"):
        copy(FOLDER / name, tmp_path)
    text = 'robot = {model = "four_bar.urdf", loops = "four_bar_loops.toml"}\n'
    text += 'task = {kind = "fall", until = 0.1}\n'
    (tmp_path / "fall.toml").write_text(text)
    first = run(read_scenario(tmp_path / "fall.toml"))
    first.save(tmp_path / "runs" / "fall")
    again = run(read_scenario(tmp_path / "runs" / "fall" / "scenario.json"))
    assert (again.run.q == first.run.q).all()


def test_a_study_is_not_taken_for_a_scenario(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text('scenario = "move.toml"\npoints = 8\n')
    with pytest.raises(InputError, match=r"study\.toml is a study, not a scenario: appell sweep"):
        read_scenario(file)


def test_the_motion_is_read_by_those_who_follow_and_identify(tmp_path):
    from appell.identify import observe

    result = run(checked(TWO | {"sampling": {"period": 0.002}}))
    file = tmp_path / "motion.csv"
    file.write_text(motion_csv(result.built, result.run))
    trajectory, _ = read_motion(file, 2, joints=result.robot.joint_names)
    assert np.abs(trajectory(result.run.t)[0] - result.run.q).max() < 1e-9
    data = observe(result.robot, file)
    assert data.states[0].shape[1] == 2
    free = run(checked({"robot": CHAIN, "task": {"kind": "fall", "until": 0.2}}))
    table = np.genfromtxt(motion_csv(free.built, free.run).splitlines(), delimiter=",", names=True)
    assert np.ptp(np.diff(table["t_s"])) < 1e-12
    assert (table["tau1_N_m"] == 0).all()


def test_the_motions_of_the_papers_line_are_read_too(tmp_path):
    from appell.identify import observe
    from appell.show.report_folder import csv

    line = run().line
    file = tmp_path / "motion.csv"
    file.write_text(csv(line, line.shown))
    trajectory, _ = read_motion(file, 6)
    assert np.array_equal(trajectory.end, line.shown.q[-1])
    assert observe(line.robot, file).states[0].shape[1] == 6
