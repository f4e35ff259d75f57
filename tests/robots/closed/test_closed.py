"""What a closed robot answers, and what it refuses."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from closed_oracles import tree_of

import appell
from appell.robots.closed import Custom, Loop, Place, SingularError


@pytest.fixture(scope="module")
def four_bar():
    return appell.load("four_bar")


def state(robot, n=3):
    q, v = robot.random_states(n, seed=2)
    return q, v, np.ones((n, robot.nv))


def test_batches_float32_and_out(four_bar):
    q, v, a = state(four_bar, 6)
    tau = four_bar.inverse_dynamics(q, v, a)
    grid = four_bar.inverse_dynamics(q.reshape(2, 3, 3), v.reshape(2, 3, 1), a[0])
    assert grid.shape == (2, 3, 1)
    assert (grid.reshape(6, 1) == tau).all()
    single = four_bar.inverse_dynamics(*(x.astype(np.float32) for x in (q, v, a)))
    assert single.dtype == np.float32
    assert np.abs(single - tau).max() < 1e-4 * np.abs(tau).max()
    out = np.empty_like(tau)
    assert four_bar.inverse_dynamics(q, v, a, out=out) is out
    assert (out == tau).all()
    assert (four_bar.inverse_dynamics(q[0], v[0], a[0]) == tau[0]).all()
    assert (four_bar.inverse_dynamics(q.tolist(), qd=v, qdd=a) == tau).all()
    assert (four_bar.unchecked().inverse_dynamics(q, v, a) == tau).all()


def test_it_is_pickled_with_its_inverse_kinematics(four_bar):
    again = pickle.loads(pickle.dumps(four_bar))
    q, v, a = state(four_bar)
    assert (again.inverse_dynamics(q, v, a) == four_bar.inverse_dynamics(q, v, a)).all()
    assert (again.inverse_kinematics(2.0) == four_bar.inverse_kinematics(2.0)).all()


def test_a_payload_and_gravity_change_the_forces_and_keep_the_loops(four_bar):
    q, v, _ = state(four_bar)
    loaded = four_bar.with_payload(3.0, link="tool")
    more = loaded.kinetic_energy(q, v) - four_bar.kinetic_energy(q, v)
    speed = np.einsum("kij,kj->ki", four_bar.jacobian(q, "tool")[:, :3], v)
    assert np.allclose(more, 1.5 * (speed**2).sum(-1), rtol=1e-12)
    assert np.abs(four_bar.with_gravity((0, 0, 0)).gravity(q)).max() == 0
    assert loaded.independent == four_bar.independent


def test_redundant_actuation_has_the_least_norm():
    robot = appell.load("five_bar")
    many = appell.close(
        tree_of(robot), robot.constraints, guess=robot.reference,
        independent=["left shoulder", "right shoulder"], actuated=robot.joint_names,
    )  # fmt: skip
    q, v, a = state(many)
    tau = many.inverse_dynamics(q, v, a)
    assert tau.shape == (3, 4)
    Gamma, Q = many.kernel("gamma")(q), many.inverse_dynamics(q, v, a, generalised=True)
    expected = np.einsum("kna,kn->ka", np.linalg.pinv(Gamma), Q)
    assert np.abs(tau - expected).max() < 1e-12 * np.abs(tau).max()
    assert np.abs(many.forward_dynamics(q, v, tau) - a).max() < 1e-11


def test_independent_speeds_are_chosen_where_none_are_named():
    robot = appell.load("stewart_gough")
    tree, q = tree_of(robot), robot.reference
    chosen = appell.close(tree, robot.constraints, guess=q)
    assert chosen.nv == 6
    assert chosen.margins(q).independent > 0.1
    assert chosen.actuated == chosen.independent
    driven = appell.close(tree, robot.constraints, guess=q, actuated=robot.actuated)
    assert driven.independent == robot.actuated  # the legs themselves describe the motion


def test_coordinates_and_reactions_are_named():
    robot = appell.load("stewart_gough")
    assert robot.coordinates() == [9, 12, 15, 18, 21, 24]
    with pytest.raises(appell.InputError, match="a free body or a ball is no coordinate"):
        robot.coordinates(["free x"])
    assert robot.reaction_names[0] == "world to rod1: force x"
    assert len(robot.reaction_names) == 18
    still = np.zeros(6)
    legs = robot.inverse_dynamics(robot.reference, still, still)
    forces = robot.reactions(robot.reference, still, legs).reshape(6, 3)
    # All weight stands on the feet, whose forces are in the rods' axes.
    up = 0.0
    for k in range(6):
        R = robot.forward_kinematics(robot.reference, f"rod{k + 1}")[:3, :3]
        up += (R @ forces[k])[2]
    mass = sum(float(b.mass) for b in robot.model.bodies)
    assert up == pytest.approx(mass * 9.81, rel=1e-12)


# Assembly


def test_assembly_holds_what_it_is_told_to(four_bar):
    q = four_bar.assemble(fixed={"crank": 1.0})
    assert q[0] == 1.0
    assert np.abs(four_bar.closure(q)).max() < 1e-12
    again = four_bar.assemble(q + [0.0, 0.1, -0.1], fixed=["crank"])
    assert np.abs(again - q).max() < 1e-12
    many = four_bar.assemble(np.array([q, q + 0.05]))
    assert many.shape == (2, 3)
    assert np.abs(four_bar.closure(many)).max() < 1e-12


def test_assembly_says_what_cannot_close(four_bar):
    short = appell.load("four_bar", crank=0.3, coupler=0.65, rocker=0.35)
    with pytest.raises(appell.ModelError, match=r"cannot be closed near the guess with crank held"):
        short.assemble(fixed={"crank": 3.0})
    with pytest.raises(appell.InputError, match="'lever'"):
        four_bar.assemble(fixed={"lever": 1.0})
    with pytest.raises(appell.InputError, match="finite numbers, 3 of them"):
        four_bar.assemble([1.0, np.nan, 0.0])
    bars = tree_of(four_bar)
    apart = Loop("revolute", Place("world", (9.0, 0, 0)), Place("coupler", (0.8, 0, 0)))
    with pytest.raises(appell.ModelError, match=r"stays open by"):
        appell.close(bars, [apart])


# Refusals


def test_open_configurations_are_refused(four_bar):
    q, v, a = state(four_bar)
    q[1, 2] += 0.01
    with pytest.raises(appell.InputError, match=r"state \[1\] is open by 0\.00\d+ .*assemble"):
        four_bar.inverse_dynamics(q, v, a)
    assert np.isfinite(four_bar.unchecked().inverse_dynamics(q, v, a)).all()
    with pytest.raises(appell.InputError, match="open by"):
        four_bar.mass_matrix(q)
    q[1] = np.nan
    with pytest.raises(appell.InputError, match="finite"):
        four_bar.mass_matrix(q)


def test_singular_configurations_are_refused():
    # A parallelogram laid flat: crank and rocker may turn alike or against each other.
    robot = appell.load("four_bar", ground=0.8, crank=0.3, coupler=0.8, rocker=0.3)
    flat = np.zeros(3)
    assert np.abs(robot.closure(flat)).max() < 1e-15
    with pytest.raises(SingularError, match="singular configuration"):
        robot.forward_dynamics(flat, [1.0], [0.0])
    assert robot.margins(np.array([0.5, -0.5, 0.5])).loops > 0.05
    near = np.array([1e-3, -1e-3, 1e-3])
    assert robot.margins(near).loops < 1e-2
    assert np.isfinite(robot.forward_dynamics(near, [1.0], [0.0])).all()


def test_a_dead_point_of_the_drive_is_refused_for_inverse_dynamics_only(four_bar):
    # Driven at the rocker, the crank in line with the coupler cannot be held.
    driven = appell.close(
        tree_of(four_bar), four_bar.constraints, guess=four_bar.reference, independent=["crank"],
        actuated=["rocker"],
    )  # fmt: skip
    reach = (0.3 + 0.8, 0.7, 0.9)  # crank and coupler stretched, rocker, ground
    angle = np.arccos((reach[0] ** 2 + reach[2] ** 2 - reach[1] ** 2) / (2 * reach[0] * reach[2]))
    end = reach[0] * np.array([np.cos(angle), np.sin(angle)]) - [0.9, 0]
    q = driven.assemble([angle, 0.0, np.arctan2(end[1], end[0])], fixed=["crank", "coupler"])
    assert driven.margins(q).actuators < 1e-6
    with pytest.raises(SingularError, match="rocker cannot hold it"):
        driven.inverse_dynamics(q, [1.0], [0.0])
    assert np.isfinite(driven.forward_dynamics(q, [1.0], [0.0])).all()
    assert np.isfinite(driven.inverse_dynamics(q, [1.0], [0.0], generalised=True)).all()


def test_a_degenerate_choice_names_a_better_one(four_bar):
    by_rocker = four_bar.described_by(["rocker"])
    q = _stretched(four_bar)
    with pytest.raises(SingularError, match=r"rocker do not determine .* crank|coupler"):
        by_rocker.mass_matrix(q)
    assert four_bar.best_independent(q) != ("rocker",)


def _stretched(robot):
    angle = np.arccos((1.1**2 + 0.9**2 - 0.7**2) / (2 * 1.1 * 0.9))
    end = 1.1 * np.array([np.cos(angle), np.sin(angle)]) - [0.9, 0]
    return robot.assemble([angle, 0.0, np.arctan2(end[1], end[0])], fixed=["crank", "coupler"])


def test_what_cannot_be_closed_is_refused(four_bar):
    tree = tree_of(four_bar)
    loop = four_bar.constraints[0]
    guess = four_bar.reference
    with pytest.raises(appell.ModelError, match="no link 'lever'; its links are ground, crank"):
        appell.close(tree, [Loop("spherical", "lever", "coupler")])
    with pytest.raises(appell.InputError, match="both places are on one body"):
        appell.close(tree, [Loop("spherical", "coupler", "tool")])
    with pytest.raises(appell.ModelError, match="leave no freedom: 8 rows forbid all 3"):
        appell.close(tree, [loop, _held(four_bar)], guess=guess)
    with pytest.raises(appell.InputError, match="has 1 degrees of freedom, and"):
        appell.close(tree, [loop], guess=guess, independent=["crank", "rocker"])
    with pytest.raises(appell.InputError, match="names joint 'lever'"):
        appell.close(tree, [loop], guess=guess, independent=["lever"])
    with pytest.raises(appell.InputError, match="expected a Robot that is a tree"):
        appell.close(four_bar, [loop])
    with pytest.raises(appell.InputError, match="is no constraint"):
        appell.close(tree, ["coupler"])
    with pytest.raises(appell.InputError, match="guess"):
        appell.close(tree, [loop], guess=[1.0])
    with pytest.raises(appell.InputError, match="expected one of fixed"):
        Loop("welded", "crank", "rocker")
    with pytest.raises(appell.InputError, match="expected a positive length"):
        Loop("distance", "crank", "rocker")
    with pytest.raises(appell.InputError, match="expected no length"):
        Loop("revolute", "crank", "rocker", length=1.0)
    with pytest.raises(appell.InputError, match="length = True; expected a positive length"):
        Loop("distance", "crank", "rocker", length=True)
    with pytest.raises(appell.InputError, match=r"kind = 3; expected one of fixed"):
        Loop(3, 4)
    with pytest.raises(appell.InputError, match="b = ''; expected a link's name or a Place"):
        Loop("revolute", "crank")
    with pytest.raises(appell.InputError, match="name = 3; expected a text"):
        Loop("revolute", "crank", "rocker", name=3)
    with pytest.raises(appell.InputError, match="either axis or rpy"):
        Place("crank", axis=(0, 0, 1), rpy=(1, 0, 0))
    with pytest.raises(appell.InputError, match="expected a list of 1"):
        appell.close(tree, [Custom(lambda q, v: [0, 0])])


def _held(robot):
    """The rocker's end held where it is."""
    T = robot.forward_kinematics(robot.reference, "rocker")
    end = T[:3, 3] + T[:3, :3] @ [0.7, 0, 0]
    return Loop("spherical", Place("world", tuple(end)), Place("rocker", (0.7, 0, 0)))


def test_kernels_take_no_options_they_cannot_honour(four_bar):
    with pytest.raises(appell.InputError, match="no formulation 'composite'"):
        four_bar.kernel("inverse_dynamics", formulation="composite")
    with pytest.raises(appell.InputError, match="cannot differentiate by 'mass'"):
        four_bar.kernel("inverse_dynamics", wrt="mass")
    with pytest.raises(appell.InputError, match="no frame"):
        four_bar.kernel("mass_matrix", frame="tool")
    with pytest.raises(appell.InputError, match="give q="):
        four_bar.friction([1.0])
    with pytest.raises(appell.InputError, match=r"q has shape \(2,\)"):
        four_bar.mass_matrix([0.0, 1.0])
    assert "degrees of freedom 1, joints 3" in repr(four_bar)
    assert four_bar.operations("inverse_dynamics").multiplications < 100


def test_kernels_of_ones_own_functions_are_not_confused(nothing_kept):
    """Two functions of one name, one after the other."""
    tree = appell.load("two_link")
    found = []
    for k in (1.0, 2.0):
        robot = appell.close(
            tree, [Custom(lambda q, v, k=k: [v[1] - k * v[0]])], independent=["joint1"]
        )
        found.append(robot.speeds(np.zeros(2), [1.0])[1])
    assert found == [1.0, 2.0]


def test_arguments_of_the_wrong_kind_are_explained():
    tree = appell.Robot(appell.load("four_bar").model)
    with pytest.raises(appell.InputError, match="expected a list of Loop"):
        appell.close(tree, None)
    robot = appell.load("four_bar")
    with pytest.raises(appell.InputError, match="expected finite numbers"):
        robot.assemble(fixed={"crank": float("nan")})


def geared():
    """A robot whose speeds alone are bound, so that nothing can be open."""
    gear = Custom(lambda q, v: [v[1] - v[0]])
    return appell.close(appell.load("two_link"), [gear], independent=["joint1"])


@pytest.mark.parametrize("make", [partial(appell.load, "four_bar"), geared])
def test_coordinates_that_are_none_have_no_closure(make):
    robot = make()
    for given, words in [
        ("x", "q has dtype <U1; expected real numbers"),
        ([[1.0, 2.0], [3.0]], "q is ragged"),
        ({}, "q has dtype object"),
        (None, "q is missing"),
        ([1j] * robot.nq, "take its real part"),
        ([1.0], r"q has shape \(1,\); expected \(\.\.\., "),
    ]:
        with pytest.raises(appell.InputError, match=words):
            robot.closure(given)
    q, _ = robot.random_states(2)
    assert np.abs(robot.closure(q.tolist())).max(initial=0.0) < 1e-9
    assert robot.closure(np.float32(q)).shape == robot.closure(q).shape


def test_speeds_that_describe_only_a_singular_configuration_are_refused():
    rhomb = appell.load("four_bar", ground=1.0, crank=1.0, coupler=1.0, rocker=1.0)
    flat = rhomb.assemble(fixed={"crank": 0.0})
    with pytest.raises(appell.InputError, match="freedom there"):
        rhomb.described_by(["crank", "coupler"], at=flat)


def test_a_nan_does_not_hide_a_loop_that_is_open():
    robot = appell.load("stewart_gough")
    q = np.tile(robot.assemble(), (3, 1))
    q[1, 7] += 0.3
    with pytest.raises(appell.InputError, match=r"state \[1\] is open by"):
        robot.mass_matrix(q)
    q[0, 0] = np.nan
    for name in ("mass_matrix", "potential_energy", "forward_kinematics"):
        with pytest.raises(appell.InputError, match=r"(?s)state \[0\] is .*expected finite"):
            getattr(robot, name)(q)


def test_what_is_no_configuration_is_told(four_bar):
    for asked in (
        partial(four_bar.mass_matrix, [[1, 2], [3]]),
        partial(four_bar.best_independent, "x"),
        partial(four_bar.described_by, 3),
        partial(four_bar.kernel, []),
    ):
        with pytest.raises(appell.InputError, match=r"ragged|expected|no quantity"):
            asked()
    with pytest.raises(appell.InputError, match="no quantity 'mass'") as refusal:
        four_bar.kernel("mass")
    assert not isinstance(refusal.value.__context__, KeyError) or refusal.value.__suppress_context__


def test_a_free_base_has_no_motors_unless_they_are_named():
    tree = appell.load("free_chain", n=3)
    pinned = appell.close(tree, [Loop("spherical", Place("world"), "bar1")])
    assert pinned.actuated == ("q1", "q2")
    assert len(pinned.independent) == 5
    held = [Loop("fixed", Place("world"), "bar1")]
    assert appell.close(tree, held).independent == ("q1", "q2")
    pushed = appell.close(tree, held, actuated=["free x"])
    assert pushed.actuated == ("free x",)
    drive = tree_of(appell.load("differential_drive"))
    assert [drive.joint_names[k] for k in drive.model.passive] == ["X1", "X2", "turn"]
