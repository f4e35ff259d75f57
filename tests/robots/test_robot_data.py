"""A robot as plain data is the same robot."""

from __future__ import annotations

import json

import numpy as np
import pytest

import appell
from appell.errors import InputError
from appell.robots.registry import makers
from appell.robots.robot_data import from_data, model_hash, robot_from_data, robot_to_data


@pytest.mark.parametrize("name", [*makers(), "talos"])
def test_a_robot_comes_back_as_it_was(name):
    robot = appell.load(name)
    again = robot_from_data(json.loads(json.dumps(robot_to_data(robot))))
    assert type(again) is type(robot)
    assert repr(again.model) == repr(robot.model)
    assert model_hash(again.model) == model_hash(robot.model)
    assert (again.independent, again.actuated) == (robot.independent, robot.actuated)
    np.testing.assert_array_equal(again.neutral(), robot.neutral())
    shapes = [[s.pose.tolist() for s in getattr(x.model, "shapes", ())] for x in (robot, again)]
    assert shapes[0] == shapes[1]


def test_a_model_of_other_numbers_has_another_hash():
    robot = appell.load("puma560")
    other = robot.with_payload(1e-12, (0, 0, 0), (0, 0, 0))
    assert model_hash(other.model) != model_hash(robot.model)


def test_only_the_classes_of_robots_are_made_of_data():
    with pytest.raises(InputError, match="no class"):
        from_data({"is": "system", "command": "true"}, ())
