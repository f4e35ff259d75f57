"""Forces of joints that slide are in N, those of joints that turn in N m."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell import identify
from appell.identify import Data, random_states
from appell.show.identification import torque_picture, torque_table


@pytest.mark.parametrize(
    ("name", "units"),
    [
        ("stanford_arm", ["N m", "N m", "N", "N m", "N m", "N m"]),
        ("stewart_gough", ["N"] * 6),
        ("agile_wrist", ["N m"] * 3),
    ],
)
def test_pictures_of_forces_name_units(name, units):
    robot = appell.load(name)
    q, v, a = random_states(robot, 200, seed=0)
    tau = robot.inverse_dynamics(q, v, a)
    fitted = identify.fit(robot, q, v, a, tau, check=False)
    validation = identify.validate(fitted, Data(np.arange(200) / 100, q, v, a, tau))
    assert len(torque_table({"qr": validation}).columns) == robot.inverse_dynamics(q, v, a).shape[1]
    titles = [axes.get_title(loc="left") for axes in torque_picture(validation).draw().axes]
    assert [title for title in titles if title] == [
        f"joint {j + 1}, {unit}" for j, unit in enumerate(units)
    ]
