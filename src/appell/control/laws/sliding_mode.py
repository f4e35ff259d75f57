"""Robust control on the surface s = e' + rate e: Slotine and Li, "Applied Nonlinear Control", 1991,
section 7. Why the law comes to the surface: see `appell.control.laws.adaptive`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from appell.control.laws.feedback import DEFAULT, Desired, passive_dynamics, reference
from appell.control.laws.gains import DAMPING, EACH
from appell.control.laws.law import Law, Numbers
from appell.maths.lists import Gain, Scalars, clipped, minus, plus
from appell.maths.scalar import Scalar


def sliding_mode(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    rate: Gain,
    k: Scalars,
    layer: Scalars,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """tau = M a_r + C v_r + g + k sat(s / layer).

    Where k exceeds what the model lacks, s comes to its boundary layer and stays there, and the
    error of a joint within layer / rate.
    """
    v_r, a_r = reference(model, q, v, desired, rate)
    s = minus(v_r, v)
    switched = [g * clipped(x / w, 1) for g, x, w in zip(k, s, layer, strict=True)]
    return plus(passive_dynamics(model, q, v, v_r, a_r, formulation), switched)


@dataclass(frozen=True, eq=False, repr=False)
class SlidingMode(Law):
    """Robust control, Slotine and Li 1991: tau = M a_r + C v_r + g + k sat(s / layer).

    s = e' + rate e, with the reference v_r = v_d + rate e. Where k exceeds what the model lacks,
    every error comes to stay within layer / rate. A sampled law needs k / layer well below a
    joint's inertia over the period.

    Args:
        robot: What the law believes it moves.
        rate: How fast errors decay on s = 0, 1/s.
        k: The torque that meets what the model lacks, N m or N; chosen from the robot without it.
        layer: The width of the layer in which k is not used in full, rad/s or m/s.
        formulation: The equations of its dynamics; the fastest without it.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> law = appell.control.SlidingMode(arm, rate=10, k=5, layer=0.1)
        >>> law([0, 0], [0, 0], [0.1, 0], [0, 0], [0, 0])[0].shape
        (2,)
    """

    rate: Numbers = 10.0
    k: Numbers | None = None
    layer: Numbers = 0.1

    equation = staticmethod(sliding_mode)
    gains: ClassVar = {"rate": EACH, "layer": EACH, "k": DAMPING._replace(matrix=False)}

    def _usual(self, what: str) -> Any:
        return super()._usual(what) * np.asarray(self.layer, dtype=float)
