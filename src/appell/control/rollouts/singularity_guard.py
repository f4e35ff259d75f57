"""How near a step of a rollout comes to a singular configuration of the robot's loops or limbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from appell.compile.program import Part
from appell.compile.trace import choose
from appell.control.rollouts.values import Later, Values
from appell.maths.scalar import sqrt
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import Dynamics
from appell.robots.recipe import equation_of, recipe_for
from appell.robots.spherical.spherical_robot import SphericalRobot

List = Sequence[Any]


def is_guarded(robot: Dynamics) -> bool:
    """Whether the robot has loops or limbs that can come to a singular configuration."""
    return isinstance(robot, ClosedRobot | SphericalRobot)


class SingularityGuard:
    """Writes the variable ``margin``: the smallest margin of all substeps since the last sample.

    The margin is a length, without a sign that would change where a step jumps over a singular
    configuration, and of loops with more rows than joints there is no determinant that had one. But
    it changes by no more than about the angle by which a joint turns: where the margins before and
    after a substep are together less than the largest such angle, the substep may have passed zero,
    and the margin counts as zero. A configuration that is merely near is flagged then as well, if
    steps are so long that they cannot tell.
    """

    def __init__(self, robot: Dynamics, values: Values) -> None:
        self._values, self._now = values, margin_of(robot)
        self._scales = _scales(robot)
        values.variable(**{"margin.now": (), "q.before": (robot.nq,)})

        def start(q: Any) -> Any:
            margin = self._now(q)
            return margin, margin, q

        writes = ["margin", "margin.now", "q.before"]
        self.first: list[Later] = [values.tape(start, ["q0"], writes)]

    def begin(self) -> tuple[Part, ...]:
        """A new sample: what was found before it has been looked at."""
        return (self._values.traced(lambda x: x, ["margin.now"], ["margin"]),)

    def look(self) -> tuple[Part, ...]:
        """At the end of a substep."""

        def looked(least: Any, before: Any, last: Any, q: Any) -> Any:
            now = self._now(q)
            found = now
            for k, scale in self._scales:
                found = choose(before + now, abs(q[k] - last[k]) * scale, 0.0, found)
            return choose(found, least, found, least), now, q

        names = ["margin", "margin.now", "q.before"]
        return (self._values.traced(looked, [*names, "q"], names),)


def margin_of(robot: Dynamics) -> Callable[[List], Any]:
    """(q) -> the distance from the nearest singular configuration, 1 at most. Configurations in
    which actuators do not hold the robot are none of these: its motion under torques is regular."""
    system = robot.system
    if isinstance(robot, ClosedRobot):
        checks = equation_of(system, recipe_for(system, "checks", None))

        def of_loops(q: List) -> Any:
            *_, loops, independent, _ = checks(q)
            return choose(loops, independent, loops, independent)

        return of_loops
    distances = equation_of(system, recipe_for(system, "singularities", None))

    def of_limbs(q: List) -> Any:
        squares, _, cosine = distances(q)
        least = abs(cosine)
        for x in (sqrt(choose(0.0, s, s, 0.0)) for s in squares):
            least = choose(x, least, x, least)
        return least

    return of_limbs


def _scales(robot: Dynamics) -> list[tuple[int, float]]:
    """The coordinates whose motion changes the margin, and what makes an angle of each: slides are
    divided by a typical length. Wheels alone roll any distance without a change; neither do free
    bodies change it where they are."""
    if isinstance(robot, SphericalRobot):
        return [(k, 1.0) for k in range(robot.nq)]
    assert isinstance(robot, ClosedRobot)
    if not robot.system.size("c"):
        return []
    model, length = robot.model, robot.mechanism.length
    return [
        (model.place(k), 1.0 if joint.screw.angle else 1 / length)
        for k, (joint, plain) in enumerate(zip(model.joints, model.is_coordinate, strict=True))
        if plain
    ]
