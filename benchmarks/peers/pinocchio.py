"""Pinocchio: its C++ functions called from Python, state by state or with its own batch calls."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.peers.common import Absent, Array, Read, Run, as_is, call_by_call, placement

_CALLS = {
    "inverse_dynamics": "rnea",
    "forward_dynamics": "aba",
    "mass_matrix": "crba",
    "inverse_dynamics_derivatives": "computeRNEADerivatives",
    "forward_dynamics_derivatives": "computeABADerivatives",
    "regressor": "computeJointTorqueRegressor",
}
_BATCH_CALLS = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}


class Pinocchio:
    def __init__(self) -> None:
        import pinocchio

        self.pin = pinocchio
        self.version = pinocchio.__version__

    def prepare(self, case: Case, *states: Array) -> tuple[Run, Read]:
        model = self.model(case.model())
        call = partial(getattr(self.pin, _CALLS[case.quantity]), model, model.createData())
        return call_by_call(call, states), as_is

    def model(self, model: Any) -> Any:
        """Ours, body by body in the same frames."""
        pin = self.pin
        theirs = pin.Model()
        theirs.gravity = pin.Motion(np.array(model.gravity, dtype=float), np.zeros(3))
        for body in model.bodies:
            joint = pin.JointModelRZ() if body.rho else pin.JointModelPZ()
            place = pin.SE3(*placement(body))
            number = theirs.addJoint(body.parent + 1, joint, place, body.joint.name)
            parameters = np.array(body.inertia.parameters, dtype=float)
            inertia = pin.Inertia.FromDynamicParameters(parameters)
            theirs.appendBodyToJoint(number, inertia, pin.SE3.Identity())
        theirs.armature = np.array([body.joint.reflected for body in model.bodies], dtype=float)
        return theirs


class PinocchioBatch(Pinocchio):
    def prepare(self, case: Case, *states: Array) -> tuple[Run, Read]:
        name = _BATCH_CALLS.get(case.quantity)
        if name is None:
            raise Absent(f"Pinocchio has no batch call for the {case.quantity.replace('_', ' ')}")
        out = np.empty_like(states[0])
        # Transposed, rows of states are the columns that Eigen wants: nothing is copied.
        columns = [x.T for x in (*states, out)]
        pool = self.pin.ModelPool(self.model(case.model()), 1)
        return partial(getattr(self.pin, name), 1, pool, *columns), lambda _: out  # gives None
