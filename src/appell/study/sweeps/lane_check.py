"""Whether a field of a scenario is all of its lane: the scenario, built with other values of the
field, must differ in that argument of the rollout alone.

A gain may set another one that is not given, and a start may move the whole motion: what depends on
a field besides its lane would be left out of the rollout in silence.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from appell.errors import AppellError
from appell.robots.dynamics import Array
from appell.robots.robot import is_tree
from appell.study.scenario import Scenario
from appell.study.scenario_build import Built
from appell.study.sweeps.fields import Change, fields_at
from appell.study.sweeps.lanes import Lane, numbers_of, words_for
from appell.study.sweeps.variable import Variable

_SHARES = (0.3, 0.8, 0.55, 0.05, 0.95)  # quantiles that are tried
_TRIED = 2  # values that are compared
_LEVELS = 64  # of those that can be counted, as many are tried until some can be built
_SAME = 1e-9  # relative, of numbers that are computed in two ways
_INSTANTS = 33  # at which motions are compared


def why_no_lane(
    c: Change,
    variable: Variable,
    lane: Lane,
    scenario: Scenario,
    build: Callable[[Scenario], Built],
) -> str | None:
    """Reason why a field is not all of its lane; None if it is.

    Args:
        c: The field, and how its variable changes it.
        variable: Values of the field.
        lane: Argument of the rollout that it is.
        scenario: The scenario with its own value of the field.
        build: Builds a scenario.
    """
    own, compared = _numbers(build(scenario)), 0
    for x in _trials(variable):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fields = fields_at(scenario, (c,), {c.name: x})
                other = _numbers(build(scenario.changed(fields)))
        except AppellError:  # points with this value fail by themselves
            continue
        if lane.argument in own and _same(own[lane.argument], other.get(lane.argument)):
            continue  # the scenario's own value
        why = _changed_besides(lane, own, other, x, c.scales)
        if why is not None:
            return f"'{c.path}' {why}"
        compared += 1
        if compared == _TRIED:
            break
    return None if compared else f"'{c.path}' has no other value that can be built"


def _trials(variable: Variable) -> Iterator[Any]:
    """Values of a variable, those at the ends early."""
    levels = variable.levels
    if levels is None:
        yield from (variable.quantile(np.array([u]))[0] for u in _SHARES)
        return
    values = list(dict.fromkeys(levels))
    order = dict.fromkeys([0, len(values) - 1, len(values) // 2, *range(min(len(values), _LEVELS))])
    yield from (values[k] for k in order)


def _changed_besides(
    lane: Lane, own: dict[str, Array], other: dict[str, Array], value: float, scales: bool
) -> str | None:
    """What a value of a field does besides changing its lane, by the numbers of the scenario
    without it and with it; None if it is the lane alone."""
    for name in dict.fromkeys([*own, *other]):
        expected, there = own.get(name), other.get(name)
        if expected is None or there is None or expected.shape != there.shape:
            return f"changes {words_for(name)}, too"
        if name == lane.argument:
            expected = expected.copy()
            k = lane.place
            expected[k] = expected[k] * value if scales else lane.unit * value
        if not _same(expected, there):
            all_of = name == lane.argument
            return (
                f"is not all of {words_for(name)}" if all_of else f"changes {words_for(name)}, too"
            )
    return None


def _same(x: Array, y: Array | None) -> bool:
    return (
        y is not None
        and x.shape == y.shape
        and np.allclose(x, y, rtol=_SAME, atol=0.0, equal_nan=True)
    )


def _numbers(built: Built) -> dict[str, Array]:
    """All numbers of a scenario that a rollout may depend on: its arguments that may differ from
    run to run, and what all runs share."""
    options, motion = built.options, built.trajectory
    until = options.get("until")
    numbers: dict[str, Any] = {"the end": [np.nan if until is None else until]}
    if "period" in options:
        numbers["the law's period"] = [options["period"]]
    if not callable(options.get("torque")) and options.get("torque") is not None:
        numbers["the torques"] = options["torque"]
    if callable(motion):
        end = motion.duration if until is None else until
        numbers["the motion that is followed"] = motion(np.linspace(0.0, end, _INSTANTS))[:2]
    elif motion is not None:
        numbers["the motion that is followed"] = motion
    if built.law is not None and is_tree(built.law.robot):
        believed = built.law.robot
        numbers["the robot that the law believes in"] = believed.parameters
        numbers["the gravity that the law believes in"] = believed.system.values("gravity")
    shared = {name: np.asarray(x, dtype=float).ravel() for name, x in numbers.items()}
    return numbers_of(built.scenario, built) | shared
