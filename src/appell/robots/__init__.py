"""Robots: a model and its compiled equations, the methods that every robot answers.

``appell.robots.closed`` has what ``appell.close`` takes: Loop, Rolling, KnifeEdge, Custom, Place.
"""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    if name not in ("closed", "spherical"):
        raise AttributeError(f"module 'appell.robots' has no attribute {name!r}")
    return import_module(f"appell.robots.{name}")
