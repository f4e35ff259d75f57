"""Scenario files say what is wrong with them, where, and how it is put right."""

from __future__ import annotations

import json
import sys
from typing import Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

import appell
from appell.control.kinematics.spherical_wrist import BRANCHES
from appell.control.laws import LAWS
from appell.errors import InputError
from appell.model.settings_lines import line_numbers
from appell.study import Scenario, json_schema, read_scenario
from appell.study.puma_line import PumaLine
from appell.study.scenario import puma_line
from appell.study.scenario_file import checked
from appell.study.sweeps.study_starter import study_schema

FALL = {"robot": "two_link", "task": {"kind": "fall", "until": 1.0}}


def written(folder, content, name="task.json"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_written_scenario_reads_back(tmp_path):
    task = puma_line().model_copy(update={"task": PumaLine(speed=0.3, branch="right-up-flip")})
    assert read_scenario(written(tmp_path, task.text())) == task


def test_toml_says_the_same_as_json(tmp_path):
    text = 'robot = "two_link"\n[task]\nkind = "fall"\nuntil = 1\n'
    assert read_scenario(written(tmp_path, text, "task.toml")) == checked(FALL)
    with pytest.raises(InputError, match=r"is not TOML.*line 1"):
        read_scenario(written(tmp_path, "speed = ]\n", "bad.toml"))


TOML = '''# A comment, with = and [brackets]
title = "a # is no comment here, nor = {"
robot.model = "ur5"
robot.payload = {mass = 1, com = [0, 0, 0.1]}

[task]
kind = "moves"
[[task.moves]]
to = [
    1,  # first
    2,
]
duration = 2
[[task.moves]]
to = {"a b" = 1, c.d = 2}

[[walls]]
kind = 'plane'
text = """
x = 3
"""
[walls.deep]
x = 1
[[walls]]
deep.x = [{a = 1}, # ]
  {b = 2, "c\\"" = 3}]
[law.believes]
scale = 1_000.5
when = 1979-05-27T07:32:00Z
'''


def places(data, path=()):
    yield path
    pairs = data.items() if isinstance(data, dict) else ()
    for key, value in enumerate(data) if isinstance(data, list) else pairs:
        yield from places(value, (*path, key))


def test_every_entry_of_a_toml_file_has_its_line():
    lines = line_numbers(TOML, toml=True)
    assert {path for path in places(tomllib.loads(TOML)) if path} == set(lines)
    text = TOML.splitlines()
    for path, words in {
        ("title",): "title =",
        ("robot", "payload", "com"): "robot.payload",
        ("task", "moves", 0, "to", 1): "    2,",
        ("task", "moves", 0, "duration"): "duration = 2",
        ("task", "moves", 1, "to", "c", "d"): "c.d = 2",
        ("walls", 0, "deep", "x"): "x = 1",
        ("walls", 1, "deep", "x", 1, 'c"'): "{b = 2",
        ("law", "believes", "scale"): "scale =",
    }.items():
        assert words in text[lines[path] - 1], path


def test_every_entry_of_a_json_file_has_its_line():
    data = {"a": [1, {"b": "x, {y"}], "c": {"d": [[], {}]}, 'e"': None}
    lines = line_numbers(json.dumps(data, indent=1), toml=False)
    assert set(places(data)) == set(lines)
    assert lines["a", 1, "b"] == 5


def test_faults_are_told_with_file_line_and_the_nearest_key(tmp_path):
    text = """robot = "two_link"
[task]
kind = "moves"
[[task.moves]]
to = [0.1, 0.2]
duration = 1
[[task.moves]]
too = [0.1, 0.2]
duration = "long"
[law]
believes = {payload = {mas = 1}}
[[walls]]
kind = "floor"
[expct]
"""
    with pytest.raises(InputError) as problem:
        read_scenario(written(tmp_path, text, "task.toml"))
    told = str(problem.value).replace(f"{tmp_path}/", "").splitlines()
    assert told == [
        "task.toml:7: task.moves[1].to: missing.",
        'task.toml:9: task.moves[1].duration = "long": expected a valid number.',
        "task.toml:8: task.moves[1].too: no such entry; did you mean 'to'?",
        "task.toml:11: law.believes.payload.mass: missing.",
        "task.toml:11: law.believes.payload.mas: no such entry; did you mean 'mass'?",
        "task.toml:13: walls[0].kind = \"floor\": expected 'plane', 'circle', 'ellipse', 'sphere', "
        "'cylinder' or 'implicit'.",
        "task.toml:14: expct: no such entry; did you mean 'expect'?",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "red"}, "colour: no such entry; expected one of title, angles, robot"),
        ({"task": {"kind": "fly"}}, 'task.kind = "fly": expected one of fall, torque, hold'),
        ({"task": {"kind": "hould"}}, "puma_line. Did you mean 'hold'?"),
        ({"angles": "degree"}, "expected 'radians' or 'degrees'. Did you mean 'degrees'?"),
        ({"task": {"until": 1}}, "task: kind is missing; expected one of fall"),
        ({"task": {"kind": "fall", "until": -1}}, "task.until = -1: expected greater than 0"),
        ({"task": {"kind": "fall", "until": True}}, "task.until = true: expected a valid number"),
        ({"task": {"kind": "fall", "until": float("inf")}}, "a finite number"),
        ({"task": {"kind": "line", "duration": 1}}, "either to, where the line ends, or by"),
        ({"task": {"kind": "via", "points": [[1, 2]], "times": [1, 2]}}, "as many times (2)"),
        ({"start": {"q": 3}}, "start.q = 3: expected a table or an array"),
        ({"start": {"q": {"joint1": "x"}}}, 'start.q.joint1 = "x": expected a valid number'),
        ({"robot": {"model": "a", "friction": "yes"}}, "expected a valid boolean or a table"),
        ({"sampling": {"delay": 1.5}}, "sampling.delay = 1.5: expected a whole number"),
        (
            {"task": {"kind": "puma_line", "branch": "up"}},
            "task.branch = \"up\": expected 'all' or one of left-up-noflip",
        ),
        (
            {"task": {"kind": "puma_line", "start": [0, 1, 0], "end": [0, 1, 0]}},
            "start and end are the same point",
        ),
    ],
)
def test_errors_name_the_entry_the_value_and_the_cure(change, message):
    with pytest.raises(InputError) as problem:
        checked(FALL | change)
    assert message in str(problem.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "is not JSON"), ("[1]", "expected a table"), ("{}", "robot: missing")],
)
def test_what_is_no_scenario_at_all(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read_scenario(written(tmp_path, content))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_scenario(tmp_path / "none.json")
    with pytest.raises(InputError, match=r"\.toml and \.json"):
        read_scenario(written(tmp_path, "speed: 1", "task.yaml"))
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_scenario(tmp_path / "binary.json")


def test_values_are_changed_by_their_paths_and_checked():
    law = {"name": "computed-torque", "kp": 50.0}
    task = {"kind": "moves", "moves": [{"to": [0.1, 0.2], "duration": 1.0}]}
    scenario = checked({"robot": "two_link", "task": task, "law": law})
    other = scenario.changed({"law.kp": 200, "robot.payload.mass": 1.5, "task.moves.0.duration": 2})
    assert other.law.model_extra["kp"] == 200
    assert (other.robot.payload.mass, other.task.moves[0].duration) == (1.5, 2.0)
    assert scenario.robot.payload is None
    with pytest.raises(InputError, match=r"task\.moves\[0\]\.duration = -1"):
        scenario.changed({"task.moves.0.duration": -1})


def properties(schema):
    """Every property of a JSON Schema with its name and its table's, wherever it stands."""
    for name, table in {"": schema, **schema["$defs"]}.items():
        for key, entry in table.get("properties", {}).items():
            yield f"{name}.{key}", entry


@pytest.mark.parametrize("schema", [json_schema, study_schema])
def test_the_schema_describes_every_property(schema):
    told = dict(properties(json.loads(schema())))
    assert len(told) > 50
    assert [name for name, entry in told.items() if not entry.get("description")] == []
    assert not [x for x in told.values() if "\n" in x["description"]]


def test_the_schema_lists_every_closed_set_of_values():
    """An entry that a run refuses by a list of names has that list in the schema."""
    told = dict(properties(json.loads(json_schema())))
    assert told["LineTask.branch"]["enum"] == ["nearest", *BRANCHES]
    assert told["PumaLine.branch"]["enum"] == ["all", *BRANCHES]
    assert told["LawSection.name"]["anyOf"][0]["enum"] == list(LAWS)
    for section, field in closed_sets(Scenario):
        entry = json.dumps(told[f"{'' if section is Scenario else section.__name__}.{field}"])
        assert '"enum"' in entry or '"const"' in entry, (section, field)


def closed_sets(section, seen=None):
    """The fields of a section and of those in it that take some values only."""
    seen = set() if seen is None else seen
    seen.add(section)
    for name, field in section.model_fields.items():
        parts = list(parts_of(field.annotation))
        if any(get_origin(x) is Literal for x in parts):
            yield section, name
        for x in parts:
            if isinstance(x, type) and issubclass(x, BaseModel) and x not in seen:
                yield from closed_sets(x, seen)


def parts_of(annotation):
    yield annotation
    if get_origin(annotation) is not Literal:
        for x in get_args(annotation):
            yield from parts_of(x)


def test_the_schema_is_json_schema_that_knows_every_kind_of_task():
    schema = json.loads(json_schema())
    assert schema["properties"].keys() == Scenario.model_fields.keys()
    assert set(schema["properties"]["task"]["discriminator"]["mapping"]) == {
        "fall", "torque", "hold", "moves", "via", "line", "circle", "file", "puma_line",
    }  # fmt: skip
    assert "from" in schema["$defs"]["LineTask"]["properties"]
    assert schema["$defs"]["Sampling"]["additionalProperties"] is False


@pytest.mark.parametrize(
    "section",
    [
        {"locked": {"x": 0.1}},
        {"springs": {"x": [1.0, 0.0]}},
        {"armature": {"x": 0.1}},
        {"payload": {"mass": 0.1, "link": "platform"}},
    ],
)
def test_what_spherical_robots_have_not_is_refused(section):
    from appell.study.scenario_build import robot_of

    wrist = {"model": "agile_wrist", **section}
    scenario = appell.study.Scenario(robot=wrist, task={"kind": "fall", "until": 0.1})
    with pytest.raises(InputError, match="spherical parallel robot, which has no"):
        robot_of(scenario)


def test_limits_of_another_number_of_joints_are_refused():
    move = {"to": [0.1, 0.1], "profile": "trapezoidal", "speed": 1.0, "acceleration": [1, 2, 3.0]}
    scenario = appell.study.Scenario(
        robot={"model": "planar_chain", "options": {"n": 2}},
        task={"kind": "moves", "moves": [move]},
    )
    with pytest.raises(InputError, match=r"acceleration has shape \(3,\);.* expected \(2,\)"):
        appell.study.build(scenario)


@pytest.mark.parametrize("text", ["gelenk \U0001f600", "tab\tand \x01, \x7f", 'a "quote" \\'])
def test_any_name_is_written_as_toml(text):
    from appell.study.starter import _toml

    assert tomllib.loads(f"x = {_toml({text: text})}") == {"x": {text: text}}
