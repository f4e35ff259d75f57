import numpy as np
import pytest

from appell.papers.abedloo2014 import (
    PICTURES,
    UNTIL,
    coriolis_table,
    differences,
    errors_table,
    motion,
    trajectory,
    wrist,
)
from appell.show.figure import svg_of


def test_the_trajectory_is_that_of_equation_52():
    q, v, a = trajectory(np.array([0.0, 1.0]))
    assert q[0].tolist() == [0, 0, 0]
    np.testing.assert_allclose(v[0], np.radians([10, 30, 20]) * [np.pi, np.pi / 2, 1.5 * np.pi])
    np.testing.assert_allclose(q[1], np.radians([0, 30, -20]), atol=1e-15)
    np.testing.assert_allclose(trajectory(UNTIL)[0], 0, atol=1e-14)
    h = 1e-5
    for low, high in ((q, v), (v, a)):
        which = 0 if low is q else 1
        slope = (trajectory(1 + h)[which] - trajectory(1 - h)[which]) / (2 * h)
        np.testing.assert_allclose(slope, high[1], atol=1e-7)


def test_the_loop_follows_the_trajectory():
    found = motion()
    astray = np.abs(found.platform.q - trajectory(found.t)[0])
    assert 1e-6 < astray.max() < np.radians(0.1)
    assert found.open < 1e-7


@pytest.mark.parametrize("what", ["joint", "velocities", "accelerations", "torques"])
def test_closed_equations_agree_with_the_simulator(what):
    (name,) = (key for key in differences() if what in key)
    error = np.abs(differences(projected=True)[name]).max()
    assert 0 < error < 1e-10  # of the equations alone; the paper had 1e-7 to 1e-5
    assert 1e-11 < np.abs(differences()[name]).max() < 1e-5  # with what the loops are open by


def test_a_heavier_platform_would_be_seen():
    loaded = wrist().with_payload(1e-3, (0, 0, 0.05))
    tau = loaded.inverse_dynamics(*motion().platform)
    assert np.abs(tau - motion().tau).max() > 1e-5


def test_samples_are_projected_where_the_table_says_so():
    """As the sensors of limbs 2 and 3 have it: theta and psi give the second link's last axis,
    which must be the platform's."""
    robot = wrist()
    for projected in (False, True):
        found = motion(projected)
        angles = robot.inverse_kinematics(found.platform.q)
        apart = np.abs(np.hstack(angles) - found.joints[0]).max()
        assert bool(apart < 1e-13) is projected
        assert found.open == motion(False).open


def test_the_default_moves_its_joints_as_the_jacobians_do():
    robot, (q, v, a) = wrist(), motion().platform
    for name in ("quasi_speeds", "gibbs_jacobian"):
        moved = robot.kernel("joint_motion", formulation=name)(q[:9], v[:9], a[:9])
        dtheta, dpsi, ddtheta, ddpsi = robot.joint_motion(q[:9], v[:9], a[:9])
        expected = np.hstack([dtheta, dpsi]), np.hstack([ddtheta, ddpsi])
        np.testing.assert_allclose(moved, expected, atol=1e-10)


def test_tables_have_what_the_paper_prints():
    table = errors_table()
    assert [row.paper[0] for row in table.rows] == [1e-7, 1e-6, 1e-5, 1e-5]
    assert all(row.holds for row in table.rows)
    printed, ours, forces = (row.ours[0] for row in coriolis_table().rows)
    assert printed > 1e-4 > 1e-12 > ours
    assert forces < 1e-12


def test_pictures_draw(reproduced):
    figures = [f"Figure {k}" for k in (3, 5, 6, 7)]
    assert [picture.title.split(":")[0] for picture in PICTURES] == [*figures, "The motion"]
    for picture in reproduced("abedloo2014").pictures:
        assert "<svg" in svg_of(picture.draw(), picture.title)


def test_the_document_is_found_by_its_name(reproduced):
    assert reproduced("abedloo2014").name == "abedloo2014"
