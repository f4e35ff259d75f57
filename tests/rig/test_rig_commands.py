"""``appell control``, teaching and the campaign."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from rigs import PUMA, START, law, ready, sound

from appell.cli.control_view import print_report, table_of
from appell.control.laws import LAWS
from appell.errors import InputError
from appell.rig import State, read_log
from appell.rig.campaign import campaign, outcome_line, outcomes_in
from appell.rig.controller.mission import Yield
from appell.rig.log.motion_files import read_motion
from appell.rig.loop.real_time_run import start
from appell.rig.machine.faults import KINDS, Fault
from appell.rig.machine.lockstep import Lockstep
from appell.rig.teach import Lesson, teach_in_lockstep, yielding
from appell.show.control_report import control_document
from appell.show.report_folder import write_documents
from tests.report_pages import examine


def test_move_and_show(command, tmp_path):
    result = command(
        "move", "--to", "5,-40,65,5,35,5", "--duration", 0.5, "--channel", "lockstep",
        "--log", "a.mcap",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "ENABLED" in result.output
    assert "STOP" in result.output
    np.testing.assert_allclose(
        np.degrees(read_log(tmp_path / "a.mcap")["q"][-1]), [5, -40, 65, 5, 35, 5], atol=1.5
    )
    shown = command("show", "a.mcap")
    assert shown.exit_code == 0
    drawn = command("show", "a.mcap", "-o", "drawn/report", "--animation")
    assert drawn.exit_code == 0, drawn.output
    folder = tmp_path / "drawn" / "report"
    page = (folder / "control.html").read_text()
    for link in ("motion.csv", "animation.html", "../../a.mcap"):
        assert f'href="{link}"' in page
        assert (folder / link).exists()
    assert '<iframe class="scene" src="animation.html"' in page
    assert 0.5 <= read_motion(folder / "motion.csv", 6)[0].duration < 1.5  # and until it stands
    assert "give its folder with --output" in command("show", "a.mcap", "--animation").stderr
    assert "cycles logged" in shown.output
    (tmp_path / "cut.mcap").write_bytes((tmp_path / "a.mcap").read_bytes()[:200_000])
    cut = command("show", "cut.mcap")
    assert cut.exit_code == 1
    assert "The log was cut" in cut.output
    data = bytearray((tmp_path / "a.mcap").read_bytes())
    data[200_100] ^= 1
    (tmp_path / "bad.mcap").write_bytes(data)
    bad = command("show", "bad.mcap")
    assert bad.exit_code == 1
    assert "The log is damaged: its checksum" in bad.output


NEEDED = {
    "joint-impedance": ["stiffness=1000,1500,400,20,13,1.4"],
    "cartesian-impedance": [
        "stiffness=2000,2000,2000,20,20,20",
        "damping=200,200,200,4,4,4",
        "joint_damping=10,10,10,1,1,0.1",
    ],
}  # gains without a usual value


@pytest.mark.parametrize("name", LAWS)
def test_every_law_moves_the_arm(command, tmp_path, name):
    gains = [text for gain in NEEDED.get(name, []) for text in ("--gain", gain)]
    result = command(
        "move", "--to", "20,-30,70,20,50,30", "--channel", "lockstep", "--law", name, *gains,
        "--log", "a.mcap",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    log = read_log(tmp_path / "a.mcap")
    np.testing.assert_allclose(log["q"][-1], np.radians([20, -30, 70, 20, 50, 30]), atol=0.1)
    assert f"<{LAWS[name].__name__} of" in log.metadata["law"]


def test_laws_are_listed(command):
    listed = command("laws")
    assert listed.exit_code == 0
    assert all(name in listed.output for name in LAWS)


def test_gains_are_given(command, tmp_path):
    move = ["move", "--to", "5,-40,65,5,35,5", "--duration", 0.5, "--channel", "lockstep"]
    law = ["--law", "computed-torque", "--gain", "kp=400", "--gain", "kd=40"]
    assert command(*move, *law, "--log", "a.mcap").exit_code == 0
    assert "kp=400, kd=40" in read_log(tmp_path / "a.mcap").metadata["law"]
    refused = command(*move, *law, "--gain", "ki=1")
    assert refused.exit_code == 2
    assert "computed-torque: 'ki' is none of its gains; they are kp, kd." in refused.stderr


def test_a_fault_gives_status_1_its_reason_and_the_last_seconds(command):
    result = command(
        "move", "--to", "5,-40,65,5,35,5", "--channel", "lockstep", "--fault", "hot@900,joint=4"
    )
    assert result.exit_code == 1
    assert "FAULT: over-temperature: joint 4" in result.output
    assert "The last 2 s" in result.output


def test_a_fault_that_comes_too_late_is_told(command):
    move = ["move", "--to", "1,-45,60,0,30,0", "--duration", 0.5, "--channel", "lockstep"]
    result = command(*move, "--fault", "hot@90000,joint=3")
    assert result.exit_code == 0, result.output
    assert "'hot@90000' never took effect" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "1,2"], "6 numbers, in degrees, such as 0,-45,60,0,30,0."),
        (["--to", "nan,0,0,0,0,0"], "'nan,0,0,0,0,0': expected 6 numbers, in degrees"),
        (["two_link", "--to", "1,2,3"], "2 numbers, in degrees, such as 0,-45."),
        (["--to", "5,-40,65,5,35,5", "--law", "magic"], "tracking-integral"),
        (["--to", "5,-40,65,5,35,5", "--law", "joint-impedance"], "give it as --gain stiffness="),
        (
            ["--to", "5,-40,65,5,35,5", "--law", "os:path"],
            "a class derived from appell.control.Law",
        ),
        (
            ["--to", "5,-40,65,5,35,5", "--fault", "fire@3"],
            "dead controller, disk full. Write it like 'stuck@1500,joint=2'.",
        ),
        (["--to", "5,-40,65,5,35,5", "--fault", "hot@9"], "of which joint? There are "),
        (["--to", "5,-40,65,5,35,5", "--fault", "hot@soon"], "cycle = 'soon'; expected a whole"),
        (["--to", "5,-40,65,5,35,5", "--fault", "hot@1,arm=2"], "'arm' is unknown; expected one"),
        (["--to", "5,-40,65,5,35,5", "--fault", "hot@1,joint=7"], "'7': there are joints 1 to 6"),
        (["--to", "5,-40,65,5,35,5", "--channel", "post"], "lockstep"),
        (["--to", "175,-40,65,5,35,5"], "joint 1"),
        (["--to", "5,-40,65,5,35,5", "--machine", "os:path"], "expected a rig.Machine"),
        (["--to", "5,-40,65,5,35,5", "--hardware", "os:path"], "expected what makes a driver"),
        (
            ["--to", "5,-40,65,5,35,5", "--hardware", "os:getcwd", "--channel", "lockstep"],
            "expected a driver with read, write and close",
        ),
        (["--to", "5,-40,65,5,35,5", "--duration", "1e9"], "10000 at most"),
        (["--to", "5,-40,65,5,35,5", "--log", "no/such/folder.mcap"], "no folder"),
    ],
)
def test_what_move_refuses(command, arguments, words):
    result = command("move", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


DRIVER = """
import numpy as np
from dataclasses import replace
from appell import load
from appell.rig import puma560_machine
from appell.rig.machine.lockstep import Lockstep
from appell.rig.machine.simulated_machine import Rig

mine = replace(puma560_machine(), name="mine")

def driver():
    return Lockstep(Rig(load("puma560"), mine, np.radians([0, -45, 60, 0, 30, 0])))
"""


def test_ones_own_machine_is_found_by_its_name(command, tmp_path):
    (tmp_path / "my_machine.py").write_text(DRIVER)
    move = ["move", "--to", "5,-40,65,5,35,5", "--channel", "lockstep", "--log", "own.mcap"]
    result = command(*move, "--hardware", "my_machine:driver", "--machine", "my_machine:mine")
    assert result.exit_code == 0, result.output
    assert read_log(tmp_path / "own.mcap").metadata["machine"] == "mine"
    for name in ("no_such:driver", "my_machine:no_such", "my_machine"):
        wrong = command("move", "--to", "5,-40,65,5,35,5", "--hardware", name)
        assert wrong.exit_code == 2
        assert "module:name" in wrong.stderr


def test_options_that_nothing_would_follow_are_refused(command, tmp_path):
    (tmp_path / "my_machine.py").write_text(DRIVER)
    own = ["--hardware", "my_machine:driver"]
    (tmp_path / "a.csv").write_text("0,0,0,0,0,0,0\n1,0,0,0,0,0,0\n")
    move = ["move", "--to", "5,-40,65,5,35,5"]
    for arguments, message in (
        ([*move, *own, "--channel", "udp"], "--channel udp: a machine of your own"),
        ([*move, *own, "--channel", "shm"], "--channel shm: a machine of your own"),
        (["follow", "a.csv", *own, "--from", "0,0,0,0,0,0"], "only a simulated arm can be told"),
        (["teach", "b.csv", *own, "--from", "0,0,0,0,0,0"], "only a simulated arm can be told"),
        (["soak", "--channel", "lockstep"], "soak measures real time; expected shm or udp"),
        (
            ["teach", "b.csv", "--channel", "lockstep", "--fault", "disk full@5"],
            "the fault 'disk full' is not supported there",
        ),
    ):
        refused = command(*arguments)
        assert refused.exit_code == 2
        assert message in refused.stderr
    said = "1 +4\nmark\n1 +4\nmark\nend\n"
    late = ["--channel", "lockstep", "--fault", "stuck@900000,joint=2"]
    assert "never took effect" in command("teach", "b.csv", *late, input=said).output


@pytest.mark.parametrize("channel", [["--channel", "lockstep"], []])
def test_ones_own_machine_takes_no_simulated_faults(command, tmp_path, channel):
    (tmp_path / "my_machine.py").write_text(DRIVER)
    move = ["move", "--to", "5,-40,65,5,35,5", "--duration", 0.5, *channel]
    own = [*move, "--hardware", "my_machine:driver", "--log", "own.mcap"]
    refused = command(*own, "--fault", "disk-full@900", "--fault", "stuck@900,joint=2")
    assert refused.exit_code == 2
    assert "fault 'stuck': a machine of your own takes no faults but" in refused.stderr
    assert not (tmp_path / "own.mcap").exists()


def test_a_disk_may_be_full_with_ones_own_machine(command, tmp_path):
    """That of the controller's process; one in lock step is this process, which must not die."""
    (tmp_path / "my_machine.py").write_text(DRIVER)
    move = ["move", "--to", "5,-40,65,5,35,5", "--channel", "lockstep"]
    own = [*move, "--hardware", "my_machine:driver"]
    full = command(*own, "--log", "full.mcap", "--fault", "disk-full@900")
    assert full.exit_code == 1, full.output
    assert "FAULT: log: No space left on device" in full.output
    assert "never took effect" not in full.output
    assert len(read_log(tmp_path / "full.mcap")) == 899
    assert "but disk full;" in command(*own, "--fault", "dead-controller@900").stderr
    made = partial(Path, "never called")
    assert ready(hardware=made, faults=[Fault("dead controller", 900)]).faults
    with pytest.raises(InputError, match="but dead controller and disk full;"):
        ready(hardware=made, faults=[Fault("slip", 900, size=20)])


IMPATIENT = """
from my_machine import driver

def impatient():
    made = driver()
    real = made.read

    def read(timeout):
        if made.rig.cycle == 300 and not hasattr(made, "pressed"):
            made.pressed = True
            raise KeyboardInterrupt
        return real(timeout)

    made.read = read
    return made
"""


def test_an_interrupt_has_its_status_and_is_in_the_log(command, tmp_path):
    (tmp_path / "my_machine.py").write_text(DRIVER)
    (tmp_path / "pressed.py").write_text(IMPATIENT)
    move = ["move", "--to", "5,-40,65,5,35,5", "--channel", "lockstep", "--log", "i.mcap"]
    result = command(*move, "--hardware", "pressed:impatient")
    assert result.exit_code == 130, result.output
    assert "STOP: interrupted" in result.output
    shown = command("show", "i.mcap")
    assert shown.exit_code == 0
    assert "STOP: interrupted" in shown.output


def test_teach_and_replay(command, tmp_path):
    said = "1 +4\nmark\n2 +4\n\nmark\nend\n"
    result = command("teach", "poses.csv", "--channel", "lockstep", input=said)
    assert result.exit_code == 0, result.output
    rows = np.loadtxt(tmp_path / "poses.csv", delimiter=",", skiprows=1)
    assert rows.shape == (2, 9)  # t, the joints, and the outputs, which are off
    assert not rows[:, 7:].any()
    assert np.degrees(rows[1, 2] - rows[0, 2]) == pytest.approx(4, abs=1.5)
    assert command("replay", "poses.csv", "--channel", "lockstep").exit_code == 0
    taught = (tmp_path / "poses.csv").read_text()
    again = command("teach", "puma560", "poses.csv", "--channel", "lockstep", input=said)
    assert "Written: poses-2.csv" in again.output
    assert (tmp_path / "poses.csv").read_text() == taught


def test_a_slip_of_the_pen_does_not_end_a_lesson(command, tmp_path):
    said = "1 +4\nmark\nmrak\n9 +1\n1 +2\nmark\nend\n"
    result = command("teach", "poses.csv", "--channel", "lockstep", input=said)
    assert result.exit_code == 0, result.output
    assert "'mrak': expected" in result.stderr
    assert "joints 1 to 6" in result.stderr
    assert len(np.loadtxt(tmp_path / "poses.csv", delimiter=",", skiprows=1)) == 2


def test_an_interrupt_keeps_what_was_taught(command, tmp_path, monkeypatch):
    hear = Lesson.hear

    def interrupted(lesson, line, q):
        if line == "Ctrl-C\n":
            raise KeyboardInterrupt
        hear(lesson, line, q)

    monkeypatch.setattr(Lesson, "hear", interrupted)
    said = "1 +4\nmark\n2 +4\nmark\nCtrl-C\n3 +4\nmark\nend\n"
    result = command("teach", "a.csv", "--channel", "lockstep", "--log", "a.mcap", input=said)
    assert result.exit_code == 130, result.output
    assert "STOP: interrupted" in result.output
    assert len(np.loadtxt(tmp_path / "a.csv", delimiter=",", skiprows=1)) == 2
    assert read_log(tmp_path / "a.mcap").complete
    moved = command("teach", "b.csv", "--motion", "--channel", "lockstep", input="1 +4\nCtrl-C\n")
    assert moved.exit_code == 130
    motion, _ = read_motion(tmp_path / "b.csv", 6)
    assert np.degrees(motion.end[0] - motion.start[0]) == pytest.approx(4, abs=1)
    few = command("teach", "c.csv", "--channel", "lockstep", input="mark\nCtrl-C\n")
    assert few.exit_code == 130
    assert not (tmp_path / "c.csv").exists()


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_within_a_cycle_ends_a_lesson_and_a_second_one_the_run(monkeypatch, times):
    read, pressed, marked = Lockstep.read, [], []

    def interrupted(machine, timeout=0.0):
        if len(marked) == 2 and len(pressed) < times:
            pressed.append(machine.rig.cycle)
            raise KeyboardInterrupt
        return read(machine, timeout)

    def lines():
        for _ in range(2):
            yield "mark"
            marked.append(True)
        yield "1 +4"
        yield "mark"

    monkeypatch.setattr(Lockstep, "read", interrupted)
    lesson = ready(trajectory=Yield(6, yielding(law().robot)))
    if times == 2:
        with pytest.raises(KeyboardInterrupt):
            teach_in_lockstep(lesson, lines(), pytest.fail)
        return
    report, taught = teach_in_lockstep(lesson, lines(), pytest.fail)
    assert (report.reason, len(taught.marks)) == ("interrupted", 2)
    assert report.plant["safe"]


def test_what_is_taught_has_a_place_before_it_is(command):
    result = command("teach", "no/such/folder.csv", "--channel", "lockstep", input="end\n")
    assert result.exit_code == 2
    assert "there is no folder no/such for folder.csv" in result.stderr
    result = command("teach", "/proc/poses.csv", "--channel", "lockstep", input="end\n")
    assert result.exit_code == 2
    assert "/proc/poses.csv" in result.stderr
    assert "name another file" in result.stderr


def test_one_mark_is_told_as_nothing_can_be_written(command, tmp_path):
    result = command("teach", "m.csv", "--channel", "lockstep", input="1 +4\nmark\nend\n")
    assert result.exit_code == 2
    told = re.search(r"one mark, at ([-.\d]+),([-.\d]+),", result.stderr)
    assert float(told[2]) == pytest.approx(-45, abs=5)
    assert not (tmp_path / "m.csv").exists()


def test_teach_keeps_a_whole_motion(command, tmp_path):
    result = command("teach", "m.csv", "--motion", "--channel", "lockstep", input="3 -5\nend\n")
    assert result.exit_code == 0, result.output
    motion, _ = read_motion(tmp_path / "m.csv", 6)
    assert np.degrees(motion.start[2] - motion.end[2]) == pytest.approx(5, abs=1)


@pytest.mark.parametrize("said", ["7 1", "one", "1 500", "1 2 3", "0 1"])
def test_what_a_lesson_refuses(said):
    with pytest.raises(InputError, match="joint"):
        Lesson(PUMA).hear(said, START)


# The campaign


def test_a_small_campaign_ends_well_and_is_kept(tmp_path):
    count = len(KINDS)
    made = {o.number: o for o in campaign(ready(), count, seed=5)}
    assert sorted(made) == list(range(count))
    assert all(o.good and o.logged for o in made.values()), [o for o in made.values() if not o.good]
    assert sum(o.due is not None for o in made.values()) >= count / 2
    path = tmp_path / "outcomes"
    path.write_text("".join(outcome_line(o) + "\n" for o in made.values()) + '{"number": 3')
    assert outcomes_in(path) == made
    assert list(campaign(ready(), count, 5, made)) == []


def test_the_campaign_command_goes_on_where_it_was(command, tmp_path):
    first = command("campaign", "--faults", 2, "--output", "o.jsonl")
    assert first.exit_code == 0, first.output
    assert "2 of 2" in first.output
    lines = (tmp_path / "o.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"seed": 0}
    assert len(lines) == 3
    other = command("campaign", "--faults", 2, "--output", "o.jsonl", "--seed", 1)
    assert other.exit_code == 2
    assert "--seed 0" in other.stderr


# On the terminal


def test_a_cycle_is_shown_while_it_runs():
    row = sound().last(0.5)[0]
    text = io.StringIO()
    Console(file=text, width=120).print(table_of(row, sound().units))
    assert "ENABLED, follow" in text.getvalue()
    assert f"{np.degrees(row['q'][1]):.3f}" in text.getvalue()


def test_times_are_shown_as_measured(capsys):
    report = replace(sound(), allowed={"memory": "locked"})
    print_report(report)
    assert "memory: locked" not in capsys.readouterr().out
    print_report(report, verbose=True)
    shown = capsys.readouterr().out
    assert "memory: locked" in shown
    assert "under 10 us" in shown
    assert "0.0000 % of cycles" in shown


def test_a_report_is_written_with_its_verdict_first(tmp_path):
    page = write_documents([control_document(sound())], tmp_path / "moved")[0]
    text = page.read_text(encoding="utf-8")
    assert sound().verdict.startswith(("arrived, ", "stopped"))
    assert text.index(sound().verdict) < text.index("<h2>Joints</h2>") < text.index("<figure")
    assert "torque, N m" in text
    examine(page, charts=False)
    broken = replace(sound(), state=State.FAULT, reason="encoder stuck: joint 2")
    head = control_document(broken).head()
    assert (head.verdict, head.good) == ("FAULT: encoder stuck: joint 2", False)


def test_a_report_can_be_drawn():
    figure = sound().plot()
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["position, deg", "error, deg", "torque, N m", "voltage, V"]
    assert "STOP" in repr(sound())


def test_what_cannot_go_to_another_process_is_refused():
    with pytest.raises(InputError, match="picklable"), start(ready(hardware=lambda: None)):
        pass


def test_a_soak_shows_how_late_cycles_were_and_what_the_machine_allows(command, monkeypatch):
    """On a busy machine it may end in a fault, and rightly; it is measured all the same."""
    monkeypatch.setattr("appell.cli.control_trials._EMPTY", 0.2)
    result = command("soak", "--minutes", 0.01)
    assert result.exit_code in (0, 1), result.output
    assert re.search(r"\d % of cycles more than half a period late or left out", result.output)
    empty = re.search(r"Of a loop that does nothing, for .* s before it: ([\d.]+) %", result.output)
    assert 0 <= float(empty[1]) <= 100
    assert "complete" in result.output


@pytest.mark.parametrize(
    "content",
    [b"\xff" * 100, b"[" * 10**5, b"{}", b'{"seed": 0}\n{"number": []}\n\xff\n' + b"[" * 10**5],
    ids=["bytes", "nested", "empty", "lines of others"],
)
def test_a_file_that_holds_other_things_than_outcomes(command, tmp_path, content):
    """Its first line tells; lines that are no outcomes do not count."""
    (tmp_path / "out.json").write_bytes(content)
    result = command("campaign", "--faults", 1, "--output", "out.json")
    assert result.exit_code == (2 if b"seed" not in content else 0), result.output
    assert isinstance(result.exception, SystemExit | None)
    assert (tmp_path / "out.json").read_bytes().startswith(content)
