"""What a new process loads before its first result, and public names that are loaded later."""

import pytest

from appell import control
from appell.control import laws

# Each of these takes longer to load than all the rest.
HEAVY = ("scipy.linalg", "scipy.optimize", "scipy.spatial", "scipy.stats", "pydantic", "casadi")

ROLLOUT = """
law = appell.control.ComputedTorque(robot, kp=100, kd=20)
move = appell.control.quintic([0.0] * 6, [1.0] * 6, 1.0)
appell.rollout(robot, law, move, [[0.0] * 6], steps=2, reduce="worst_error")
"""


@pytest.mark.parametrize(
    "code",
    ["robot.inverse_dynamics(*numpy.zeros((3, 6)))", ROLLOUT],
    ids=["one state", "a rollout"],
)
def test_a_first_result_from_the_cache_loads_nothing_heavy(fresh, code):
    program = f"""
import sys, numpy, appell
robot = appell.load("puma560")
{code}
print(*(int(name in sys.modules) for name in {HEAVY}))
"""
    fresh(program)
    assert not any(fresh(program)), HEAVY


def test_names_are_found_at_home():
    assert {*control.__all__, "laws"} <= {*dir(control)}
    for name in control.__all__:
        value = getattr(control, name)
        assert value is getattr(control, name)
        assert getattr(value, "__name__", name) == name
    assert control.laws is laws
    with pytest.raises(AttributeError, match=r"'appell\.control' has no attribute 'computed'"):
        _ = control.computed
    assert not hasattr(control, "laws.gains")
    assert not hasattr(control, "a.b")
    with pytest.raises(ImportError, match="computed"):
        from appell.control import computed  # noqa: F401
