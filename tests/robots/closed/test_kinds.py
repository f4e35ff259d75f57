"""Loops of every kind, redundant loops, and constraints of one's own."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from closed_oracles import actuated, multipliers, rows
from scipy.spatial.transform import Rotation

import appell
from appell.maths.scalar import cos, sign, sin, sqrt
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING
from appell.model.library.random import random_inertia
from appell.model.model import Joint
from appell.robots.closed import Custom, Loop, Place

FREEDOMS = {
    "fixed": 2, "revolute": 3, "prismatic": 3, "cylindrical": 4, "spherical": 5, "universal": 4,
    "planar": 5, "distance": 7,
}  # fmt: skip
N = 8


@cache
def chain():
    """Eight joints in general position, one of them a slide."""
    draw = np.random.default_rng(2)
    links, hinges = {"base": NOTHING}, []
    for k in range(N):
        links[f"link{k}"] = random_inertia(draw)
        R = Rotation.random(random_state=k).as_matrix()
        kind = "prismatic" if k == 3 else "revolute"
        above = f"link{k - 1}" if k else "base"
        joint = Joint(f"q{k}", kind)
        hinges.append(Hinge(f"q{k}", above, f"link{k}", joint, R, draw.uniform(-0.5, 0.5, 3)))
    return appell.Robot(assemble("chain", links, hinges))


def seen_from(pose, other):
    """Position and roll, pitch, yaw of a pose in another."""
    T = np.linalg.inv(other) @ pose
    return tuple(T[:3, 3]), tuple(Rotation.from_matrix(T[:3, :3]).as_euler("xyz"))


def joined(kind, tree, q, first="base"):
    """A loop that is closed at q, between the last link and another one."""
    tip = Place("link7", (0.1, -0.2, 0.3), rpy=(0.4, -0.3, 0.2))
    T = tree.forward_kinematics(q, "link7") @ frame(tip)
    if kind == "universal":
        T = T @ frame(Place("", rpy=(0.0, 0.7, 0.0)))  # about b's y
    if kind == "distance":
        T = T @ frame(Place("", (0.3, 0.4, 0.0)))
    place = Place(first, *_as_place(seen_from(T, tree.forward_kinematics(q, first))))
    return Loop(kind, place, tip, length=0.5 if kind == "distance" else None)


def _as_place(found):
    position, rpy = found
    return position, None, rpy


def frame(place):
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler("xyz", place.rpy).as_matrix()
    T[:3, 3] = place.position
    return T


@pytest.mark.parametrize("first", ["base", "link1"])
@pytest.mark.parametrize("kind", FREEDOMS)
def test_a_loop_of_each_kind_moves_as_lagranges_multipliers_say(kind, first):
    tree = chain()
    q0 = np.random.default_rng(3).uniform(-1, 1, N)
    robot = appell.close(tree, [joined(kind, tree, q0, first)], guess=q0)
    assert np.abs(robot.reference - q0).max() < 1e-9  # closed as it was
    assert robot.nv == FREEDOMS[kind]
    assert len(robot.reaction_names) == N - robot.nv
    q, v = robot.random_states(2, seed=4, spread=0.1)
    tau = np.random.default_rng(5).uniform(-1, 1, (2, robot.nv))
    a = robot.forward_dynamics(q, v, tau)
    for k in range(2):
        speeds = robot.speeds(q[k], v[k])
        assert np.abs(rows(robot, q[k]) @ speeds).max() < 1e-11
        expected, reaction = multipliers(robot, q[k], speeds, actuated(robot, tau[k]))
        found = robot.accelerations(q[k], v[k], a[k])
        assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()
        ours = robot.assembly.rows(q[k]).T @ robot.reactions(q[k], v[k], tau[k])
        assert np.abs(ours - reaction).max() < 1e-8 * np.abs(reaction).max()
    assert np.abs(robot.inverse_dynamics(q, v, a) - tau).max() < 1e-9 * np.abs(a).max()


def test_a_reaction_is_the_force_on_the_second_place():
    """A double pendulum, hanging still, whose end a wall carries: half the weight of its last
    bar and all that the wall pushes are known by moments."""
    from appell.robots.closed.library.parts import bar, hinge

    links = {"base": NOTHING, "one": bar(2.0, 1.0), "two": bar(3.0, 1.0)}
    hinges = [hinge("one", "base", "one"), hinge("two", "one", "two", (1, 0, 0))]
    tree = appell.Robot(assemble("arch", links, hinges, gravity=(0, -9.81, 0)))
    q = np.array([np.pi / 3, -2 * np.pi / 3])  # an arch, its feet one metre apart
    held = Loop("distance", Place("world", (3.0, 0, 0)), Place("two", (1.0, 0, 0)), length=2.0)
    robot = appell.close(tree, [held], guess=q, independent=["one"])
    (along,) = robot.reactions(q, [0.0], _holding(robot, q))
    # Moments about the crown: the rod's force along x bears on the second bar alone, whose
    # motor gives nothing. Its row is the distance's rate times the distance, 2 m.
    push = -along * 2.0
    weight = 3.0 * 9.81
    assert push * np.sin(np.pi / 3) == pytest.approx(weight / 2 * np.cos(np.pi / 3), rel=1e-12)


def _holding(robot, q):
    return robot.inverse_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv))


def bennett(a=0.4, alpha=0.7, beta=1.3, error=0.0):
    """Bennett's linkage: four hinges in space that move only because a / sin(alpha) = b /
    sin(beta). Its tree has three joints, and five rows close it."""
    b = a * np.sin(beta) / np.sin(alpha) + error
    draw = np.random.default_rng(1)
    links = {"base": NOTHING, **{f"link{k}": random_inertia(draw) for k in (1, 2, 3)}}
    twist_a, twist_b = (Rotation.from_euler("x", x).as_matrix() for x in (alpha, beta))
    hinges = [
        Hinge("q1", "base", "link1", Joint("q1"), np.eye(3), np.zeros(3)),
        Hinge("q2", "link1", "link2", Joint("q2"), twist_a, np.array([a, 0, 0])),
        Hinge("q3", "link2", "link3", Joint("q3"), twist_b, np.array([b, 0, 0])),
    ]
    last = Place("link3", (a, 0, 0), rpy=(alpha, 0, 0))
    first = Place("base", (-b, 0, 0), rpy=(-beta, 0, 0))
    return appell.Robot(assemble("bennett", links, hinges)), [Loop("revolute", first, last)]


def ratio(alpha, beta):
    """tan(q1 / 2) tan(q2 / 2), constant as Bennett found (1903)."""
    return np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)


def test_bennetts_linkage_moves_with_two_of_its_five_rows_redundant():
    tree, loops = bennett()
    q1 = 1.1
    q2 = 2 * np.arctan(ratio(0.7, 1.3) / np.tan(q1 / 2))
    robot = appell.close(tree, loops, guess=[q1, q2, q1], independent=["q1"])
    assert robot.nv == 1
    q, v = robot.random_states(5, seed=3, spread=1.0)
    assert np.ptp(q[:, 0]) > 0.3
    found = np.tan(q[:, 0] / 2) * np.tan(q[:, 1] / 2)
    assert np.abs(found / found[0] - 1).max() < 1e-9
    assert np.abs(np.abs(found) / ratio(0.7, 1.3) - 1).max() < 1e-9
    tau = np.ones((5, 1))
    a = robot.forward_dynamics(q, v, tau)
    for k in range(5):
        speeds = robot.speeds(q[k], v[k])
        expected, _ = multipliers(robot, q[k], speeds, actuated(robot, tau[k]))
        assert np.abs(robot.accelerations(q[k], v[k], a[k]) - expected).max() < 1e-8


def test_a_linkage_near_bennetts_is_refused():
    tree, loops = bennett(error=1e-3)
    q2 = 2 * np.arctan(ratio(0.7, 1.3) / np.tan(0.55))
    with pytest.raises(appell.ModelError, match=r"cannot be closed|leave no freedom"):
        appell.close(tree, loops, guess=[1.1, q2, 1.1])


def test_a_planar_mechanism_in_a_tilted_plane_has_redundant_rows():
    """The same linkage turned in space: its rows are no more zero, but as dependent."""
    flat = appell.load("four_bar")
    R = Rotation.from_euler("xyz", [0.3, 0.5, 0.7]).as_matrix()
    from appell.robots.closed.library.parts import bar, hinge

    links = {"world base": NOTHING, "ground": NOTHING}
    links |= {name: bar(2.0 * x, x) for name, x in _BARS.items()}
    hinges = [
        Hinge("tilt", "world base", "ground", None, R, np.zeros(3)),
        hinge("crank", "ground", "crank"),
        hinge("coupler", "crank", "coupler", (0.3, 0, 0)),
        hinge("rocker", "ground", "rocker", (0.9, 0, 0)),
    ]
    gravity = R @ [0, -9.81, 0]
    tree = appell.Robot(assemble("tilted", links, hinges, gravity=gravity))
    tilted = appell.close(tree, flat.constraints, guess=flat.reference, independent=["crank"])
    q, v = flat.random_states(4, seed=1)
    tau = np.ones((4, 1))
    found, expected = (r.forward_dynamics(q, v, tau) for r in (tilted, flat))
    assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()


_BARS = {"crank": 0.3, "coupler": 0.8, "rocker": 0.7}


def test_rows_of_ones_own_are_differentiated():
    """A bead on a wire y = sin x, and a speed that depends on where it is."""
    links = {"base": NOTHING, "x": NOTHING, "bead": random_inertia(np.random.default_rng(0))}
    hinges = [
        Hinge("x", "base", "x", Joint("x", "prismatic"), np.eye(3), np.zeros(3), (1, 0, 0)),
        Hinge("y", "x", "bead", Joint("y", "prismatic"), np.eye(3), np.zeros(3), (0, 1, 0)),
    ]
    tree = appell.Robot(assemble("bead", links, hinges, gravity=(0, -9.81, 0)))
    wire = Custom(
        lambda q, v: [v[1] - cos(q[0]) * v[0]], closure=lambda q: [q[1] - sin(q[0])], name="wire"
    )
    robot = appell.close(tree, [wire], guess=[0.4, 0.0], independent=["x"])
    q, v = np.array([0.9, np.sin(0.9)]), np.array([1.3])
    # x'' (1 + c^2) - s c x'^2 + g c = 0, with y = sin x.
    c, s = np.cos(0.9), np.sin(0.9)
    expected = (s * c * 1.3**2 - 9.81 * c) / (1 + c * c)
    assert robot.forward_dynamics(q, v, np.zeros(1))[0] == pytest.approx(expected, rel=1e-13)
    run = robot.simulate(q, v, until=2.0)
    assert np.abs(run.q[:, 1] - np.sin(run.q[:, 0])).max() < 1e-12
    assert np.abs(run.energy - run.energy[0]).max() < 1e-9


def beads():
    """Two slides and a turn, on which constraints of one's own are put."""
    links = {"base": NOTHING, **{name: random_inertia(np.random.default_rng(1)) for name in "xyr"}}
    hinges = [
        Hinge(name, above, name, Joint(name, kind), R, np.zeros(3))
        for name, above, kind, R in (
            ("x", "base", "prismatic", np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])),
            ("y", "x", "prismatic", np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])),
            ("r", "y", "revolute", np.eye(3)),
        )
    ]
    return appell.Robot(assemble("beads", links, hinges))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda q, v: [v[0] * v[0] - v[1]], "row 1 of its function is not linear"),
        (lambda q, v: [v[0] + 1e-9 * v[1] * v[2]], "not linear"),
        (lambda q, v: [sqrt(v[0] * v[0] + v[1] * v[1])], "not linear"),
        (lambda q, v: [sin(v[0])], "not linear"),
        (lambda q, v: [v[0] / (1 + v[1] * v[1])], "not linear"),
        (lambda q, v: [v[0] - 1e-7], "is -1e-07 while all speeds are zero"),
        (lambda q, v: [v[0] - q[1]], "while all speeds are zero"),
        (lambda q, v: [v[0] / v[1]], "raised ZeroDivisionError"),
        (lambda q, v: [v[0] * sign(q[1])], "raised AttributeError"),
        (lambda q, v: [v[0] if q[0] > 0 else v[1]], "raised TypeError"),
    ],
)
def test_rows_that_are_not_linear_in_the_speeds_are_refused(function, message):
    with pytest.raises(appell.InputError, match=message):
        appell.close(beads(), [Custom(function)])


@pytest.mark.parametrize(
    ("function", "closure"),
    [
        (lambda q, v: [v[1] - v[0]], lambda q: [q[1] - sin(q[0])]),  # only where x is 0
        (lambda q, v: [v[1]], lambda q: [q[0]]),
        (lambda q, v: [v[1] - v[0], v[2]], lambda q: [q[1] - q[0], q[2] - 1e-3 * q[0]]),
        (lambda q, v: [v[1] - v[0]], lambda q: [(q[1] - q[0]) * (q[1] - q[0])]),
    ],
)
def test_rows_that_do_not_belong_to_their_closure_are_refused(function, closure):
    wrong = Custom(function, count=len(closure([0, 0, 0])), closure=closure, name="wire")
    with pytest.raises(appell.InputError, match=r"'wire': row .* does not belong to its closure"):
        appell.close(beads(), [wrong])


def test_rows_need_equal_their_closures_rates_only_where_it_is_closed():
    """x^2 + y^2 = 1: the rate is 2 (x dx + y dy); divided by 2 r, which is 2 on the circle only, it
    forbids the same."""
    circle = Custom(
        lambda q, v: [(q[0] * v[0] + q[1] * v[1]) / sqrt(q[0] * q[0] + q[1] * q[1])],
        closure=lambda q: [q[0] * q[0] + q[1] * q[1] - 1],
    )
    robot = appell.close(beads(), [circle], guess=[0.6, 0.8, 0.1])
    assert robot.nv == 2
