"""One HTML file with a moving picture of a robot or its motion, drawn without any extra package.

It is what there is to see where the viewer is not installed: nothing in it can be turned.
"""

from __future__ import annotations

import os
from base64 import b64encode
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import AppellError, InputError
from appell.robots.dynamics import Dynamics
from appell.show.figure import figure_html
from appell.show.film import film
from appell.show.page import page
from appell.show.scene import View
from appell.show.viewer.played_motion import PlayedMotion, of_samples
from appell.show.viewer.postures import Postures
from appell.simulation.run_chart import references
from appell.whole_file import write_whole

NOTE = (
    "A moving picture. With the extra 'view' (pip install 'appell[view]') there are sliders, the "
    "links' own shapes, and a view that can be turned."
)
_SIZE = (720.0, 480.0)
_STEPS = 12  # of a joint's swing to both sides
_SWINGS = (0.6, 0.3, 0.1)  # rad or m, both ways: the first one that the robot can do
_APART = 6  # more joints than these swing at once


def write_film_page(path: str | os.PathLike[str], shown: Any, q: Any = None) -> Path:
    """Write a robot whose joints swing about coordinates q, or a `PlayedMotion` with its charts, to
    an .html file. A file that is there is replaced."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"html = {str(path)!r}; expected the name of an .html file.")
    write_whole(target, film_page(shown, q))
    return target


def film_page(shown: Any, q: Any = None) -> str:
    """The text of such a page."""
    if isinstance(shown, PlayedMotion):
        title, motion, frames = f"Motion of {shown.robot.name}", shown, 60
        beside = figure_html(
            motion.chart, title, f"{references(motion.chart)}Thin lines: limits and impacts."
        )
        seconds = float(np.clip(motion.t[-1] - motion.t[0], 3.0, 10.0))
        ended = f"It ended early: {shown.note}" if shown.note else ""
    else:
        title, motion = shown.name, _swinging(shown, Postures(shown, q).q)
        frames, seconds, ended = len(motion.t), max(2.0, float(motion.t[-1])), ""
        beside = f'<pre style="white-space: pre; overflow-x: auto">{escape(str(shown))}</pre>'
    drawn = film(motion, view_of(motion), seconds=seconds, frames=frames, size=_SIZE, title=title)
    source = b64encode(drawn.encode()).decode()
    notes = [f'<p class="note">{escape(x)}</p>' for x in (ended, NOTE) if x]
    picture = f'<img alt="{escape(title)}" src="data:image/svg+xml;base64,{source}" width="100%">'
    return page(title, [f"<h1>{escape(title)}</h1>", picture, *notes, beside])


def picture_svg(robot: Dynamics, q: Any = None) -> str:
    """The text of an SVG file with a still picture of a robot at coordinates q, to scale."""
    at = Postures(robot, q).q
    still = sampled(robot, np.array([0.0, 1.0]), np.stack([at, at]))
    return film(still, view_of(still), frames=2, size=_SIZE, title=robot.name)


def _swinging(robot: Dynamics, q: Any) -> PlayedMotion:
    """A motion in which joints swing, one after another where they are few; a robot that cannot
    move so stands still."""
    for swing in _SWINGS:
        try:
            return _swung(robot, q, swing)
        except AppellError:  # a limb does not reach, or loops cannot close
            continue
    return sampled(robot, np.array([0.0, 1.0]), np.stack([q, q]))


def _swung(robot: Dynamics, q: Any, swing: float) -> PlayedMotion:
    wave = swing * np.sin(np.linspace(0, 2 * np.pi, _STEPS + 1))
    apart = robot.nv <= _APART
    places = [q]
    for k in range(robot.nv if apart else 1):
        joints = np.eye(robot.nv)[k] if apart else np.ones(robot.nv)
        places += [robot.integrate(q, x * joints) for x in wave[1:]]
    robot.poses(np.array(places))  # refused where the robot cannot be there
    t = np.arange(len(places)) / (0.75 * _STEPS)  # s, four thirds of one for each swing
    return sampled(robot, t, np.array(places))


def sampled(robot: Dynamics, t: Any, q: Any) -> PlayedMotion:
    """A motion that is seen at its samples only: loops are open between them."""
    still = np.zeros((len(t), robot.nv))

    def nearest(time: float) -> tuple[Any, Any]:
        k = int(np.abs(np.asarray(t) - time).argmin())
        return q[k], still[k]

    return replace(of_samples(robot, t, q, still), state=nearest)


def view_of(motion: PlayedMotion) -> View:
    """Where the eye is: before the plane of a robot that moves in one, else above its side."""
    links = motion.robot.poses(np.array(motion.views))[..., :3, 3].reshape(-1, 3)
    x, y, z = np.ptp(links, axis=0) > 1e-6
    if not z:
        return View(-90, 90)
    if not y:
        return View(-90, 0)
    return View(40, 20) if x else View(0, 0)
