"""Joints that slide: metres are metres, on the command line, in files, tables and pictures."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import appell
from appell.cli.control_view import print_report, table_of
from appell.control import TrackingIntegral, quintic
from appell.errors import InputError
from appell.model.units import SLIDING, TURNING, UNKNOWN
from appell.rig import Machine, Report, read_log
from appell.rig.controller.mission import Follow, refuse_mission
from appell.rig.log.motion_files import read_motion, write_motion
from appell.rig.loop.run_setup import setup
from appell.rig.machine.machine import machine_for
from appell.rig.start import in_lockstep
from appell.rig.teach import Lesson, poses

# A column that turns and an arm that slides out of it, level.
ARM = """<robot name="column">
  <link name="base"/>
  <link name="column"><inertial><mass value="8"/>
    <inertia ixx="0.2" iyy="0.2" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="slide"><inertial><origin xyz="0.3 0 0"/><mass value="3"/>
    <inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="column"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="2" effort="60"/></joint>
  <joint name="reach" type="prismatic"><parent link="column"/><child link="slide"/>
    <axis xyz="1 0 0"/><limit lower="-0.1" upper="0.5" velocity="1" effort="200"/></joint>
</robot>"""
KINDS = ("revolute", "prismatic")


@pytest.fixture
def arm(tmp_path) -> str:
    path = tmp_path / "column.urdf"
    path.write_text(ARM)
    return str(path)


@pytest.fixture
def report(arm) -> Report:
    law = TrackingIntegral(appell.load(arm))
    return in_lockstep(setup(law, quintic([0, 0], [0.5, 0.2], 0.5)))


def test_move_takes_metres_for_a_joint_that_slides(command, arm, tmp_path):
    result = command(
        "move", arm, "--from", "10,0.05", "--to", "30,0.25", "--duration", 0.8,
        "--channel", "lockstep", "--log", "a.mcap",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    log = read_log(tmp_path / "a.mcap")
    np.testing.assert_allclose(log["qd"][-1], [np.radians(30), 0.25], atol=1e-9)
    # The law follows within some hundredths of a degree, and a tenth of a millimetre.
    np.testing.assert_allclose(log["q"][-1], [np.radians(30), 0.25], atol=2e-3)
    assert "Largest errors on the way: " in result.output
    assert " deg, 0.0" in result.output
    assert result.output.split("Largest errors on the way: ")[1].splitlines()[0].endswith(" m")
    shown = command("show", "a.mcap")
    assert shown.output.split("Largest errors on the way: ")[1].splitlines()[0].endswith(" m")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "10"], "expected 2 numbers, in degrees (reach: in m), such as 0,0.1."),
        (["--to", "10,30"], "joint 2 from 0 to 30 m; 'assumed machine of column' goes from -0.1"),
        (["--to", "500,0.1"], "joint 1 from 0 to 8.727 rad (0 to 500 deg);"),
        (["--to", "0,0.4", "--duration", "0.1"], "joint 2 at 7.5 m/s; "),
    ],
)
def test_what_a_slide_cannot_do_is_refused_in_metres(command, arm, options, message):
    result = command("move", arm, "--channel", "lockstep", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_teach_and_replay_in_metres(command, arm, tmp_path):
    said = "2 +0.1\nmark\n1 +10\n2 +0.05\nmark\nend\n"
    taught = command("teach", arm, "m.csv", "--channel", "lockstep", input=said)
    assert taught.exit_code == 0, taught.output
    text = Path("m.csv").read_text()
    assert text.startswith("t,q1 [rad],q2 [m],tool1,tool2\n")
    rows = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)
    # Homing has moved the joints; a hand lets go within a hundredth of where it wants them.
    np.testing.assert_allclose(np.diff(rows[:, 1:3], axis=0)[0], [np.radians(10), 0.05], atol=0.02)
    replayed = command("replay", arm, "m.csv", "--channel", "lockstep")
    assert replayed.exit_code == 0, replayed.output


def test_a_lesson_speaks_of_metres(arm):
    machine = machine_for(appell.load(arm))
    lesson = Lesson(machine)
    lesson.hear("2 +0.1", np.zeros(2))
    lesson.hear("1 +10", np.zeros(2))
    np.testing.assert_allclose(lesson.hand.target, [np.radians(10), 0.1])
    with pytest.raises(InputError, match=r"joint 2 goes from -0\.1 to 0\.5 m"):
        lesson.hear("2 +1", np.zeros(2))
    lesson.marks.append(np.array([np.radians(10), 0.1234]))
    with pytest.raises(
        InputError, match=r"at 10\.000,0\.123400 \(deg and m\).*--to 10\.000,0\.1234"
    ):
        poses(lesson, machine)


def test_files_name_units_that_a_joint_has(tmp_path):
    t, q = np.array([0.0, 1.0]), np.array([[0.1, 0.2], [0.3, 0.4]])
    write_motion(tmp_path / "a.csv", t, q, kinds=KINDS)
    motion, _ = read_motion(tmp_path / "a.csv", 2, kinds=KINDS)
    np.testing.assert_allclose(motion(1.0)[0], q[1])
    path = tmp_path / "b.csv"
    path.write_text("t,q1 [deg],q2 [mm]\n0,0,0\n1,90,250\n")
    motion, _ = read_motion(path, 2, kinds=KINDS)
    np.testing.assert_allclose(motion(1.0)[0], [np.pi / 2, 0.25])
    for wrong in ("q1 [m],q2 [m]", "q1,q2 [deg]", "q1,q2 [rad]", "q1 [mm],q2"):
        path.write_text(f"t,{wrong}\n0,0,0\n1,0.1,0.1\n")
        with pytest.raises(InputError, match=r"\[m\] or \[mm\] if it slides"):
            read_motion(path, 2, kinds=KINDS)


def test_a_report_names_units(report, capsys, arm):
    assert report.units == (TURNING, SLIDING)
    assert report.ok
    errors = np.abs(report.error[report.following]).max(axis=0)
    np.testing.assert_array_equal(report.largest_errors, errors)
    assert f"error at most {errors[0]:.3g} rad and {errors[1]:.3g} m," in repr(report)
    print_report(report)
    degrees, metres = np.degrees(errors[0]), errors[1]
    assert f"on the way: {degrees:.2f} deg, {metres:.5f} m\n" in capsys.readouterr().out
    panels = report.chart().panels
    assert [panel.y for panel in panels] == [
        "position, deg", "position, m", "error, deg", "error, m", "torque, N m", "force, N",
        "voltage, V",
    ]  # fmt: skip
    assert [panel.lines[0].name for panel in panels[:2]] == list(appell.load(arm).joint_names)
    np.testing.assert_allclose(panels[0].lines[0].y, np.degrees(report.q[:, 0]))
    np.testing.assert_array_equal(panels[1].lines[0].y, report.q[:, 1])
    assert len(report.plot().axes) == len(panels)
    assert " mrad and " in report.verdict
    row = report.last(0.3)[0]
    text = io.StringIO()
    Console(file=text, width=120).print(table_of(row, report.units))
    assert f"{np.degrees(row['q'][0]):.3f} deg" in text.getvalue()
    assert f"{row['q'][1]:.6f} m" in text.getvalue()
    assert "m/s" in text.getvalue()
    assert f"{row['tau'][1]:.2f} N " in text.getvalue()


def test_a_log_that_does_not_say_has_unknown_units(report):
    del report.log.metadata["kinds"]
    assert report.units == (UNKNOWN,) * 2
    assert "rad or m" in repr(report)
    report.log.metadata["kinds"] = ["revolute", 5]
    assert report.units == (TURNING, UNKNOWN)
    report.log.metadata["kinds"] = "revolute"
    assert report.units == (UNKNOWN,) * 2


def test_a_machine_of_ones_own_takes_the_joints_of_the_robot(arm):
    robot = appell.load(arm)
    own = Machine(
        "mine", [-2, -0.1], [2, 0.5], [2, 1], 1000, 100.0, [-2, -0.1], [2, 0.5], 0.1, 1.0, 1.0
    )
    assert own.units == (UNKNOWN,) * 2
    ready = setup(TrackingIntegral(robot), quintic([0, 0], [0.5, 0.2], 2.0), machine=own)
    assert ready.machine.units == (TURNING, SLIDING)
    assert ready.metadata["kinds"] == list(KINDS)
    with pytest.raises(InputError, match="'revolute' or 'prismatic' for each of 2"):
        Machine(
            "odd", [-2, -0.1], [2, 0.5], [2, 1], 1000, 100.0, [-2, -0.1], [2, 0.5], 0.1, 1.0, 1.0,
            kinds=("revolute",),
        )  # fmt: skip


def test_missions_are_refused_in_metres(arm):
    machine = machine_for(appell.load(arm))
    with pytest.raises(InputError, match=r"ends 0\.2 m from where it begins"):
        Follow(quintic([0, 0], [0, 0.2], 1.0), machine, repeat=2)

    class Far:
        start, law = np.array([0.0, 3.0]), None

        def at(self, k, q):
            return None

    with pytest.raises(InputError, match=r"joint 2 from 3 to 3 m;"):
        refuse_mission(Far(), machine)
