"""Runs by a named formulation: the same motion, by other equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_robots import TREE_START

import appell
from appell.equations import gibbs_tree
from appell.equations.quantities import QUANTITIES
from appell.simulation import load_run

NAMES = tuple(QUANTITIES["motion"].formulations)
CIRCLE = appell.walls.Circle(2.5)


def flown(formulation=None, until=0.6):
    """The tree's first two impacts, with the robot's kernels made anew."""
    tree = appell.load("ten_link_tree")
    return appell.simulate(
        tree, TREE_START, until=until, walls=CIRCLE, gap=1e-3, formulation=formulation
    )


@pytest.fixture(scope="module")
def default():
    return flown()


def test_without_a_name_the_run_tells_which_it_took(default):
    assert default.formulation == "gibbs_lean"
    assert default.settings["formulation"] == "gibbs_lean"


@pytest.mark.parametrize("name", NAMES)
def test_every_formulation_gives_the_same_motion(default, name):
    run = flown(name)
    assert run.formulation == run.settings["formulation"] == name
    assert [x.points for x in run.impacts] == [x.points for x in default.impacts]
    # Both integrate to about 1e-12, and the impacts magnify what is left.
    for found, wanted in zip(run.impacts, default.impacts, strict=True):
        assert found.time == pytest.approx(wanted.time, abs=1e-10)
        np.testing.assert_allclose(found.impulses, wanted.impulses, rtol=1e-8)
    np.testing.assert_allclose(run.q[-1], default.q[-1], atol=1e-8)


@pytest.mark.parametrize("step", ["projected", "coupled"])
def test_flight_and_impacts_run_by_the_equations_that_are_named(
    default, step, monkeypatch, nothing_kept
):
    """An error in one step of the named equations is felt: in the right-hand side and in the
    inertia matrix. The default does not notice."""
    plain = getattr(gibbs_tree, step)

    def wrong(*arguments):
        made = plain(*arguments)
        made[-1] = [x * 1.01 for x in made[-1]] if step == "coupled" else made[-1] * 1.01
        return made

    monkeypatch.setattr(gibbs_tree, step, wrong)
    assert abs(flown("gibbs_tree").impacts[0].time - default.impacts[0].time) > 1e-6
    np.testing.assert_array_equal(flown().q[-1], default.q[-1])


def test_impacts_take_the_inertia_matrix_of_the_formulation(default, monkeypatch, nothing_kept):
    """The matrix of the impact alone is wrong, so that the flight before it is right."""
    quantity = QUANTITIES["mass_matrix"]

    def heavier(model, q):
        return [[2 * x for x in row] for row in quantity.formulations["gibbs_tree"](model, q)]

    changed = {**quantity.formulations, "gibbs_tree": heavier}
    monkeypatch.setitem(QUANTITIES, "mass_matrix", replace(quantity, formulations=changed))
    first, wanted = flown("gibbs_tree", 0.45).impacts[0], default.impacts[0]
    assert first.time == pytest.approx(wanted.time, abs=1e-10)
    np.testing.assert_allclose(first.impulses, 2 * wanted.impulses, rtol=1e-8)


def test_a_run_that_goes_on_keeps_its_formulation(tmp_path, default):
    tree = appell.load("ten_link_tree")
    first = flown("gibbs_tree", 0.4)
    assert first.resume(until=0.6).formulation == "gibbs_tree"
    read = load_run(first.save(tmp_path / "run.npz"))
    assert read.formulation == "gibbs_tree"
    again = {"walls": CIRCLE, "gap": 1e-3, "until": 0.6}
    assert appell.simulate(tree, resume=read, **again).formulation == "gibbs_tree"
    other = appell.simulate(tree, resume=read, formulation="gibbs_tensor", **again)
    assert other.formulation == "gibbs_tensor"
    np.testing.assert_allclose(other.q[-1], default.q[-1], atol=1e-8)


@pytest.mark.parametrize("name", ["kane", "gibbs_tee", "", 3, ["gibbs_tree"]])
def test_unknown_formulations_are_answered_with_the_known_ones(name):
    with pytest.raises(appell.InputError, match="expected one of gibbs_lean, gibbs_tensor"):
        flown(name)


def test_a_closed_robot_moves_by_the_equations_of_its_tree():
    robot = appell.load("four_bar")
    usual = appell.simulate(robot, robot.reference, [1.0], until=0.1)
    named = appell.simulate(robot, robot.reference, [1.0], until=0.1, formulation="gibbs_tree")
    assert named.formulation == "gibbs_tree"
    np.testing.assert_allclose(named.q[-1], usual.q[-1], rtol=0, atol=1e-11)
    with pytest.raises(appell.InputError, match="expected one of gibbs_lean"):
        appell.simulate(robot, robot.reference, until=0.1, formulation="articulated_body")


MIMIC = """
<robot name="gripper">
  <link name="base"/>
  <link name="a"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><origin xyz="0.2 0.1 0"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="one" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="two" type="continuous"><parent link="a"/><child link="b"/>
    <origin xyz="0.3 0 0"/><axis xyz="0 1 0"/><mimic joint="one" multiplier="-0.5"/></joint>
</robot>
"""


@pytest.fixture
def gripper(tmp_path):
    path = tmp_path / "gripper.urdf"
    path.write_text(MIMIC)
    return appell.load(path)


@pytest.mark.parametrize("name", [x for x in NAMES if x != "articulated_body"])
def test_where_joints_mimic_others_the_named_equations_are_solved(gripper, name):
    def ends(formulation):
        return appell.simulate(gripper, [0.2], until=0.5, formulation=formulation).q[-1]

    np.testing.assert_allclose(ends(name), ends(None), atol=1e-10)


def test_mimicking_joints_by_the_tree_equations_feel_their_error(
    gripper, monkeypatch, nothing_kept
):
    right = appell.simulate(gripper, [0.2], until=0.5).q[-1]
    monkeypatch.setattr(gibbs_tree, "trace", lambda X, Y: 0)
    wrong = appell.simulate(gripper, [0.2], until=0.5, formulation="gibbs_tree").q[-1]
    assert abs(wrong[0] - right[0]) > 1e-3


def test_articulated_bodies_do_not_mimic(gripper):
    with pytest.raises(appell.InputError, match="joints of 'gripper' mimic others"):
        appell.simulate(gripper, [0.2], until=0.5, formulation="articulated_body")
