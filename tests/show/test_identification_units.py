"""Forces of joints that slide are in N, those of joints that turn in N m."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell import identify
from appell.identify import Data, random_states
from appell.show.identification import base_table, torque_picture, torque_table


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
    panels = torque_picture(validation).draw().panels
    assert [panel.title for panel in panels] == list(robot.actuated)
    assert [panel.y.partition(", ")[2] for panel in panels] == units
    table = torque_table({"qr": validation})
    if len(set(units)) > 1:
        assert [head.rpartition(", ")[2] for head in table.columns] == units
    else:
        told = [row.what.rpartition(", ")[2] for row in table.rows]
        assert told == [*units[:1] * 4, "R²"]


def test_base_parameters_have_units_and_their_full_names():
    robot = appell.load("stanford_arm")
    q, v, a = random_states(robot, 200, seed=0)
    tau = robot.inverse_dynamics(q, v, a)
    table = base_table(identify.fit(robot, q, v, a, tau, friction=True, check=False))
    units = {row.what: row.ours[0] for row in table.rows}
    assert units["joint3.viscous (fv3)"] == "N s/m"  # it slides
    assert units["joint1.coulomb (fc1)"] == "N m"
    assert {"kg m", "kg m²"} <= set(units.values())
    assert "fv, fc: viscous and Coulomb friction" in table.note
