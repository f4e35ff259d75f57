"""``appell.view``: a robot, a run or a log in the browser, or as a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from appell.errors import InputError
from appell.robots.dynamics import Dynamics
from appell.show.viewer.server import LOOPBACK, require_viewer


def view(
    shown: Any,
    q: Any = None,
    *,
    robot: Dynamics | None = None,
    html: str | os.PathLike[str] | None = None,
    host: str = LOOPBACK,
    port: int = 0,
    browser: bool = True,
) -> Any:
    """A viewer of a robot, a run, or a log of the rig, in the browser.

    A robot is shown at coordinates ``q`` (its neutral ones without) and moved by sliders; runs and
    logs are played. A run from a file, and a log, need their ``robot``. The page is served on this
    machine only, unless ``host`` says otherwise, on any ``port`` that is free, and opened unless
    ``browser=False``, until the process ends, or ``close()`` of what is returned; ``wait()`` stays
    until Ctrl-C.

    With ``html`` nothing is served: one file is written, which holds the robot, or its moving
    picture, and needs no network. Its path is returned.

        appell.view(appell.load("ur5")).wait()
        appell.view(run, html="run.html")
    """
    require_viewer()
    scene = _scene_of(shown, robot)
    if html is not None:
        from appell.show.viewer.animated_page import write_page

        return write_page(html, scene, q)
    from appell.show.viewer.motion_viewer import MotionViewer
    from appell.show.viewer.robot_viewer import RobotViewer

    if isinstance(scene, Dynamics):
        viewer: Any = RobotViewer(scene, q, host=host, port=port)
    else:
        viewer = MotionViewer(scene, host=host, port=port)
    if browser:
        viewer.open()
    return viewer


def _scene_of(shown: Any, robot: Dynamics | None) -> Any:
    """A robot, or the motion to be played."""
    from appell.rig.log.log_file import Log
    from appell.show.viewer.played_motion import PlayedMotion, known_robot, of_run, of_samples
    from appell.simulation.run import Run

    if isinstance(shown, Dynamics | PlayedMotion):
        return shown
    if isinstance(shown, Run):
        return of_run(shown, robot)
    log = getattr(shown, "log", shown)  # a report of the rig has one
    if isinstance(log, Log):
        robot = robot or known_robot(str(log.metadata.get("robot", "")), "this log")
        return of_samples(robot, log.t, log["q"], log["v"], log["tau"])
    raise InputError(
        f"view({shown!r}): expected a robot, a run of appell.simulate or control.track, or a log "
        "of the rig."
    )


def view_file(path: Path, robot: Dynamics | None) -> Any:
    """What there is to see in a file: a run (.npz), a log of the rig (.mcap), or a scenario
    (.toml, .json)."""
    from appell.rig.log.log_file import read_log
    from appell.simulation.run import load_run

    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _scene_of(load_run(path), robot)
    if suffix == ".mcap":
        return _scene_of(read_log(path), robot)
    from appell.study import read_scenario, run

    return _scene_of(run(read_scenario(path)).run, robot)
