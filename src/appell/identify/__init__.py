"""Identification: from a robot's data to a model one can trust."""

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

__all__ = [
    "Base", "Box", "Data", "Excitation", "Fit", "HalfSpace", "Validation",
    "base_parameters", "cross_validate", "excite", "fit", "joined", "observe", "pseudo_inertia",
    "random_states", "validate",
]  # fmt: skip
