"""Films: a robot's motion as one light SVG file that moves by itself, drawn to scale.

A solid is drawn by its outline: a capsule is a wide line with round ends, a cylinder two half
ellipses and the disc of its near end. The browser moves the outlines smoothly from frame to frame
(SMIL), wherever an image may stand; there is no script in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from appell.charts.palette import COLOURS, INK
from appell.model.model import BASE, Model
from appell.model.shapes import Array, Colour, Shape
from appell.show.film_outlines import Camera, Outline, moved, outlines, reach
from appell.show.scene import View
from appell.show.svg import element, points, text, whole
from appell.show.viewer.played_motion import PlayedMotion
from appell.show.viewer.robot_scene import RobotScene
from appell.show.viewer.wall_shapes import wall_shapes

_SLIDES = 0.65  # of the thickness of a bar: what slides in another is thinner
_BLOCK = 3  # frames after which it is asked again which part is before which
_TRACE, _FLASH = "#d6457f", "#e8a33d"
_GREY: Colour = (0.44, 0.48, 0.54, 1.0)
_PATH = 160  # points of a path that is traced


class Clock:
    """The times of a film: frames at even intervals, then its end is held."""

    def __init__(self, frames: int, seconds: float, hold: float) -> None:
        self.frames, self.total = frames, seconds + hold
        self.keys = np.linspace(0, seconds / self.total, frames)

    def animate(self, attribute: str, values: Sequence[str], first: int = 0, **more: Any) -> str:
        """The animation of an attribute that has these values from a frame on, one per frame, the
        first one before and the last one after."""
        keys = [*self.keys[first : first + len(values)]]
        told = list(values)
        if keys[0] > 0:
            keys, told = [0.0, *keys], [told[0], *told]
        if keys[-1] < 1:
            keys, told = [*keys, 1.0], [*told, told[-1]]
        even = len(keys) == self.frames and self.keys[-1] == 1
        times = "" if even else ";".join(f"{x:.3f}".rstrip("0").rstrip(".") for x in keys)
        return element(
            "animate", attributeName=attribute, dur=f"{self.total:g}s", repeatCount="indefinite",
            values=";".join(told), keyTimes=times, **more,
        )  # fmt: skip

    def shown(self, first: int, last: int) -> str:
        """The animation that shows an element from a frame to another, and hides it else."""
        states = {float(self.keys[first]): "visible"}
        if first:
            states = {0.0: "hidden"} | states
        if last < self.frames - 1:
            states[float(self.keys[last])] = "hidden"
        if len(states) == 1:
            return ""
        return element(
            "animate", attributeName="visibility", dur=f"{self.total:g}s", calcMode="discrete",
            repeatCount="indefinite", values=";".join(states.values()),
            keyTimes=";".join(f"{x:.3f}" for x in states),
        )  # fmt: skip


def film(motion: PlayedMotion, view: View, **options: Any) -> str:
    """The text of an SVG file in which the motion is played over and over: `film_element` has the
    options."""
    return whole(film_element(motion, view, **options))


def film_element(
    motion: PlayedMotion,
    view: View,
    *,
    trace: Sequence[str] = (),
    seconds: float = 3.0,
    hold: float = 0.6,
    frames: int = 36,
    floor: float | None = None,
    stand: bool = False,
    thick: float = 1.0,
    joints: bool = True,
    hidden: Sequence[str] = (),
    size: tuple[float, float] = (420.0, 300.0),
    title: str = "",
) -> str:
    """A film as an <svg> element of a page, whose ink and paper it takes.

    ``view`` is where the eye is; ``trace`` names the frames whose paths are drawn. The film takes
    so many ``seconds``, and its end is held for ``hold``; ``frames`` are drawn, and what is between
    them follows. ``floor`` is the height of a floor with the robot's shadow on it, in m, and
    ``stand`` puts a column between it and the base. The robot is drawn after its kinematics:
    bars, ``thick`` times as thick as in the viewer, and where wanted, ``joints``; links that are
    ``hidden`` are left out.
    """
    t = np.linspace(motion.t[0], motion.t[-1], frames)
    q = np.array([motion.state(float(x))[0] for x in t])
    scene = RobotScene(motion.robot, plain=True)
    links = dict(zip(scene.links, np.moveaxis(scene.poses(q), 1, 0), strict=True))
    solids = [
        (x, links[x.link] @ x.pose) for x in _styled(scene, thick, joints) if x.link not in hidden
    ]
    if floor is not None and stand:
        solids.append(_stand(solids, floor))
    around = np.concatenate([reach(*solid) for solid in solids])
    width = float(np.ptp(around, axis=0).max())
    still = [(x, x.pose[None]) for wall in motion.walls for x in wall_shapes(wall, width)]
    ground = _floor(around, floor) if floor is not None else np.empty((0, 2, 3))
    seen = [around, *(reach(*x) for x in still), ground.reshape(-1, 3)]
    camera = Camera.fitted(view, np.concatenate(seen), size, margin=14.0)
    clock = Clock(frames, seconds, hold)
    parts = [_lines(camera(ground))]
    if floor is not None:
        parts.append(_shadows(solids, camera, clock, floor))
    parts += [_drawn(_plain(line), clock, 0, "") for x in still for line in outlines(*x, camera)]
    paths = [_path(motion, frame, camera) for frame in trace]
    parts += [element("polyline", points=points(path), **_traced(0.35)) for path in paths]
    parts += _robot(solids, camera, clock)
    parts += [_growing(path, clock) for path in paths]
    parts += _flashes(motion, camera, clock)
    if (q != q[0]).any():
        speed = _speed((motion.t[-1] - motion.t[0]) / seconds)
        parts.append(text(speed, size[0] - 10, size[1] - 9, text_anchor="end", opacity=0.6))
    return element(
        "svg", "".join(parts), role="img", aria_label=title or motion.robot.name,
        viewBox=f"0 0 {size[0]:g} {size[1]:g}", font_family="system-ui, sans-serif",
        font_size="11",
    )  # fmt: skip


def _styled(scene: RobotScene, thick: float, joints: bool) -> list[Shape]:
    """The shapes of a robot: bars in the colours of charts, grey joints. What slides is
    thinner than what it slides in. Links of a closed robot whose names differ by a number only have
    one colour."""
    shapes, model = scene.shapes, scene.robot.model
    tree = isinstance(model, Model)
    frames = model.frames if tree else ()
    base = {x.name for x in frames if x.body == BASE} if tree else {scene.links[0]}
    slides = {x.name for x in frames if x.body != BASE and not model.bodies[x.body].rho}
    alike = bool(getattr(scene.robot, "constraints", ()))  # the limbs of a closed robot
    kind = {x.link: re.sub(r"\d+\w?$", "", x.link) if alike else x.link for x in shapes}
    moving = list(dict.fromkeys(kind[x.link] for x in shapes if x.link not in base))
    colours = {
        x: _rgba(COLOURS[moving.index(kind[x]) % len(COLOURS)]) for x in kind if x not in base
    }
    return [
        replace(
            x,
            colour=_GREY if x.kind == "cylinder" else colours.get(x.link, _GREY),
            sizes=_thickened(x, (_SLIDES if x.link in slides else 1.0) * thick),
        )
        for x in shapes
        if joints or x.kind != "cylinder"
    ]


def _thickened(shape: Shape, thick: float) -> tuple[float, ...]:
    """The sizes of a shape whose bar is thicker and as long."""
    first, *others = shape.sizes
    if shape.kind == "capsule":
        return (thick * first, *others)
    if shape.kind == "arc":
        return (first, others[0], thick * others[1])
    return tuple(thick * x for x in shape.sizes)


def _rgba(colour: str) -> Colour:
    r, g, b = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return r, g, b, 1.0


def _stand(solids: Sequence[Any], floor: float) -> tuple[Shape, Array]:
    """A column on the floor below the base's origin, as thick as a joint."""
    radius = max(x.sizes[0] for x, _ in solids if x.kind == "cylinder")
    at = np.array([0.0, 0.0, (floor - radius) / 2])
    shape = Shape("", "cylinder", (radius, -floor - radius), np.eye(3), at, _GREY)
    return shape, np.broadcast_to(shape.pose, (len(solids[0][1]), 4, 4))


def _robot(solids: Sequence[Any], camera: Camera, clock: Clock) -> list[str]:
    """The solids from back to front. Where one passes before another, the drawing is cut into
    groups of frames, each in its own order."""
    drawn = [outlines(shape, poses, camera) for shape, poses in solids]
    near = np.array([_nearness(camera, *solid) for solid in solids])
    boxes = np.array(
        [
            [np.stack([x.min(axis=0), x.max(axis=0)]) for x in camera(moved(shape, poses))]
            for shape, poses in solids
        ]
    )  # (solids, frames, 2, 2)
    starts: list[tuple[int, list[int]]] = []
    for k in range(0, clock.frames - 1, _BLOCK):
        block = slice(k, k + _BLOCK + 1)
        depth, box = near[:, block].mean(axis=1).round(9), boxes[:, block]  # ties stay ties
        if not starts or _wrong(starts[-1][1], depth, box):
            starts.append((k, [int(i) for i in np.argsort(depth, kind="stable")]))
    groups = []
    for n, (first, order) in enumerate(starts):
        last = starts[n + 1][0] if n + 1 < len(starts) else clock.frames - 1
        lines = [(i, j, line) for i in order for j, line in enumerate(drawn[i])]
        inner = "".join(
            _drawn(
                line._replace(values=line.values[first : last + 1]), clock, first, f"{n}.{i}.{j}"
            )
            for i, j, line in lines
        )
        groups.append(element("g", clock.shown(first, last) + inner))
    return groups


def _nearness(camera: Camera, shape: Shape, poses: Array) -> Array:
    """How near a solid is in each frame: half way between its middle and its nearest place."""
    nearest = camera.view.nearness(moved(shape, poses)).max(axis=1)
    if shape.kind in ("capsule", "sphere", "arc"):
        nearest = nearest + shape.sizes[2 if shape.kind == "arc" else 0]
    return (camera.view.nearness(poses[:, :3, 3]) + nearest) / 2


def _wrong(order: Sequence[int], depth: Array, boxes: Array) -> bool:
    """Whether a part that is drawn later is farther away than one that it overlaps."""
    for n, i in enumerate(order):
        for j in order[n + 1 :]:
            apart = (boxes[i, :, 0] > boxes[j, :, 1]) | (boxes[j, :, 0] > boxes[i, :, 1])
            if depth[i] > depth[j] and not apart.any(axis=1).all():
                return True
    return False


def _drawn(line: Outline, clock: Clock, first: int, name: str) -> str:
    """An outline in its looks, moving if it does."""
    moves = len(set(line.values)) > 1
    content = clock.animate(line.attribute, line.values, first) if moves else ""
    shape = {line.attribute: line.values[0]}
    if len(line.looks) == 1:
        return element(line.tag, content, **shape, **line.looks[0])
    kept = element("defs", element(line.tag, content, id=name, **shape))
    return kept + "".join(element("use", href=f"#{name}", **look) for look in line.looks)


def _plain(line: Outline) -> Outline:
    """An outline without edge and light, as walls are drawn."""
    return line if len(line.looks) == 1 else line._replace(looks=line.looks[1:2])


def _path(motion: PlayedMotion, frame: str, camera: Camera) -> Array:
    q = np.array([motion.state(float(x))[0] for x in np.linspace(motion.t[0], motion.t[-1], _PATH)])
    return camera(np.asarray(motion.robot.forward_kinematics(q, frame))[:, :3, 3])


def _traced(opacity: float) -> dict[str, Any]:
    look = {"fill": "none", "stroke": _TRACE, "stroke_width": 1.8, "stroke_linejoin": "round"}
    return look | {"stroke_linecap": "round", "stroke_opacity": opacity}


def _growing(path: Array, clock: Clock) -> str:
    """The path as far as it has been gone, and its tip."""
    steps = np.append(0, np.cumsum(np.hypot(*np.diff(path, axis=0).T)))
    at = np.linspace(0, 1, clock.frames) * (len(path) - 1)
    gone = np.interp(at, np.arange(len(path)), steps / max(steps[-1], 1e-9))
    tips = np.stack([np.interp(at, np.arange(len(path)), x) for x in path.T], axis=1)
    grows = clock.animate("stroke-dashoffset", [f"{1 - x:.3f}" for x in gone])
    line = element(
        "polyline", grows, points=points(path), pathLength=1, stroke_dasharray="1 1.1", **_traced(1)
    )
    goes = clock.animate("points", [points([x, x]) for x in tips])
    dot = {"stroke": _TRACE, "stroke_width": 6, "stroke_linecap": "round"}
    return line + element("polyline", goes, points=points(tips[[0, 0]]), **dot)


def _flashes(motion: PlayedMotion, camera: Camera, clock: Clock) -> list[str]:
    """A ring about each place that is struck, when it is; those of one moment are one group."""
    span, moments = motion.t[-1] - motion.t[0], dict[float, list[str]]()
    for strike in motion.strikes:
        time = float(clock.keys[-1] * (strike.time - motion.t[0]) / span)
        moments.setdefault(round(time, 2), []).extend(
            element(
                "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=9, fill="none", stroke=_FLASH,
                stroke_width=3,
            )
            for x, y in camera(strike.places)
        )  # fmt: skip
    groups = []
    for time, rings in moments.items():
        if not rings:  # stops of joints have no place
            continue
        keys = [0.0, time, min(time + 0.002, 0.998), min(time + 0.08, 0.999), 1.0]
        flash = element(
            "animate", attributeName="opacity", values="0;0;1;0;0", dur=f"{clock.total:g}s",
            keyTimes=";".join(f"{x:.3f}" for x in keys), repeatCount="indefinite",
        )  # fmt: skip
        groups.append(element("g", flash + "".join(rings), opacity=0))
    return groups


def _floor(around: Array, height: float) -> Array:
    """The lines (k, 2, 3) of a grid below places."""
    low, high = around[:, :2].min(axis=0), around[:, :2].max(axis=0)
    span = float((high - low).max())
    step = next(
        x for k in range(-4, 4) for x in (10.0**k, 2 * 10.0**k, 5 * 10.0**k) if span < 7 * x
    )
    x, y = (
        np.arange(np.floor(a / step), np.ceil(b / step) + 1) * step
        for a, b in zip(low, high, strict=True)
    )
    lines = [((u, y[0]), (u, y[-1])) for u in x] + [((x[0], u), (x[-1], u)) for u in y]
    return np.concatenate([np.array(lines), np.full((len(lines), 2, 1), height)], axis=2)


def _lines(sheet: Array) -> str:
    lines = "".join(element("polyline", points=points(x)) for x in sheet)
    return element("g", lines, stroke=INK, stroke_width=0.8, opacity=0.14) if lines else ""


def _shadows(solids: Sequence[Any], camera: Camera, clock: Clock, floor: float) -> str:
    """The tubes of a robot, straight down on a floor."""
    drawn = []
    for k, (shape, poses) in enumerate(solids):
        if shape.kind in ("capsule", "arc"):
            ends = np.array(moved(shape, poses))
            ends[..., 2] = floor
            lines = [points(x) for x in camera(ends)]
            look = {"stroke_width": f"{1.5 * camera.scale * shape.sizes[0]:.1f}"}
            drawn.append(_drawn(Outline("polyline", lines, [look]), clock, 0, f"s{k}"))
    round_ends = {"stroke_linecap": "round", "stroke_linejoin": "round", "fill": "none"}
    return element("g", "".join(drawn), stroke=INK, opacity=0.1, **round_ends) if drawn else ""


def _speed(ratio: float) -> str:
    """How fast a film is, in words."""
    if abs(ratio - 1) < 0.03:
        return "real time"
    fast = ratio > 1
    return f"{ratio if fast else 1 / ratio:.2g} times {'faster' if fast else 'slower'}"
