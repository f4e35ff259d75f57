"""Identification: from a robot's data to a model one can trust."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Where each public name lives; nothing is imported before it is used.
_HOMES = {
    "Base": "base",
    "Box": "limits",
    "Data": "data",
    "Excitation": "excitation",
    "Fit": "result",
    "HalfSpace": "limits",
    "Validation": "validation",
    "base_parameters": "base",
    "cross_validate": "validation",
    "excite": "excitation",
    "fit": "fitting",
    "joined": "data",
    "observe": "observing",
    "pseudo_inertia": "physical",
    "random_states": "states",
    "validate": "validation",
}

__all__ = [
    "Base", "Box", "Data", "Excitation", "Fit", "HalfSpace", "Validation",
    "base_parameters", "cross_validate", "excite", "fit", "joined", "observe", "pseudo_inertia",
    "random_states", "validate",
]  # fmt: skip

if TYPE_CHECKING:
    from appell.identify.base import Base, base_parameters
    from appell.identify.data import Data, joined
    from appell.identify.excitation import Excitation, excite
    from appell.identify.fitting import fit
    from appell.identify.limits import Box, HalfSpace
    from appell.identify.observing import observe
    from appell.identify.physical import pseudo_inertia
    from appell.identify.result import Fit
    from appell.identify.states import random_states
    from appell.identify.validation import Validation, cross_validate, validate


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'appell.identify' has no attribute {name!r}")
    value = getattr(import_module(f"appell.identify.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
