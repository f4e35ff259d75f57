"""The films of the gallery: what each scenario and each example moves, as an SVG that moves.

``make pictures`` draws them all, ``python docs/pictures.py film_ur5`` those whose names begin so.
"""

import contextlib
import io
import os
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import appell
from appell.show.film import film
from appell.show.film_page import sampled
from appell.show.scene import View
from appell.show.viewer.played_motion import PlayedMotion, of_run
from appell.study import read_scenario, run

ROOT = Path(__file__).parents[1]
SCENARIOS, EXAMPLES = ROOT / "examples" / "scenarios", ROOT / "examples"
FLAT = View(-90, 90)  # x to the right, y up


@dataclass(frozen=True)
class Shot:
    """How a motion is filmed."""

    view: View
    look: dict[str, Any] = field(default_factory=dict)
    motion: Callable[[dict[str, Any]], PlayedMotion] | None = None  # from an example's variables
    arguments: tuple[str, ...] = ()  # of an example


def _computed(time: str = "t") -> Callable[[dict[str, Any]], PlayedMotion]:
    """The motion q of ``robot`` over times, all variables of an example."""
    return lambda names: sampled(names["robot"], names[time], names["q"])


def _turned(names: dict[str, Any]) -> PlayedMotion:
    """A platform that turns to where its motors lose their hold."""
    t = np.linspace(0, 1, 60)
    q = [names["turned"](names["found"].x - 1 + x) for x in t]
    return sampled(names["robot"], t, np.array(q))


def _logged(robot: Any, log: Any) -> PlayedMotion:
    return sampled(robot, log.t, log["q"])


def _can(names: dict[str, Any]) -> PlayedMotion:
    robot = appell.load("planar_chain", n=2, length=0.5, mass=4.0)
    return _logged(robot, names["main"]("films").log)


def _disc(names: dict[str, Any]) -> PlayedMotion:
    return of_run(names["disc"].simulate(names["start"], [0.0, 0.0, 6.0], until=3.0))


def _swung_up(names: dict[str, Any]) -> PlayedMotion:
    q = np.array(names["motion"])
    return sampled(names["pendulum"], names["DT"] * np.arange(len(q)), q)


def _rolled_out(robot: Any, rollout: Any) -> PlayedMotion:
    """The first run of a rollout that has kept its path."""
    return sampled(robot, rollout.t, rollout.path["q"][0])


def _loaded(names: dict[str, Any]) -> PlayedMotion:
    """The heaviest load and the most friction that the example draws."""
    arm, load = names["puma"], appell.control.Payload(2.5, (0, 0, 0.1))
    rubbing = {name: names[name] for name in ("coulomb", "viscous")}
    options = {"dt": 0.001, "every": 10, "payload": load} | rubbing
    ran = appell.rollout(arm, names["law"], names["move"], names["start"], **options)
    return _rolled_out(arm, ran)


def _tuned(names: dict[str, Any]) -> PlayedMotion:
    return _rolled_out(names["puma"], names["tracked"](names["found"].x, every=10))


def _of_run(names: dict[str, Any]) -> PlayedMotion:
    return of_run(names["run"])


COORDINATES = ("slide x", "slide y", "slide z", "turn x", "turn y")  # of a platform, no bodies
DELTA = {"thick": 0.5, "joints": False, "hidden": COORDINATES}
ARM = {"floor": 0.0, "hold": 0.0, "frames": 28}
PUMA = {"trace": ["link6"], "floor": -0.36, "stand": True, "thick": 1.25}
SHOTS = {
    "agile_wrist": Shot(View(40, 25), {"hold": 0.3}),
    "arm_line": Shot(View(-60, 25), {"trace": ["link6"], "floor": -0.1, "thick": 0.7}),
    "chain_on_floor": Shot(View(60, 12), {"thick": 1.6}),
    "circle_payload_error": Shot(View(40, 22), ARM | {"trace": ["tool0"]}),
    "delta_moves": Shot(View(40, 18), DELTA | {"hold": 0.0}),
    "differential_drive": Shot(View(-60, 35), {"trace": ["tool"], "floor": 0.0}),
    "five_bar_line": Shot(FLAT, {"trace": ["tool"]}),
    "four_bar_turns": Shot(View(-90, 0), {"hold": 0.0}),
    "lee1982_computed_torque": Shot(View(-50, 20), PUMA),
    "mata2002_puma": Shot(View(35, 20), PUMA),
    "motion_from_file": Shot(FLAT, {"trace": ["link2"], "thick": 0.8}),
    "panda_via_points": Shot(View(50, 18), ARM | {"trace": ["panda_hand_tcp"]}),
    "puma_line": Shot(View(35, 20), PUMA),
    "pushed_arm": Shot(View(-20, 20), PUMA | {"hold": 0.0}),
    "shafei2018_tree": Shot(FLAT, {"thick": 1.3, "seconds": 4.0}),
    "ur5_falls": Shot(View(60, 15), {"trace": ["tool0"]}),
    "biped_on_ellipse": Shot(FLAT, {"thick": 1.8}, _of_run),
    "can_driver": Shot(FLAT, {"thick": 0.8}, _can),
    "chain_in_sphere": Shot(
        View(40, 15), {"thick": 1.4, "seconds": 6.0, "frames": 60, "joints": False}, _of_run
    ),
    "closed_delta": Shot(
        View(40, 18),
        DELTA | {"trace": ["platform"]},
        _computed(),
    ),
    "closed_five_bar": Shot(FLAT, {"trace": ["tool"], "hold": 0.0}, _computed()),
    "closed_four_bar": Shot(FLAT, {"hold": 0.0}, _computed("turn")),
    "closed_planar_3rrr": Shot(FLAT, {"thick": 0.8, "hidden": COORDINATES}, _turned),
    "closed_stewart_gough": Shot(
        View(40, 28), {"seconds": 6.0, "hold": 0.0, "thick": 0.7, "joints": False, "frames": 28},
        _computed(),
    ),
    "closed_wheels": Shot(View(-60, 35), {"trace": ["disc"], "floor": 0.0, "frames": 60}, _disc),
    "identify_puma": Shot(View(35, 20), PUMA | {"seconds": 5.0, "frames": 60},
        lambda names: _logged(names["nominal"], names["report"].log)),
    "mppi_swing_up": Shot(FLAT, {"thick": 1.3, "seconds": 5.0, "frames": 60}, _swung_up),
    "robust_puma": Shot(View(-50, 20), PUMA, _loaded, ("--runs", "50", "--picture", os.devnull)),
    "tree_to_rest": Shot(FLAT, {"thick": 1.3, "seconds": 7.0, "frames": 60}, _of_run, ("4",)),
    "tune_gains": Shot(View(-50, 20), PUMA, _tuned),
}  # fmt: skip


def example(path: Path, arguments: tuple[str, ...] = ()) -> dict[str, Any]:
    """The variables of an example after it has run, with nothing printed."""
    before, sys.argv = sys.argv, [str(path), *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return runpy.run_path(str(path))
    finally:
        sys.argv = before


def draw(name: str) -> str:
    """The film of a scenario or an example, as the text of an SVG file."""
    shot = SHOTS[name]
    if shot.motion is None:
        scenario = read_scenario(SCENARIOS / f"{name}.toml")
        motion, title = of_run(run(scenario).run), scenario.title
    else:
        motion = shot.motion(example(EXAMPLES / f"{name}.py", shot.arguments))
        title = name.replace("_", " ")
    return film(motion, shot.view, title=title, **shot.look)
