"""One HTML file with a robot or its motion in it, which needs neither a server nor a network.

viser's own serialiser writes the scene with the program that draws it. Of a motion it stands in a
frame of a page, beside the charts of the motion: a line in them follows the time of the scene.
"""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.show.figure import figure_html
from appell.show.page import page
from appell.show.viewer.motion_viewer import MotionStage
from appell.show.viewer.played_motion import PlayedMotion
from appell.show.viewer.postures import Postures
from appell.show.viewer.robot_scene import RobotScene
from appell.show.viewer.server import start_server, stop_server
from appell.show.viewer.stage import Stage
from appell.whole_file import write_whole

_FRAMES = 30.0  # a second
_MOST = 1800  # frames: of longer motions, fewer per second are taken


def write_page(path: str | os.PathLike[str], shown: Any, q: Any = None) -> Path:
    """Write a robot (at coordinates q), or a `PlayedMotion` with its charts, to an .html file. A
    file that is there is replaced."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"html = {str(path)!r}; expected the name of an .html file.")
    write_whole(target, page_of(shown, q))
    return target


def page_of(shown: Any, q: Any = None) -> str:
    """The text of such a page."""
    server = start_server()
    try:
        if isinstance(shown, PlayedMotion):
            return _with_charts(_animated(server, shown), shown)
        return _still(server, shown, q)
    finally:
        stop_server(server)


def _still(server: Any, robot: Any, q: Any) -> str:
    postures = Postures(robot, q)
    Stage(server, RobotScene(robot), [postures.q]).move(postures.q)
    return str(server.get_scene_serializer().as_html())


def _animated(server: Any, motion: PlayedMotion) -> str:
    on_stage = MotionStage(server, motion)
    start, end = (float(x) for x in motion.t[[0, -1]])
    count = int(np.clip(np.ceil(_FRAMES * (end - start)), 1, _MOST))
    on_stage.move(start)
    serializer = server.get_scene_serializer()
    for t in np.linspace(start, end, count + 1):
        on_stage.move(float(t))
        serializer.insert_sleep((end - start) / count if count > 1 else 0.5)
    return str(serializer.as_html())


def _with_charts(scene: str, motion: PlayedMotion) -> str:
    """The page of a scene and the charts of its motion."""
    frame = scene.replace("&", "&amp;").replace('"', "&quot;")
    title = f"Motion of {motion.robot.name}"
    told = f'<p class="note">It ended early: {escape(motion.note)}</p>' if motion.note else ""
    shown = figure_html(
        motion.chart,
        title,
        "The grey line is the present time. Dashed: desired; dotted: limits; thin vertical lines: "
        "impacts. Drag to zoom, double click to see all.",
    )
    return page(
        title,
        [
            f"<h1>{escape(title)}</h1>",
            told,
            '<div class="beside">'
            f'<iframe class="scene" title="{escape(title)}" data-start="{float(motion.t[0])!r}" '
            f'srcdoc="{frame}"></iframe>{shown}</div>',
        ],
    )
