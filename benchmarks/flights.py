"""Random walls and robots that fly against them, for :mod:`benchmarks.impacts`.

What tells the sides of a wall apart, and the motion of a robot without walls, are written again
here by other means than Appell's, in closed form where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import appell
from appell.maths.vector import Symmetric, Vector
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint
from appell.robots.robot import Robot
from appell.walls import Circle, Cylinder, Ellipse, Implicit, Plane, Sphere, Wall

Places = Callable[[np.ndarray], np.ndarray]  # times -> (times, points, 3)
Level = Callable[[Any, Any, Any], Any]  # of a point: positive where the robot may be

SECONDS = 2.0  # that a flight lasts


class Walled(NamedTuple):
    """A wall, and what tells its sides apart, written again without Appell."""

    kind: str
    wall: Wall
    level: Level


@dataclass(frozen=True)
class Flyer:
    """A robot, how it is started at a place with a velocity, and its motion without walls."""

    kind: str
    robot: Robot
    start: Callable[[np.random.Generator, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    flight: Callable[[np.ndarray, np.ndarray], Places]
    spatial: bool = False


# Walls


def random_walls(draw: np.random.Generator, spatial: bool) -> Iterator[Walled]:
    """Walls of every kind about the origin, over and over; upright ones serve the plane too."""
    while True:
        size = float(10 ** draw.uniform(-2, 0.3))
        inside = bool(draw.random() < 0.4)
        sign = -1 if inside else 1
        if inside:
            size += 3
        yield _circle("circle", Circle(size, inside=inside), size, sign)
        yield _ellipse(size, float(size * draw.uniform(0.3, 3)), inside, sign)
        angle = draw.uniform(0, 2 * np.pi)
        n = np.array([np.cos(angle), np.sin(angle), 0])
        yield Walled("plane", Plane(tuple(n), -0.5), lambda x, y, z, n=n: n[0] * x + n[1] * y + 0.5)
        high, thin = float(draw.uniform(0.3, 1.5)), float(10 ** draw.uniform(-2, -0.5))

        def ridge(x: Any, y: Any, z: Any, high: float = high, thin: float = thin) -> Any:
            return y + 1 - high * np.exp(-((x / thin) ** 2))

        yield Walled("ridge", Implicit(ridge, inside=False), ridge)
        waves, depth = float(draw.uniform(5, 60)), float(10 ** draw.uniform(-3, -1))

        def wavy(x: Any, y: Any, z: Any, waves: float = waves, depth: float = depth) -> Any:
            return y + 0.5 - depth * np.sin(waves * x)

        yield Walled("wavy floor", Implicit(wavy, inside=False), wavy)
        if spatial:
            yield _sphere(size, inside, sign)
            yield _cylinder(draw, size, inside, sign)


def _circle(kind: str, wall: Wall, size: float, sign: int) -> Walled:
    return Walled(kind, wall, lambda x, y, z: sign * (np.hypot(x, y) - size))


def _ellipse(a: float, b: float, inside: bool, sign: int) -> Walled:
    wall = Ellipse((a, b), inside=inside)
    return Walled("ellipse", wall, lambda x, y, z: sign * (np.hypot(x / a, y / b) - 1) * min(a, b))


def _sphere(size: float, inside: bool, sign: int) -> Walled:
    wall = Sphere(size, inside=inside)
    return Walled("sphere", wall, lambda x, y, z: sign * (np.sqrt(x**2 + y**2 + z**2) - size))


def _cylinder(draw: np.random.Generator, size: float, inside: bool, sign: int) -> Walled:
    axis = draw.normal(size=3)
    axis /= np.linalg.norm(axis)

    def level(x: Any, y: Any, z: Any) -> Any:
        r = np.stack(np.broadcast_arrays(x, y, z), axis=-1)
        return sign * (np.linalg.norm(np.cross(r, axis), axis=-1) - size)

    return Walled("cylinder", Cylinder(size, tuple(axis), inside=inside), level)


# Robots


def flyers() -> list[Flyer]:
    return [
        _ball(0.0),
        _ball(9.81),
        _rod(0.0),
        _rod(9.81),
        _cube(0.0),
        _cube(9.81),
        _arm(),
        _chain(),
    ]


def _slides(*more: Hinge) -> list[Hinge]:
    here = np.zeros(3)
    return [
        Hinge("x", "world", "slide", Joint("x", "prismatic"), np.eye(3), here, (1, 0, 0)),
        Hinge("y", "slide", "hub", Joint("y", "prismatic"), np.eye(3), here, (0, 1, 0)),
        *more,
    ]


def _pin(name: str, parent: str, child: str, x: float = 0.0) -> Hinge:
    return Hinge(name, parent, child, Joint(name), np.eye(3), np.array([x, 0, 0]))


def _bar(length: float) -> Inertia:
    moment = length**2 / 12
    return Inertia.about_com(1.0, Vector(length / 2, 0, 0), Symmetric(0, 0, moment, 0, 0, moment))


def _tip(name: str, link: str, x: float) -> Hinge:
    return Hinge(name, link, name, None, np.eye(3), np.array([x, 0.0, 0.0]))


def _falling(p: np.ndarray, v: np.ndarray, g: float) -> Callable[[np.ndarray], np.ndarray]:
    down = np.array([0.0, -g, 0.0])[: len(p)]
    return lambda t: p + v * t[:, None] + down * (t**2 / 2)[:, None]


def _ball(g: float) -> Flyer:
    ball = Inertia.about_com(2.0, Vector(0, 0, 0), Symmetric(0, 0, 0, 0, 0, 0))
    links = {"world": NOTHING, "slide": NOTHING, "hub": ball}
    model = assemble("ball", links, _slides(), gravity=(0, -g, 0), points=["hub"])

    def flight(q: np.ndarray, v: np.ndarray) -> Places:
        at = _falling(np.append(q, 0.0), np.append(v, 0.0), g)
        return lambda t: at(t)[:, None, :]

    return Flyer("ball", Robot(model), lambda draw, p, v: (p[:2], v[:2]), flight)


def _rod(g: float) -> Flyer:
    """A rod of 0.6 m about its centre, with both tips."""
    rod = Inertia.about_com(1.0, Vector(0, 0, 0), Symmetric(0, 0, 0.03, 0, 0, 0.03))
    links = dict.fromkeys(("world", "slide", "hub", "front", "back"), NOTHING) | {"rod": rod}
    hinges = _slides(
        _pin("turn", "hub", "rod"), _tip("front", "rod", 0.3), _tip("back", "rod", -0.3)
    )
    model = assemble("rod", links, hinges, gravity=(0, -g, 0), points=["front", "back"])

    def start(draw: np.random.Generator, p: np.ndarray, v: np.ndarray) -> Any:
        spin = draw.choice([-1, 1]) * 10 ** draw.uniform(0, 2)
        return np.append(p[:2], draw.uniform(-3, 3)), np.append(v[:2], spin)

    def flight(q: np.ndarray, v: np.ndarray) -> Places:
        centre = _falling(np.append(q[:2], 0.0), np.append(v[:2], 0.0), g)

        def places(t: np.ndarray) -> np.ndarray:
            angle = q[2] + v[2] * t
            arm = 0.3 * np.stack([np.cos(angle), np.sin(angle), 0 * t], axis=-1)
            return centre(t)[:, None, :] + np.stack([arm, -arm], axis=1)

        return places

    return Flyer("rod", Robot(model), start, flight)


def _cube(g: float) -> Flyer:
    """A free cube of 0.4 m; equal moments of inertia keep its angular velocity."""
    corners = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (-0.2, 0.2)])
    inertia = Inertia.about_com(1.0, Vector(0, 0, 0), Symmetric(0.03, 0, 0.03, 0, 0, 0.03))
    names = [f"corner {k}" for k in range(8)]
    links = {"cube": inertia, **dict.fromkeys(names, NOTHING)}
    hinges = [
        Hinge(name, "cube", name, None, np.eye(3), at)
        for name, at in zip(names, corners, strict=True)
    ]
    model = assemble("cube", links, hinges, base="free", gravity=(0, -g, 0), points=names)

    def start(draw: np.random.Generator, p: np.ndarray, v: np.ndarray) -> Any:
        turned = Rotation.random(random_state=draw)
        spin = draw.normal(size=3) * 10 ** draw.uniform(0, 1.5)
        return np.append(p, turned.as_quat()), np.append(turned.inv().apply(v), spin)

    def flight(q: np.ndarray, v: np.ndarray) -> Places:
        turned = Rotation.from_quat(q[3:])
        centre = _falling(q[:3], turned.apply(v[:3]), g)

        def places(t: np.ndarray) -> np.ndarray:
            R = (turned * Rotation.from_rotvec(np.outer(t, v[3:]))).as_matrix()
            return centre(t)[:, None, :] + np.einsum("tij,kj->tki", R, corners)

        return places

    return Flyer("cube", Robot(model), start, flight, spatial=True)


def _arm() -> Flyer:
    """Two links of 1 m that swing from a hinge 2.2 m above the origin, past what stands there."""
    links = dict.fromkeys(("world", "elbow", "tip"), NOTHING) | {"upper": _bar(1), "lower": _bar(1)}
    hang = Hinge("j1", "world", "upper", Joint("j1"), np.eye(3), np.array([0, 2.2, 0.0]))
    hinges = [
        hang,
        _pin("j2", "upper", "lower", 1.0),
        _tip("elbow", "upper", 1),
        _tip("tip", "lower", 1),
    ]
    model = assemble("arm", links, hinges, gravity=(0, -9.81, 0), points=["elbow", "tip"])

    def start(draw: np.random.Generator, p: np.ndarray, v: np.ndarray) -> Any:
        return draw.uniform(-3, 3, 2), draw.normal(size=2) * 4

    def places(q: np.ndarray) -> np.ndarray:
        first, second = q[:, 0], q[:, 0] + q[:, 1]
        elbow = np.stack([np.cos(first), 2.2 + np.sin(first), 0 * first], axis=-1)
        tip = elbow + np.stack([np.cos(second), np.sin(second), 0 * first], axis=-1)
        return np.stack([elbow, tip], axis=1)

    robot = Robot(model)
    return Flyer("arm", robot, start, _integrated(robot, places))


def _chain() -> Flyer:
    """Three bars of 0.4 m that fly in the plane."""
    links = dict.fromkeys(("world", "slide", "hub", "end"), NOTHING)
    links |= {f"bar {k}": _bar(0.4) for k in range(3)}
    pins = [_pin("j0", "hub", "bar 0"), _pin("j1", "bar 0", "bar 1", 0.4)]
    hinges = _slides(*pins, _pin("j2", "bar 1", "bar 2", 0.4), _tip("end", "bar 2", 0.4))
    names = ["bar 0", "bar 1", "bar 2", "end"]
    model = assemble("chain", links, hinges, gravity=(0, -9.81, 0), points=names)

    def start(draw: np.random.Generator, p: np.ndarray, v: np.ndarray) -> Any:
        return np.append(p[:2], draw.uniform(-3, 3, 3)), np.append(v[:2], draw.normal(size=3) * 6)

    def places(q: np.ndarray) -> np.ndarray:
        at = np.stack([q[:, 0], q[:, 1], 0 * q[:, 0]], axis=-1)
        found = [at]
        for k in range(3):
            angle = q[:, 2 : 3 + k].sum(axis=1)
            at = at + 0.4 * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
            found.append(at)
        return np.stack(found, axis=1)

    robot = Robot(model)
    return Flyer("chain", robot, start, _integrated(robot, places))


def _integrated(robot: Robot, places: Callable[[np.ndarray], np.ndarray]) -> Any:
    """The motion of a robot that has none in closed form: its run without walls."""

    def flight(q: np.ndarray, v: np.ndarray) -> Places:
        run = appell.simulate(robot, q, v, until=SECONDS)
        return lambda t: places(run(t)[0])

    return flight
