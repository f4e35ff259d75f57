"""A wall that a user wrote is the wall as it is now: edited between two processes that share a
cache, or changed within one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import wraps

import casadi
import numpy as np
import pytest
from simulated_robots import point_mass

import appell
from appell.compile.record import Recorded
from appell.walls import Implicit, Plane, Wall

FALL = """
import appell
from simulated_robots import point_mass
import mine
run = appell.simulate(point_mass(), [0, 2], [0, 0], until=0.7, walls=[mine.wall])
print(run.impacts[0].time)
"""

SUBCLASS = """
from appell.walls import Wall
class Floor(Wall):
    def gap(self, x, y, z):
        return y - {height}
wall = Floor()
"""
FUNCTION = """
from appell.walls import Implicit
def floor(x, y, z):
    return y - {height}
wall = Implicit(floor, inside=False)
"""
INHERITED = """
from appell.walls import Plane
class Circle(Plane):
    def gap(self, x, y, z):
        return y - {height}
wall = Circle((0, 1))
"""
CLOSURE = """
from appell.walls import Implicit
def floor(height):
    return lambda x, y, z: y - height
wall = Implicit(floor({height}), inside=False)
"""
ATTRIBUTE = """
from dataclasses import dataclass
from appell.walls import Wall
class Heights:
    floor = {height}
@dataclass(frozen=True)
class Floor(Wall):
    heights = Heights
    def gap(self, x, y, z):
        return y - self.heights.floor
wall = Floor()
"""
WRAPPED = """
from functools import wraps
from appell.walls import Plane
class Floor(Plane):
    @wraps(Plane.gap)
    def gap(self, x, y, z):
        return Plane.gap(self, x, y, z) - {height}
wall = Floor((0, 1))
"""


def falls_for(height: float) -> float:
    """The time that a ball takes from 2 m to a floor."""
    return float(np.sqrt(2 * (2 - height) / 9.81))


def impact(wall: Wall) -> float:
    run = appell.simulate(point_mass(), [0, 2], [0, 0], until=0.7, walls=[wall])
    return run.impacts[0].time


@pytest.mark.parametrize("source", [SUBCLASS, FUNCTION, INHERITED, CLOSURE, ATTRIBUTE, WRAPPED])
def test_a_wall_that_is_edited_is_the_new_one(fresh, source):
    for height in (0.0, 0.5):
        (time,) = fresh(FALL, mine=source.format(height=height))
        assert time == pytest.approx(falls_for(height), abs=1e-9)


LEVEL = 0.0


@dataclass(frozen=True)
class Level(Wall):
    """A floor whose height is no field of it, so that its name and values do not tell."""

    height = 0.0

    def gap(self, x, y, z):
        return y - self.height


@dataclass(frozen=True)
class Reading(Wall):
    """A floor at the height that a variable of its module has."""

    def gap(self, x, y, z):
        return y - LEVEL


def test_a_wall_whose_class_changed_is_the_new_one(monkeypatch):
    assert impact(Level()) == pytest.approx(falls_for(0.0), abs=1e-9)
    monkeypatch.setattr(Level, "height", 0.5)
    assert impact(Level()) == pytest.approx(falls_for(0.5), abs=1e-9)
    monkeypatch.setattr(Level, "gap", lambda self, x, y, z: y - 0.25)
    assert impact(Level()) == pytest.approx(falls_for(0.25), abs=1e-9)


@pytest.mark.parametrize("wall", [Reading(), Implicit(lambda x, y, z: y - LEVEL, inside=False)])
def test_a_wall_that_reads_a_variable_sees_it_change(wall, monkeypatch):
    assert impact(wall) == pytest.approx(falls_for(0.0), abs=1e-9)
    monkeypatch.setitem(globals(), "LEVEL", 0.5)
    assert impact(wall) == pytest.approx(falls_for(0.5), abs=1e-9)


def erf(y):
    return Recorded(casadi.erf(y.sx)) if isinstance(y, Recorded) else math.erf(y)


@pytest.mark.parametrize("function", [lambda y: y, np.exp, np.arctan, erf])
def test_a_function_of_a_closure_sees_it_change(function):
    """Also where its operation has no compiled form."""
    height = 0.0

    def floor(x, y, z):
        return function(y - height) - function(0.0)

    wall = Implicit(floor, inside=False)
    assert impact(wall) == pytest.approx(falls_for(0.0), abs=1e-9)
    height = 0.5
    assert impact(wall) == pytest.approx(falls_for(0.5), abs=1e-9)


def test_a_wall_of_appell_with_another_gap_is_not_taken_for_its_own(monkeypatch):
    assert impact(Plane((0, 1))) == pytest.approx(falls_for(0.0), abs=1e-9)
    plain = Plane.gap

    @wraps(plain)
    def raised(self, x, y, z):
        return plain(self, x, y, z) - 0.5

    monkeypatch.setattr(Plane, "gap", raised)
    assert impact(Plane((0, 1))) == pytest.approx(falls_for(0.5), abs=1e-9)
