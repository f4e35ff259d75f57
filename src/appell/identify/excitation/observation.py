"""The observation matrix of a motion: the regressor's columns of the base parameters."""

from __future__ import annotations

import numpy as np

from appell.errors import InputError
from appell.identify.base.base_parameters import base_parameters
from appell.identify.excitation.basis import Basis
from appell.robots.robot import Array, Robot

_INSTANTS = 25  # per function of the basis


class Observation:
    """W of the motions of a basis, rows weighted by joint."""

    def __init__(
        self, robot: Robot, basis: Basis, weights: Array, friction: bool, rotors: bool
    ) -> None:
        self.robot, self.basis, self.weights = robot, basis, weights
        self.friction, self.rotors = friction, rotors
        self.columns = base_parameters(robot, friction=friction, rotors=rotors).columns
        if not self.columns:
            raise InputError(f"excite: no parameter of '{robot.name}' changes its torques.")
        count = _INSTANTS * basis.d
        self.motion = basis((np.arange(count) + 0.5) * basis.duration / count)

    def spectrum(self, x: Array) -> Array:
        """The singular values of W / sqrt(instants), the largest first."""
        q, v, a = (part @ x for part in self.motion)
        Y = self.robot.regressor(q, v, a, friction=self.friction, rotors=self.rotors)
        W = Y[:, :, self.columns] * (self.weights[:, None] / np.sqrt(len(q)))
        return np.linalg.svd(W.reshape(-1, len(self.columns)), compute_uv=False)
