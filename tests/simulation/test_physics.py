"""Falling, bouncing, resting, rolling off: motions whose course is known."""

from __future__ import annotations

from math import acos, degrees, pi, sqrt

import numpy as np
import pytest

import appell
from appell.maths.vector import Symmetric, Vector
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint
from appell.robots.robot import Robot

G = 9.81
START = [pi / 6, pi / 6, -2 * pi / 3, pi / 6, pi / 6, -2 * pi / 3, pi / 3, 0, 2 * pi / 3, -pi / 3]
START += [-(1 + sqrt(3)) / 2] * 2
MIRRORED = {"O1": "O5", "O2": "O4", "O7": "O10", "O8": "O11", "O3": "O3", "O6": "O6", "O9": "O9"}


def point_mass(mass=2.0):
    """A small ball that slides in the plane, gravity along -y."""
    links = {"world": NOTHING, "slide": NOTHING}
    links["ball"] = Inertia.about_com(mass, Vector(0, 0, 0), Symmetric(1e-3, 0, 1e-3, 0, 0, 1e-3))
    here = np.zeros(3)
    hinges = [
        Hinge("x", "world", "slide", Joint("x", "prismatic"), np.eye(3), here, (1, 0, 0)),
        Hinge("y", "slide", "ball", Joint("y", "prismatic"), np.eye(3), here, (0, 1, 0)),
    ]
    return Robot(assemble("ball", links, hinges, gravity=(0, -G, 0), points=["ball"]))


FLOOR = appell.walls.Plane((0, 1, 0), 0.0)


def test_the_tree_keeps_its_energy_and_its_symmetry_for_three_seconds():
    tree = appell.load("ten_link_tree")
    run = appell.simulate(tree, START, until=3.0, walls=appell.walls.Circle(2.5), gap=1e-3)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-9
    places = {p: tree.forward_kinematics(run.q, p)[:, :2, 3] for p in MIRRORED}
    places |= {p: tree.forward_kinematics(run.q, p)[:, :2, 3] for p in MIRRORED.values()}
    for left, right in MIRRORED.items():
        assert np.abs(places[left] * [-1, 1] - places[right]).max() < 1e-6
    assert run.residuals["penetration"] < 1e-9


def test_bounces_accumulate_at_the_time_they_must_and_the_floor_then_bears_the_weight():
    ball, e, h = point_mass(), 0.5, 1.0
    run = appell.simulate(ball, [0, h], [0.3, 0], until=3.0, walls=FLOOR, restitution=e)
    fall = sqrt(2 * h / G)
    rest = fall * (1 + e) / (1 - e)
    assert run.impacts[0].time == pytest.approx(fall, abs=1e-12)
    assert run.impacts[1].time == pytest.approx(fall * (1 + 2 * e), abs=1e-10)
    assert run.impacts[-1].time == pytest.approx(rest, abs=1e-5)
    q, v = run(3.0)
    assert q[1] == pytest.approx(0, abs=1e-9)
    assert v == pytest.approx([0.3, 0], abs=1e-9)
    assert run.reactions[-1, 0] == pytest.approx(2.0 * G, rel=1e-9)
    assert run.q[:, 1].min() > -1e-9


def test_a_ball_slides_off_a_cylinder_where_it_must():
    """From rest at the top it leaves at cos(angle) = 2/3 from the vertical."""
    ball = point_mass()
    wall = appell.walls.Circle(1.0, inside=False)
    tilt = 1e-3
    start = [np.sin(tilt), np.cos(tilt)]
    run = appell.simulate(ball, start, until=6.0, walls=wall, restitution=0.0)
    on = np.hypot(*run.q.T) < 1 + 1e-9
    left = run.q[np.flatnonzero(on)[-1]]
    angle = acos(left[1] / np.hypot(*left))
    assert degrees(angle) == pytest.approx(degrees(acos(2 / 3 * np.cos(tilt))), abs=0.2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("base", ["planar", "free"])
def test_impulses_are_those_of_an_independent_solution(seed, base):
    """M (v+ - v-) = J^T p and J v+ = -e J v-, all at once, by NumPy."""
    robot = appell.load("random_tree", n=3, seed=seed, base=base, prismatic=0.0)
    draw = np.random.default_rng(seed)
    q = np.zeros(robot.nq)
    if base == "free":
        q[6] = 1
    q[-3:] = draw.uniform(-1, 1, 3)
    v = draw.normal(size=robot.nv)
    v[1] = -4.0
    e = 0.7
    wall = appell.walls.Plane((0, 1, 0), -1.5)
    run = appell.simulate(robot, q, v, until=1.5, walls=wall, restitution=e, rtol=1e-11)
    hit = run.impacts[0]
    k = int(np.flatnonzero(run.t == hit.time)[0])
    before, after = run.v[k], run.v[k + 1]
    J = np.array([robot.jacobian(run.q[k], p)[1] for p in hit.points])
    M = robot.mass_matrix(run.q[k])
    n, m = len(before), len(J)
    system = np.block([[M, -J.T], [J, np.zeros((m, m))]])
    solution = np.linalg.solve(system, np.concatenate([M @ before, -e * (J @ before)]))
    np.testing.assert_allclose(after, solution[:n], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(hit.impulses, solution[n:], rtol=1e-7)
    assert hit.energy_change < 0
    assert (hit.impulses > 0).all()


def test_a_free_body_keeps_energy_momentum_and_the_length_of_its_quaternion():
    body = appell.load("random_tree", n=2, seed=5, base="free").with_gravity((0, 0, 0))
    draw = np.random.default_rng(0)
    q = np.concatenate([[0, 0, 0, 0, 0, 0, 1], draw.uniform(-1, 1, 2)])
    run = appell.simulate(body, q, draw.normal(size=body.nv), until=5.0)
    assert np.abs(run.energy / run.energy[0] - 1).max() < 1e-9
    assert np.abs(np.linalg.norm(run.q[:, 3:7], axis=1) - 1).max() < 1e-12
    momentum = np.array([total_momentum(body, x, y) for x, y in zip(run.q, run.v, strict=True)])
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-8)


def total_momentum(robot, q, v):
    """Linear momentum in the world: the first three rows of M v, turned."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(q[3:7]).apply((robot.mass_matrix(q) @ v)[:3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": -1.0}, "until"),
        ({"until": 1.0, "restitution": 1.5}, "restitution"),
        ({"until": 1.0, "q0": [0, -0.5]}, "behind"),
        ({"until": 1.0, "q0": [0, np.nan]}, "q0"),
        ({"until": 1.0, "q0": [0.0]}, "2 coordinates"),
        ({"until": 1.0, "v0": [0.0] * 3}, "2 speeds"),
        ({"until": 1.0, "torque": [1.0]}, "torque"),
        ({"until": 1.0, "method": "Euler"}, "DOP853"),
    ],
)
def test_bad_input_is_explained(options, message):
    settings = {"q0": [0, 1.0], "walls": FLOOR, **options}
    with pytest.raises(appell.InputError, match=message):
        appell.simulate(point_mass(), settings.pop("q0"), settings.pop("v0", None), **settings)


def test_a_torque_law_that_fails_keeps_the_motion_so_far():
    def law(t, q, v):
        if t > 0.1:
            raise RuntimeError("the cable broke")
        return np.zeros(2)

    run = appell.simulate(point_mass(), [0, 1.0], until=1.0, torque=law)
    assert "the cable broke" in run.stopped
    assert 0 < run.t[-1] <= 0.2


def test_a_run_is_saved_read_and_resumed(tmp_path):
    ball = point_mass()
    whole = appell.simulate(ball, [0, 1.0], until=1.0, walls=FLOOR, restitution=0.9)
    half = appell.simulate(ball, [0, 1.0], until=0.3, walls=FLOOR, restitution=0.9)
    rest = half.resume(until=1.0)
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-9)
    from appell.simulation import load_run

    again = load_run(whole.save(tmp_path / "run"))
    np.testing.assert_array_equal(again.q, whole.q)
    assert again.impacts[0].points == whole.impacts[0].points
    np.testing.assert_allclose(again(0.5)[0], whole(0.5)[0])


def test_a_law_may_write_to_what_it_is_given():
    chain = appell.load("planar_chain", n=2)

    def law(t, q, v):
        q %= 2 * np.pi
        v[:] = 0
        return np.zeros(2)

    free = appell.simulate(chain, [-0.3, 0.2], until=0.3)
    run = appell.simulate(chain, [-0.3, 0.2], until=0.3, torque=law, max_step=np.inf)
    np.testing.assert_array_equal(run.q[-1], free.q[-1])


def test_a_law_that_jumps_stops_the_run_instead_of_holding_it_for_ever():
    chain = appell.load("planar_chain", n=2)
    run = appell.simulate(
        chain, [0.3, 0.2], until=1.0, torque=lambda t, q, v: -5 * np.sign(v), max_steps=500
    )
    assert "500 steps" in run.stopped
    assert run.t[-1] > 0


def test_complex_torques_are_refused():
    with pytest.raises(appell.InputError, match="expected 2 numbers"):
        appell.simulate(point_mass(), [0, 1.0], until=1.0, torque=lambda t, q, v: np.array([1j, 0]))
