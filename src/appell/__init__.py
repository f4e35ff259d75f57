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
    "Robot": "appell.robot",
    "SphericalRobot": "appell.parallel.spherical",
    "close": "appell.constraints.close",
    "load": "appell.library",
    "set_threads": "appell.compile.threads",
    "simulate": "appell.simulation.simulate",
    "AppellError": "appell.errors",
    "InputError": "appell.errors",
    "ModelError": "appell.errors",
}

_MODULES = ("constraints", "control", "export", "identify", "papers", "simulation", "walls")

__all__ = [
    "AppellError", "InputError", "ModelError", "Robot", "SphericalRobot", "close", "constraints",
    "control", "export", "identify", "load", "papers", "set_threads", "simulate", "simulation",
    "walls",
]  # fmt: skip

if TYPE_CHECKING:
    from appell import constraints, control, export, identify, papers, simulation, walls
    from appell.compile.threads import set_threads
    from appell.constraints.close import close
    from appell.errors import AppellError, InputError, ModelError
    from appell.library import load
    from appell.parallel.spherical import SphericalRobot
    from appell.robot import Robot
    from appell.simulation.simulate import simulate


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"appell.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'appell' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_MODULES])
