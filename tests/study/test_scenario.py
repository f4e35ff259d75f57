"""Scenario files say what is wrong with them."""

from __future__ import annotations

import json
import sys

import pytest

from appell.errors import InputError
from appell.study.scenario import Scenario, read_scenario


def written(folder, content, name="task.json"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_an_empty_file_is_the_task_of_the_paper(tmp_path):
    assert read_scenario(written(tmp_path, {})) == Scenario()


def test_a_written_scenario_reads_back(tmp_path):
    task = Scenario(start=(0.5, 0.2, 0.1), speed=0.3, branch="right-up-flip")
    assert read_scenario(written(tmp_path, task.model_dump_json())) == task


@pytest.mark.skipif(sys.version_info < (3, 11), reason="TOML is read from Python 3.11 on")
def test_toml_says_the_same_as_json(tmp_path):
    text = 'speed = 1\nend = [0.1, 0.6, 0]\nbranch = "left-up-flip"\n'
    task = read_scenario(written(tmp_path, text, "task.toml"))
    assert task == Scenario(speed=1.0, end=(0.1, 0.6, 0.0), branch="left-up-flip")
    with pytest.raises(InputError, match="is not TOML"):
        read_scenario(written(tmp_path, "speed = ", "bad.toml"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"spead": 0.1}, "spead: no such entry; did you mean 'speed'?"),
        ({"colour": "red"}, "colour: no such entry; expected robot, start"),
        ({"speed": -0.1}, "speed = -0.1: Input should be greater than or equal to 0.000001"),
        ({"speed": "fast"}, 'speed = "fast": Input should be a valid number'),
        ({"samples": 3}, "samples = 3: Input should be greater than or equal to 11"),
        ({"samples": 20.5}, "samples = 20.5: Input should be a valid integer"),
        ({"end": [0.1, "b", 0.0]}, 'end[1] = "b": Input should be a valid number'),
        ({"end": [0.1, 0.0]}, "end[2]"),
        ({"branch": "up"}, "branch = \"up\": expected 'all' or one of left-up-noflip"),
        ({"start": [0.1, 0.6, 0], "end": [0.1, 0.6, 0]}, "start and end are the same point"),
        ("{", "Invalid JSON"),
        ("[1]", "Input should be an object"),
        ('{"speed": NaN}', "speed"),
        ('{"speed": 1e999}', "speed"),
    ],
)
def test_errors_name_the_entry_the_value_and_the_cure(tmp_path, content, message):
    with pytest.raises(InputError) as problem:
        read_scenario(written(tmp_path, content))
    assert message in str(problem.value)
    assert "task.json" in str(problem.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_scenario(tmp_path / "none.json")
    with pytest.raises(InputError, match=r"\.toml and \.json"):
        read_scenario(written(tmp_path, "speed: 1", "task.yaml"))
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_scenario(tmp_path / "binary.json")
