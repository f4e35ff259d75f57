"""Robots of the package example-robot-data, by name."""

from __future__ import annotations

import sys
import types
import warnings
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import appell
from appell.model.library.example_robots import EXAMPLES, example_file, packaged_file
from appell.robots.registry import makers

PACKAGED = {name: path for name in EXAMPLES if (path := packaged_file(name))}


def there() -> list[str]:
    """The releases of the package differ in their files."""
    names = []
    for name in EXAMPLES:
        try:
            example_file(name)
        except appell.ModelError:
            continue
        names.append(name)
    return names


def test_most_are_there():
    assert {"panda", "ur5", "anymal", "talos", "solo12", "tiago"} <= {*there()}


@pytest.mark.parametrize("name", there())
def test_a_name_is_a_robot_on_its_base(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.UrdfWarning)
        robot = appell.load(name, physical=False)
        assert robot.model.free == EXAMPLES[name].free
        if robot.nv > 6:
            fixed = appell.load(name, physical=False, base="fixed")
            assert not fixed.model.free


def test_names_of_the_library_win():
    assert not EXAMPLES.keys() & makers().keys()


def test_options_go_to_the_reader():
    assert appell.load("panda").nv == 8
    assert appell.load("panda", mimic=False).nv == 9
    with pytest.raises(appell.ModelError, match=r"load\('panda'\).*options are those of read_urdf"):
        appell.load("panda", colour="red")


@pytest.fixture
def no_package(monkeypatch):
    """The package is not installed, nor is robot_descriptions."""

    def missing(_):
        raise PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.distribution", missing)
    monkeypatch.setattr("sys.prefix", str(Path(__file__).parent))
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)


@pytest.mark.usefixtures("no_package")
def test_robot_descriptions_has_the_same_files(monkeypatch):
    path = PACKAGED["ur5"]
    repository = types.SimpleNamespace(REPOSITORY_PATH=str(path).partition("/robots/")[0])
    monkeypatch.setitem(sys.modules, "robot_descriptions", types.ModuleType("robot_descriptions"))
    monkeypatch.setitem(sys.modules, "robot_descriptions.panda_description", repository)
    assert example_file("ur5").samefile(path)
    assert appell.load("ur5").nv == 6


@pytest.mark.usefixtures("no_package")
def test_without_the_package_the_error_names_it():
    with pytest.raises(appell.ModelError, match="not installed; pip install -U example-robot-data"):
        appell.load("panda")
    with pytest.raises(appell.ModelError, match="Did you mean 'panda'"):
        appell.load("pande")
