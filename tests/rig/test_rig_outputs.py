"""Digital outputs: switched on the way, off in every safe state but where they are kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rigs import END, PUMA, START, law, moving, ready, run

from appell.control import spline
from appell.errors import InputError
from appell.rig import Fault, Switch
from appell.rig.controller.mission import Follow, Yield
from appell.rig.log.motion_files import read_motion, write_motion
from appell.rig.loop.run_setup import setup
from appell.rig.machine.outputs import schedule, switch_option
from appell.rig.machine.protocol import Command, Order, command_bytes, command_of, zero_volts
from appell.rig.machine.simulated_machine import Rig
from appell.rig.start import in_lockstep
from appell.rig.teach import teach_in_lockstep, yielding

GRIPPER = replace(PUMA, outputs=("gripper", "lamp"), kept=("gripper",))
TIMES = (Switch(0.2, "tool1", True), Switch(0.5, "tool1", False), Switch(0.3, "tool2", True))


def heard(monkeypatch):
    """The outputs that the simulated machine has on, cycle by cycle."""
    tools, step = [], Rig.step

    def stepped(rig, command):
        made = step(rig, command)
        tools.append(rig.tools)
        return made

    monkeypatch.setattr(Rig, "step", stepped)
    return tools


def test_outputs_are_switched_at_their_times_and_heard_by_the_machine(monkeypatch):
    tools = heard(monkeypatch)
    report = run(switches=TIMES)
    assert report.ok, report.reason
    assert report.switches == sorted(TIMES)
    on = report.outputs["tool1"]
    start = np.argmax(report.following)
    assert not on[: start + 200].any()
    assert on[start + 200 : start + 500].all()
    assert not on[start + 500 :].any()
    # The machine hears a command in the cycle after it is given.
    assert tools.count(Order.TOOL_1) + tools.count(Order.TOOL_1 | Order.TOOL_2) == on.sum()
    assert tools[-1] == 0
    assert report.plant["outputs"] == []


def test_every_round_switches_alike_and_the_rest_keeps_the_last():
    there_and_back = np.array([START, END, START])
    mission = Follow(spline(there_and_back, [0, 1, 2]), PUMA, 3, 0.5, [(0.5, "tool2", True)])
    bits = [mission.bits(k) for k in range(mission.cycles + 1)]
    once = [0] * 500 + [Order.TOOL_2] * 1500
    assert bits == [*once * 3, *[Order.TOOL_2] * 501]


@pytest.mark.parametrize("machine", [PUMA, GRIPPER], ids=["off", "kept"])
def test_a_fault_switches_off_what_is_not_kept(machine, monkeypatch):
    first, second = machine.outputs
    tools = heard(monkeypatch)
    report = run(
        machine=machine,
        switches=[(0.1, first, True), (0.1, second, True)],
        faults=[Fault("hot", cycle=int(moving()), joint=1)],
    )
    assert report.reason.startswith("over-temperature")
    assert Order.TOOL_1 | Order.TOOL_2 in tools
    kept = Order.TOOL_1 if machine is GRIPPER else 0
    assert tools[-1] == kept
    assert report.plant["outputs"] == (["gripper"] if machine is GRIPPER else [])
    assert report.plant["safe"]


@pytest.mark.parametrize("machine", [PUMA, GRIPPER], ids=["off", "kept"])
def test_the_machines_watchdog_does_the_same_by_itself(machine):
    rig = Rig(law().robot, machine, START)
    order = Order.ENABLE | Order.RELEASE | Order.TOOL_1 | Order.TOOL_2
    rig.step(Command(1, 0, order, zero_volts(6)))
    assert rig.tools == Order.TOOL_1 | Order.TOOL_2
    for _ in range(machine.watchdog + 1):
        rig.step(None)
    assert rig.stopped_at is not None
    assert rig.tools == (Order.TOOL_1 if machine is GRIPPER else 0)


def test_the_bits_pass_through_the_record():
    told = Command(7, 9, Order.ENABLE | Order.TOOL_2, zero_volts(6))
    assert command_of(command_bytes(told), 6).order == Order.ENABLE | Order.TOOL_2


class Own:
    """A mission that has its own way with outputs."""

    start, law = START, None

    def __init__(self, names):
        self.names = names

    def at(self, k, q):
        return None if k > 300 else (START, np.zeros(6), np.zeros(6))

    def outputs(self, k):
        return self.names if k > 100 else ()


def test_a_mission_of_ones_own_switches_by_names():
    report = run(trajectory=Own(["tool2"]))
    assert report.ok, report.reason
    assert report.switches == [Switch(0.101, "tool2", True)]
    broken = run(trajectory=Own(["laser"]))
    assert "mission: outputs: InputError: no output 'laser'" in broken.reason
    assert broken.plant["safe"]
    with pytest.raises(InputError, match="says itself which outputs are on"):
        setup(law(), Own([]), switches=[(0.1, "tool1", True)])


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        ([(0.1, "gripper", True)], "no output 'gripper'; the machine's outputs are tool1, tool2"),
        ([(9.0, "tool1", True)], "at 9.0 s; expected a time from 0 to 0.8 s"),
        ([(-1.0, "tool1", True)], "at -1.0 s; expected a time from 0"),
        ([(float("nan"), "tool1", True)], "at nan s"),
        ([(0.1, "tool1", 1)], "to 1; expected True or False"),
        (["tool1"], "switch 'tool1'; expected a time, an output's name"),
    ],
)
def test_switches_that_cannot_be_are_refused(switches, message):
    with pytest.raises(InputError, match=message):
        ready(switches=switches)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"outputs": ("a", "a")}, "expected at most 2 different names"),
        ({"outputs": ("a", "b", "c")}, "expected at most 2 different names"),
        ({"outputs": ("q1",)}, "other than t, q1"),
        ({"outputs": "tool1"}, "expected names such as"),
        ({"kept": ("lamp",)}, "its outputs are tool1, tool2"),
    ],
)
def test_names_of_outputs_are_checked(names, message):
    with pytest.raises(InputError, match=message):
        replace(PUMA, **names)


def test_a_switch_between_cycles_waits_for_the_next():
    levels = schedule([(0.0, "tool1", True), (0.0025, "tool1", False)], PUMA.outputs, 5, 0.001)
    assert levels.tolist() == [4, 4, 4, 0, 0, 0]


# Files


def test_a_file_has_a_column_for_each_output(tmp_path):
    t, q = np.array([0.0, 0.5, 1.0]), np.array([START, END, START])
    write_motion(tmp_path / "a.csv", t, q, {"gripper": np.array([0, 1, 1]), "lamp": [1, 0, 0]})
    assert (tmp_path / "a.csv").read_text().splitlines()[0] == "t,q1,q2,q3,q4,q5,q6,gripper,lamp"
    expected = [
        Switch(0.0, "lamp", True), Switch(0.25, "gripper", True), Switch(0.25, "lamp", False),
    ]  # fmt: skip
    np.savez(tmp_path / "a.npz", t=t, q=q, gripper=[0, 1, 1], lamp=np.array([1, 0, 0]))
    for name in ("a.csv", "a.npz"):
        given = (tmp_path / name, 6, 2.0, (), GRIPPER.outputs)
        motion, switches = read_motion(*given)
        assert switches == expected
        np.testing.assert_allclose(motion.end, START, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,q1,tool1\n0,0,0\n1,1,2\n", "output 'tool1' in row 2; expected 1"),
        ("t,q1,tool1\n0,0,0\n1,1,0.5\n", "output 'tool1' in row 2; expected 1"),
        ("t,q1,tool1\n0,0,0\n1,1,nan\n", "output 'tool1' in row 2; expected 1"),
        ("t,q1,tool1,tool1\n0,0,0,0\n1,1,1,1\n", "there twice"),
        ("t,q1,laser\n0,0,0\n1,1,1\n", "column 'laser'; expected"),
    ],
)
def test_columns_of_outputs_are_checked(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_motion(tmp_path / "a.csv", 1)


# Teaching, and the command line


def test_a_lesson_notes_the_outputs_at_its_marks(monkeypatch):
    tools = heard(monkeypatch)
    lines = ["mark", "tool1 on", "1 +4", "mark", "tool1 off", "laser on", "mark", "end"]
    told = []
    report, lesson = teach_in_lockstep(
        ready(trajectory=Yield(6, yielding(law().robot))), lines, told.append
    )
    assert report.ok, report.reason
    assert lesson.marked == [0, Order.TOOL_1, 0]
    assert "no output 'laser'" in str(told[0])
    assert Order.TOOL_1 in tools
    assert tools[-1] == 0


def test_taught_outputs_are_switched_when_replayed(command, tmp_path):
    said = "mark\n1 +4\ntool2 on\nmark\n2 +3\ntool2 off\nmark\nend\n"
    for kept in ((), ("--motion",)):
        name = f"a{len(kept)}"
        result = command("teach", f"{name}.csv", *kept, "--channel", "lockstep", input=said)
        assert result.exit_code == 0, result.output
        head = (tmp_path / f"{name}.csv").read_text().splitlines()[0]
        assert head.endswith("q6 [rad],tool1,tool2")
        done = command("replay", f"{name}.csv", "--channel", "lockstep", "--log", f"{name}.mcap")
        assert done.exit_code == 0, done.output
        assert "Output tool2 on, " in done.output
        assert "Output tool2 off, " in done.output
        assert "Output tool1" not in done.output


def test_the_command_line_switches_outputs(command, tmp_path):
    to = ",".join(f"{x:.1f}" for x in np.degrees(END))
    move = ("move", "--to", to, "--duration", "0.8", "--channel", "lockstep")
    result = command(*move, "--switch", "tool1=on@0.2", "--switch", "tool1=off@0.6")
    assert result.exit_code == 0, result.output
    assert "Output tool1 on, 0.200 s after the motion's start" in result.output
    assert "Output tool1 off, 0.600 s after the motion's start" in result.output
    for wrong, words in (("tool1", "expected name=on@time"), ("laser=on@0.1", "no output 'laser'")):
        refused = command(*move, "--switch", wrong)
        assert refused.exit_code == 2
        assert words in " ".join(refused.stderr.split())
    levels = {"tool1": np.array([0.0, 1.0])}
    write_motion(tmp_path / "m.csv", np.array([0.0, 1.0]), np.array([START, END]), levels)
    both = command("follow", "m.csv", "--channel", "lockstep", "--switch", "tool1=on@0.1")
    assert both.exit_code == 2
    assert "the file switches tool1, too" in " ".join(both.stderr.split())


def test_a_switch_of_the_command_line():
    assert switch_option("gripper=off@1.5") == Switch(1.5, "gripper", False)


def test_outputs_in_real_time(tmp_path):
    """A lesson's switches go to the process of the loop, and those of a motion with its mission."""
    from appell.rig.loop.real_time_run import start

    led = ready(trajectory=Yield(6, yielding(law().robot)), channel="shm", log=tmp_path / "l.mcap")
    with start(led) as running:
        seen = []

        def look(run):
            row = run.now()
            if row is None or row["phase"] != 3:
                return
            seen.append(int(row["order"]))
            run.switch(Order.TOOL_2)
            if row["order"] & Order.TOOL_2:
                run.stop()

        report = running.wait(look)
    assert report.outputs["tool2"].any()
    assert not report.outputs["tool2"][-1]
    assert report.plant["outputs"] == []


@pytest.mark.parametrize("told", [None, 5, [1, 2], "tool", {"a": 1}])
def test_a_log_without_names_has_the_usual_ones(told):
    report = run(switches=[(0.1, "tool2", True)])
    report.log.metadata["outputs"] = told
    assert report.switches == [Switch(0.1, "tool2", True)]


def test_machines_are_named_in_the_log():
    report = in_lockstep(ready(machine=GRIPPER, switches=[(0.1, "lamp", True)]))
    assert list(report.outputs) == ["gripper", "lamp"]
    assert report.switches == [Switch(0.1, "lamp", True)]
