"""Appell: robot dynamics by the Gibbs-Appell equations.

robot = appell.load("puma560")
tau = robot.inverse_dynamics(q, v, a)
"""

from __future__ import annotations

from importlib import import_module
from time import time
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
_imported = time()  # source that is changed later is not what this process runs

# Where each public name lives; nothing is imported before it is used.
_HOMES = {
    "Builder": "appell.robots.builder",
    "Contact": "appell.robots.contact_frames",
    "Frame": "appell.model.place",
    "Robot": "appell.robots.robot",
    "SphericalRobot": "appell.robots.spherical.spherical_robot",
    "close": "appell.robots.closed.close",
    "load": "appell.robots.registry",
    "rollout": "appell.control.rollouts.rollout",
    "set_threads": "appell.compile.threads",
    "simulate": "appell.simulation.simulate",
    "view": "appell.show.viewer.view",
    "AppellError": "appell.errors",
    "GpuError": "appell.errors",
    "InputError": "appell.errors",
    "ModelError": "appell.errors",
    "PhysicalWarning": "appell.errors",
    "UrdfWarning": "appell.errors",
}

_CALLED = {"Frame": "frame_on"}  # public names that stand for another
_ELSEWHERE = {"inertia": "appell.model.solids"}  # modules of the same kind
_MODULES = (
    "control",
    "export",
    "identify",
    "learning",
    "papers",
    "rig",
    "robots",
    "simulation",
    "study",
    "walls",
)

__all__ = [
    "AppellError", "Builder", "Contact", "Frame", "GpuError", "InputError", "ModelError",
    "PhysicalWarning",
    "Robot", "SphericalRobot", "UrdfWarning", "close", "control", "export", "identify", "inertia",
    "learning", "load", "papers", "rig", "robots", "rollout", "set_threads", "simulate",
    "simulation", "study", "view", "walls",
]  # fmt: skip

if TYPE_CHECKING:
    from appell import (
        control,
        export,
        identify,
        learning,
        papers,
        rig,
        robots,
        simulation,
        study,
        walls,
    )
    from appell.compile.threads import set_threads
    from appell.control.rollouts.rollout import rollout
    from appell.errors import (
        AppellError,
        GpuError,
        InputError,
        ModelError,
        PhysicalWarning,
        UrdfWarning,
    )
    from appell.model import solids as inertia
    from appell.model.place import frame_on as Frame  # noqa: N812
    from appell.robots.builder import Builder
    from appell.robots.closed.close import close
    from appell.robots.contact_frames import Contact
    from appell.robots.registry import load
    from appell.robots.robot import Robot
    from appell.robots.spherical.spherical_robot import SphericalRobot
    from appell.show.viewer.view import view
    from appell.simulation.simulate import simulate


def __getattr__(name: str) -> Any:
    if name in _MODULES or name in _ELSEWHERE:
        return import_module(_ELSEWHERE.get(name, f"appell.{name}"))
    if name not in _HOMES:
        raise AttributeError(f"module 'appell' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), _CALLED.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_MODULES, *_ELSEWHERE])
