"""The PUMA of Valera et al. 2003, tables 5 to 7."""

from __future__ import annotations

from math import pi

from appell.model.description.dh import from_dh
from appell.model.model import Model


def puma560() -> Model:
    """PUMA 560 arm, six revolute joints (Valera et al. 2003, tables 5 to 7)."""
    # The table's column D is minus Craig's d.
    return from_dh(
        name="puma560",
        convention="modified",
        alpha=[0, -pi / 2, 0, pi / 2, -pi / 2, pi / 2],
        a=[0, 0, 0.432, -0.02, 0, 0],
        d=[0, 0, 0.15, 0.433, 0, 0],
        mass=[10.521, 15.781, 8.767, 1.052, 1.052, 0.351],
        com=[
            [0, -0.054, 0],
            [0.1398, 0, 0.1491],
            [-0.32e-3, -0.197, 0],
            [0, 0, -0.057],
            [0, -0.007, 0],
            [0, 0, 0.0372],
        ],
        inertia=[
            [1.612, 0.5091, 1.612],
            [0.4898, 8.0783, 8.2672],
            [3.3768, 0.3009, 3.3768],
            [0.181, 0.181, 0.1273],
            [0.0735, 0.0735, 0.1273],
            [0.0071, 0.0071, 0.0141],
        ],
    )
