"""A law that a user wrote is the law as it is now, whatever its name says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps

import numpy as np
import pytest

import appell
from appell import control
from appell.control.laws.pd_gravity import pd_with_gravity

PUSH = """
import numpy as np, appell, mine
law = mine.law(appell.load("two_link"))
n = np.array([0.1, 0.2])
print(*law(n, n, 2 * n, n, n)[0], *law.kernel()(n, n, 2 * n, n, n))
"""

WRAPPED = """
from functools import wraps
from appell.control import PDGravity

def scaled(equation):
    @wraps(equation)
    def law(*arguments, **gains):
        return [{factor} * x for x in equation(*arguments, **gains)]
    return staticmethod(law)

class law(PDGravity):
    equation = scaled(PDGravity.equation)
"""
NAMESAKE = """
from dataclasses import dataclass
from appell import control

@dataclass(frozen=True, eq=False, repr=False)
class PDGravity(control.PDGravity):
    @staticmethod
    def equation(*arguments, **gains):
        return [{factor} * x for x in control.PDGravity.equation(*arguments, **gains)]

law = PDGravity
"""
ATTRIBUTE = """
from dataclasses import dataclass
from appell import control

class Factor:
    value = {factor}

@dataclass(frozen=True, eq=False, repr=False)
class law(control.PDGravity):
    factor = Factor

    @classmethod
    def equation(cls, *arguments, **gains):
        return [cls.factor.value * x for x in control.PDGravity.equation(*arguments, **gains)]
"""
GENUINE = "from appell.control import PDGravity as law"


@pytest.mark.parametrize("source", [WRAPPED, NAMESAKE, ATTRIBUTE])
def test_a_law_that_is_edited_is_the_new_one(fresh, source):
    genuine = np.array(fresh(PUSH, mine=GENUINE))
    assert np.abs(genuine).min() > 0
    for factor in (1.0, 0.5, 3.0):
        forces = fresh(PUSH, mine=source.format(factor=factor))
        # The kernel may round in another order than the law for one state.
        np.testing.assert_allclose(forces, factor * genuine, rtol=1e-12)


def scaled(factor: float):
    """A wrapper that gives itself out as the equation of Appell's that it calls."""

    @wraps(pd_with_gravity)
    def law(*arguments, **gains):
        return [factor * x for x in pd_with_gravity(*arguments, **gains)]

    return staticmethod(law)


def forces(law: control.Law) -> np.ndarray:
    n = np.linspace(0.1, 0.3, law.robot.nv)
    single, many = law(n, n, 2 * n, n, n)[0], law.kernel()(n, n, 2 * n, n, n)
    np.testing.assert_allclose(single, many, rtol=1e-12)
    return single


def test_a_law_by_another_name_is_not_that_law():
    robot = appell.load("two_link")
    genuine = forces(control.PDGravity(robot))
    for factor in (0.5, 3.0):

        @dataclass(frozen=True, eq=False, repr=False)
        class PDGravity(control.PDGravity):
            equation = scaled(factor)

        PDGravity.__module__ = control.PDGravity.__module__
        PDGravity.__qualname__ = "PDGravity"
        np.testing.assert_allclose(forces(PDGravity(robot)), factor * genuine, rtol=1e-12)
    np.testing.assert_array_equal(forces(control.PDGravity(robot)), genuine)


def test_a_law_of_appell_with_another_equation_is_not_taken_for_its_own(monkeypatch):
    robot = appell.load("two_link")
    genuine = forces(control.PDGravity(robot))
    monkeypatch.setattr(control.PDGravity, "equation", scaled(0.5))
    np.testing.assert_allclose(forces(control.PDGravity(robot)), 0.5 * genuine, rtol=1e-12)
