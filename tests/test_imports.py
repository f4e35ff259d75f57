"""What a new process loads before its first result: a library below takes longer than all the rest."""

import pytest

HEAVY = ("scipy.linalg", "scipy.optimize", "scipy.spatial", "scipy.stats", "pydantic", "casadi")

ROLLOUT = """
law = appell.control.ComputedTorque(robot, kp=100, kd=20)
move = appell.control.quintic([0.0] * 6, [1.0] * 6, 1.0)
appell.rollout(robot, law, move, [[0.0] * 6], steps=2, reduce="worst_error")
"""


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("robot.inverse_dynamics(*numpy.zeros((3, 6)))", ()),
        (ROLLOUT, ("casadi",)),  # a law is known by what it records
    ],
    ids=["one state", "a rollout"],
)
def test_a_first_result_from_the_cache_loads_nothing_heavy(fresh, code, needed):
    program = f"""
import sys, numpy, appell
robot = appell.load("puma560")
{code}
print(*(int(name in sys.modules) for name in {HEAVY}))
"""
    fresh(program)
    loaded = {name for name, there in zip(HEAVY, fresh(program), strict=True) if there}
    assert loaded == set(needed)
