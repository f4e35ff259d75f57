"""What a scenario says is what is computed: against the functions that it stands for."""

from __future__ import annotations

import json
from math import pi, radians

import numpy as np
import pytest

import appell
from appell import control
from appell.errors import InputError
from appell.rig.log.motion_files import read_motion
from appell.study import build, read_scenario, run
from appell.study.run_motion import motion_csv
from appell.study.scenario_file import checked

MOVE = {"kind": "moves", "moves": [{"to": {"joint2": 30.0}, "duration": 0.5}]}
CHAIN = {"model": "planar_chain", "options": {"n": 2}}  # two bars of 1 m and 1 kg
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"law": {"kpp": 1.0}}, "law.kpp: computed-torque has no such gain; did you mean 'kp'?"),
        ({"law": {"kp": -1.0}}, "law: ComputedTorque: "),
        ({"law": {"name": "pid"}}, "law.name: law 'pid'; expected one of tracking-integral"),
        ({"start": {"q": {"joint3": 1}}}, "start.q: 'planar_chain(2)' has no joint 'joint3' here"),
        ({"start": {"q": [1, 2, 3]}}, "start.q: the array has shape (3,)"),
        ({"walls": [{"kind": "plane", "normal": [0, 1]}]}, "walls: not with a law"),
        ({"contacts": {"mu": 0.3}}, "contacts.mu: not with a law"),
        ({"integrator": {"rtol": 1e-9}}, "integrator.rtol: not with a law"),
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


def test_limits_that_are_exceeded_are_warned_of():
    task = {"kind": "moves", "moves": [{"to": {"shoulder_pan_joint": 1.0}, "duration": 0.3}]}
    result = run(checked({"robot": "ur5", "task": task}))
    assert any(x.startswith("shoulder_pan_joint: speed") for x in result.warnings)


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
