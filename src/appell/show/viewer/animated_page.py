"""One HTML file with a robot or its motion in it, which needs neither a server nor a network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.show.viewer.motion_viewer import MotionStage
from appell.show.viewer.played_motion import PlayedMotion
from appell.show.viewer.postures import Postures
from appell.show.viewer.robot_scene import RobotScene
from appell.show.viewer.server import start_server, stop_server
from appell.show.viewer.stage import Stage

_FRAMES = 30.0  # a second
_MOST = 1800  # frames: of longer motions, fewer a second are taken


def write_page(path: str | os.PathLike[str], shown: Any, q: Any = None) -> Path:
    """Write a robot (at coordinates q), or a :class:`PlayedMotion`, to an .html file, by viser's
    own serialiser. A file that is there is replaced."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"html = {str(path)!r}; expected the name of an .html file.")
    server = start_server()
    try:
        text = (
            _animated(server, shown)
            if isinstance(shown, PlayedMotion)
            else _still(server, shown, q)
        )
        target.write_text(text, encoding="utf-8")
    finally:
        stop_server(server)
    return target


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
