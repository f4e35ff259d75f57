"""Identification: from a robot's data to a model one can trust."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Where each public name lives; nothing is imported before it is used.
_HOMES = {
    "Base": "base.base_parameters",
    "Box": "excitation.motion_limits",
    "Data": "data.dataset",
    "Excitation": "excitation.excite",
    "Fit": "estimate.result",
    "HalfSpace": "excitation.motion_limits",
    "Validation": "estimate.validation",
    "base_parameters": "base.base_parameters",
    "cross_validate": "estimate.validation",
    "excite": "excitation.excite",
    "fit": "estimate.fitting",
    "joined": "data.dataset",
    "observe": "data.observing",
    "pseudo_inertia": "estimate.physical",
    "random_states": "base.states",
    "validate": "estimate.validation",
}

__all__ = [
    "Base", "Box", "Data", "Excitation", "Fit", "HalfSpace", "Validation",
    "base_parameters", "cross_validate", "excite", "fit", "joined", "observe", "pseudo_inertia",
    "random_states", "validate",
]  # fmt: skip

if TYPE_CHECKING:
    from appell.identify.base.base_parameters import Base, base_parameters
    from appell.identify.base.states import random_states
    from appell.identify.data.dataset import Data, joined
    from appell.identify.data.observing import observe
    from appell.identify.estimate.fitting import fit
    from appell.identify.estimate.physical import pseudo_inertia
    from appell.identify.estimate.result import Fit
    from appell.identify.estimate.validation import Validation, cross_validate, validate
    from appell.identify.excitation.excite import Excitation, excite
    from appell.identify.excitation.motion_limits import Box, HalfSpace


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'appell.identify' has no attribute {name!r}")
    value = getattr(import_module(f"appell.identify.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
