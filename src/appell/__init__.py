"""Appell: robot dynamics by the Gibbs-Appell equations.

robot = appell.load("puma560")
tau = robot.inverse_dynamics(q, v, a)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives; nothing is imported before it is used.
_HOMES = {
    "Robot": "appell.robot",
    "load": "appell.library",
    "set_threads": "appell.compile.threads",
    "AppellError": "appell.errors",
    "InputError": "appell.errors",
    "ModelError": "appell.errors",
}

_MODULES = ("papers",)

__all__ = ["AppellError", "InputError", "ModelError", "Robot", "load", "papers", "set_threads"]

if TYPE_CHECKING:
    from appell import papers
    from appell.compile.threads import set_threads
    from appell.errors import AppellError, InputError, ModelError
    from appell.library import load
    from appell.robot import Robot


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
