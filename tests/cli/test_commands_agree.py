"""Commands agree with each other: options, examples, output, JSON, and the page that lists them."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import appell
from appell.cli import app, choices
from appell.control import quintic
from appell.control.laws import LAWS
from appell.rig.log.motion_files import read_motion

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = Path(appell.__file__).parent
_spec = importlib.util.spec_from_file_location("commands_page", DOCS / "commands.py")
page = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(page)

COMMANDS = page.commands(get_command(app))
# Examples that take long are run where their results are tested.
LONG = {
    "identify demo": "tests/identify/test_identify_puma.py",
    "reproduce": "tests/papers/test_reproduce.py",
}
STUDY = """
scenario = "ur5.toml"
points = 4
[vary]
"task.until" = {uniform = [0.1, 0.2]}
"""
GAINS = """
[scenario]
robot = "two_link"
task = {kind = "hold", at = [0.2, 0.1], until = 0.1}
law = {kp = 100.0, kd = 30.0}
[tune]
minimise = "rms_error"
iterations = 2
parameters = {"law.kd" = {between = [1, 40]}}
"""

# Commands that lack an option that all others have, and why.
PRINTS_NO_TABLE = dict.fromkeys(["new", "sweep new", "view"], "prints no table")
WITHOUT = {
    "-q": {},
    "--json": {},
    "-v": {**PRINTS_NO_TABLE, "control soak": "prints all that it measures"},
    "--loops": dict.fromkeys(
        [
            *(f"control {x}" for x in ("move", "follow", "replay", "teach")),
            *(f"identify {x}" for x in ("excite", "fit")),
        ],
        "robots with loops are refused",
    ),
    "--force": {
        "info": "a number is added to the picture's name",
        "control campaign": "goes on with the file that is there",
        "sweep run": "goes on with the folder that is there",
        "tune": "goes on with the folder that is there",
    },
}


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs ``appell ...`` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, **options):
        return CliRunner().invoke(app, [str(x) for x in arguments], **options)

    return run


def options_of(path):
    return {x: p for p in COMMANDS[path].params for x in p.opts + p.secondary_opts}


def parsed(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("path", COMMANDS)
def test_every_help_ends_with_an_example_that_is_understood(path):
    lines = page.examples(COMMANDS[path])
    assert all(line.startswith(f"appell {path}") for line in lines)
    for line in lines:
        COMMANDS[path].make_context(path, line.split()[1 + len(path.split()) :])


@pytest.fixture
def prepared(command, monkeypatch):
    """Leaves the files that a command's examples read in the folder, and gives what is typed."""
    monkeypatch.setattr("appell.show.viewer.robot_viewer.Viewer.wait", lambda self: None)
    monkeypatch.setattr("webbrowser.open", lambda url: True)

    def prepare(path):
        if path == "run":
            assert command("new", "ur5").exit_code == 0
        if path == "tune":
            Path("gains.toml").write_text(GAINS)
        if path.startswith("sweep"):
            assert command("new", "two_link", "--task", "fall", "-o", "ur5.toml").exit_code == 0
            Path("study.toml").write_text(STUDY)
        if path == "sweep show":
            assert command("sweep", "study.toml").exit_code == 0
        if path == "identify fit":
            robot, t = appell.load("puma560"), np.linspace(0, 10, 2001)[:, None]
            turns = np.pi * np.arange(1, 7) / 5
            q, v = np.sin(turns * t), turns * np.cos(turns * t)
            tau = robot.inverse_dynamics(q, v, -(turns**2) * q) + 0.5 * v + np.sign(v)
            names = ",".join(f"{x}{j}" for x in ("q", "v", "tau") for j in range(1, 7))
            rows = np.column_stack([t, q, v, tau])
            np.savetxt("run.csv", rows, delimiter=",", header=f"t,{names}", comments="")
        t, q = np.linspace(0, 1, 51), np.radians([0, -45, 60, 0, 30, 0])
        rows = np.column_stack([t, quintic(q, q + 0.1, 1.0)(t)[0]])
        for name in ("motion.csv", "poses.csv"):
            if path in ("control follow", "control replay"):
                np.savetxt(name, rows, delimiter=",", header="t,q1,q2,q3,q4,q5,q6", comments="")
        if path == "control show":
            move = ["control", "move", "--to", "1,-45,60,0,30,0", "--duration", "0.2"]
            assert command(*move, "--channel", "lockstep", "--log", "move.mcap").exit_code == 0
        return "mark\n1 +5\nmark\nend\n" if path == "control teach" else None

    return prepare


SHORT = [path for path in COMMANDS if path not in LONG]


@pytest.mark.parametrize("path", SHORT)
def test_examples_run(path, command, prepared):
    typed = prepared(path)
    for line in page.examples(COMMANDS[path]):
        result = command(*line.split()[1:], input=typed)
        assert result.exit_code == 0, (line, result.output)


@pytest.mark.parametrize(("path", "file"), LONG.items())
def test_examples_that_take_long_are_run_elsewhere(path, file):
    source = (DOCS.parent / file).read_text()
    for line in page.examples(COMMANDS[path]):
        assert f'"{line.removeprefix("appell ")}"' in source


def first_example(path):
    """Its words, shorter where it takes long, and such that it can be run again."""
    words = page.examples(COMMANDS[path])[0].split()[1:]
    words += {"control soak": ["--minutes", "0.01"], "control campaign": ["--faults", "1"]}.get(
        path, []
    )
    return [*words, *["--force"] * ("--force" in options_of(path))]


# What -q leaves where it is no path.
SAID = {
    "list": r"[a-z0-9_]+",
    "control laws": r"[a-z-]+",
    "info": r"five_bar: 2 degrees of freedom",
    "view": r"http://127\.0\.0\.1:\d+",
}


@pytest.mark.parametrize("path", SHORT)
def test_json_is_one_document_and_quiet_leaves_paths_and_names_only(path, command, prepared):
    typed, line = prepared(path), first_example(path)
    statuses = (0, 1) if path == "control soak" else (0,)  # a busy machine may be too late
    told = command(*line, "--json", input=typed)
    assert json.loads(told.stdout) is not None
    result = command(*line, "-q", input=typed)
    assert {told.exit_code, result.exit_code} <= {*statuses}, told.output + result.output
    for printed in result.stdout.splitlines():
        said = path in SAID and re.fullmatch(SAID[path], printed)
        assert said or Path(printed).is_file(), printed


@pytest.mark.parametrize("path", [x for x in SHORT if x not in WITHOUT["-v"]])
def test_verbose_prints_more(path, command, prepared):
    typed, line = prepared(path), first_example(path)
    less, more = (command(*line, *v, input=typed).stdout.splitlines() for v in ([], ["-v"]))
    if path == "list":  # the same lines, with longer paths
        less, more = "".join(less), "".join(more)
    assert len(more) > len(less)


def test_options_have_one_spelling():
    for path in COMMANDS:
        options = {x: p for p in COMMANDS[path].params for x in p.opts + p.secondary_opts}
        assert ("--output" in options) == ("-o" in options), path
        assert ("--quiet" in options) == ("-q" in options), path
        assert ("--verbose" in options) == ("-v" in options), path
        arguments = [p.name for p in COMMANDS[path].params if p.param_type_name == "argument"]
        if any("robot" in name for name in arguments):
            assert "robot" in arguments[0], path


def must_have(option):
    """The commands that must have an option, from what they take themselves."""
    if option == "--loops":
        return [x for x in COMMANDS if any("robot" in p.name for p in COMMANDS[x].params)]
    if option == "--force":
        return [x for x in COMMANDS if {"--output", "--picture"} & {*options_of(x)}]
    return list(COMMANDS)


@pytest.mark.parametrize("option", WITHOUT)
def test_every_command_has_the_options_that_all_share(option):
    lack = {x for x in must_have(option) if option not in options_of(x)}
    assert lack == {*WITHOUT[option]}


def test_shared_options_are_defined_once():
    source = "".join(x.read_text() for x in (SOURCE / "cli").glob("*.py"))
    for option in ("--quiet", "--verbose", "--json", "--loops", "--law", "--animation"):
        assert len(re.findall(rf'Option\(\s*"{option}"', source)) == 1, option


def test_angles_are_in_degrees_in_every_option():
    told = []
    for path, command in COMMANDS.items():
        for option in (p for p in command.params if p.param_type_name == "option"):
            words = (option.help or "").lower()
            assert not re.search(r"\brad(ians)?\b", words), (path, option.opts)
            if "degrees" in words:
                told.append(f"{path} {option.opts[0]}")
                assert re.search(r"\bm(/s(\^2)?)? for slides", words), (path, option.opts)
    limits = [f"identify excite --{x}" for x in ("position", "speed", "acceleration")]
    assert {"control move --to", "control follow --from", *limits, "identify fit --slowest"} <= {
        *told
    }


def test_help_and_completion(command):
    for words in (["-h"], ["control", "-h"], ["control", "move", "-h"]):
        result = command(*words)
        assert result.exit_code == 0
        assert "Usage" in result.stdout
    assert "--install-completion" in command("-h").stdout


def test_help_lists_commands_as_a_newcomer_needs_them(command):
    listed = re.findall(r"^│ (\w+)  +\S", command("-h").stdout.partition("Commands")[2], re.M)
    assert listed[:5] == ["list", "info", "view", "new", "run"]
    assert len(listed) == len({*listed})
    assert {*listed} == {path.split()[0] for path in COMMANDS}


def test_lists_of_commands_show_whole_sentences():
    for path, command in COMMANDS.items():
        first = (command.help or "").partition("\n\n")[0]
        assert "\n" not in first.strip(), path


@pytest.mark.parametrize("path", ["export", "control move", "control follow"])
def test_help_of_law_lists_all_laws(path):
    assert ", ".join(LAWS) in options_of(path)["--law"].help


@pytest.mark.parametrize(
    "path",
    [
        "reproduce", "identify demo", "identify excite", "control soak", "control campaign",
        "sweep run", "tune",
    ],
)  # fmt: skip
def test_help_tells_how_long_a_long_command_takes(path):
    assert re.search(r"Takes (about|as long)", COMMANDS[path].help)


def test_help_lists_the_names_that_are_known():
    from appell.equations.quantities import QUANTITIES
    from appell.export.targets import TARGETS
    from appell.identify.estimate.fitting import METHODS
    from appell.identify.excitation.excite import CRITERIA, KINDS
    from appell.papers import PAPERS
    from appell.robots.closed.library import CLOSED
    from appell.study.starter import TASKS

    assert choices.PAPERS == PAPERS
    assert tuple(LAWS) == choices.LAWS
    assert tuple(CLOSED) == choices.CLOSED
    assert choices.TASKS == TASKS
    assert ("c", *TARGETS) == choices.TARGETS
    assert (choices.KINDS, choices.CRITERIA) == (KINDS, CRITERIA)
    assert choices.METHODS == METHODS
    assert set(choices.QUANTITIES) == set(QUANTITIES) - {"motion", "flow"}
    assert set(choices.FORMULATIONS) == {x for q in QUANTITIES.values() for x in q.formulations}


def test_the_page_of_commands_is_made_from_the_commands():
    assert page.PAGE.read_text() == page.page(), "run: python docs/commands.py"


# Former spellings


def test_former_spellings_are_taken_with_a_note(command):
    move = ["control", "move", "--robot", "puma560", "--to", "1,-45,60,0,30,0", "--duration", "0.2"]
    law = ["--law", "computed-torque", "--gain", "kv=20"]
    result = command(*move, "--channel", "lockstep", *law)
    assert result.exit_code == 0, result.output
    assert "note: --robot: the robot is now the first argument." in result.stderr
    assert "note: computed-torque: the gain kv is now called kd." in result.stderr
    exported = command("export", "two_link", "--law", "computed-torque", "--kv", "20")
    assert exported.exit_code == 0, exported.output
    assert "the gain kv is now called kd" in exported.stderr


# What is printed


def test_tables_are_printed_as_json(command):
    robots = parsed(command("list", "--json"))
    assert {"puma560", "five_bar", "panda"} <= {x["robot"] for x in robots}
    laws = parsed(command("control", "laws", "--json"))
    assert {"law": "computed-torque", "gains": ["kp", "kd"]}.items() <= next(
        x for x in laws if x["law"] == "computed-torque"
    ).items()
    checks = parsed(command("check", "two_link", "--states", "3", "--json"))
    assert all(x["passed"] and x["error"] <= x["bound"] for x in checks)


def test_a_move_tells_first_whether_it_arrived_and_times_only_when_asked(command, tmp_path):
    move = ["control", "move", "puma560", "--to", "1,-45,60,0,30,0", "--duration", "0.2"]
    result = command(*move, "--channel", "lockstep", "--log", "a.mcap")
    assert result.stdout.startswith("arrived, ")
    assert "late by" not in result.stdout
    told = parsed(command(*move, "--channel", "lockstep", "--log", "a.mcap", "--json"))
    assert told["ok"]
    assert np.abs(told["final_error"]).max() < 0.01
    assert told["log"] == "a-2.mcap"  # a number is added, nothing is overwritten
    assert (tmp_path / "a-2.mcap").exists()
    shown = parsed(command("control", "show", "a.mcap", "--json"))
    assert shown["complete"]
    assert shown["state"] == "STOP"
    fault = command(*move, "--channel", "lockstep", "--fault", "hot@900,joint=4")
    assert fault.stdout.startswith("FAULT: over-temperature: joint 4")


def test_a_quiet_move_prints_paths_only_and_a_fault_on_standard_error(command):
    move = ["control", "move", "puma560", "--to", "1,-45,60,0,30,0", "--duration", "0.2", "-q"]
    move += ["--channel", "lockstep"]
    assert command(*move).output == ""
    assert command(*move, "--log", "a.mcap", "-o", "b").output == "a.mcap\nb/control.html\n"
    told = parsed(command(*move, "--log", "c.mcap", "-o", "d", "--json"))
    assert (told["log"], told["report"]) == ("c.mcap", "d/control.html")
    fault = command(*move, "--fault", "hot@900,joint=4")
    assert (fault.exit_code, fault.stdout) == (1, "")
    assert fault.stderr.startswith("FAULT: over-temperature: joint 4")


def test_an_export_as_json(command):
    told = parsed(command("export", "two_link", "gravity", "--json"))
    assert all(Path(x).is_file() for x in told["files"])
    assert told["operations"]["multiplications"] > 0
    assert told["stack_bytes"] >= 0


def test_what_is_too_far_is_told_in_the_units_of_the_option(command):
    move = ["control", "move", "--to", "2000,-45,60,0,30,0", "--channel", "lockstep"]
    assert "to 34.91 rad (0 to 2000 deg)" in command(*move).stderr


def test_exports_are_numbered_unless_forced(command):
    export = ["export", "two_link", "gravity", "-o", "code"]
    for more, folder in (([], "code/"), ([], "code-2/"), (["--force"], "code/")):
        result = command(*export, *more)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith(folder)


def test_reports_are_numbered_unless_forced(command, tmp_path):
    Path("hold.toml").write_text(
        'robot = "two_link"\ntask = {kind = "hold", until = 0.1}\noutputs = {animation = true}\n'
    )
    for more, folder in (([], "a"), ([], "a-2"), (["--force"], "a")):
        told = parsed(command("run", "hold.toml", "-o", "a", "--json", *more))
        assert told["report"] == f"{folder}/report.html"
        assert told["ok"]
    assert (tmp_path / "a" / "animation.html").stat().st_size > 500_000
    report = (tmp_path / "a" / "report.html").read_text()
    assert '<iframe class="scene" src="animation.html"' in report
    assert "sha256" in report
    file = tmp_path / "other.txt"
    file.write_text("kept")
    file.rename(tmp_path / "a" / "other.txt")
    command("run", "hold.toml", "-o", "a", "--force")
    assert (tmp_path / "a" / "other.txt").read_text() == "kept"


def test_a_new_scenario_has_its_schema_beside_it(command, tmp_path):
    told = parsed(command("new", "two_link", "-o", "a.toml", "--json"))
    assert told == {"scenario": "a.toml", "schema": "scenario.schema.json"}
    first = (tmp_path / "a.toml").read_text().splitlines()[0]
    assert first == "#:schema ./scenario.schema.json"
    schema = json.loads((tmp_path / "scenario.schema.json").read_text())
    assert "animation" in schema["$defs"]["Outputs"]["properties"]
    refused = command("new", "two_link", "-o", "a.toml")
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert command("new", "two_link", "-o", "a.toml", "--force").exit_code == 0


# What a robot is


@pytest.mark.parametrize("name", ["panda", "five_bar", "agile_wrist", "talos"])
def test_info_tells_what_a_robot_is(command, name):
    robot = appell.load(name)
    facts = parsed(command("info", name, "--json"))
    assert facts["degrees_of_freedom"] == robot.nv
    floating = getattr(robot.model, "free", False)
    assert facts["actuators"] == list(robot.actuated[6 if floating else 0 :])
    assert facts["frames"] == list(robot.link_names)
    assert len(facts["loops"]) == len(getattr(robot, "constraints", ()))
    assert "inverse_dynamics" in facts["answers"]
    text = command("info", name).stdout
    assert robot.name in text
    assert all(frame in text for frame in robot.link_names)
    if name == "panda":
        joint = facts["joints"][0]
        own = robot.model.joints[0]
        assert [joint[x] for x in ("lower", "upper", "speed", "effort")] == [
            own.lower, own.upper, own.speed, own.effort
        ]  # fmt: skip
        assert joint["units"] == {"position": "rad", "speed": "rad/s", "effort": "N m"}


SCENARIOS = Path(__file__).parents[2] / "examples" / "scenarios"


def test_a_robot_is_drawn(command):
    """With as many outlines as there is to see, to scale, and without Matplotlib."""
    assert command("info", "puma560", "--picture", "a.svg").stdout.endswith("Picture: a.svg\n")
    root = ElementTree.parse("a.svg").getroot()
    shapes = [x for x in root.iter() if x.tag.endswith(("polyline", "path", "polygon"))]
    assert len(shapes) > 6
    assert "animate" not in Path("a.svg").read_text()
    told = parsed(command("info", "puma560", "--picture", "a.svg", "--json"))
    assert told["picture"] == "a-2.svg"
    refused = command("info", "puma560", "--picture", "a.bmp")
    assert refused.exit_code == 2
    assert ".svg" in refused.stderr


def test_verbose_info_has_the_inertias_of_the_links(command):
    puma = appell.load("puma560")
    facts = parsed(command("info", "puma560", "--json"))
    for told, body in zip(facts["joints"], puma.model.links.values(), strict=True):
        np.testing.assert_allclose(told["centre_of_mass"], [float(x) for x in body.inertia.com])
        assert set(told["inertia"]) == {"Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz"}
        assert told["inertia"]["Izz"] == float(body.inertia.central.zz)
    assert "Ixx, Ixy, Iyy, Ixz, Iyz, Izz" in command("info", "puma560", "-v").stdout


def test_loops_of_a_file_are_closed(command):
    robot, loops = SCENARIOS / "four_bar.urdf", SCENARIOS / "four_bar_loops.toml"
    facts = parsed(command("info", robot, "--loops", loops, "--json"))
    assert facts["degrees_of_freedom"] == 1
    assert len(facts["loops"]) == 1
    checks = parsed(command("check", robot, "--loops", loops, "--states", "3", "--json"))
    assert all(x["passed"] for x in checks)
    code = parsed(command("export", robot, "mass_matrix", "--loops", loops, "--json"))
    assert all(Path(x).is_file() for x in code["files"])
    wrong = command("info", "puma560", "--loops", loops)
    assert wrong.exit_code == 2
    assert "closes the loops of a .urdf file" in wrong.stderr


def test_an_unknown_robot_is_refused_with_the_nearest_names(command):
    refused = command("info", "pumma560")
    assert refused.exit_code == 2
    assert "Did you mean 'puma560'?" in refused.stderr
    assert len(refused.stderr) < 300


# Files


def test_what_run_writes_is_followed(tmp_path):
    """Named columns t, q1, ..., v1, ..., a1, ..., tau1, ...: the motion is that of t and q."""
    t = np.linspace(0, 1, 11)
    motion = quintic([0.1, 0.2], [0.5, -0.3], 1.0)
    q, v, a = motion(t)
    columns = np.column_stack([t, q, v, a, 0 * q])
    names = ["t", *(f"{x}{j}" for x in ("q", "v", "a", "tau") for j in (1, 2))]
    whole, plain = tmp_path / "whole.csv", tmp_path / "plain.csv"
    np.savetxt(whole, columns, delimiter=",", header=",".join(names), comments="")
    np.savetxt(plain, columns[:, :3], delimiter=",", header="t,q1,q2", comments="")
    times = np.linspace(0, 1, 101)
    for x, y in zip(read_motion(whole, 2)[0](times), read_motion(plain, 2)[0](times), strict=True):
        np.testing.assert_array_equal(x, y)
    np.savetxt(whole, columns[:, :4], delimiter=",", header="t,q1,q2,q3", comments="")
    with pytest.raises(appell.InputError, match="column 'q3'"):
        read_motion(whole, 2)


# Help and messages


def test_no_help_text_loses_a_bracket_and_metavars_are_upper_case():
    from rich.text import Text

    for path, found in COMMANDS.items():
        for p in found.params:
            text = getattr(p, "help", None) or ""
            assert Text.from_markup(text).plain == text.replace(r"\[", "["), (path, p.name)
            assert not re.search(r" \.(\s|$)|  ", text), (path, p.name)
            if p.param_type_name == "argument":
                assert p.metavar, (path, p.name)
                assert p.metavar == p.metavar.upper(), (path, p.name)
        assert Text.from_markup(found.help).plain == found.help, path


def test_a_page_of_the_viewer_is_numbered_and_not_replaced(command, tmp_path):
    for name in ("a.html", "a-2.html"):
        assert parsed(command("view", "two_link", "--html", "a.html", "--json")) == {"html": name}
    for name in ("a.svg", "a-2.svg"):
        told = parsed(command("info", "two_link", "--picture", "a.svg", "--json"))
        assert told["picture"] == name


def test_a_mistyped_command_of_sweep_is_told_its_commands(command):
    refused = command("sweep", "shw", "folder")
    assert refused.exit_code == 2
    assert "expected run, show, new or a study. Did you mean 'show'?" in refused.stderr


def test_info_lists_no_motors_of_a_free_base(command):
    facts = parsed(command("info", "solo12", "--json"))
    assert facts["free_base"]
    assert len(facts["actuators"]) == 12


def test_other_columns_are_told_of_as_the_command_line_can_name_them(command, tmp_path):
    (tmp_path / "a.csv").write_text("time,angle\n0,0\n1,1\n")
    refused = command("identify", "fit", "two_link", "a.csv")
    assert refused.exit_code == 2
    assert "Rename the columns" in refused.stderr
    assert "columns={" not in refused.stderr
