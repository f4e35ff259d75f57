"""``appell.view``: a robot, a run or a log in the browser, or as a file."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from appell.errors import InputError
from appell.robots.dynamics import Dynamics
from appell.show.viewer.server import LOOPBACK, missing, require_viewer


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
    """A viewer of a robot, a run or a log of the rig, in the browser.

    A robot is moved by sliders; runs and logs are played. The page is served on this machine only,
    unless ``host`` says otherwise, until the process ends.

    Args:
        shown: A robot, a `Run`, or a log or report of the rig.
        q: Coordinates, (nq,), rad or m, at which a robot is shown; neutral without them.
        robot: The robot of a run or a log whose file holds none.
        html: The path of a file to write instead: one page with the robot, or its motion, that
            needs no network. Without the extra ``view`` it is a moving picture.
        host: The address at which the page is served.
        port: Its port; any free one without.
        browser: Whether to open the page.

    Returns:
        A viewer with ``url``, ``wait()``, which stays until Ctrl-C, and ``close()``; with ``html``
        the path of the file.

    Examples:
        >>> viewer = appell.view(appell.load("two_link"), browser=False)
        >>> viewer.url.startswith("http")
        True
        >>> viewer.close()
    """
    if html is None:
        require_viewer()
    scene = _scene_of(shown, robot)
    if html is not None:
        if missing():
            from appell.show.film_page import write_film_page

            return write_film_page(html, scene, q)
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
    from appell.robots.robot_data import robot_from_data
    from appell.show.viewer.played_motion import PlayedMotion, known_robot, of_run, of_samples
    from appell.simulation.run import Run

    if isinstance(shown, Dynamics | PlayedMotion):
        return shown
    if isinstance(shown, Run):
        return of_run(shown, robot)
    log = getattr(shown, "log", shown)  # a report of the rig has one
    if isinstance(log, Log):
        held = log.metadata.get("robot_data")
        robot = robot or (None if held is None else robot_from_data(held))
        robot = robot or known_robot(str(log.metadata.get("robot", "")), "this log")
        return of_samples(robot, log.t, log["q"], log["v"], log["tau"])
    raise InputError(
        f"view({shown!r}): expected a robot, a run of appell.simulate or control.track, or a log "
        "of the rig."
    )


def animation_of(shown: Any, robot: Dynamics | None = None) -> str:
    """The text of a page with the moving robot of a run, a log or a `PlayedMotion`; where the
    viewer is not installed, with a moving picture of it, and a warning that says so."""
    scene = _scene_of(shown, robot)
    if absent := missing():
        from appell.show.film_page import film_page

        warnings.warn(
            f"{' and '.join(absent)} not installed: the animation is a moving picture, which "
            "cannot be turned; for a scene that can, pip install 'appell[view]'.",
            stacklevel=2,
        )
        return film_page(scene)
    from appell.show.viewer.animated_page import page_of

    return page_of(scene)


def view_file(path: Path, robot: Dynamics | None) -> Any:
    """What there is to see in a file: a run (.npz), a log of the rig (.mcap), a scenario (.toml,
    .json), or a motion (.csv); of a folder, the first of these that is in it."""
    from appell.rig.log.log_file import read_log
    from appell.simulation.saved_run import load_run

    if path.is_dir():
        path = _file_in(path)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _scene_of(load_run(path), robot)
    if suffix == ".mcap":
        return _scene_of(read_log(path), robot)
    if suffix == ".csv":
        return _motion_in(path, robot or _robot_beside(path))
    from appell.study import read_scenario, run

    return _scene_of(run(read_scenario(path)).run, robot)


def _file_in(folder: Path) -> Path:
    """The file of a run's folder that is played."""
    for pattern in ("run.npz", "*.mcap", "scenario.json", "motion.csv"):
        if files := sorted(folder.glob(pattern)):
            return files[0]
    raise InputError(
        f"'{folder}' holds no motion; expected run.npz, a log (.mcap), scenario.json or motion.csv "
        "in it."
    )


def _robot_beside(path: Path) -> Dynamics:
    """The robot of the run or scenario in whose folder a motion lies."""
    from appell.show.viewer.played_motion import known_robot
    from appell.simulation.saved_run import load_run
    from appell.study import read_scenario
    from appell.study.scenario_build import robot_of

    run, scenario = (path.with_name(name) for name in ("run.npz", "scenario.json"))
    if run.is_file() and (robot := load_run(run).robot) is not None:
        return robot
    if scenario.is_file():
        return robot_of(read_scenario(scenario))
    return known_robot("", f"'{path}'")


def _motion_in(path: Path, robot: Dynamics) -> Any:
    """The motion of a CSV file with times and positions, as appell control follow takes it."""
    import numpy as np

    from appell.rig.log.motion_files import read_motion
    from appell.show.viewer.played_motion import of_samples

    plain = robot.nq == len(robot.joint_names)  # else there are quaternions, without units
    joints, kinds = (robot.joint_names, robot.joint_kinds) if plain else ((), ())
    motion, _ = read_motion(path, robot.nq, joints=joints, kinds=kinds)
    t = np.array(motion.breakpoints)  # the file's
    q = motion(t)[0]
    if plain:
        speeds = [robot.joint_names.index(name) for name in robot.independent]
        v = np.gradient(q, t, axis=0)[:, speeds]
    else:
        steps = robot.difference(q[:-1], q[1:]) / np.diff(t)[:, None]
        v = np.concatenate([steps, steps[-1:]])
    return of_samples(robot, t, q, v)
