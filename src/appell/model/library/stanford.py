"""The Stanford arm, whose third joint slides."""

from __future__ import annotations

from math import pi

import numpy as np

from appell.model.description.dh import from_dh
from appell.model.model import Model


def stanford_arm() -> Model:
    """Stanford arm, RRPRRR (Paul 1981, "Robot Manipulators", tables 6.4 to 6.6)."""
    # Paul gives centres of mass in tenths of a metre for links 2 to 6 and moments of inertia
    # about the links' origins: only so is every link physical, and the boom (link 3) as long
    # as it is. Reflected inertias of the motors are not part of the table used here.
    mass = [9.29, 5.01, 4.25, 1.08, 0.63, 0.51]
    com = [
        [0, 0.0175, -0.1105],
        [0, -0.1054, 0],
        [0, 0, -0.6447],
        [0, 0.0092, -0.0054],
        [0, 0, 0.0566],
        [0, 0, 0.1554],
    ]
    about_origin = [
        [0.276, 0.255, 0.071],
        [0.108, 0.018, 0.100],
        [2.51, 2.51, 0.006],
        [0.002, 0.001, 0.001],
        [0.003, 0.003, 0.0004],
        [0.013, 0.013, 0.0003],
    ]
    inertia = []
    for m, c, moments in zip(mass, com, about_origin, strict=True):
        r = np.array(c)
        inertia.append(np.diag(moments) - m * (r @ r * np.eye(3) - np.outer(r, r)))
    return from_dh(
        name="stanford_arm",
        convention="standard",
        kinds="RRPRRR",
        theta=[0, 0, -pi / 2, 0, 0, 0],
        d=[0.412, 0.154, 0, 0, 0, 0.263],
        a=[0] * 6,
        alpha=[-pi / 2, pi / 2, 0, -pi / 2, pi / 2, 0],
        mass=mass,
        com=com,
        inertia=inertia,
    )
